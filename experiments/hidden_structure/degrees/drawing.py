"""Drawings of what two scores see of a network, for the chapter's story."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.degrees import scores
from experiments.hidden_structure.polynomials import Problem
from experiments.hidden_structure.runs import rc
from shallow.book import figures


def followed(ax: Axes, task: Problem, degree: int, outputs: Mapping[str, np.ndarray]) -> None:
    """Outputs at the validation points against v, over the polynomial and the best constant."""
    rows, grid = task.rows["validation"], np.linspace(task.v.min(), task.v.max(), 400)
    ax.plot(grid, hidden_index.polynomial(degree)(grid), color=figures.COLOURS["null"], lw=3, label="to be learned")
    best = np.median(task.y[task.rows["train"]])
    ax.axhline(best, color=figures.PINK, ls="--", lw=1.6, label="best constant", zorder=1)
    for (name, values), colour in zip(outputs.items(), (figures.BLUE, figures.COLOURS["live"]), strict=True):
        ax.plot(task.v[rows], values[rows], ".", ms=2.6, mew=0, color=colour, rasterized=True)
        ax.plot([], [], "o", ms=4, color=colour, label=name)
    ax.set(xlabel="sum of the inputs, $v$", ylabel="output")


def seen(ax: Axes, small: xr.Dataset, strong: xr.Dataset, fits: float) -> None:
    """The two scores after twenty epochs, degree 8: filled where the network learns in the end; squares: decay 10."""
    square, absolute = (
        np.concatenate([scores.over_constant(small.sel(decay=d), 8, 20, score=s).values.ravel() for d in small.decay])
        for s in scores.SCORES
    )
    learned = np.concatenate([rc(small.sel(decay=d)).values.ravel() for d in small.decay]) >= fits
    look = {"ls": "none", "marker": "o", "ms": 4.5, "color": figures.BLUE}
    ax.plot(square[learned], absolute[learned], **look, alpha=0.7, label="learns in the end")
    ax.plot(square[~learned], absolute[~learned], **look, mfc="none", label="does not")
    square, absolute = (scores.over_constant(strong, 8, 20, score=s) for s in scores.SCORES)
    ax.plot(square, absolute, "s", ms=6, color=figures.PINK, label="with the chosen decay")
    for line in (ax.axvline, ax.axhline):
        line(1, color=figures.COLOURS["null"], lw=0.8)
    ax.set(xlabel="mean square / constant's", ylabel="absolute error / constant's")
