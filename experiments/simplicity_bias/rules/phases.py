r"""Rules on the phases of the proof of Theorem 2 (Section 2.3, Appendix E): SB-04, 33, 52, 53, 56, 57, 58, 60 and 61.

Runs are those of :mod:`experiments.simplicity_bias.phases` and its neighbours.  Shares of runs have Wilson's interval,
for each law of the inputs on its own, the worse counts; powers of the scale have Student's interval over the draws.
What is exact for the flow (an identity, an inequality, a bound in every run) is compared in the worst run.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

from experiments.simplicity_bias import decoupling
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

EPSILON = 1 / 4  # alignment is looked at after the time EPSILON ln(1/lambda) / ||D||
GROWTH = 1.2  # output weights may have grown so many times lambda^-EPSILON by then
OFTEN, TYPICAL = 0.95, 0.5  # shares of runs
EXACT, ROUNDING = 1e-10, 1e-9


@cache
def recorded(name: str) -> xr.Dataset:
    """A record of this page."""
    return records.load(f"simplicity_bias/phases_{name}")


def share(flags: xr.DataArray) -> Interval:
    """Share of true flags by Wilson's interval, of the law of the inputs (`whiten`) with the smaller one."""
    laws = [stats.wilson(flags.sel(whiten=law).values.astype(bool).ravel()) for law in flags.whiten.values]
    return min(laws, key=lambda one: one.low)


def power(values: xr.DataArray, largest: float = 1e-2) -> Interval:
    """Slope of log(values) in log(scale) over scales up to `largest`: mean over all but the draws, Student's."""
    values = np.log(values.sortby("scale").sel(scale=slice(None, largest * 1.001)))
    mean = values.mean([axis for axis in values.dims if axis not in ("scale", "seed")])
    return stats.student(np.polyfit(np.log(mean.scale.values), mean.transpose("scale", "seed").values, 1)[0])


def at_most(value: float, floor: float = 1e-12) -> str:
    """A rounding error in words: its order, or the floor below which its digits mean nothing."""
    return f"{floor:.0e}" if value < floor else f"{value:.0e}"


# Alignment.


def sb_04(early: xr.Dataset | None = None) -> Outcome:
    """Section 2.3: neurons turn by order one while they keep the order of their size."""
    turn, fails = 0.5, 2 * GROWTH  # radians; the bound fails clearly
    early = (recorded("early") if early is None else early).sortby("scale")
    if "n" in early.dims:
        early = early.sel(n=1000)
    over = early.ratio * early.scale**EPSILON
    turns = [stats.student(early.turn.sel(scale=s, whiten=w)) for s in early.scale.values for w in early.whiten.values]
    least = min(turns, key=lambda one: one.low)
    beyond = bool((over.isel(scale=slice(2)).max([a for a in over.dims if a != "scale"]) > fails).all())
    bounded = bool((over <= GROWTH).all())
    smallest = early.isel(scale=0)
    return Outcome(
        verdict="contradicted" if beyond else claims.all_of(least.exceeds(turn), True if bounded else None),
        answer={
            "reproduced": "Yes: from small weights the neurons turn far while their size stays of the order of the "
            "start.",
            "contradicted": "No: the neurons grow as fast as they turn.",
            "otherwise": "Not clear: the neurons turn too little, or grow too much, to say so.",
        },
        finding=f"over {early.turn.size} runs the median neuron turns by {least} rad where it turns least, and output "
        f"weights grow at most {float(over.max()):.2f} times λ^(-1/4), and at most "
        f"{float(smallest.ratio.max()):.1f}-fold at λ = {float(smallest.scale):.0e}, where at least "
        f"{float(smallest.loss.min()):.4f} of the loss is left",
        evidence={"least median turn": least, "growth over λ^(-1/4), largest": float(over.max())},
    )


