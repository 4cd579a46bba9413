"""Rules on folding, whether networks treat a point and its reflections alike: HS-20 to 23.

*Match* is the share of the points of a class, in the empty orthant, whose nearest training point in the features of the
last hidden layer is of their class.  The *quotient* is the median distance in features between a point and a reflection
over that between points of different classes, the *correlation* that of the output at both.  Intervals are Student's
over runs, of shares of runs Wilson's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import authors, folding, orthant_statistics, shells
from experiments.hidden_structure.rules import orthants as networks
from experiments.hidden_structure.rules.orthants import LEARNED, listed, load
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Outcome
from shallow.stats import Interval

FEATURES, OUTPUT = 0.5, 0.9  # quotient at most and correlation at least, for a fold
FOLDS = 0.5  # match of class 0 from which a network counts as one that folds its features
FLOOR = 0.1  # by which a printed match fraction may differ in any case


def hs_20(runs: xr.Dataset | None = None) -> Outcome:
    """Section 4.2.2: trained networks fold; clustering by class is strongest at three layers, weak at one and two."""
    most, little, weak = 0.5, 0.1, 0.4
    runs = load("hidden_structure/orthants") if runs is None else runs
    last = runs.sel(moment="last")
    three = last.sel(depth=3)
    fit = three.isel(run=np.flatnonzero(three.empty.values >= LEARNED))
    features, output = fit.quotient <= FEATURES, fit.correlation >= OUTPUT
    both = int((features & output).sum())
    share = stats.wilson(both, fit.sizes["run"]) if fit.sizes["run"] else None
    match = last.match.sel(label=0)
    mean = {int(d): stats.student(match.sel(depth=d).values) for d in match.depth.values}
    ahead = {d: stats.student((match.sel(depth=3) - match.sel(depth=d)).values) for d in (1, 2, 4, 5)}
    before = runs[["quotient", "correlation"]].sel(moment="initial", depth=3).median("run")
    return Outcome(
        parts={
            "a": None if share is None else share.exceeds(most),
            "b": claims.all_of(*(one.exceeds(0) for one in ahead.values())),
            "c": claims.all_of(*(claims.below(mean[d], little) for d in (4, 5))),
            "d": claims.all_of(*(claims.below(mean[d], weak) for d in (1, 2))),
        },
        answer={
            "reproduced": "Yes: networks that learn fold outputs and features, and three layers do so by far the most.",
            "contradicted": "No: features are not folded, and three layers are not ahead of the others.",
            "otherwise": "In part: outputs are nearly symmetric, features much less; three layers cluster most by "
            "class, and some networks of four do.",
        },
        finding=f"of {fit.sizes['run']} networks of three layers that learned the empty orthant, {int(features.sum())} "
        f"have a feature quotient of at most {FEATURES:g}, {int(output.sum())} an output correlation of at least "
        f"{OUTPUT:g} and {both} both (medians "
        f"{float(fit.quotient.median()):.2f} and {float(fit.correlation.median()):.2f}, before training "
        f"{float(before.quotient):.2f} and {float(before.correlation):.2f}); class-0 match by depth "
        f"{listed(mean.values())}",
        evidence={"folding": share, "match": mean, "three layers ahead of": ahead},
    )


def hs_21(runs: xr.Dataset | None = None) -> Outcome:
    """Table 2: printed match fractions within what means of five of our runs allow; the rise at three layers."""
    rise = 0.4
    runs = load("hidden_structure/orthants") if runs is None else runs
    ours = {key: runs.match.sel(depth=key[0], label=key[1], moment=key[2]).values for key in authors.TABLE_2}
    agree = {
        key: orthant_statistics.agrees(values, authors.TABLE_2[key][0], floor=FLOOR) for key, values in ours.items()
    }
    parts = {
        letter: all(same for key, same in agree.items() if key[0] == d)
        for letter, d in zip("abcde", authors.DEPTHS, strict=True)
    }
    grown = stats.student(ours[3, 0, "last"] - ours[3, 0, "initial"])
    parts["c"] = claims.all_of(parts["c"], grown.exceeds(rise))
    final = {d: stats.student(ours[d, 0, "last"]) for d in authors.DEPTHS}
    joint = stats.rank_correlation(runs.empty.sel(depth=3, moment="last").values, ours[3, 0, "last"])
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: every printed match fraction is one that five of our runs might have; two and four "
            "layers vary widely.",
            "contradicted": "No: no row of the table is what five of our runs might give.",
            "otherwise": "In part: most printed match fractions are ones that five of our runs might have.",
        },
        finding=f"class-0 match after training {listed(final.values())} at 1 to 5 layers; {sum(agree.values())} of "
        f"{len(agree)} printed fractions are within reach of means of five; with three layers the match rises by "
        f"{grown}, and its rank correlation with the accuracy in the empty orthant is {joint:.2f}",
        evidence={"class 0 after training": final, "rise at three layers": grown},
    )


def raw_neighbours(runs: Sequence[int] = range(10)) -> xr.DataArray:
    """Match in the inputs themselves, by run and label."""
    rows = []
    for run in runs:
        task = shells.draw(run)
        there = task.test[task.test.orthant == task.empty[0]]
        found = folding.match_fractions(there.x, there.label, task.train.x, task.train.label)
        rows.append([found[0], found[1]])
    return xr.DataArray(rows, dims=("run", "label"), coords={"run": list(runs), "label": [0, 1]})


def hs_22(raw: xr.DataArray | None = None, runs: xr.Dataset | None = None) -> Outcome:
    """Section 4.2.2: the nearest training point is of class 1, in the inputs and in untrained features."""
    few, many = (0.02, 0.98), (0.1, 0.9)
    raw = raw_neighbours() if raw is None else raw
    runs = load("hidden_structure/orthants") if runs is None else runs
    before = runs.match.sel(moment="initial")
    means = {
        label: {int(d): stats.student(before.sel(depth=d, label=label).values) for d in before.depth.values}
        for label in (0, 1)
    }
    worst = max(means[0].values(), key=lambda one: one.estimate), min(means[1].values(), key=lambda one: one.estimate)
    return Outcome(
        parts={
            "a": bool((raw.sel(label=0) <= few[0]).all() and (raw.sel(label=1) >= few[1]).all()),
            "b": claims.all_of(
                *(claims.below(one, many[0]) for one in means[0].values()),
                *(one.exceeds(many[1]) for one in means[1].values()),
            ),
        },
        answer={
            "reproduced": "Yes: before anything is learned, the nearest training point of nearly every point there is "
            "of class 1.",
            "otherwise": "No: nearest neighbours of points in the empty orthant are not nearly all of class 1.",
        },
        finding=f"in the inputs the nearest point is of the same class for {float(raw.sel(label=0).mean()):.0%} of "
        f"class 0 and {float(raw.sel(label=1).mean()):.0%} of class 1 in {raw.sizes['run']} draws; in untrained "
        f"features for at most {worst[0]:.1%} of class 0 and at least {worst[1]:.1%} of class 1",
        evidence={"class 0, untrained": means[0], "class 1, untrained": means[1]},
    )


def difference(first: tuple[int, int], second: tuple[int, int]) -> Interval:
    """Difference of two shares, each (successes, trials), with Newcombe's interval from Wilson's."""
    a, b = stats.wilson(*first), stats.wilson(*second)
    gap = a.estimate - b.estimate
    down = np.hypot(a.estimate - a.low, b.high - b.estimate)
    return Interval(gap, float(gap - down), float(gap + np.hypot(a.high - a.estimate, b.estimate - b.low)))


def narrower(sizes: Mapping[int, xr.Dataset]) -> dict[tuple[int, int], tuple[Interval, Interval]]:
    """By depth and width below the document's: share of folding networks over that at its width, and accuracy."""
    found = {}
    for d, own in ((4, 32), (5, 128)):
        folds = sizes[d].match.sel(label=0) >= FOLDS
        n = sizes[d].sizes["run"]
        for width in sizes[d].width.values[sizes[d].width.values < own]:
            counts = [(int(folds.sel(width=m).sum()), n) for m in (width, own)]
            found[d, int(width)] = difference(*counts), stats.student(sizes[d].others.sel(width=width).values)
    return found


