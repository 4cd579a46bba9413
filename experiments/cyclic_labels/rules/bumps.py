"""Rules on bumps of the test loss and undersampled clusters (Bowman 2025, Section 3): CL-12 to CL-16."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import undersampling
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

STEPS = (0.001, 0.01)
STEP = 0.001  # of the rules that look at one


def designs() -> xr.Dataset:
    """The recorded runs of :func:`undersampling.designed`: seven designs, two steps, fifty seeds."""
    return records.load("cyclic_labels/designs")


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


def cl_12(runs: xr.Dataset | None = None) -> Outcome:
    """Section 3, loss curve and animation: with few points in two clusters the test loss rises, and rises there."""
    runs = designs() if runs is None else runs
    more = excess(runs, "two_rightmost", STEP)
    pair = runs.sel(design="two_rightmost", step=STEP)
    where = pair.cluster.values[pair.recovers.values > 0]
    inside = stats.wilson(np.isin(where, undersampling.poor_clusters("two_rightmost")))
    two, even = (fraction(runs, d, STEP) for d in ("two_rightmost", "strat"))
    parts = {"a": claims.verdict(more.exceeds(0)), "b": claims.verdict(inside.exceeds(1 / 3))}
    answers = {
        "reproduced": "Yes: with few points in the last two clusters such curves are far more frequent, and the loss "
        "rises in these clusters.",
        "contradicted": "No: with few points in the last two clusters such curves are no more frequent, and the loss "
        "rises elsewhere.",
    }
    return Outcome(
        parts=parts,
        answer=answers.get(claims.combine(parts), "In part: either such curves are no more frequent, or the loss does "
                           "not clearly rise in the two clusters."),
        finding=f"bumps in {two} of the runs with one and two points in the last two clusters against {even} of the "
        f"evenly filled ones, difference {more}; {inside} of the {len(where)} bumps that recover are in one of the two "
        "poor clusters (their share of the interval is 1/3)",
        evidence={"two_rightmost": two, "strat": even, "difference": more, "in a poor cluster": inside},
    )  # fmt: skip


def cl_13(runs: xr.Dataset | None = None) -> Outcome:
    """Section 3, final output: it follows the labels although two clusters are undersampled."""
    runs = designs() if runs is None else runs
    right = {step: runs.right.sel(design="two_rightmost", step=step).transpose("seed", "place") for step in STEPS}
    all_six = {step: stats.wilson(flags.values.all(axis=1)) for step, flags in right.items()}
    parts = {f"step {step}": claims.verdict(found.exceeds(1 / 2)) for step, found in all_six.items()}
    by_cluster = {step: ", ".join(f"{x:.2f}" for x in flags.mean("seed").values) for step, flags in right.items()}
    answers = {
        "reproduced": "Yes: in most runs the output has the right sign in the middle of all six clusters at the end.",
        "contradicted": "No: in most runs the output has the wrong sign in the middle of some cluster at the end.",
        "partly": "At the larger step mostly yes; at the smaller one the cluster with a single point is still wrong in "
        "nearly all runs.",
    }
    verdict = claims.combine(parts)
    if verdict == "partly" and not claims.below(all_six[STEP], 1 / 2):
        answers["partly"] = "That depends on the step: at one of two steps the labels are clearly followed, or not."
    return Outcome(
        parts=parts,
        answer=answers.get(verdict, "These runs do not say whether the output follows all labels more often than not."),
        finding=f"the final output has the right sign at all six cluster centres in {all_six[0.001]} of the runs at "
        f"step 0.001 and in {all_six[0.01]} at 0.01; by cluster {by_cluster[0.001]} and {by_cluster[0.01]}",
        evidence={f"all six right, step {step}": found for step, found in all_six.items()},
    )


def cl_14(runs: xr.Dataset | None = None) -> Outcome:
    """Section 3: the odd curves are largely due to undersampled clusters."""
    least, majority = 0.2, 1 / 2
    runs = designs() if runs is None else runs
    more = {step: excess(runs, "poor(5,1)", step) for step in STEPS}
    inside = {step: attributed(runs, step) for step in STEPS}
    share = {(d, step): fraction(runs, d, step) for d in ("poor(5,1)", "strat", "iid") for step in STEPS}
    holds = {step: claims.all_of(more[step].exceeds(least), inside[step].exceeds(majority)) for step in STEPS}
    parts = {f"step {step}": claims.verdict(found) for step, found in holds.items()}
    answers = {
        "reproduced": "Yes: one point in a cluster makes bumps far more frequent than evenly spread points do, and the "
        "loss rises in that cluster.",
        "contradicted": "No: runs with one point in a cluster hardly have more bumps than evenly spread points, or "
        "have them elsewhere.",
        "partly": "At one of the two steps: there one point in a cluster makes bumps far more frequent, and in that "
        "cluster.",
    }
    random = runs.sel(design="iid", step=STEP)
    link = undersampling.correlation(random.rise.values, random["count"].min("place").values, name="smallest")
    return Outcome(
        parts=parts,
        answer=answers.get(claims.combine(parts), "These runs do not say how much more frequent bumps are with one "
                           "point in a cluster."),
        finding=f"bumps in {share['poor(5,1)', 0.001]} of the runs with one point in the last cluster against "
        f"{share['strat', 0.001]} of the evenly filled ones at step 0.001 (difference {more[0.001]}), and in "
        f"{share['poor(5,1)', 0.01]} against {share['strat', 0.01]} at 0.01 (difference {more[0.01]}); "
        f"{inside[0.001]} and {inside[0.01]} of the bumps in designs with a poor cluster are in it; random data have "
        f"{share['iid', 0.001]} and {share['iid', 0.01]}",
        evidence={f"poor(5,1) minus strat, step {s}": more[s] for s in STEPS}
        | {f"in a poor cluster, step {s}": inside[s] for s in STEPS}
        | {f"{d}, step {s}": found for (d, s), found in share.items()}
        | {"random data, rank correlation of rise and smallest count": link},
    )  # fmt: skip


def cl_15(spikes: xr.Dataset | None = None, small: xr.Dataset | None = None) -> Outcome:
    """Section 3, "largely": does a second cause make odd curves as often?"""
    often = 0.2
    spikes = records.load("cyclic_labels/spikes") if spikes is None else spikes
    small = records.load("cyclic_labels/small_steps") if small is None else small
    even = {
        (d, step): stats.wilson(spikes.spike.sel(design=d, step=step).values > 0)
        for d in ("strat", "equi") for step in spikes.step.values
    }  # fmt: skip
    high = spikes.sel(design=["strat", "equi"]).where(lambda runs: runs.spike > 0)
    joint = {step: int((high.train_rise.sel(step=step) > often).sum()) for step in STEPS}
    count = {step: int(high.spike.sel(step=step).count()) for step in STEPS}
    everywhere = claims.all_of(*(even[d, step].exceeds(often) for d in ("strat", "equi") for step in STEPS))
    answers = {
        True: "Yes, the step: jumps of the test loss are common without any poor cluster, mostly together with the "
        "training loss; smaller steps remove them.",
        False: "No: without a poor cluster the test loss seldom jumps, at one of the usual steps at least.",
        None: "Perhaps, the step: whether the test loss jumps in more than a fifth of the runs is not settled.",
    }
    finest = int(small.refinement.max())
    ends = {
        d: [stats.wilson(small.diverging.sel(design=d, refinement=k).values > 0) for k in (1, finest)]
        for d in ("strat", "iid", "poor(5,1)")
    }
    lone = small.diverging.sel(design="poor(5,1)")
    loss = stats.paired(lone.sel(refinement=1) > 0, lone.sel(refinement=finest) > 0, name="refined")
    return Outcome(
        verdict="answered",
        answer=answers[everywhere],
        finding=f"the test loss jumps in {even['strat', 0.001]} and {even['equi', 0.001]} of two balanced designs at "
        f"step 0.001, {even['strat', 0.01]} and {even['equi', 0.01]} at 0.01, {even['strat', 0.0003]} and "
        f"{even['equi', 0.0003]} at 0.0003, the training loss too in {joint[0.001]} of {count[0.001]} and "
        f"{joint[0.01]} of {count[0.01]} of them; cutting the step 0.001 into {finest} takes bumps from "
        f"{ends['iid'][0]} to {ends['iid'][1]} of random, {ends['strat'][0]} to {ends['strat'][1]} of balanced and "
        f"{ends['poor(5,1)'][0]} to {ends['poor(5,1)'][1]} of lone-point runs",
        evidence={f"jumps, {d}, step {step:g}": found for (d, step), found in even.items()}
        | {f"bumps, {d}, step 0.001 / {k}": found for d, pair in ends.items() for k, found in zip((1, finest), pair)}
        | {"bumps that the step adds to poor(5,1)": loss},
    )


def cl_16(runs: xr.Dataset | None = None) -> Outcome:
    """Section 3, last sentence: trained on undersampled data, the model still performs well."""
    guess = 1 / 2  # error of a coin
    runs = designs() if runs is None else runs
    shares = {"poor(5,1)": 1 / 6, "two_rightmost": 1 / 3}  # of the interval: the error of giving these clusters up
    keys = [(d, step) for d in shares for step in STEPS]
    total, inside = {}, {}
    for d, step in keys:
        ended = runs.sel(design=d, step=step)
        total[d, step] = stats.bootstrap(ended.error.values, name=f"error/{d}/{step}")
        for place in undersampling.poor_clusters(d):
            error = ended.cluster_error.sel(place=place).values
            inside[d, int(place), step] = stats.bootstrap(error, name=f"error/{d}/{place}/{step}")
    whole = claims.all_of(*(claims.below(total[key], shares[key[0]]) for key in keys))
    each = {str(key): claims.verdict(claims.below(found, guess)) for key, found in inside.items()}
    parts = {"a": claims.verdict(whole), "b": claims.combine(each)}
    lone = "a single point between two well-filled clusters is still misfitted in most runs at the smaller step."
    failing = lone if claims.below(inside["two_rightmost", 4, STEP], guess) is False else "some poor cluster is not."
    answers = {
        "reproduced": "Yes: few labels are wrong on the whole, and each poor cluster is better than a guess.",
        "partly": f"On the whole yes, but {failing}",
    }
    otherwise = "Not clearly: the poor clusters, or the whole, are no better than a network that gives these up."
    sure = parts["a"] == "reproduced"
    poor = "; ".join(f"{inside[key]}" for key in inside)
    return Outcome(
        parts=parts,
        answer=answers.get(parts["b"], otherwise) if sure else otherwise,
        finding="error of poor(5,1), then two_rightmost, each at steps 0.001 and 0.01: "
        f"{'; '.join(str(total[key]) for key in keys)}; inside the poor clusters "
        f"({', '.join(f'{place} at {step:g}' for _, place, step in inside)}): {poor}",
        evidence={f"error, {d}, step {step}": found for (d, step), found in total.items()}
        | {f"error in cluster {place}, {d}, step {step}": found for (d, place, step), found in inside.items()},
    )
