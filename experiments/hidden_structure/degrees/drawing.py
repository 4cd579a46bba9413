"""Drawings of what two scores see of a network, and of what a weight decay leaves under several rules of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.degrees import decay_optimisers, scores, weight_decay
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


LOWEST = 3e-8  # sizes below are drawn here


def decayed(axes: Sequence[Axes], runs: xr.Dataset, longer: xr.Dataset, start: float) -> None:
    """Size of a first-layer weight by decay, an axis for each rule; filled where most signs flip with a batch.

    `longer` are runs of more epochs, diamonds; `start` is the size before training.  A weight that has diverged is a
    cross above.
    """
    decays = {float(decay): place for place, decay in enumerate(runs.decay.values)}
    for ax, rule in zip(axes, runs.rule.values, strict=True):
        _sizes(ax, runs.sel(rule=rule), decays, "o", -0.12)
        if rule in longer.rule.values:
            _sizes(ax, longer.sel(rule=rule), decays, "D", 0.2)
        for decay, place in decays.items():
            alone = float(runs["size"].sel(rule=rule, decay=decay, pull="decay alone").median())
            if np.isfinite(alone):
                ax.plot(place - 0.12, max(alone, LOWEST), "_", ms=15, mew=1.5, color=figures.COLOURS["null"], zorder=1)
            if law := _law(str(rule), decay):
                ax.plot([place - 0.45, place + 0.45], [law, law], ls=":", color=figures.PINK, lw=1.8, zorder=0)
        ax.axhline(start, color=figures.COLOURS["null"], lw=0.7, zorder=0)
        ax.set(yscale="log", ylim=(LOWEST / 2, 9), title=str(rule), xlim=(-0.6, len(decays) - 0.4))
        ax.set_xticks(list(decays.values()), [f"{decay:g}" for decay in decays], fontsize=7)


def _sizes(ax: Axes, runs: xr.Dataset, decays: Mapping[float, int], marker: str, aside: float) -> None:
    trained = runs.sel(pull="data and decay")
    for decay in trained.decay.values:
        one = trained.sel(decay=decay)
        size, flips, place = one["size"].values, one.flips.values, decays[float(decay)] + aside
        for of, face in ((flips >= 0.5, figures.BLUE), (flips < 0.5, "none")):
            ax.plot([place] * of.sum(), np.maximum(size[of], LOWEST), marker, ms=4, mfc=face, mec=figures.BLUE, ls="")
        ax.plot([place] * np.isinf(size).sum(), [3.0] * np.isinf(size).sum(), "x", ms=5, color=figures.COLOURS["live"])


def _law(rule: str, decay: float) -> float | None:
    """The size without a fitted constant, where there is one."""
    if rule == "AdaDelta":
        return float(weight_decay.law(20, decay)) if decay > decay_optimisers.EDGES[rule] else None
    return decay_optimisers.resting(rule, decay) or None if rule in decay_optimisers.RESTING and decay > 0 else None
