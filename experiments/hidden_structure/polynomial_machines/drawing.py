"""What the page on networks against kernels on the polynomial draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from shallow.book import figures


def figure_5(axes: Sequence[Axes], fits: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Predictions against v as in the document's Figures 3 and 5: `fits` maps titles to v, y and predictions."""
    for ax, (title, (v, y, prediction)) in zip(axes, fits.items(), strict=True):
        ax.plot(v, y, ".", ms=2, color=figures.COLOURS["null"], label="true values", rasterized=True)
        ax.plot(v, prediction, ".", ms=2, color=figures.COLOURS["train"], label="predictions", rasterized=True)
        ax.set_title(title, fontsize="medium")
        ax.set(xlim=(-2.1, 2.1))
