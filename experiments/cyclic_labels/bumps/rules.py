"""Rules on bumps of the test loss and undersampled clusters (Bowman 2025, Sections 3 and 6): CL-12 to 16, 47 to 51."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from experiments.cyclic_labels.bumps import mechanism, undersampling
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

STEPS = (0.001, 0.01)
STEP = 0.001  # of the rules that look at one
DESIGNS = "cyclic_labels/bumps/designs"  # seven designs, two steps, fifty seeds
RANDOM = "cyclic_labels/bumps/random_data"
DRAWN = (20, 50)  # CL-14: sizes of the random sets that decide
FEW = [1, 2, 3, 5, 8]  # points in the poor cluster; with none nothing can be fitted


def fraction(runs: xr.Dataset, design: str, step: float, flag: str = "diverging") -> Interval:
    """Fraction of the runs of a design with a diverging bump, or with another flag, by Wilson's interval."""
    return stats.wilson(runs[flag].sel(design=design, step=step).values > 0)


def excess(runs: xr.Dataset, design: str, step: float, over: str = "strat") -> Interval:
    """Fraction of diverging bumps of a design minus that of another, paired over seeds."""
    first, second = (runs.diverging.sel(design=d, step=step) for d in (design, over))
    return stats.paired(first, second, name=f"bumps/{design}/{over}/{step}")


def attributed(runs: xr.Dataset, step: float) -> Interval:
    """Share of the diverging bumps of all poor designs that are in a poor cluster."""
    found = [undersampling.in_poor(runs.sel(design=d, step=step), d) for d in undersampling.POOR]
    return stats.wilson(np.concatenate(found))


@decides(runs=DESIGNS)
def cl_12(runs, *, chance):
    """Section 3, loss curve and animation: with few points in two clusters the test loss rises, and rises there."""
    more = excess(runs, "two_rightmost", STEP)
    pair = runs.sel(design="two_rightmost", step=STEP)
    where = pair.cluster.values[pair.recovers.values > 0]
    inside = stats.wilson(np.isin(where, undersampling.poor_clusters("two_rightmost")))
    two, even = (fraction(runs, d, STEP) for d in ("two_rightmost", "strat"))
    return Found(
        {"a": more.exceeds(0), "b": inside.exceeds(chance)},
        {"two_rightmost": two, "strat": even, "difference": more, "in a poor cluster": inside, "bumps": len(where)},
    )


@decides(runs=DESIGNS)
def cl_13(runs, *, majority):
    """Section 3, final output: it follows the labels although two clusters are undersampled."""
    right = {step: runs.right.sel(design="two_rightmost", step=step).transpose("seed", "place") for step in STEPS}
    all_six = {step: stats.wilson(flags.values.all(axis=1)) for step, flags in right.items()}
    return Found(
        {f"step {step}": found.exceeds(majority) for step, found in all_six.items()},
        {f"all six right, step {step}": found for step, found in all_six.items()}
        | {"by cluster": {step: flags.mean("seed").values for step, flags in right.items()}},
    )


def from_start(random: xr.Dataset, n: int, refinement: int, start: int = 500) -> xr.Dataset:
    """The random sets of one size at one step, looked at from an epoch on, with `smallest`, the smallest count."""
    runs = random.sel(n=n, refinement=refinement, start=start)
    return runs.assign(smallest=runs["count"].min("place"))


def by_smallest(runs: xr.Dataset) -> dict[str, Interval]:
    """Share of bumps among the sets of :func:`from_start` with an empty cluster, a lone point, or neither."""
    kinds = {"none": runs.smallest == 0, "one": runs.smallest == 1, "more": runs.smallest >= 2}
    return {name: stats.wilson(runs.diverging.values[flags.values] > 0) for name, flags in kinds.items() if flags.any()}


def by_place(runs: xr.Dataset) -> dict[str, Interval]:
    """Share of bumps among the sets of :func:`from_start` by where the lone point is, if no cluster is empty."""
    full, count = runs.smallest > 0, runs["count"]
    end = full & (count.isel(place=[0, -1]) == 1).any("place")
    inside = full & ~end & (count == 1).any("place")
    kinds = {"empty": ~full, "end": end, "inside": inside, "no": full & ~end & ~inside}
    return {name: stats.wilson(runs.diverging.values[flags.values] > 0) for name, flags in kinds.items()}


