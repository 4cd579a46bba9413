"""Figures of the document that only its page draws: Figures 5, 6, 7 and 12 (a)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure.drawing import TEST
from experiments.hidden_structure.polynomial_measures import COLLAPSED
from shallow.book import figures


def figure_5(axes: Sequence[Axes], fits: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Predictions against v as in Figures 3 and 5: `fits` maps titles to v, y and predictions."""
    for ax, (title, (v, y, prediction)) in zip(axes, fits.items(), strict=True):
        ax.plot(v, y, ".", ms=2, color=figures.COLOURS["null"], label="true values", rasterized=True)
        ax.plot(v, prediction, ".", ms=2, color=figures.COLOURS["train"], label="predictions", rasterized=True)
        ax.set_title(title, fontsize="medium")
        ax.set(xlim=(-2.1, 2.1))


def modes(axes: np.ndarray, curves: xr.Dataset, degrees: Sequence[int]) -> None:
    """Figures 6 and 7: one run in four modes over the polynomial on all test points, a row for each degree.

    `curves` has degree, mode, and `v`, `y`, `prediction` (point).  No point lies outside the axes.
    """
    dots = {"marker": ".", "ls": "none", "ms": 2, "mew": 0, "rasterized": True}
    for row, degree in zip(axes, degrees, strict=True):
        for ax, mode in zip(row, curves["mode"].values, strict=True):
            one = curves.sel(degree=degree, mode=mode)
            ax.plot(one.v, one.y, color=figures.COLOURS["null"], label="true value", **dots)
            ax.plot(one.v, one.prediction, color=TEST, label="network", **dots)
            ax.set_title(f"$d$ = {degree}, {mode}", fontsize="medium")
        row[0].set_ylabel("$y$")
    for ax in axes[-1]:
        ax.set_xlabel("$v$")
    axes[0, 0].legend(fontsize="x-small", markerscale=4, loc="upper left")


def units_left(ax: Axes, units: xr.Dataset) -> None:
    """Figure 12 (a): `cosine` (unit); units whose `norm` has vanished as small grey crosses, the others as dots."""
    left = (units.norm > COLLAPSED).values
    number, cosine = np.arange(len(left)), units.cosine.values
    gone = f"vanished: {np.sum(~left)}"
    ax.plot(number[~left], cosine[~left], "x", ms=2.5, mew=0.5, color=figures.COLOURS["null"], label=gone)
    kept = f"left: {np.sum(left)}"
    ax.plot(number[left], cosine[left], "o", ms=4, color=figures.COLOURS["live"], label=kept)
    look = {"fontsize": "x-small", "ncols": 2, "columnspacing": 0.6, "handletextpad": 0, "handlelength": 1.2}
    ax.legend(loc="lower right", bbox_to_anchor=(1.04, 0.97), borderpad=0.2, **look)
    ax.set(ylabel=r"$|\cos(w_j, \mathbf{1})|$", ylim=(0, 1.03))
