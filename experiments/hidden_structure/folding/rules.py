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

from experiments.hidden_structure import authors, shells
from experiments.hidden_structure.folding import cells as folding
from experiments.hidden_structure.orthants import orthant_statistics
from experiments.hidden_structure.orthants import rules as networks
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval


@decides(runs=networks.NETWORKS)
def hs_20(runs, *, learnt, features, output, majority, little, weak):
    """Section 4.2.2: trained networks fold; clustering by class is strongest at three layers, weak at one and two."""
    last = runs.sel(moment="last")
    three = last.sel(depth=3)
    fit = three.isel(run=np.flatnonzero(three.empty.values >= learnt))
    near, alike = fit.quotient <= features, fit.correlation >= output
    share = stats.share(near & alike) if near.size else None
    match = last.match.sel(label=0)
    mean = {int(d): stats.student(match.sel(depth=d).values) for d in match.depth.values}
    ahead = {d: stats.student((match.sel(depth=3) - match.sel(depth=d)).values) for d in (1, 2, 4, 5)}
    before = runs.sel(moment="initial", depth=3)
    return Found(
        {
            "a": None if share is None else share.exceeds(majority),
            "b": claims.all_of(*(one.exceeds(0) for one in ahead.values())),
            "c": claims.all_of(*(claims.below(mean[d], little) for d in (4, 5))),
            "d": claims.all_of(*(claims.below(mean[d], weak) for d in (1, 2))),
        },
        {"folding": share, "match": mean, "three layers ahead of": ahead, "learned": near.size}
        | {"features fold": int(near.sum()), "outputs fold": int(alike.sum()), "both": int((near & alike).sum())}
        | {
            name: {"after": float(fit[name].median()), "before": float(before[name].median())}
            for name in ("quotient", "correlation")
        },
    )


@decides(runs=networks.NETWORKS)
def hs_21(runs, *, floor, rise):
    """Table 2: printed match fractions within what means of five of our runs allow; the rise at three layers.

    A row with a fraction whose means of five may differ by more than the floor cannot tell.
    """
    ours = {key: runs.match.sel(depth=key[0], label=key[1], moment=key[2]).values for key in authors.TABLE_2}
    agree = {
        key: orthant_statistics.agrees(values, authors.TABLE_2[key][0], floor=floor) for key, values in ours.items()
    }
    blunt = {key[0] for key, values in ours.items() if orthant_statistics.reach(values) > floor}
    parts = {
        letter: all(same for key, same in agree.items() if key[0] == d) and (None if d in blunt else True)
        for letter, d in zip("abcde", authors.DEPTHS, strict=True)
    }
    grown = stats.student(ours[3, 0, "last"] - ours[3, 0, "initial"])
    empty = runs.empty.sel(depth=3, moment="last").values
    return Found(
        parts | {"c": claims.all_of(parts["c"], grown.exceeds(rise))},
        {"class 0 after training": {d: stats.student(ours[d, 0, "last"]) for d in authors.DEPTHS}}
        | {"rise at three layers": grown, "rank correlation": stats.rank_correlation(empty, ours[3, 0, "last"])}
        | {"within reach": sum(agree.values()), "printed": len(agree)},
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


@decides(raw=raw_neighbours, runs=networks.NETWORKS)
def hs_22(raw, runs, *, hardly, nearly, few, many):
    """Section 4.2.2: the nearest training point is of class 1, in the inputs and in untrained features."""
    first, second = (
        {
            int(d): stats.student(runs.match.sel(moment="initial", depth=d, label=label).values)
            for d in runs.depth.values
        }
        for label in (0, 1)
    )
    return Found(
        {
            "a": bool((raw.sel(label=0) <= hardly).all() and (raw.sel(label=1) >= nearly).all()),
            "b": claims.all_of(
                *(claims.below(one, few) for one in first.values()), *(one.exceeds(many) for one in second.values())
            ),
        },
        {"class 0, untrained": first, "class 1, untrained": second}
        | {"most of class 0": max(first.values(), key=lambda one: one.estimate)}
        | {"least of class 1": min(second.values(), key=lambda one: one.estimate)}
        | {"inputs": {label: float(raw.sel(label=label).mean()) for label in (0, 1)}, "draws": raw.sizes["run"]},
    )


def narrower(sizes: Mapping[int, xr.Dataset], folds: float) -> dict[tuple[int, int], tuple[Interval, Interval]]:
    """By depth and width below the document's: share of folding networks minus that at its width, and accuracy."""
    found = {}
    for d, own in ((4, 32), (5, 128)):
        flags = sizes[d].match.sel(label=0) >= folds
        for width in sizes[d].width.values[sizes[d].width.values < own]:
            accuracy = stats.student(sizes[d].others.sel(width=width).values)
            found[d, int(width)] = stats.newcombe(flags.sel(width=width), flags.sel(width=own)), accuracy
    return found


def widened(sizes: Mapping[int, xr.Dataset], name: str = "match") -> dict[int, Interval]:
    """Change from the document's width to the largest with one and two layers, run by run: class-0 match, or empty."""
    changes = {}
    for d, own in ((1, 128), (2, 32)):
        values = sizes[d].match.sel(label=0) if name == "match" else sizes[d][name]
        changes[d] = stats.student((values.isel(width=-1) - values.sel(width=own)).values)
    return changes


@decides(widths=networks.WIDTHS)
def hs_23(widths, *, folds, works, gain, rise):
    """Section 4.2.2: four and five layers do not fold for too much capacity, one and two for too little."""
    sizes = networks.by_width(widths)
    working = {key: pair for key, pair in narrower(sizes, folds).items() if not pair[1].below(works)}
    returns = any(change.above(0) and accuracy.above(works) for change, accuracy in working.values())
    never = bool(working) and all(change.below(gain) for change, _ in working.values())
    match = widened(sizes)
    folding_at = {
        d: {int(m): int((sizes[d].match.sel(label=0, width=m) >= folds).sum()) for m in sizes[d].width.values}
        for d in (4, 5)
    }
    return Found(
        {
            "a": True if returns else False if never else None,
            "b, one layer": match[1].exceeds(rise),
            "b, two layers": match[2].exceeds(rise),
        },
        {"share of folding networks, narrower": {f"{d} layers, {m}": one for (d, m), (one, _) in working.items()}}
        | {"widened": match, "widened, accuracy": widened(sizes, "empty"), "folding": folding_at},
    )
