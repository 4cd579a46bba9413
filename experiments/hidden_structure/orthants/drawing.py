"""What the page on the empty orthant draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import shells
from experiments.hidden_structure.drawing import ELSEWHERE, EMPTY
from experiments.hidden_structure.orthants import rate_time_noise
from shallow import stats
from shallow.book import figures

CLASS_0, CLASS_1 = "#D55E00", "#009E73"  # the document's red and green, apart for all eyes


def points_of_shells(ax: Axes, dimension: int, per_class: int = 60) -> None:
    """Figure 1 of the document: all orthants of two or three dimensions, the one that is left out faded."""
    rng = stats.stream("hidden structure", "picture", dimension)
    points = shells.sample(rng, np.full(2**dimension, per_class))
    for label, colour, marker in ((0, CLASS_0, "o"), (1, CLASS_1, "^")):
        for absent in (False, True):
            chosen = (points.label == label) & ((points.orthant == 2**dimension - 1) == absent)
            name = None if absent else f"class {label}"
            look = {"marker": marker, "color": colour, "alpha": 0.2 if absent else 0.9, "s": 5, "lw": 0}
            ax.scatter(*points.x[chosen].T, label=name, **look)
    names = [f"$x_{i + 1}$" for i in range(dimension)]
    if dimension == 2:
        ax.set(xlabel=names[0], ylabel=names[1], aspect="equal", xlim=(-7, 7), ylim=(-7, 7))
        return
    ax.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4], zticks=[-4, 0, 4])
    for axis, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), names, strict=True):
        axis.set_label_text(name)
        axis.labelpad = -8
    ax.tick_params(pad=-3)


#: What is emptied beside the empty orthant (`orthant_sweeps.AROUND`), in words, with colour and marker.
EMPTIED = {
    "none": ("nothing else", "k", "o"),
    "others": ("28 others", ELSEWHERE, "s"),
    "neighbours": ("7 neighbours", EMPTY, "^"),
    "two planes": ("all 28 within two planes", "#CC79A7", "v"),
}


def reach(ax: Axes, runs: Mapping[int, xr.Dataset]) -> None:
    """Accuracy in the empty orthant of every run and its means, by network and by what else is empty; runs by width."""
    networks = sorted((int(depth), width) for width, one in runs.items() for depth in one.depth.values)
    for k, (removed, (name, colour, marker)) in enumerate(EMPTIED.items()):
        for place, (depth, width) in enumerate(networks):
            values, at = runs[width].empty.sel(removed=removed, depth=depth).values, place + 0.21 * (k - 1.5)
            look = {"color": colour, "marker": marker, "ls": "none"}
            ax.plot(at + figures.swarm(values, 0.02, step=0.03, half=0.08), values, ms=3.2, alpha=0.6, **look)
            name = "28 within two sign changes" if removed == "two planes" else name
            ax.plot(at, values.mean(), ms=8, mfc="none", mew=1.4, label=None if place else name, **look)
    ax.axhline(0.5, color="k", ls=":", lw=0.8)
    plural = {depth: "layer" if depth == 1 else "layers" for depth, _ in networks}
    ax.set_xticks(
        range(len(networks)), [f"{depth} hidden {plural[depth]}\n{width} neurons" for depth, width in networks]
    )
    ax.set(ylabel="accuracy in the empty orthant")
    ax.set_ylim(0.46, 1.03)
    ax.grid(False, axis="x")
    ax.legend(fontsize="small", title="also empty", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))


def nearby(axes: Sequence[Axes], fewer: xr.Dataset, one: np.ndarray, around: xr.Dataset) -> None:
    """Accuracy in the empty orthant of every run when others are empty too: three layers on the left, one on the right.

    Args:
        fewer: the record orthant_neighbours, last weights; one: the same runs with one empty orthant, (run,).
        around: the record orthant_reach, last weights, of one hidden layer.
    """
    seven = fewer.empty.sel(removed=7)
    three = {
        "nothing\nelse": ("none", one),
        "7 at\nrandom": ("others", seven.sel(kind="random").values),
        "7\nneighbours": ("neighbours", seven.sel(kind="neighbours").values),
    }
    names = ("nothing\nelse", "28\nothers", "7\nneighbours", "28\nnearest")
    single = {name: (key, around.empty.sel(removed=key).values) for name, key in zip(names, EMPTIED, strict=True)}
    for ax, columns, title in zip(axes, (three, single), ("three hidden layers", "one hidden layer"), strict=True):
        for place, (key, values) in enumerate(columns.values()):
            _, colour, marker = EMPTIED[key]
            at = place + figures.swarm(values, 0.02, step=0.07, half=0.4)
            ax.plot(at, values, ls="none", marker=marker, ms=5, alpha=0.6, color=colour)
        ax.axhline(0.5, color="k", ls="--", lw=0.8)
        ax.set_xticks(range(len(columns)), columns)
        ax.set(title=title, xlabel="also empty", xlim=(-0.5, len(columns) - 0.5), ylim=(0.45, 1.03))
        ax.grid(False, axis="x")
    axes[0].set_ylabel("accuracy in the empty orthant")


def by_noise(ax: Axes, found: xr.Dataset) -> None:
    """Accuracy in the empty orthant at the end of training, a dot for each run, by rate and batch.

    In the order of the noise of a step, rate over root of the batch, relative to that of the first setting.
    """
    first = rate_time_noise.SETTINGS["high rate"]
    noise = {
        name: one.rate / first.rate * (first.batch / one.batch) ** 0.5 for name, one in rate_time_noise.SETTINGS.items()
    }
    labels = []
    for place, name in enumerate(sorted(noise, key=lambda name: round(noise[name], 1))):
        ends = found.empty.sel(setting=name).dropna("epoch", how="all").isel(epoch=-1).values
        colour = figures.BLUE if noise[name] > 0.9 else figures.ORANGE
        at = place + figures.swarm(ends, 0.015, step=0.08, half=0.36)
        ax.plot(at, ends, "o", ms=4, mfc="none", color=colour)
        rate, batch, _ = rate_time_noise.SETTINGS[name]
        labels.append(f"{rate:.2g}\n{batch}\n{noise[name]:.1f}")
    ax.axhline(0.5, color="k", ls="--", lw=1)
    ax.set(xlim=(-0.5, len(labels) - 0.5), ylim=(0.45, 1.02))
    ax.set_xticks(range(len(labels)), labels)
    ax.annotate(
        "rate\nbatch\nnoise",
        (0, 0),
        (-8, -7),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize="medium",
    )
