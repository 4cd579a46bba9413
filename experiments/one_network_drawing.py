"""Drawings of the closing paper, "What five documents share", on the axes that they are given, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import one_network
from shallow import stats
from shallow.book import figures

#: The colour, by its name in the book, and the line of each instrument.
STYLES = {"matrix": ("test", "--"), "kernel": ("label_plus", "-."), "neurons": ("train", "-"), "loss": ("live", ":")}


def instruments(ax: Axes, one: xr.Dataset) -> None:
    """The four instruments of one run, or of a mean of runs, against time; no kernel where it hardly moves."""
    change = 1 - one.remaining / one.remaining.isel(time=0)
    curves = {"matrix": one.matrix, "kernel": change, "neurons": one.neurons, "loss": one.loss / one.loss.isel(time=0)}
    if one.remaining[0] < 0.05:  # as good as at rest
        del curves["kernel"]
    for name, values in curves.items():
        colour, line = STYLES[name]
        ax.plot(one.time[1:], values[1:], line, color=figures.COLOURS[colour], label=name)
    ax.axhline(0.5, color=figures.COLOURS["null"], lw=0.8)
    ax.set(xscale="log", xlim=(0.1, one_network.TIME), ylim=(-0.06, 1.05), xlabel="time")


def one_run(one: xr.Dataset) -> Figure:
    """A figure of :func:`instruments`."""
    fig, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    instruments(ax, one)
    ax.legend(fontsize="small", loc="center left")
    return fig


def triangles(ax: Axes, places: Mapping[str, float]) -> None:
    """Where something expects the marks, below the curves, in their colours."""
    for name, place in places.items():
        ax.plot(place, -0.03, "^", ms=6, color=figures.COLOURS[STYLES[name][0]], clip_on=False)


def after_one_step(ax: Axes, sizes: np.ndarray, after: np.ndarray) -> None:
    """Matrix and neurons, of shape (seeds, sizes, 2), against the size of the step: means and ranges over the seeds."""
    for k, name in enumerate(("matrix", "neurons")):
        colour, line = figures.COLOURS[STYLES[name][0]], STYLES[name][1]
        low, high = after[..., k].min(axis=0), after[..., k].max(axis=0)
        ax.fill_between(sizes, low, high, color=colour, alpha=0.2, lw=0)
        ax.plot(sizes, after[..., k].mean(axis=0), line, color=colour, label=name)
    ax.axhline(0.5, color=figures.COLOURS["null"], lw=0.8)
    ax.set(xscale="log", xlabel="size of the one step", ylabel="overlap with the pull", ylim=(-0.06, 1.05))
    ax.legend(fontsize="small")


def worth(ax: Axes, true: xr.Dataset, shuffled: xr.Dataset) -> None:
    """Test loss of networks, and of machines on the kernels of their moments, against time; means over the seeds."""
    true, shuffled = true.mean("seed"), shuffled.mean("seed")
    ax.plot(true.time[1:], true.test[1:], ":", color=figures.COLOURS["live"], label="network")
    for one, line, colour, name in ((true, "-", "label_plus", "true"), (shuffled, "--", "label_minus", "shuffled")):
        label = f"machine, kernel from {name} labels"
        ax.plot(one["at"][1:], one.machine[1:], line, color=figures.COLOURS[colour], label=label)
    ax.set(xscale="log", xlim=(0.1, one_network.TIME), ylim=(0, 1.1), xlabel="time")


def clocks(seeds: Sequence[int], scale: float, **labels: str) -> dict[str, np.ndarray]:
    """The clock's times by mark, of shape (seeds,), for the marks that do not come after that of the loss."""
    found = [one_network.clock(seed, scale, **labels) for seed in seeds]
    times = {name: np.array([one[name] for one in found]) for name in found[0]}
    return {name: values for name, values in times.items() if values.mean() <= times["loss"].mean()}


def worths(true: xr.Dataset, shuffled: xr.Dataset, early: int = 8) -> dict[str, stats.Interval]:
    """Test losses of machines, by the kernel that they use; `early` is one of the machines' records."""
    values = {
        "the first kernel": true.machine.isel(at=0),
        f"the kernel at time {float(true['at'][early]):.1f}": true.machine.isel(at=early),
        "the last kernel": true.machine.isel(at=-1),
        "the last kernel of shuffled labels": shuffled.machine.isel(at=-1),
    }
    return {name: stats.student(one.values) for name, one in values.items()}