def in_poor(runs: xr.Dataset, n: int) -> Interval | None:
    """Share of the bumps of :func:`from_start` that are in a cluster with fewer than half of its n / 6 points.

    That is what :func:`undersampling.poor_clusters` calls poor; None without a bump.
    """
    return _where(runs, lambda own: own < n / 12)


def in_lone(runs: xr.Dataset) -> Interval | None:
    """Share of the bumps of :func:`from_start` that are in a cluster with at most one point; None without a bump."""
    return _where(runs, lambda own: own <= 1)


def _where(runs: xr.Dataset, condition: Callable[[np.ndarray], np.ndarray]) -> Interval | None:
    found = runs.isel(seed=np.flatnonzero(runs.diverging > 0))
    return stats.wilson(condition(found["count"].sel(place=found.cluster).values)) if found.sizes["seed"] else None


@decides(runs=DESIGNS, random=RANDOM)
def cl_14(runs, random, *, least, majority):
    """Section 3: the odd curves are largely due to undersampled clusters."""
    more = {step: excess(runs, "poor(5,1)", step) for step in STEPS}
    inside = {step: attributed(runs, step) for step in STEPS}
    sets = {(n, k): from_start(random, n, k) for n in DRAWN for k in random.refinement.values}
    poor = {(n, k): in_poor(found, n) for (n, k), found in sets.items()}
    parts = {"designs": claims.all_of(*(one.exceeds(least) for one in more.values()), *_majority(inside, majority))}
    for n in DRAWN:
        parts[f"random sets of {n}"] = claims.all_of(*_majority({k: v for k, v in poor.items() if k[0] == n}, majority))
    return Found(
        parts,
        {f"poor(5,1) minus strat, step {s}": more[s] for s in STEPS}
        | {f"in a poor cluster, step {s}": inside[s] for s in STEPS}
        | {f"{d}, step {s}": fraction(runs, d, s) for d in ("poor(5,1)", "strat") for s in STEPS}
        | {
            f"n = {n}, step 0.001 / {k}, {name}": v
            for (n, k), one in sets.items()
            for name, v in by_smallest(one).items()
        }
        | {f"n = {n}, step 0.001 / {k}, in a poor cluster": found for (n, k), found in poor.items() if found}
        | {f"n = {n}, step 0.001 / {k}, with none or one": in_lone(one) for (n, k), one in sets.items()}
        | {f"n = {n}, step 0.001 / {k}, bumps": int(one.diverging.sum()) for (n, k), one in sets.items()},
    )


def _majority(shares: Mapping[object, Interval | None], majority: float) -> list[bool | None]:
    """Whether each share, of those that can be formed, exceeds the majority."""
    return [share.exceeds(majority) for share in shares.values() if share is not None]


@decides(spikes="cyclic_labels/bumps/spikes", small="cyclic_labels/bumps/small_steps")
def cl_15(spikes, small, *, often):
    """Section 3, "largely": does a second cause make odd curves as often?"""
    keys = [(d, step) for d in ("strat", "equi") for step in spikes.step.values]
    even = {f"{d}, step {step:g}": stats.wilson(spikes.spike.sel(design=d, step=step).values > 0) for d, step in keys}
    high = spikes.sel(design=["strat", "equi"]).where(lambda runs: runs.spike > 0)
    finest = int(small.refinement.max())
    refined = {
        f"{d}, step 0.001 / {k}": stats.wilson(small.diverging.sel(design=d, refinement=k).values > 0)
        for d in ("strat", "iid", "poor(5,1)")
        for k in (1, finest)
    }
    lone = small.diverging.sel(design="poor(5,1)")
    added = stats.paired(lone.sel(refinement=1) > 0, lone.sel(refinement=finest) > 0, name="refined")
    return Found(
        "answered",
        {f"jumps, {name}": found for name, found in even.items()}
        | {f"bumps, {name}": found for name, found in refined.items()}
        | {"bumps that the step adds to poor(5,1)": added, "finest": finest}
        | {f"both losses jump, step {s}": int((high.train_rise.sel(step=s) > often).sum()) for s in STEPS}
        | {f"with a jump, step {s}": int(high.spike.sel(step=s).count()) for s in STEPS},
    )


