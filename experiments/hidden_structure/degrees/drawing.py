"""Drawings of what two scores see of a network, for the page and the chapter's story."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure.degrees import scores
from experiments.hidden_structure.runs import rc
from shallow.book import figures

LOOKS = {0: ("train", "^"), 1e-4: ("label_plus", "D"), 1e-3: ("label_minus", "s")}


def two_scores(axes: Sequence[Axes], small: xr.Dataset, strong: xr.Dataset, fits: float) -> None:
    """Fit at the end of training against either score after twenty epochs, degree 8: small decays by colour, and 10."""
    for ax, (score, name) in zip(axes, (("square", "mean square"), ("absolute", "absolute error")), strict=True):
        for decay, (colour, marker) in LOOKS.items():
            for k, width in enumerate(small.width.values):
                one = small.sel(width=width, decay=decay)
                look = {"color": figures.COLOURS[colour], "ms": 4, "mfc": "none"}
                label = None if k else f"decay {decay:g}"
                ax.plot(scores.over_constant(one, 8, 20, score=score), rc(one), marker, label=label, **look)
        ax.plot(scores.over_constant(strong, 8, 20, score=score), rc(strong), "ko", ms=4, label="decay 10")
        ax.axvline(1, color=figures.COLOURS["null"], lw=0.8)
        ax.axhline(fits, color=figures.COLOURS["threshold"], ls=":", lw=1.2)
        ax.set(xlabel=f"{name} after 20 epochs / constant's")
    axes[0].set_ylabel("$R_c$ at the end")
    axes[0].legend(fontsize="x-small", loc="center right")
