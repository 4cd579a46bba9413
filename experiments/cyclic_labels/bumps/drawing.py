"""Figures of bumps: by how points are spread, in random data, and by the step."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from experiments.cyclic_labels.bumps import lever, rules, undersampling
from experiments.cyclic_labels.theory import poor_cluster
from shallow import stats
from shallow.book import figures
from shallow.book.figures import BLUE, GREEN, ORANGE, PINK

NAMES = {
    "iid": "drawn uniformly",
    "strat": "even",
    "poor(5,1)": "one in the last",
    "poor(5,2)": "two in the last",
    "poor(2,1)": "one in an inner one",
    "poor(2,2)": "two in an inner one",
    "two_rightmost": "one and two in the last two",
}


def designs(looked: xr.Dataset, errors: xr.Dataset) -> Figure:
    """Shares of runs in small steps with a bump by design, of `looked_at_from`; loss beside errors, of `errors`."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained", width_ratios=(1.15, 1))
    kinds = ["poor(5,1)", "poor(2,1)", "two_rightmost", "poor(5,2)", "poor(2,2)", "strat"]
    rows = np.arange(len(kinds))
    at = looked.sel(refinement=10, start=500)
    shares = [stats.wilson(at.diverging.sel(design=d).values > 0) for d in kinds]
    left.hlines(rows, [s.low for s in shares], [s.high for s in shares], color=ORANGE)
    left.plot([s.estimate for s in shares], rows, "o", color=ORANGE, ms=4)
    left.set_yticks(rows, [NAMES[d] for d in kinds])
    _ = left.set(xlabel="share of runs with a bump", xlim=(-0.02, 1), ylim=(len(kinds) - 0.5, -0.5))
    found = errors.sel(design="poor(5,1)", refinement=10)
    found = found.isel(seed=found.diverging.values > 0)
    for number, (values, marker, colour, label) in enumerate(
        (
            (found.test_loss, "o", ORANGE, "test loss"),
            (found.error, "s", BLUE, "wrong labels"),
            (found.cluster_error.sel(place=5), "^", GREEN, "wrong labels, last cluster"),
        )
    ):
        low, middle, high = values.quantile([0.25, 0.5, 0.75], dim="seed").transpose("quantile", "moment").values
        at = np.arange(3) + 0.06 * (number - 1)
        right.errorbar(at, middle, [middle - low, high - middle], fmt=f"{marker}-", color=colour, ms=4, label=label)
    right.set_xticks(range(3), found.moment.values)
    _ = right.set(xlabel="test loss", ylim=(0, 1.65), xlim=(-0.3, 2.3))
    right.legend(fontsize="small", loc="upper right")
    return fig


def lever_and_lifters(moved: xr.Dataset, lifted: xr.Dataset) -> Figure:
    """Shares of runs with a bump by the place of the lone point, by who lifts, and by the climb of the exact path."""
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(7.6, 2.9), sharey=True, layout="constrained")
    shares = [stats.wilson(flags) for flags in moved.diverging.transpose("at", "seed").values > 0]
    climbs = [lever.exact_climb(poor_cluster.six(at=float(at))) for at in moved["at"]]
    figures.errorbars(left, moved["at"], shares, fmt="^-", ms=4, color=GREEN)
    figures.errorbars(right, climbs, shares, fmt="^", ms=4, color=GREEN)
    left.set_xticks([0, 0.5, 1], ["border", "centre", "end"])
    for points, marker, colour, label in ((1, "o", ORANGE, "one point"), (2, "s", BLUE, "two")):
        flags = lifted.diverging.sel(points=points).transpose("lifters", "seed").values > 0
        shares = [stats.wilson(each) for each in flags]
        climbs = [lever.exact_climb(lever.exact_lifted(int(lifters), points)) for lifters in lifted.lifters]
        figures.errorbars(middle, lifted.lifters, shares, fmt=f"{marker}-", ms=4, color=colour, label=label)
        figures.errorbars(right, climbs, shares, fmt=marker, ms=4, color=colour)
    left.set(xlabel="place of the lone point", ylabel="share of runs with a bump", ylim=(0, 1), xlim=(-0.05, 1.05))
    middle.set(xlabel="points in each lifting cluster", xticks=lifted.lifters)
    right.set(xlabel="climb of the exact path")
    middle.legend(fontsize="small", title="in the last cluster", title_fontsize="small", loc="upper left")
    return fig