@decides(runs=DESIGNS)
def cl_16(runs, *, given_up, guess):
    """Section 3, last sentence: trained on undersampled data, the model still performs well."""
    total, inside = {}, {}
    for d in given_up:
        for step in STEPS:
            ended = runs.sel(design=d, step=step)
            total[d, step] = stats.bootstrap(ended.error.values, name=f"error/{d}/{step}")
            for place in undersampling.poor_clusters(d):
                error = ended.cluster_error.sel(place=place).values
                inside[d, int(place), step] = stats.bootstrap(error, name=f"error/{d}/{place}/{step}")
    whole = claims.all_of(*(claims.below(found, given_up[d]) for (d, _), found in total.items()))
    each = {str(key): claims.verdict(claims.below(found, guess)) for key, found in inside.items()}
    return Found(
        {"a": whole, "b": claims.combine(each)},
        {f"error, {d}, step {step}": found for (d, step), found in total.items()}
        | {f"error in cluster {place}, {d}, step {step}": found for (d, place, step), found in inside.items()},
    )


@decides(dissected="cyclic_labels/bumps/dissected")
def cl_47(dissected):
    """Section 6, a framework: a poor cluster is extrapolated first, fitted when its points dominate the gradient."""
    stacked = dissected.stack(run=("design", "seed"))
    happened = stacked.isel(run=np.flatnonzero(stacked.low.notnull()))
    apart, passed = (happened[name].values > 0 for name in ("parts", "passed"))
    return Found(
        "answered",
        {
            "(i) rises while its neighbours fall": stats.wilson(apart),
            "(ii) dominates by the peak": stats.wilson(passed),
            "both": stats.wilson(apart & passed),
            "median share of the gradient at the peak": stats.bootstrap(
                happened.share_peak.values, np.median, name="share"
            ),
            "bumps": len(apart),
        },
    )


def doses(ablations: xr.Dataset, stratified: xr.Dataset) -> tuple[dict[str, Interval], dict[str, Interval]]:
    """For each variant: bumps with one point minus those of balanced data; correlation of bumps and points."""
    variants = [str(v) for v in ablations.variant.values]
    flags, even = ablations.diverging > 0, stratified.diverging > 0
    against = {v: stats.paired(flags.sel(variant=v, points=1), even.sel(variant=v), name=v) for v in variants}
    few = flags.sel(points=FEW).transpose("variant", "points", "seed")
    return against, {v: undersampling.dose_trend(few.sel(variant=v).values, FEW, name=v) for v in variants}


def responses(ablation: xr.Dataset) -> tuple[Interval, Interval]:
    """Rank correlation of the number of points with the rise of all runs, and with the time to recovery of bumps."""
    few = ablation.sel(points=FEW).stack(run=("points", "seed"))
    back = few.isel(run=np.flatnonzero(few.recovers > 0))
    size = undersampling.dose_trend(ablation.rise.sel(points=FEW).transpose("points", "seed").values, FEW, name="rise")
    duration = (back.recovery - back.low).values
    return size, undersampling.correlation(back.points.values, duration, name="recovery")


@decides(
    ablations="cyclic_labels/bumps/ablations",
    stratified="cyclic_labels/bumps/ablations_stratified",
    random="cyclic_labels/bumps/independent_outcomes",
)
def cl_48(ablations, stratified, random):
    """Section 6, ablations: the rise needs a poor cluster and nothing else, and the dose controls size and duration."""
    against, trends = doses(ablations, stratified)
    size, time = responses(ablations.sel(variant="reference"))
    sets = random.stack(run=("n", "seed"))
    chance = undersampling.given_size(sets.smallest.values, sets.rise.values, sets.n.values, name="random")
    ordered = sorted(against.values(), key=lambda each: each.estimate)
    return Found(
        {"a": "answered", "b": "answered"},
        {f"one point minus balanced, {v}": found for v, found in against.items()}
        | {f"correlation of bumps and points, {v}": found for v, found in trends.items()}
        | {"points and rise": size, "points and time to recovery": time}
        | {"random data, smallest count and rise": chance}
        | {"settings": len(against), "settings with more": sum(found.above(0) for found in against.values())}
        | {"settings with fewer": sum(found.below(0) for found in trends.values())}
        | {"least difference": ordered[0], "largest difference": ordered[-1]},
    )


