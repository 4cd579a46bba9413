"""Drawings of what two scores see of a network, for the chapter's story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.degrees import scores
from experiments.hidden_structure.polynomials import Problem
from experiments.hidden_structure.runs import rc
from shallow.book import figures

LOOKS = {0: ("train", "^"), 1e-4: ("label_plus", "D"), 1e-3: ("label_minus", "s")}


def followed(axes: Sequence[Axes], task: Problem, degree: int, outputs: Mapping[str, np.ndarray]) -> None:
    """Outputs at the validation points against v, a panel each, over the polynomial and the best constant."""
    rows, grid = task.rows["validation"], np.linspace(task.v.min(), task.v.max(), 400)
    for ax, (name, values) in zip(axes, outputs.items(), strict=True):
        ax.plot(grid, hidden_index.polynomial(degree)(grid), color="k", lw=1, label="polynomial")
        ax.axhline(np.median(task.y[task.rows["train"]]), color=figures.COLOURS["null"], lw=1.2, label="best constant")
        ax.plot(task.v[rows], values[rows], ".", ms=2, color=figures.COLOURS["live"], label="network")
        ax.set(xlabel="$v$", title=name)


def seen(ax: Axes, small: xr.Dataset, strong: xr.Dataset, fits: float) -> None:
    """The two scores after twenty epochs, degree 8: small decays by colour, filled where the end fits; black: 10."""
    for decay, (colour, marker) in LOOKS.items():
        one = small.sel(decay=decay)
        square, absolute = (scores.over_constant(one, 8, 20, score=s).values.ravel() for s in scores.SCORES)
        learned, colour = rc(one).values.ravel() >= fits, figures.COLOURS[colour]
        look = {"ls": "none", "marker": marker, "ms": 4, "color": colour}
        ax.plot(square[learned], absolute[learned], **look, label=f"decay {decay:g}")
        ax.plot(square[~learned], absolute[~learned], **look, mfc="none")
    square, absolute = (scores.over_constant(strong, 8, 20, score=s) for s in scores.SCORES)
    ax.plot(square, absolute, "ko", ms=5, label="decay 10")
    for line in (ax.axvline, ax.axhline):
        line(1, color=figures.COLOURS["null"], lw=0.8)
    ax.set(xlabel="mean square", ylabel="absolute error", title="all, after 20 epochs")
