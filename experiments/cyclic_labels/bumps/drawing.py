"""Figures of bumps: by how points are spread, in random data, and by the step."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.cyclic_labels.bumps import lever, roles, rules, undersampling
from experiments.cyclic_labels.theory import poor_cluster
from shallow import stats
from shallow.book import figures
from shallow.book.figures import BLUE, GREEN, ORANGE, PINK

NAMES = {
    "iid": "drawn at random",
    "strat": "even",
    "poor(5,1)": "one in the last cluster",
    "poor(5,2)": "two in the last cluster",
    "poor(2,1)": "one in an inner cluster",
    "poor(2,2)": "two in an inner cluster",
}


def designs(looked: xr.Dataset) -> Figure:
    """Shares of runs in small steps with a bump by design, of the record `looked_at_from`; orange: a lone point."""
    fig, ax = plt.subplots(figsize=(5.6, 2.5), layout="constrained")
    kinds = ["poor(5,1)", "poor(2,1)", "poor(5,2)", "poor(2,2)", "strat"]
    rows = np.arange(len(kinds))
    at = looked.sel(refinement=10, start=500)
    shares = [stats.wilson(at.diverging.sel(design=d).values > 0) for d in kinds]
    for row, kind, share in zip(rows, kinds, shares, strict=True):
        colour = ORANGE if kind.endswith(",1)") else "k"
        ax.hlines(row, share.low, share.high, color=colour)
        ax.plot(share.estimate, row, "o", color=colour, ms=5)
    ax.set_yticks(rows, [NAMES[d] for d in kinds])
    _ = ax.set(xlabel="share of runs with a bump", xlim=(-0.02, 0.62), ylim=(len(kinds) - 0.5, -0.5))
    return fig


LIFTED = ((1, "o", ORANGE, "one point"), (2, "s", BLUE, "two"))  # points in the last cluster, and their looks


def _lifted(lifted: xr.Dataset, points: int) -> list[stats.Interval]:
    flags = lifted.diverging.sel(points=points).transpose("lifters", "seed").values > 0
    return [stats.wilson(each) for each in flags]


def three_tests(moved: xr.Dataset, whose: xr.Dataset) -> Figure:
    """Shares of runs with a bump by the place of the lone point, and by counts: the records `lever` and `roles`."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.1), sharey=True, layout="constrained", width_ratios=(2, 3))
    shares = [stats.wilson(flags) for flags in moved.diverging.transpose("at", "seed").values > 0]
    figures.errorbars(left, moved["at"], shares, fmt="o-", ms=5, color=ORANGE)
    left.set_xticks([0, 0.5, 1], ["border with\nthe fifth", "centre", "end of\nthe line"])
    left.set(ylabel="share of runs with a bump", ylim=(0, 1), xlim=(-0.05, 1.05))
    left.set_title("the lone point is moved", fontsize="medium")
    names = ["a lone\npoint", "a second\npoint", "fewer points\nthat lift", "more in\nthe middle"]
    for place, (counts, colour) in enumerate(zip(roles.COUNTS, (ORANGE, "k", BLUE, PINK), strict=True)):
        share = stats.wilson(whose.diverging.sel(counts=counts).values > 0)
        figures.errorbars(right, [place], [share], fmt="o", ms=6, color=colour)
    right.set_xticks(range(len(names)), names)
    right.set(xlim=(-0.5, len(names) - 0.5))
    right.set_title("points are moved to or from the first cluster", fontsize="medium")
    return fig


def lifters(lifted: xr.Dataset) -> Figure:
    """Shares of runs with a bump as points are shifted to those that lift, of the record `lifters`."""
    fig, ax = plt.subplots(figsize=(4.2, 3), layout="constrained")
    ax.axvspan(11, 14.4, color="0.93", lw=0, zorder=0)  # +1 has half of the points or more
    for points, marker, colour, label in LIFTED:
        figures.errorbars(
            ax, lifted.lifters, _lifted(lifted, points), fmt=f"{marker}-", ms=5, color=colour, label=label
        )
    ax.set(xlabel="points in each of the two lifting clusters", xticks=lifted.lifters, xlim=(5.6, 14.4))
    ax.set(ylabel="share of runs with a bump", ylim=(0, 1))
    ax.legend(fontsize="small", title="in the last cluster", title_fontsize="small", loc="upper left")
    return fig


