"""Figures on why the bulk widens: the law after one step, two surgeries, and the parts of the width after ten."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.heavy_tails import drawing, teacher_student
from experiments.heavy_tails.drawing import ADAM
from experiments.heavy_tails.first_update import bulk
from experiments.heavy_tails.route import rules, widening
from shallow import stats
from shallow.book import figures
from shallow.spectra import esd, tails
from shallow.spectra.profiles import ProfileLaw

GREY, GREEN = "0.45", "#009E73"


def law_line(ax, law: ProfileLaw, share: float = 1.0, **look) -> None:
    """Density of a law per decade, on the logarithm of the eigenvalue."""
    x, density = law.density
    shown = density > 1e-3 * (density * x).max() / x
    ax.plot(np.log10(x[shown]), share * (density * x)[shown] * np.log(10), **look)


def first_bulk(rates: Sequence[float] = (1.0, 10.0)) -> Figure:
    """Spectra of one draw after one step of Adam, with the law of their bulk, in which nothing is fitted."""
    drawn = teacher_student.draw(0)
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    for ax, rate, student in zip(axes, rates, teacher_student.after_one_step(drawn, "Adam code", rates)):
        values = esd.eigenvalues(student.W)
        counts, edges = np.histogram(np.log10(values[1:]), 60, density=True)
        ax.stairs(counts, edges, fill=True, color=drawing.AFTER, alpha=0.5)
        law_line(ax, bulk.law(rate, 2000, 1000, 1500), color="k", lw=1.3)
        ax.plot(np.log10(values[0]), 0.03, "v", color=drawing.AFTER, ms=5, transform=ax.get_xaxis_transform())
        ax.set(title=f"Adam {rate:g}, one step", xlabel=r"$\log_{10}$ eigenvalue")
    axes[0].set_ylabel("density")
    return figure


def causes(by_run: dict[str, xr.Dataset], whitened: xr.Dataset) -> Figure:
    """Exponents of Adam at 1 with the data's covariance taken out, beside their nulls; parts of the fall of runs."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3), layout="constrained", width_ratios=[1.25, 1])
    taken = {"nothing": by_run["Adam 1"].sel(power=1.0), "wrong residuals": "permuted residuals"}
    taken |= {"equal points": "equal", "own residuals": "residuals"}
    for place, one in enumerate(taken.values()):
        hill = (whitened.sel(weights=one) if isinstance(one, str) else one).hill_excl
        for shift, form, marker, colour in ((-0.1, "whole", "o", ADAM), (0.1, "permuted", "s", GREY)):
            label = {"whole": "as it is", "permuted": "null"}[form] if not place else None
            where = np.full(hill.sizes["seed"], place + shift)
            left.plot(where, hill.sel(form=form), marker, color=colour, ms=3.5, label=label)
    left.axhline(rules.NOISE, color="0.4", ls="--", lw=0.8)
    left.set_xticks(range(4), [name.replace(" ", "\n") for name in taken], fontsize="small")
    left.set(ylabel="exponent", title="Adam 1, covariance taken out", xlim=(-0.5, 3.5))
    left.legend(fontsize="small", loc="center left", bbox_to_anchor=(0, 0.42))
    base = np.zeros(len(by_run))
    for part, colour in (("columns", GREY), ("inputs", GREEN), ("rest", "0.8")):
        height = [
            widening.shares(record, rules.NOISE)[part].estimate
            * float(widening.falls(record, rules.NOISE)["whole"].mean())
            for record in by_run.values()
        ]
        name = {"columns": "columns", "inputs": "inputs, points equal", "rest": "rest"}[part]
        right.bar(np.arange(len(by_run)), height, 0.6, base, color=colour, label=name)
        base += height
    right.set_xticks(range(len(by_run)), [name.replace(" ", "\n") for name in by_run], fontsize="small")
    right.set(ylabel="fall of the exponent", title="parts, plain runs")
    right.legend(fontsize="x-small")
    for ax in (left, right):
        ax.title.set_fontsize("medium")
    return figure


def without_spike(W: np.ndarray) -> np.ndarray:
    """W less its leading singular pair, in double precision."""
    W = W.astype(float)
    u, s, v = (part[..., 0] for part in esd.top(W))
    return W - s * np.outer(u, v)