def sb_53(early: xr.Dataset | None = None, fine: xr.Dataset | None = None) -> Outcome:
    """Lemma 3: growth by λ^-ε at most, directions with an error that is a power of λ, and the tanh law."""
    least, tolerance = 0.8 * EPSILON, 0.05  # of the power; of the tanh law
    early = recorded("early") if early is None else early
    fine = recorded("early_fine") if fine is None else fine
    growth = float((early.ratio * early.scale**EPSILON).max())
    powers = {int(n): power(early.misaligned.sel(n=n)) for n in early.n.values}
    resolved = power(fine.misaligned)
    law = float(early.tanh.sel(scale=early.scale.min()).max())
    caught_up = {int(n): power(early.unbalanced.sel(n=n)) for n in early.n.values}
    parts = {
        "a": growth <= GROWTH,
        "b": claims.all_of(*(one.exceeds(least) for one in (*powers.values(), resolved))),
        "c": law <= tolerance,
    }
    main = claims.all_of(parts["a"], parts["b"])
    return Outcome(
        verdict=claims.all_of(main, True if parts["c"] else None),
        answer={
            "reproduced": "Yes: when alignment ends all neurons point along two vectors, up to a power of the scale, "
            "and are still small.",
            "contradicted": "No: neurons are too large, or not aligned, at the time that Lemma 3 names.",
            "otherwise": "Not clear: size and directions are as stated, or nearly so, but the course is not.",
        },
        finding=f"output weights stay below {growth:.2f} λ^(1-1/4)/√m; the largest 1 - cos has the power "
        + ", ".join(f"{one} of λ at n = {n}" for n, one in powers.items())
        + f" with steps of 0.05 and {resolved} with steps that resolve the turn; 1 - <w/a, D/|D|> has "
        + " and ".join(f"{one:.2f}" for one in caught_up.values())
        + f"; at λ = {float(early.scale.min()):.0e} the tanh law holds within {law:.3f}",
        evidence={f"power at n = {n}": one for n, one in powers.items()} | {"power, fine steps": resolved, "tanh": law},
    )


# One neuron per sign.


def sb_33(cones: xr.Dataset | None = None) -> Outcome:
    """End of Section 4.2: neurons of one sign behave as one and stay in the cone they have reached."""
    points = 1000  # at least
    cones = recorded("cones") if cones is None else cones
    large = cones.sel(n=[n for n in cones.n.values if n >= points])
    kept, changing = share(large.late == 0), share(large.late > 0)
    falls = bool((large.spread.diff("time") < ROUNDING).all())
    stays = kept.exceeds(OFTEN)
    few = ", ".join(f"{float((cones.late.sel(n=n) > 0).mean()):.0%} at n = {n}" for n in cones.n.values if n < points)
    return Outcome(
        verdict="contradicted" if changing.exceeds(TYPICAL) else claims.all_of(stays or None, falls or None),
        answer={
            "reproduced": "Yes, with many points: no neuron leaves its cone after alignment, and those of one sign "
            "become ever more parallel.",
            "contradicted": "No: neurons typically leave their cones after alignment.",
            "otherwise": "Not clear: some neurons leave their cones, or drift apart, even with many points.",
        },
        finding=f"no pattern changes after alignment in a share of {kept:.3f} of the {large.late.sizes['seed']} x "
        f"{large.n.size} runs of a law with n >= {points} (the worse of two laws), and the spread of a sign "
        f"{'only falls' if falls else 'also rises'}; with fewer points patterns change in {few} of the runs",
        evidence={"runs without a change": kept},
    )


def sb_52(drift: xr.Dataset | None = None, one_step: float | None = None) -> Outcome:
    """Lemma 2: a_j^2 - |w_j|^2 is constant along the flow, and output weights keep their signs."""
    low, high, identity = 0.8, 1.2, 1e-12
    drift = recorded("drift") if drift is None else drift
    one_step = one_step_error() if one_step is None else one_step
    logs = np.log(drift.drift.transpose("step", "seed").values)
    slope, flips = stats.student(np.polyfit(np.log(drift.step.values), logs, 1)[0]), int(drift.flips.sum())
    holds = claims.all_of(claims.within(slope, low, high) or None, flips == 0 or None, one_step <= identity or None)
    return Outcome(
        verdict="contradicted" if not slope.exceeds(0) and slope.high < low else holds,
        answer={
            "reproduced": "Yes: the difference is constant up to the error of finite steps, and no output weight "
            "changes sign.",
            "contradicted": "No: the difference changes, however small the steps are.",
            "otherwise": "Not clear: the difference does not vanish in proportion to the step.",
        },
        finding=f"the drift up to time 400 has the power {slope:.3f} of the step and is "
        f"{float(drift.drift.sel(step=0.05).max()):.1g} at step 0.05 (λ = 1e-3), {flips} output weights change sign, "
        f"and the identity of one step holds to {at_most(one_step)}",
        evidence={"power of the step": slope, "identity of one step": one_step},
    )


