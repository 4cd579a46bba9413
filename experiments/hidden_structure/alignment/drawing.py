"""Drawings of what a network knows along its training, for the chapter's story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.alignment import rules
from experiments.hidden_structure.alignment.who_leads import solved
from experiments.hidden_structure.polynomials import Problem
from shallow.book import figures
from shallow.mlp import Stack

#: Learners of the record who_leads that are shown: colour, line and name.
SHOWN = {
    "network": (figures.COLOURS["live"], "o-", "network"),
    "output, all": (figures.GREEN, "s--", "output weights solved anew"),
    "full": (figures.BLUE, "D-.", "tangent machine"),
    "dealt": (figures.COLOURS["null"], "x:", "tangent machine, random signs"),
}


def answers(ax: Axes, task: Problem, network: Stack, degree: int = 7, C: float = 1000.0) -> None:
    """Test points against v: what a network says, and what it would with its output weights solved anew."""
    train, test = task.rows["train"], task.rows["test"]
    hidden = network.features(task.x)[0].astype(np.float64)
    hidden = np.column_stack([hidden / np.sqrt((hidden[train] ** 2).sum(axis=1).mean()), np.ones(len(hidden))])
    weights = solved(hidden[train], task.y[train], C, np.zeros(hidden.shape[1]))
    grid, look = np.linspace(-1.4, 1.4, 400), {"ls": "none", "marker": ".", "mew": 0, "rasterized": True}
    ax.plot(grid, hidden_index.polynomial(degree)(grid), color=figures.COLOURS["null"], lw=3, label="to be learned")
    told = {"network": network.forward(task.x[test])[0].ravel(), "output, all": hidden[test] @ weights}
    for learner, values in told.items():
        colour, _, name = SHOWN[learner]
        ax.plot(task.v[test], values, ms=2.6, color=colour, **look)
        ax.plot([], [], "o", ms=4, color=colour, label=name)
    ax.set(xlabel="sum of the inputs, $v$", ylabel="output", xlim=(-1.25, 1.25), ylim=(-1.7, 1.7))


def in_order(axes: Sequence[Axes], found: Mapping[int, Mapping[str, np.ndarray]], turned: float = 0.5) -> None:
    """Alignments (unit,) of all neurons in falling order, a panel for each degree, a line for each moment."""
    for ax, (degree, moments) in zip(axes, found.items(), strict=True):
        for (name, values), colour, style in zip(
            moments.items(), (figures.COLOURS["null"], figures.BLUE, figures.ORANGE), (":", "--", "-"), strict=True
        ):
            order = np.sort(values[np.isfinite(values)])[::-1]
            ax.plot(100 * (np.arange(len(order)) + 0.5) / len(order), order, style, color=colour, lw=1.8, label=name)
        ax.axhline(turned, color="k", lw=0.8)
        ax.set(title=f"degree {degree}", xlabel="neurons in order (%)", xlim=(0, 100), ylim=(0, 1.02))
    axes[0].set_ylabel("alignment")


def depends(ax: Axes, paths: xr.Dataset, outputs: xr.Dataset, degree: int = 7) -> None:
    """By epoch: share of the output's variance that is a function of v, and share of neurons that have turned."""
    epochs = rules.epochs_of(paths)
    aligned = paths.path_aligned.sel(epoch=epochs).transpose("epoch", "run")
    share = outputs.share.sel(degree=degree).transpose("epoch", "run")
    _runs(ax, share, figures.COLOURS["live"], "o-")
    ax.plot(epochs, aligned, "-", color=figures.ORANGE, lw=0.6, alpha=0.6)
    ax.plot(epochs, aligned.median("run"), "--", color=figures.ORANGE, lw=1.8)
    ax.text(5.5, 0.84, "output that depends on $v$ alone", fontsize="small")
    ax.text(5.5, 0.33, "neurons that have turned", fontsize="small", color=figures.ORANGE)
    ax.set(xlabel="epoch", ylabel="share", xlim=(-0.4, 20.4), ylim=(-0.04, 1.05))


def machines(ax: Axes, parts: xr.Dataset) -> None:
    """By epoch: R_c of the network, of its output weights solved anew and of tangent machines."""
    inside = parts.r2.sel(range="bulk")
    for learner, (colour, style, name) in SHOWN.items():
        _runs(ax, inside.sel(learner=learner).transpose("epoch", "run"), colour, style, label=name)
    ax.set(xlabel="epoch", ylabel="$R_c$", xlim=(-0.4, 20.4), ylim=(-0.15, 1.05))


#: Targets of the record other_target: colour, line and name.
TARGETS = {
    "own": (figures.GREEN, "s--", "output weights solved anew"),
    "shifted": (figures.PINK, "v-.", "the same, another polynomial"),
    "other direction": (figures.COLOURS["null"], "x:", "the same, another direction"),
}


def anew(ax: Axes, parts: xr.Dataset, others: xr.Dataset) -> None:
    """By epoch: R_c of the network, and of its hidden layer with output weights solved for each of the targets."""
    colour, style, name = SHOWN["network"]
    network = parts.r2.sel(range="bulk", learner="network").transpose("epoch", "run")
    _runs(ax, network, colour, style, label=name)
    for target, (colour, style, name) in TARGETS.items():
        _runs(ax, others.r2.sel(target=target).transpose("epoch", "run"), colour, style, label=name)
    ax.set(xlabel="epoch", ylabel="$R_c$", xlim=(-0.4, 20.4), ylim=(-0.15, 1.05))


def _runs(ax: Axes, values: xr.DataArray, colour: str, style: str, **options) -> None:
    """Every run (epoch, run) as an open mark, and the median as a line."""
    ax.plot(values.epoch, values, style[0], ms=2.5, mfc="none", alpha=0.5, color=colour)
    ax.plot(values.epoch, values.median("run"), style, ms=3.5, lw=1.4, color=colour, **options)


def by_loss(ax: Axes, steps: xr.DataArray, last: int) -> None:
    """Steps (target, loss, run) until neurons have turned, a dot for each run; those that never do are at `last`."""
    colours = {"absolute": figures.BLUE, "Huber": figures.GREEN, "squared": figures.ORANGE}
    colours = {loss: colours[loss] for loss in steps.loss.values}
    for row, target in enumerate(steps.target.values):
        for shift, (loss, colour) in zip(np.linspace(-0.2, 0.2, len(colours)), colours.items(), strict=True):
            values = steps.sel(target=target, loss=loss).fillna(last).values
            label = None if row else f"{loss} error"
            ax.plot(values, np.full(len(values), row + shift), "o", color=colour, ms=4, mfc="none", label=label)
    ax.set_yticks(range(steps.sizes["target"]), steps.target.values)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="steps until two neurons in a hundred have turned (250 are an epoch)")
    figures.log_ticks(ax.xaxis)