@decides(layers="cyclic_labels/bumps/one_layer", longer="cyclic_labels/bumps/fixed_features")
def cl_49(layers, longer):
    """Section 6, feature learning: do the rise and the fall need it?"""
    full, fixed = (layers.sel(train=train, step=STEP) for train in ("all", "output"))
    bumps = {name: runs.diverging > 0 for name, runs in (("full", full), ("fixed", fixed), ("longer", longer))}
    lone = {name: flags.sel(design="poor(5,1)") for name, flags in bumps.items()}
    end = {name: runs.test_loss.isel(epoch=-1) for name, runs in (("full", full), ("fixed", fixed))}
    end = {name: loss.sel(design="poor(5,1)") for name, loss in (end | {"longer": longer.loss}).items()}
    return Found(
        "answered",
        {
            "bumps, all parameters": stats.share(lone["full"]),
            "bumps, fixed features": stats.share(lone["fixed"]),
            "bumps, fixed features, ten times the epochs": stats.share(lone["longer"]),
            "fixed features, poor(5,1) minus strat": stats.paired(
                lone["fixed"], bumps["fixed"].sel(design="strat"), name="fixed features"
            ),
            "all parameters minus fixed features": stats.paired(lone["full"], lone["fixed"], name="features"),
            "final loss, fixed minus full": stats.paired(end["fixed"], end["full"], name="loss/output"),
            "the same after ten times the epochs": stats.paired(end["longer"], end["full"], name="loss/longer"),
        },
    )


def gains(dissected: xr.Dataset) -> dict[str, dict[str, Interval]]:
    """Change of kink strength from peak to end of the qualifying runs, by design.

    At the borders of the poor cluster ("own"), at the others ("rest"), and the difference ("more"); with "even" in
    front, of the stratified runs with the same seeds at the same epochs.
    """
    found: dict[str, dict[str, Interval]] = {}
    for design in ("poor(5,1)", "poor(2,1)"):
        runs = dissected.sel(design=design)
        runs = runs.isel(seed=np.flatnonzero(runs.low.notnull()))
        own, found[design] = mechanism.borders(mechanism.POOR[design]), {}
        for name, prefix in (("kink_weight", ""), ("even_kink_weight", "even ")):
            weight = runs[name].transpose("moment", "boundary", "seed")
            change = (weight.sel(moment="T") - weight.sel(moment="peak")).values
            at, rest = change[own].mean(axis=0), np.delete(change, own, axis=0).mean(axis=0)
            for key, values in {"own": at, "rest": rest, "more": at - rest}.items():
                found[design][prefix + key] = stats.bootstrap(values, name=f"{design}/{name}/{key}")
    return found


@decides(dissected="cyclic_labels/bumps/dissected")
def cl_50(dissected):
    """Section 6, relevant features: do kinks gather at the borders of the poor cluster while the test loss recovers?"""
    found = gains(dissected)
    return Found("answered", {f"{name}, {d}": gain for d, each in found.items() for name, gain in each.items()})


def imbalance_trends(imbalance: xr.Dataset) -> dict[tuple[str, float, int], tuple[Interval, Interval]]:
    """Correlation of bumps, and of the error in the poor cluster, with its points, by (train, step, horizon)."""
    found = {}
    axes = imbalance.train.values, imbalance.step.values, imbalance.horizon.values
    for train, step, horizon in itertools.product(*(axis.tolist() for axis in axes)):
        runs = imbalance.sel(train=train, step=step, horizon=horizon)
        found[train, step, horizon] = tuple(
            undersampling.dose_trend(v.transpose("points", "seed").values, runs.points.values, name=f"{train}/{step}")
            for v in (runs.diverging, runs.cluster_error.sel(cluster=5))
        )
    return found


@decides(imbalance="cyclic_labels/bumps/imbalance")
def cl_51(imbalance):
    """Section 6, imbalanced samples: does a linear classifier on random features depend on them as the network does?"""
    trends = imbalance_trends(imbalance)
    falls = {
        train: [[each.below(0) for each in pair] for (t, *_), pair in trends.items() if t == train]
        for train in ("all", "output")
    }
    known = imbalance.cosine.sel(train="output", step=0.01).isel(horizon=-1).values
    return Found(
        "answered",
        {
            f"points and {what}, {train}, step {step:g}, {horizon} epochs": each
            for (train, step, horizon), pair in trends.items()
            for what, each in zip(("bumps", "error"), pair, strict=True)
        }
        | {"cosine with the maximum margin": stats.bootstrap(known[np.isfinite(known)], np.median, name="cosine")}
        | {f"bumps fall, {train}": sum(bumps for bumps, _ in flags) for train, flags in falls.items()}
        | {f"error falls, {train}": sum(error for _, error in flags) for train, flags in falls.items()}
        | {"settings": len(falls["all"])},
    )