@cache
def one_step_error() -> float:
    """Largest error of the identity of one step over five draws, weights of order one."""
    return max(decoupling.one_step_gap(seed, n=1000, m=32, d=3, step=0.05) for seed in range(5))


def sb_56(pairs: xr.Dataset | None = None) -> Outcome:
    """Lemma 4: while no pattern changes the flow is that of two systems, each with its half sample."""
    pairs = recorded("decoupling") if pairs is None else pairs
    clean = pairs.late == 0
    if not clean.any():
        raise ValueError("pairs must have runs without a change of pattern, got none")
    gap, others = float(pairs.gap.where(clean).max()), pairs.gap.where(~clean)
    apart = float(abs(pairs.stopping.diff("sign")).where(clean).median())
    left = f"by up to {float(others.max()):.0%} in the others" if others.notnull().any() else "there are no others"
    return Outcome(
        verdict=gap <= EXACT,
        answer={
            "reproduced": "Yes: neurons of either sign follow their own half of the data, exactly, while no pattern "
            "changes.",
            "contradicted": "No: the two halves influence each other although no pattern changes.",
        },
        finding=f"in the {int(clean.sum())} of {clean.size} runs without a change of pattern all parameters agree to "
        f"{at_most(gap)} up to time 400 ({left}), and the times at which the two signs reach half their mass differ "
        f"by {apart:.1f} in the median",
        evidence={"largest relative difference": gap},
    )


# Growth and convergence.


def sb_57(grown: xr.Dataset | None = None) -> Outcome:
    """Lemma 5: slow growth takes ln(1/λ)/|D|, and leaves the neurons of one sign parallel and in their cone."""
    fit, low, high, least, small = 0.99, 0.8, 1.2, 0.5, 1e-2  # cones are kept from small scales
    grown = (recorded("growth") if grown is None else grown).sortby("scale")
    logs = -np.log(grown.scale.values)
    axes = ("scale", "seed", *(axis for axis in grown.slow.dims if axis not in ("scale", "seed")))
    scaled = (grown.norm * grown.slow).transpose(*axes).values.reshape(len(logs), -1)
    slopes, constants = np.polyfit(logs, scaled, 1)
    left = np.sum((scaled - np.outer(logs, slopes) - constants) ** 2, axis=0)
    determined = 1 - left / np.sum((scaled - scaled.mean(axis=0)) ** 2, axis=0)
    slope = stats.student(slopes.reshape(grown.sizes["seed"], -1).mean(axis=1))
    gathers, upper = power(grown.spread, 1.0), power(grown.spread.sortby("scale").isel(scale=slice(-3, None)), 1.0)
    inside = share(grown.inside.where(grown.scale <= small * 1.001, True).all("scale"))
    at_large = share(grown.inside.isel(scale=-1))
    linear = bool(determined.min() >= fit)
    refused = not linear or claims.below(inside, TYPICAL)
    holds = claims.all_of(
        *(one or None for one in (claims.within(slope, low, high), gathers.exceeds(least), inside.exceeds(OFTEN)))
    )
    return Outcome(
        verdict="contradicted" if refused else holds,
        answer={
            "reproduced": "Yes: the wait grows with the logarithm of the scale, and small starts leave the neurons of "
            "one sign parallel and in their cone.",
            "contradicted": "No: the wait is not logarithmic, or neurons leave their cones during it.",
            "otherwise": "Not clear: the wait, the gathering or the cones are not all as stated.",
        },
        finding=f"|D| t_2 is linear in ln(1/λ) with slope {slope:.3f} (R² at least "
        f"{np.floor(1000 * determined.min()) / 1000:.3f}); 1 - <u_i, u_j> has the power {gathers} of λ, {upper} at the "
        f"three larger scales, where the step does not limit it (derived: 2); the share of groups that keep their cone "
        f"at all λ <= {small:g} is {inside:.3f}, at λ = {float(grown.scale.max()):g} {at_large:.2f} (the worse law), "
        f"and identity (30) holds to {at_most(float(grown.pairs.max()), EXACT)}",
        evidence={"slope of the time": slope, "power of the spread": gathers, "groups in their cone": inside},
    )


