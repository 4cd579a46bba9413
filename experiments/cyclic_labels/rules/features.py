"""Rules on what makes a bump, and on features (Bowman 2025, Section 6): CL-47 to CL-51."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import mechanism, undersampling
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

FEW = [1, 2, 3, 5, 8]  # points in the poor cluster; with none nothing can be fitted
STEP = 0.001


def load(name: str, given: xr.Dataset | None) -> xr.Dataset:
    """A record of the chapter, unless a dataset is given in its place."""
    return records.load(f"cyclic_labels/{name}") if given is None else given


def falls(trend: Interval) -> bool | None:
    """Whether a correlation is negative; None if its interval contains 0 or there is nothing to correlate."""
    return None if np.isnan(trend.estimate) else claims.below(trend, 0)


def cl_47(dissected: xr.Dataset | None = None) -> Outcome:
    """Section 6, a framework: a poor cluster is extrapolated first, fitted when its points dominate the gradient."""
    stacked = load("dissected", dissected).stack(run=("design", "seed"))
    happened = stacked.isel(run=np.flatnonzero(stacked.low.notnull()))
    parts, passed = (happened[name].values > 0 for name in ("parts", "passed"))
    apart, dominates, both = (stats.wilson(flags) for flags in (parts, passed, parts & passed))
    share = stats.bootstrap(happened.share_peak.values, np.median, name="share")
    answers = {
        (True, True): "Yes: the poor cluster is first carried off by its neighbours, and fitted once its points "
        "dominate the gradient.",
        (True, False): "Half of it: the poor cluster is first carried off by its neighbours, but its points need not "
        "dominate the gradient to win.",
    }
    return Outcome(
        verdict="answered",
        answer=answers.get((apart.exceeds(1 / 2), both.exceeds(1 / 2)), "No: the loss of the poor cluster does not "
                           "clearly rise while that of its neighbours falls."),
        finding=f"the poor cluster's loss rises while its neighbours' falls in {apart} of {len(parts)} bumps that "
        f"recover; its share of the gradient has passed one half by the peak in {dominates}, both hold in {both}; the "
        f"median share at the peak is {share}",
        evidence={"(i) rises while its neighbours fall": apart, "(ii) dominates by the peak": dominates, "both": both,
                  "median share of the gradient at the peak": share},
    )  # fmt: skip


def cl_48(
    ablations: xr.Dataset | None = None, stratified: xr.Dataset | None = None, random: xr.Dataset | None = None
) -> Outcome:
    """Section 6, ablations: the rise needs a poor cluster and nothing else, and the dose controls size and duration."""
    ablations, stratified = load("ablations", ablations), load("ablations_stratified", stratified)
    random = load("independent_outcomes", random).stack(run=("n", "seed"))
    against, trends = doses(ablations, stratified)
    size, time = responses(ablations.sel(variant="reference"))
    chance = undersampling.given_size(random.smallest.values, random.rise.values, random.n.values, name="random")
    more, fewer = (sum(map(bool, flags)) for flags in (
        [found.exceeds(0) for found in against.values()], [falls(found) for found in trends.values()]))  # fmt: skip
    exceptions = [v for v in against if not (against[v].exceeds(0) and falls(trends[v]))]
    controls = claims.all_of(falls(size), falls(time))
    cause = "Yes: one point makes bumps whatever else is changed, and more points make them rarer"
    if exceptions:
        cause = f"In {len(against) - len(exceptions)} of {len(against)} settings one point makes bumps"
    return Outcome(
        parts={"a": "answered", "b": "answered"},
        answer=f"{cause}{', lower and shorter.' if controls else '; how high and long they are is not settled.'}",
        finding=f"(a) more bumps with one point than in balanced data in {more} of {len(against)} settings "
        f"(differences {least_to_most(against)}), fewer with more points in {fewer}; (b) rank correlation of the "
        f"number of points with the rise {size}, with the time to recovery {time}; in random data of the smallest "
        f"count with the rise {chance}",
        evidence={f"one point minus balanced, {v}": found for v, found in against.items()}
        | {f"correlation of bumps and points, {v}": found for v, found in trends.items()}
        | {"points and rise": size, "points and time to recovery": time}
        | {"random data, smallest count and rise": chance},
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


def least_to_most(found: dict[str, Interval]) -> str:
    """Smallest and largest of several estimates with their intervals."""
    ordered = sorted(found.values(), key=lambda each: each.estimate)
    return f"{ordered[0]} to {ordered[-1]}"


def cl_49(layers: xr.Dataset | None = None, longer: xr.Dataset | None = None) -> Outcome:
    """Section 6, feature learning: do the rise and the fall need it?"""
    layers, longer = load("one_layer", layers), load("fixed_features", longer)
    full, fixed = (layers.sel(train=train, step=STEP) for train in ("all", "output"))
    share = {name: stats.wilson(runs.diverging.sel(design="poor(5,1)").values > 0)
             for name, runs in (("all", full), ("output", fixed), ("longer", longer))}  # fmt: skip
    flags = {d: fixed.diverging.sel(design=d) > 0 for d in ("poor(5,1)", "strat")}
    alone = stats.paired(flags["poor(5,1)"], flags["strat"], name="fixed features")
    added = stats.paired(full.diverging.sel(design="poor(5,1)") > 0, flags["poor(5,1)"], name="features")
    end = {name: runs.test_loss.isel(epoch=-1).sel(design="poor(5,1)") for name, runs in
           (("all", full), ("output", fixed))} | {"longer": longer.loss.sel(design="poor(5,1)")}  # fmt: skip
    behind, later = (stats.paired(end[name], end["all"], name=f"loss/{name}") for name in ("output", "longer"))
    rise = {
        True: "The rise does not need features",
        False: "Without features there is no rise",
        None: "Whether the rise needs features is open",
    }[alone.exceeds(0)]
    often = "at this step they make it more frequent" if added.exceeds(0) else "it is about as frequent with them"
    slow = behind.exceeds(0) and not later.exceeds(0)
    fall = "the recovery much faster" if slow else "the recovery does not clearly hang on them"
    return Outcome(
        verdict="answered",
        answer=f"{rise}; {often} and {fall}.",
        finding=f"bumps with one point in a cluster in {share['all']} of full runs, in {share['output']} with fixed "
        f"features, where balanced data have fewer by {alone}; full minus fixed {added}; final test loss with fixed "
        f"features higher by {behind}, after ten times the epochs by {later}",
        evidence={"bumps, all parameters": share["all"], "bumps, fixed features": share["output"],
                  "bumps, fixed features, ten times the epochs": share["longer"],
                  "fixed features, poor(5,1) minus strat": alone, "all parameters minus fixed features": added,
                  "final loss, fixed minus full": behind, "the same after ten times the epochs": later},
    )  # fmt: skip


def cl_50(dissected: xr.Dataset | None = None) -> Outcome:
    """Section 6, relevant features: do kinks gather at the borders of the poor cluster while the test loss recovers?"""
    found = gains(load("dissected", dissected))
    last, inner = found["poor(5,1)"], found["poor(2,1)"]
    gather = claims.all_of(*(gain.exceeds(0) for each in (last, inner) for gain in (each["own"], each["more"])))
    avoid = claims.all_of(*(claims.below(each["more"], 0) for each in (last, inner)))
    words = "No: they gather at the other borders, between well-filled clusters."
    words = words if avoid else "Not clearly: they gather there no more than elsewhere."
    return Outcome(
        verdict="answered",
        answer="Yes: kinks gather at the borders of the poor cluster more than elsewhere." if gather else words,
        finding=f"from peak to end the kink strength at the poor cluster's borders changes by {last['own']:.0f} (last "
        f"cluster) and {inner['own']:.0f} (inner), and minus that at the other borders by {last['more']:.0f} and "
        f"{inner['more']:.0f}; in balanced data, same epochs, {last['even more']:.0f} and {inner['even more']:.0f}",
        evidence={f"{name}, {design}": gain for design, each in found.items() for name, gain in each.items()},
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
            values = {"own": at, "rest": rest, "more": at - rest}
            streams = {key: f"{design}/{name}/{key}" for key in values}
            found[design] |= {prefix + key: stats.bootstrap(v, name=streams[key]) for key, v in values.items()}
    return found


def cl_51(imbalance: xr.Dataset | None = None) -> Outcome:
    """Section 6, imbalanced samples: does a linear classifier on random features depend on them as the network does?"""
    imbalance = load("imbalance", imbalance)
    trend = imbalance_trends(imbalance)
    held = {t: [falls(each[1]) for key, each in trend.items() if key[0] == t] for t in ("all", "output")}
    bumps = {t: [falls(each[0]) for key, each in trend.items() if key[0] == t] for t in held}
    count = {name: {t: sum(map(bool, flags[t])) for t in held} for name, flags in (("error", held), ("bumps", bumps))}
    errors, dose = (claims.all_of(*flags["all"], *flags["output"]) for flags in (held, bumps))
    known = imbalance.cosine.sel(train="output", step=0.01).isel(horizon=-1).values
    margin = stats.bootstrap(known[np.isfinite(known)], np.median, name="cosine")
    words = {
        (True, True): "Yes: on fixed random features, too, more points make bumps rarer and the poor cluster's error "
        "smaller.",
        (True, False): "In the error yes, which falls with more points in both; in the bumps only partly, since fixed "
        "features seldom or never have them.",
    }
    return Outcome(
        verdict="answered",
        answer=words.get((bool(errors), bool(dose)), "Not clearly: the error in the poor cluster does not fall with "
                         "more points in both."),
        finding=f"with more points the poor cluster's error falls in {count['error']['all']} of {len(held['all'])} "
        f"settings of the network and in {count['error']['output']} of {len(held['output'])} on fixed features, the "
        f"fraction of bumps in {count['bumps']['all']} and {count['bumps']['output']}; cosine of the output weights "
        f"with the maximum-margin direction {margin} on fixed features",
        evidence={f"points and {what}, {t}, step {step:g}, {horizon} epochs": each[k]
                  for (t, step, horizon), each in trend.items() for k, what in enumerate(("bumps", "error"))}
        | {"cosine with the maximum margin": margin},
    )  # fmt: skip


def imbalance_trends(imbalance: xr.Dataset) -> dict[tuple[str, float, int], tuple[Interval, Interval]]:
    """Correlation of bumps, and of the error in the poor cluster, with its points, by (train, step, horizon)."""
    found = {}
    for t, step, horizon in (
        (str(t), float(s), int(h))
        for t in imbalance.train.values for s in imbalance.step.values for h in imbalance.horizon.values
    ):  # fmt: skip
        runs = imbalance.sel(train=t, step=step, horizon=horizon)
        values = runs.diverging, runs.cluster_error.sel(cluster=5)
        found[t, step, horizon] = tuple(
            undersampling.dose_trend(v.transpose("points", "seed").values, runs.points.values, name=f"{t}/{step}")
            for v in values
        )
    return found
