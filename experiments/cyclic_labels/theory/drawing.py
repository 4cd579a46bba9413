"""Figures of the theory: what holds a lone point down."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.theory import poor_cluster
from shallow.book import figures
from shallow.book.figures import BLUE, ORANGE, PINK


def exact_outputs(ax: Axes, places: poor_cluster.Places) -> None:
    """The exact output at both ends of the longest piece before the last place is at its worst, and at the end."""
    path = places.solve()
    piece = poor_cluster.longest(path)
    outputs = path.coefficients * places.labels @ places.kernel(loss_curves.GRID)
    figures.clusters(ax, places.periods)
    for corner, style in ((piece, ":"), (piece + 1, "--"), (len(path.times) - 1, "-")):
        epochs = path.times[corner] / 1e-3
        label = f"epoch {epochs:.0f}" if epochs < 10 else f"epoch {round(epochs, -2):.0f}"
        ax.plot(loss_curves.GRID, outputs[corner], ls=style, color="k", lw=1.3, label=label)
    for sign, marker in ((1, "^"), (-1, "v")):
        at = places.labels == sign
        ax.plot(
            places.x[at], places.labels[at], marker, color=figures.COLOURS["label_plus" if sign > 0 else "label_minus"]
        )
    ax.set(xlabel="$x$", ylabel="output $f(x)$")
    ax.legend(fontsize="small")


def exact_losses(ax: Axes, places: poor_cluster.Places, epochs: int = 25_000) -> None:
    """The exact test loss by cluster against the epoch, and its mean."""
    found = poor_cluster.curves(places, epochs=epochs, every=20)
    for cluster, colour, style, label in (
        (5, ORANGE, "-", "the last, with the lone point"),
        (1, BLUE, "--", "those of its label"),
        (3, BLUE, "--", None),
        (2, PINK, ":", "the one between them"),
        (0, "0.6", "-.", "the supports"),
        (4, "0.6", "-.", None),
    ):
        loss = found.cluster_loss.sel(cluster=cluster)
        ax.plot(found.epoch[1:], loss[1:], color=colour, ls=style, lw=1.3, label=label)
    ax.plot(found.epoch[1:], found.test_loss[1:], color="k", lw=2, label="mean of all")
    ax.set(xscale="log", xlabel=r"training time in epochs of $\eta = 0.001$", ylabel="test loss", ylim=(0, 5))
    ax.legend(fontsize="small", loc="upper left", ncols=2)


def beam(ax: Axes, places: poor_cluster.Places) -> None:
    """What the lone point and all other unfitted points do to the output on that piece, in 1000 epochs of 0.001."""
    path = places.solve()
    piece = poor_cluster.longest(path)
    pulls = poor_cluster.levers(places, path, piece, loss_curves.GRID)
    act = path.acting[piece]
    held = (act > poor_cluster.CLOSE) & (act < 1 - poor_cluster.CLOSE)
    figures.clusters(ax, places.periods)
    ax.axhline(0, color="0.5", lw=0.8)
    ax.plot(loss_curves.GRID, pulls[:-1].sum(axis=0), color=BLUE, ls="--", label="all others")
    ax.plot(loss_curves.GRID, pulls[-1], color=ORANGE, label="the lone point")
    ax.plot(places.x[held], np.zeros(held.sum()), "k^", ms=8, label="supports")
    ax.set(xlabel="$x$", ylabel="change of $f$ in 1000 epochs")
    ax.legend(fontsize="small")
