"""Pictures and the account of the theory: what holds a lone point down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from IPython.display import Markdown
from matplotlib.axes import Axes

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.theory import poor_cluster, wide_kernels
from shallow.book import figures
from shallow.book.figures import BLUE, ORANGE, PINK

#: Modes of the kernel, and what they do to the output.
SHAPES = {0: "shift", 1: "tilt", 2: "first bend", 5: "five changes of sign"}


def shapes(axes: Sequence[Axes]) -> None:
    """Four modes of the mean kernel at the start, and how many times slower than the first each is moved."""
    found = wide_kernels.spectrum(lambda x: wide_kernels.uniform(x).at(poor_cluster.WIDTH), 1 + max(SHAPES))
    for ax, (mode, name) in zip(axes, SHAPES.items(), strict=True):
        figures.clusters(ax, 3)
        ax.axhline(0, color="0.6", lw=0.8)
        ax.plot(found.nodes, found.functions[:, mode] * (-1 if mode else 1), color="k", lw=2)
        slower = float(f"{found.values[0] / found.values[mode]:.2g}")
        ax.set_title(f"{name}\n{f'{slower:,.0f} times slower' if mode else 'fastest'}", fontsize="medium")
        ax.set(xlabel="$x$", ylim=(-2.6, 2.6), yticks=[], xticks=[-0.5, 0, 0.5], xticklabels=["−1/2", "0", "1/2"])


def frames(axes: Sequence[Axes], places: poor_cluster.Places) -> None:
    """The exact output before, late in, and after its longest piece: a beam on its supports, with what pulls."""
    path, last = places.solve(), places.x[-1]
    piece = poor_cluster.longest(path)
    times = np.array([path.times[piece], 0.2 * path.times[piece] + 0.8 * path.times[piece + 1], path.times[-1]])
    outputs = path.at(times) * places.labels @ places.kernel(loss_curves.GRID)
    arrow = {"arrowstyle": "-|>", "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    names = ("held at two places", "lifted between them", "bent back")
    for ax, epochs, output, name in zip(axes, times / 1e-3, outputs, names, strict=True):
        figures.clusters(ax, places.periods)
        ax.plot(places.x[:-1], places.labels[:-1], "o", color="0.6", ms=5)
        ax.plot(last, places.labels[-1], "o", color=ORANGE, ms=7)
        ax.plot(loss_curves.GRID, output, color="k", lw=2)
        ax.set_title(f"{name},\nepoch {epochs if epochs < 10 else round(epochs, -2):,.0f}", fontsize="medium")
        ax.set(xlabel="$x$", ylim=(-3.6, 3.2), xticks=[-0.5, 0, 0.5], xticklabels=["−1/2", "0", "1/2"])
    for ax, output in zip(axes[:2], outputs[:2], strict=True):
        ax.plot(places.x[[0, 4]], [-1.35, -1.35], "^", color="k", ms=9)
        here = np.interp(places.x, loss_curves.GRID, output)
        for x, y in zip(places.x[[1, 3]], here[[1, 3]], strict=True):
            ax.annotate("", (x, y + 1.8), (x, y), arrowprops=arrow | {"color": BLUE})
        ax.annotate("", (last, here[-1] + 0.8), (last, here[-1]), arrowprops=arrow | {"color": ORANGE, "lw": 1.5})
    middle = np.interp(places.x[2], loss_curves.GRID, outputs[1])
    down = arrow | {"color": PINK}
    axes[1].annotate("", (places.x[2], middle - 1.8), (places.x[2], middle), arrowprops=down)
    axes[1].annotate("the end\ngoes down", (last, -2.7), (0.13, -3.2), fontsize="small", ha="center")
    for x, role in zip(places.x, ("support", "lifts", "middle", "lifts", "support", "lone"), strict=True):
        axes[0].text(x, -1.75, role, fontsize="small", rotation=90, ha="center", va="top")
    axes[0].text(0, 1.6, "ten points\neach pull up", fontsize="small", ha="center", color=BLUE)
    axes[0].text(0.5, 1.5, "one\npoint", fontsize="small", ha="right", color=ORANGE)
    axes[0].set_ylabel("output $f(x)$")


def balance() -> Markdown:
    """What moves the last cluster on the longest piece, its own points and all others: changes of f in 1000 epochs."""
    rows = []
    for points, name in ((1, "one"), (2, "two, and nine in the fourth")):
        places = poor_cluster.six(points)
        path = places.solve()
        pulls = poor_cluster.levers(places, path, poor_cluster.longest(path))[:, -1]
        moves = (pulls[-1], pulls[:-1].sum(), pulls.sum())
        rows.append([name, *(f"{move:+.2f}".replace("-", "\N{MINUS SIGN}") for move in moves)])
    return figures.table(["points in the last cluster", "its own points", "all others", "together"], rows)


def exact_losses(ax: Axes, places: poor_cluster.Places, epochs: int = 25_000) -> None:
    """The exact test loss of the clusters by their roles, and the mean of all."""
    found = poor_cluster.curves(places, epochs=epochs, every=20)
    for clusters, colour, style, label in (
        ([5], ORANGE, "-", "the last cluster"),
        ([1, 3], BLUE, "--", "the lifting clusters"),
        ([2], PINK, ":", "the middle cluster"),
        ([0, 4], "0.5", "-.", "the supports"),
    ):
        loss = found.cluster_loss.sel(cluster=clusters).mean("cluster")
        ax.plot(found.epoch[1:], loss[1:], color=colour, ls=style, lw=1.5, label=label)
    ax.plot(found.epoch[1:], found.test_loss[1:], color="k", lw=2.5, label="mean of all six")
    ax.set(xscale="log", xlabel="training time in epochs", ylim=(0, 4.6))
    ax.set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