def climbs(moved: xr.Dataset, lifted: xr.Dataset) -> Figure:
    """The same shares against the climb of the mean loss on the exact path with the same counts and places."""
    fig, ax = plt.subplots(figsize=(3.6, 3), layout="constrained")
    shares = [stats.wilson(flags) for flags in moved.diverging.transpose("at", "seed").values > 0]
    exact = [lever.exact_climb(poor_cluster.six(at=float(at))) for at in moved["at"]]
    figures.errorbars(ax, exact, shares, fmt="^", ms=4, color=GREEN, label="one point, moved")
    for points, marker, colour, label in LIFTED:
        exact = [lever.exact_climb(lever.exact_lifted(int(lifters), points)) for lifters in lifted.lifters]
        figures.errorbars(ax, exact, _lifted(lifted, points), fmt=marker, ms=4, color=colour, label=label)
    ax.set(xlabel="climb of the exact path", ylabel="share of runs with a bump", ylim=(0, 1))
    ax.legend(fontsize="small", loc="upper left")
    return fig


def random_sets(random: xr.Dataset) -> Figure:
    """Bumps of random sets in small steps, of the record `random_data`: by where lone points are, and by size."""
    fig, (places, bars) = plt.subplots(1, 2, figsize=(7.6, 3.1), layout="constrained", width_ratios=(0.8, 1))
    shares = rules.by_place(rules.from_start(random, 20, 10))
    for place, (share, colour) in enumerate(zip(shares.values(), ("0.45", ORANGE, ORANGE, "k"), strict=True)):
        figures.errorbars(places, [place], [share], fmt="o", color=colour, ms=5)
    names = ["empty\ncluster", "lone point\nat an end", "lone point\nonly inside", "neither"]
    places.set_xticks(range(4), names, fontsize="small")
    places.set(ylabel="share of sets with a bump", ylim=(0, 1.02), xlim=(-0.5, 3.5))
    places.set_title("sets of twenty", fontsize="medium")
    runs = rules.from_start(random, slice(None), 10)
    own, bump = runs["count"].sel(place=runs.cluster.astype(int)), runs.diverging > 0
    sizes, low = random.n.values, np.zeros(random.n.size)
    for flags, colour, hatch, label in (
        (own == 0, "0.45", "xxx", "bump in an empty cluster"),
        (own == 1, ORANGE, "", "at a lone point"),
        (own > 1, "0.75", "...", "in another cluster"),
    ):
        share = (bump & flags).mean("seed").values
        bars.bar(range(len(sizes)), share, bottom=low, color=colour, hatch=hatch, ec="white", lw=0, label=label)
        low = low + share
    law = [undersampling.smallest_count_law(int(n), 6)[:2].sum() for n in sizes]
    bars.plot(range(len(sizes)), law, "k.--", lw=1, ms=4, label="sets with an empty cluster\nor a lone point")
    bars.set_xticks(range(len(sizes)), sizes)
    bars.set(xlabel="points $n$", ylim=(0, 1.02))
    bars.set_title("all sizes", fontsize="medium")
    lines, labels = bars.get_legend_handles_labels()
    bars.legend(lines[1:] + lines[:1], labels[1:] + labels[:1], fontsize="small", loc="upper right")
    return fig


def small_steps(ax: Axes, small: xr.Dataset) -> None:
    """Shares of runs with a bump as a step is cut into parts, of the record `small_steps`."""
    looks = {"poor(5,1)": (ORANGE, "-"), "iid": ("0.5", "--"), "strat": ("k", "-.")}
    for number, (design, (colour, style)) in enumerate(looks.items()):
        flags = small.diverging.sel(design=design).transpose("refinement", "seed").values > 0
        found = [stats.wilson(each) for each in flags]
        at = small.refinement.values * 1.06 ** (number - 1)
        figures.errorbars(ax, at, found, marker="Dos"[number], ms=4, label=NAMES[design], color=colour, ls=style)
    _ = ax.set(xscale="log", xticks=[1, 3, 10, 30], xticklabels=["1", "3", "10", "30"])
    ax.minorticks_off()
    _ = ax.set(xlabel="parts $k$ of a step", ylabel="share of runs with a bump", ylim=(-0.03, 1.03))
    ax.legend(fontsize="small")