def random_sets(random: xr.Dataset) -> Figure:
    """Bumps of random sets, of the record `random_data`: whose they are by size, and where the lone point is."""
    fig, axes = plt.subplots(1, 3, figsize=(7.6, 3.1), layout="constrained", width_ratios=(1, 1, 0.8))
    sizes = random.n.values
    law = [undersampling.smallest_count_law(int(n), 6)[:2].sum() for n in sizes]
    for ax, refinement, title in zip(axes, (10, 1), ("small steps", "ten times as long"), strict=False):
        runs = rules.from_start(random, slice(None), refinement)
        own = runs["count"].sel(place=runs.cluster.astype(int))
        bump, low = runs.diverging > 0, np.zeros(len(sizes))
        poor = own < xr.DataArray(sizes / 12, {"n": sizes})  # fewer than half of its share
        for flags, colour, hatch, label in (
            (own == 0, "0.45", "xxx", "no point"),
            (own == 1, ORANGE, "", "one"),
            (poor & (own > 1), PINK, "///", "more, yet poor"),
            (~poor & (own > 1), BLUE, "...", "enough"),
        ):
            share = (bump & flags).mean("seed").values
            ax.bar(range(len(sizes)), share, bottom=low, color=colour, hatch=hatch, ec="white", lw=0, label=label)
            low = low + share
        ax.plot(range(len(sizes)), law, "k.--", lw=1, ms=4, label="sets that have a cluster with none or one")
        ax.set_xticks(range(len(sizes)), sizes)
        _ = ax.set(xlabel="points $n$", ylim=(0, 1.02))
        ax.set_title(title, fontsize="small")
    axes[1].sharey(axes[0])
    _ = axes[0].set(ylabel="share of sets with a bump")
    lines, labels = axes[1].get_legend_handles_labels()
    lines, labels = lines[1:] + lines[:1], [f"bumps in clusters with {name}" for name in labels[1:]] + labels[:1]
    fig.legend(lines, labels, loc="outside upper center", ncols=3, fontsize="x-small")
    shares = rules.by_place(rules.from_start(random, 20, 10))
    figures.errorbars(axes[2], range(len(shares)), list(shares.values()), fmt="o", color=ORANGE, ms=4)
    axes[2].set_xticks(range(4), ["empty", "at an\nend", "inside", "no"], fontsize="small")
    _ = axes[2].set(xlabel="lone point", ylim=(0, None), xlim=(-0.5, 3.5))
    axes[2].set_title("sets of twenty, small steps", fontsize="small")
    return fig


def small_steps(small: xr.Dataset) -> Figure:
    """Shares of runs with a bump and with a jump as a step is cut into parts, of the record `small_steps`."""
    fig, panels = plt.subplots(1, 2, figsize=(7, 3), sharey=True, layout="constrained")
    kinds, looks = ("iid", "strat", "poor(5,1)", "two_rightmost"), figures.cluster_styles(2)
    for ax, flag, title in zip(panels, ("diverging", "spike"), ("a bump", "a jump"), strict=True):
        for number, design in enumerate(kinds):
            flags = small[flag].sel(design=design).transpose("refinement", "seed").values > 0
            found = [stats.wilson(each) for each in flags]
            at, look = small.refinement.values * 1.06 ** (number - 1.5), looks[number]
            figures.errorbars(ax, at, found, marker="osD^"[number], ms=4, label=NAMES[design], **look)
        _ = ax.set(xscale="log", xticks=[1, 3, 10, 30], xticklabels=["1", "3", "10", "30"], title=title)
        ax.minorticks_off()
        _ = ax.set_xlabel("parts $k$ of a step")
    _ = panels[0].set(ylabel="share of runs", ylim=(-0.03, 1.03))
    panels[1].legend(fontsize="small")
    return fig