def columns(axes: Sequence[Axes], W: np.ndarray, step: np.ndarray, a: np.ndarray, shown: tuple[int, int]) -> None:
    """Signs of a first step of Adam for some neurons and coordinates, and below them the sizes of the columns after it.

    Rows carry the sign of their neuron's output weight; coordinates are in the order of the mean sign over all neurons.
    A size is the mean square of a column of W, as it is and without its leading singular pair.
    """
    signs = np.sign(step) * np.sign(a)[:, None]
    mean = signs.mean(axis=0)
    chosen = np.argsort(mean)[np.linspace(0, len(mean) - 1, shown[1]).astype(int)]
    above, below = axes
    above.imshow(signs[: shown[0], chosen], cmap="RdBu", vmin=-2, vmax=2, aspect="auto")
    above.set(xticks=[], yticks=[], ylabel="neurons")
    for place, name in ((0.1, "all agree"), (0.5, "half up, half down"), (0.9, "all agree")):
        above.text(place, 1.03, name, transform=above.transAxes, ha="center", fontsize="small")
    whole, bulk = (np.square(one[:, chosen], dtype=float).mean(axis=0) for one in (W + step, without_spike(W + step)))
    below.bar(np.arange(shown[1]), bulk, 0.8, color=GREY, label="without the spike")
    below.plot(whole, "o", color=ADAM, ms=4, label="with the spike")
    below.axhline(1, color="k", ls="--", lw=0.9, label="before the step")
    below.set(xlim=(-0.5, shown[1] - 0.5), xticks=[], yticks=[0, 1, 2], ylim=(0, 2.15), ylabel="mean square")
    below.set_xlabel("coordinates of the input")
    for ax in axes:
        ax.grid(False)


def cloud(axes: Sequence[Axes], x: np.ndarray, residuals: np.ndarray, weights: dict[str, np.ndarray]) -> None:
    """Weighted inputs r_j x_j along the directions of farthest and least reach; mean squares of weights by the reach.

    The reach is the root mean square along an eigenvector of the weighted inputs, in units of that of all residuals; a
    round cloud has 1 everywhere.  The weights are without their leading singular pairs, and the first eigenvector, in
    which the first step has its spike, is left out.
    """
    weighted = x * residuals[:, None].astype(float) / np.sqrt(np.square(residuals).mean())
    values, vectors = (part[..., :-1] for part in np.linalg.eigh(weighted.T @ weighted / len(x)))
    left, right = axes
    left.plot(*(weighted @ vectors[:, [-1, 0]]).T, ".", color=drawing.AFTER, ms=2.5, alpha=0.5)
    left.set(xlabel="direction of farthest reach", ylabel="of least reach", xlim=(-8, 8), ylim=(-8, 8), aspect="equal")
    left.set(xticks=[-5, 0, 5], yticks=[-5, 0, 5])
    for (name, W), colour in zip(weights.items(), ("0.55", ADAM), strict=True):
        squares = np.square(without_spike(W) @ vectors).mean(axis=0)
        right.plot(np.sqrt(values), squares, ".", color=colour, ms=3, label=name)
    right.axvline(1, color="k", ls="--", lw=0.9)
    right.set(xlabel="reach of the cloud in a direction", ylabel="mean square of the weights", yscale="log")
    right.set_ylim(0.8, 100)
    figures.log_ticks(right.yaxis)


def left(ax: Axes, shares: dict[int, dict[str, stats.Interval]]) -> None:
    """Pairs of bars: the share of the fall that is left when something is taken away, by the number of samples."""
    for shift, (n, found), colour in zip((-0.2, 0.2), shares.items(), (ADAM, "0.6"), strict=True):
        for place, one in enumerate(found.values()):
            ax.barh(place + shift, 100 * one.estimate, 0.38, color=colour, label=None if place else f"{n} samples")
            ax.text(100 * one.estimate + 1, place + shift, f"{100 * one.estimate:.0f}", va="center", fontsize="x-small")
    ax.set_yticks(range(len(found)), list(found), fontsize="small")
    ax.set(xlabel="fall of the exponent that is left, %", ylim=(len(found) - 0.4, -0.6), xlim=(0, 100))
    ax.set_title("taken away:", loc="left", x=-0.02, ha="right", fontsize="medium")
    ax.legend(fontsize="small", loc="center right")
    ax.grid(False, axis="y")


def by_errors(ax: Axes, labelled: xr.Dataset, replaced: xr.Dataset) -> None:
    """Exponent of the bulk after ten steps of Adam, a dot for each draw: three kinds of labels, then of errors."""
    rows = {
        f"{name} labels": [tails.hill(values[1:]) for values in labelled.sel(labels=kind).eigenvalues.values]
        for kind, name in (("true", "true"), ("permuted", "shuffled"), ("zero", "zero"))
    }
    rows |= {
        name: replaced.hill_excl.sel(errors=kind, form="whole").values
        for kind, name in (("noise, one size", "fresh noise"), ("one noise", "the same noise"))
    }
    for row, values in enumerate(rows.values()):
        colour = ADAM if row > 2 else drawing.AFTER
        ax.plot(values, row + figures.swarm(values, 0.004, step=0.12, half=0.3), "o", ms=3.5, mfc="none", color=colour)
    ax.axvline(rules.NOISE, color="k", ls="--", lw=1)
    ax.set_yticks(range(len(rows)), rows, fontsize="small")
    ax.invert_yaxis()
    ax.set(xlabel="exponent after ten steps", xlim=(1.75, 2.5))
