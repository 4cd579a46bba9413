"""Drawings of the chapter, for its pages alone: on the axes that they are given; one figure."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.simplicity_bias import laboratory
from shallow.book import figures
from shallow.data.teachers import NOISE


def with_test(ends: xr.Dataset) -> xr.Dataset:
    """The losses at the end of runs: train, test, ols and ols_test, from excess risks."""
    return ends[["train", "ols"]].assign(test=ends.excess + NOISE, ols_test=ends.ols_excess + NOISE)


def against_size(ax: Axes, ends: xr.Dataset) -> None:
    """Training and test loss against n: draws as points, medians as lines; least squares dotted, the noise dashed."""
    for name, other, marker in (("train", "ols", "o"), ("test", "ols_test", "s")):
        colour = figures.COLOURS[name]
        ax.plot(ends.n, ends[name].transpose("n", "seed"), marker, color=colour, ms=2.5, mfc="none", mew=0.7)
        ax.plot(ends.n, ends[name].median("seed"), color=colour, lw=1.3, label=f"{name} loss")
        ax.plot(ends.n, ends[other].median("seed"), ":", color=colour, lw=1)
    ax.axhline(NOISE, color="k", ls="--", lw=0.8)
    ax.set(xscale="log", yscale="log", xlabel="samples $n$", ylabel="mean square")
    ax.set_yticks(np.logspace(-12, 0, 5))


def cut_group(axes: Sequence[Axes]) -> None:
    """A sketch on two axes: a group of neurons beside the hyperplane of a sample, and cut by it."""
    degrees = np.linspace(-14, 14, 8)
    for ax, hyperplane, title in zip(axes, (24, 0), ("beside the group", "through the group"), strict=True):
        for angle in np.radians(degrees):
            tip = np.cos(angle), np.sin(angle)
            felt = hyperplane == 0 and angle > 0
            ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": "#D55E00" if felt else "#0072B2"})
            if felt:
                pushed = tip[0] - 0.03, tip[1] + 0.09
                ax.annotate("", pushed, tip, arrowprops={"arrowstyle": "->", "color": "0.3", "lw": 0.8})
        line = np.radians(hyperplane)
        ax.plot([0, 1.15 * np.cos(line)], [0, 1.15 * np.sin(line)], "k--", lw=1)
        ax.set(xlim=(0, 1.2), ylim=(-0.28, 0.5), aspect="equal", title=title)
        ax.title.set_fontsize("medium")
        ax.set_axis_off()


def first_preset() -> Figure:
    """The laboratory's first preset as a figure, for readers without scripts: the neurons, and how they gather."""
    *_, chosen = laboratory.PRESETS[0]
    values, network = laboratory.train(chosen)
    start = laboratory.draw(chosen).network
    figure = plt.figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.add_subplot(121, projection="polar"), figure.add_subplot(122)
    for one, style in ((start, {"alpha": 0.35, "ms": 3}), (network, {"ms": 4})):
        length = 1 + np.log10(np.abs(one.v) * np.linalg.norm(one.W, axis=1)) / 9
        angle = np.arctan2(one.W[:, 1], one.W[:, 0])
        for sign, colour in ((1, "#0072B2"), (-1, "#D55E00")):
            left.plot(angle[sign * one.v > 0], length[sign * one.v > 0], "o", color=colour, **style)
    left.set(yticks=[], ylim=(0, 1))
    steps = laboratory.log_spaced(chosen["steps"], laboratory.DECADE)
    right.loglog(steps[1:], values["groups"][1:], color="#0072B2", label="groups of neurons")
    right.loglog(steps[1:], values["distance"][1:], "--", color="#D55E00", label="distance from the two fits")
    right.set(xlabel="step", ylim=(1e-16, 200))
    right.legend()
    return figure