def widened(sizes: Mapping[int, xr.Dataset], name: str = "match") -> dict[int, Interval]:
    """Change from the document's width to the largest with one and two layers, run by run: class-0 match, or empty."""
    changes = {}
    for d, own in ((1, 128), (2, 32)):
        values = sizes[d].match.sel(label=0) if name == "match" else sizes[d][name]
        changes[d] = stats.student((values.isel(width=-1) - values.sel(width=own)).values)
    return changes


def hs_23(sizes: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Section 4.2.2: four and five layers do not fold for too much capacity, one and two for too little."""
    gain, works, rise = 0.3, 0.85, 0.2
    sizes = networks.by_width() if sizes is None else sizes
    cut = narrower(sizes)
    working = {key: change for key, (change, accuracy) in cut.items() if not accuracy.below(works)}
    returns = [change.above(0) and cut[key][1].above(works) for key, change in working.items()]
    never = [claims.below(change, gain) for change in working.values()]
    match, empty = widened(sizes), widened(sizes, "empty")
    folds = {d: (sizes[d].match.sel(label=0) >= FOLDS).sum("run") for d in (4, 5)}
    shown = {d: listed([f"{int(k)} at {m}" for m, k in zip(one.width.values, one.values)]) for d, one in folds.items()}
    return Outcome(
        parts={
            "a": True if any(returns) else False if never and all(never) else None,
            "b, one layer": match[1].exceeds(rise),
            "b, two layers": match[2].exceeds(rise),
        },
        answer={
            "reproduced": "Yes: narrower deep networks fold, and so do wider shallow ones.",
            "contradicted": "No: neither narrower deep networks nor wider shallow ones fold more.",
            "otherwise": "In part: wider networks of two layers fold, but so do wider deep ones; one layer cannot fold "
            "its features at any width.",
        },
        finding=f"networks of ten with class-0 match of at least {FOLDS:g} are {shown[4]} units with four layers and "
        f"{shown[5]} with five; from the document's width to the largest, the match changes by {match[1]} with one "
        f"layer and {match[2]} with two, the accuracy in the empty orthant by {empty[1]} and {empty[2]}",
        evidence={"share of folding networks, narrower": {f"{d} layers, {m}": one for (d, m), one in working.items()},
                  "widened": match},
    )  # fmt: skip


# What the page adds.


def by_coordinate(network, points: shells.Points) -> np.ndarray:
    """Correlation of the output at points of one orthant and at their reflections in each coordinate; shape (D,)."""
    here = network.forward(points.x)[0].astype(float)
    flipped = (points.x * (1 - 2 * axis) for axis in np.eye(points.x.shape[1]))
    return np.array([np.corrcoef(here, network.forward(x)[0].astype(float))[0, 1] for x in flipped])


def ranks(network, task: shells.Task, *, every: int = 1) -> np.ndarray:
    """For points of the empty orthant whose nearest training point in features has their class, its rank by |x|.

    The share of the training points of that class that are nearer to the point after folding; ascending.  Near 0 the
    features have kept |x|; where they have kept the class alone, the rank is uniform on [0, 1].

    Args:
        every: take only every so manieth point of the orthant.
    """
    unseen, train = task.test[task.test.orthant == task.empty[0]][::every], task.train
    found = train[folding.nearest(network.features(unseen.x)[0], network.features(train.x)[0])]
    shares = []
    for label in (0, 1):
        chosen = (unseen.label == label) & (found.label == label)
        x, z = (np.abs(points.x[chosen]) for points in (unseen, found))
        pool = np.abs(train.x[train.label == label])
        shares += [
            float((np.linalg.norm(pool - one, axis=1) < distance).mean())
            for one, distance in zip(x, np.linalg.norm(x - z, axis=1), strict=True)
        ]
    return np.sort(shares)