def sb_58(grown: xr.Dataset | None = None) -> Outcome:
    """Lemma 6: in a time without λ output weights increase and the sum contracts to the fit of the half sample."""
    scales, equation, change = [1e-2, 1e-3, 1e-4], 1e-8, 0.2
    grown = (recorded("growth") if grown is None else grown).sel(scale=scales, method="nearest")
    lasting = grown.fast - grown.slow
    changes = lasting.max("scale") / lasting.min("scale") - 1
    shares = {
        "a": share(grown.rising.all("scale")),
        "b": share((grown.aggregate <= equation).all("scale")),
        "c": share(changes <= change),
        "d": share(grown.inside.all("scale")),
    }
    refused = any(claims.below(shares[name], OFTEN) for name in "bd")
    return Outcome(
        verdict="contradicted" if refused else claims.all_of(*(one.exceeds(OFTEN) or None for one in shares.values())),
        answer={
            "reproduced": "Yes: in a time that the scale does not change, the neurons grow and their sum approaches "
            "least squares.",
            "contradicted": "No: the sum does not follow the equation, or neurons leave their cones.",
            "otherwise": "Not clear: the phase is not as stated in enough of the runs.",
        },
        finding=f"shares of groups, all three scales at once, the worse law: output weights increase "
        f"{shares['a']:.3f}, the equation of β {shares['b']:.3f} (to {at_most(float(grown.aggregate.max()), EXACT)}), "
        f"duration within 20% {shares['c']:.3f} (it changes by at most {float(changes.max()):.1%}), cones kept "
        f"{shares['d']:.3f}; output weights increase to the end of the run in "
        f"{float((grown.turning == 0).mean()):.0%} of the groups",
        evidence={f"{name}, share of groups": one for name, one in shares.items()},
    )


def sb_60(dominated: xr.Dataset | None = None) -> Outcome:
    """Equation (45): near the fit the gradient bounds the loss above its least value."""
    dominated = recorded("domination") if dominated is None else dominated
    least = {name: float(dominated[name].min()) for name in ("path", "near")}
    below_one = {name: np.floor(1e4 * one) / 1e4 for name, one in least.items()}
    return Outcome(
        verdict=min(least.values()) >= 1 - ROUNDING,
        answer={
            "reproduced": "Yes: the inequality holds at every point that was looked at inside the cone.",
            "contradicted": "No: there are points inside the cone that violate the inequality.",
        },
        finding=f"left over right side of (45) is at least {below_one['path']:.4f} along {dominated.path.size // 2} "
        f"runs, for both signs, and {below_one['near']:.4f} at {1000 * dominated.near.size} random states in the cone; "
        f"with all neurons outside it {float(dominated.outside.mean()):.0%} of the states break it",
        evidence={f"least quotient, {name}": one for name, one in least.items()},
    )


def sb_61(converged: xr.Dataset | None = None) -> Outcome:
    """Lemma 7: exponential decay, a path of finite length, and least squares at its end."""
    slack, short, close = 0.9, 1e-6, 1e-8  # of the promised rate; length of the path; distance from the fit
    converged = recorded("convergence") if converged is None else converged
    ratio = -converged.slope / converged.promised
    arrives = (converged.path < short).all("horizon") & (converged.away <= close).all(["sign", "horizon"])
    good, slow = share((ratio >= slack).all("sign") & arrives), share((ratio <= 0).any("sign"))
    return Outcome(
        verdict="contradicted" if slow.exceeds(TYPICAL) else good.exceeds(OFTEN) or None,
        answer={
            "reproduced": "Yes: the loss falls exponentially, at least as fast as promised, and ends at least squares.",
            "contradicted": "No: the decay is slower than exponential.",
            "otherwise": "Not clear: too many runs decay more slowly or end elsewhere.",
        },
        finding=f"all conditions hold in a share of {good:.3f} of the runs (the worse law): the loss above its least "
        f"value decays {float(ratio.min()):.2f} to {float(ratio.max()):.2f} times as fast as promised, the second half "
        f"of the path is shorter than {at_most(float(converged.path.max()))} at T = 400 and 800, and the sums end "
        f"within {at_most(float(converged.away.max()))} of the least-squares fits",
        evidence={"runs as stated": good, "decay over the promise, least": float(ratio.min())},
    )
