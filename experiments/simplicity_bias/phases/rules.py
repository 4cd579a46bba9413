r"""Rules on the phases of the proof of Theorem 2 (Section 2.3, Appendix E): SB-04, 33, 52, 53, 56, 57, 58, 60 and 61.

Runs are those of :mod:`experiments.simplicity_bias.phases.cells` and its neighbours.  Shares of runs have Wilson's
interval, for each law of the inputs on its own, the worse counts; powers of the scale have Student's interval over the
draws.  What is exact for the flow (an identity, an inequality, a bound in every run) is compared in the worst run.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.simplicity_bias.phases import decoupling
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

EPSILON = 1 / 4  # alignment is looked at after the time EPSILON ln(1/lambda) / ||D||
RESOLVED = 1e-10, 1e-12  # of what holds exactly, digits below mean nothing: along records, and where all is at hand
EARLY = "simplicity_bias/phases/phases_early"
GROWTH = "simplicity_bias/phases/phases_growth"


def worse(flags: xr.DataArray) -> Interval:
    """Share of true flags by Wilson's interval, of the law of the inputs (`whiten`) with the smaller one."""
    return min((stats.share(flags.sel(whiten=law).values.astype(bool)) for law in flags.whiten.values), key=_low)


def _low(interval: Interval) -> float:
    return interval.low


def power(values: xr.DataArray, largest: float = 1e-2) -> Interval:
    """Slope of log(values) in log(scale) over scales up to `largest`: mean over all but the draws, Student's."""
    values = np.log(values.sortby("scale").sel(scale=slice(None, largest * 1.001)))
    mean = values.mean([axis for axis in values.dims if axis not in ("scale", "seed")])
    return stats.student(np.polyfit(np.log(mean.scale.values), mean.transpose("scale", "seed").values, 1)[0])


# Alignment.


@decides(early=EARLY)
def sb_04(early, *, turn, growth, factor):
    """Section 2.3: neurons turn by order one while they keep the order of their size."""
    early = early.sel(n=1000).sortby("scale")
    over, smallest = early.ratio * early.scale**EPSILON, early.isel(scale=0)
    turns = [stats.student(early.turn.sel(scale=s, whiten=w)) for s in early.scale.values for w in early.whiten.values]
    least = min(turns, key=_low)
    beyond = bool((over.isel(scale=slice(2)).max(["whiten", "seed"]) > factor * growth).all())
    return Found(
        False if beyond else claims.all_of(least.exceeds(turn), bool((over <= growth).all()) or None),
        {
            "least median turn": least,
            "growth over λ^(-1/4), largest": float(over.max()),
            "runs": early.turn.size,
            "growth at the smallest λ": float(smallest.ratio.max()),
            "loss left": float(smallest.loss.min()),
        },
    )


@decides(early=EARLY, fine="simplicity_bias/phases/phases_early_fine")
def sb_53(early, fine, *, growth, least, tolerance):
    """Lemma 3: growth by λ^-ε at most, directions with an error that is a power of λ, and the tanh law."""
    grown = float((early.ratio * early.scale**EPSILON).max())
    powers = {int(n): power(early.misaligned.sel(n=n)) for n in early.n.values}
    resolved = power(fine.misaligned)
    law = float(early.tanh.sel(scale=early.scale.min()).max())
    return Found(
        claims.all_of(
            grown <= growth,
            *(one.exceeds(least * EPSILON) for one in (*powers.values(), resolved)),
            law <= tolerance or None,
        ),
        {f"power at n = {n}": one for n, one in powers.items()}
        | {
            "power, fine steps": resolved,
            "tanh": law,
            "grown": grown,
            "caught up": [power(early.unbalanced.sel(n=n)) for n in early.n.values],
        },
    )


# One neuron per sign.


@decides(cones="simplicity_bias/phases/phases_cones")
def sb_33(cones, *, often, rise, typical):
    """End of Section 4.2: neurons of one sign behave as one and stay in the cone they have reached."""
    many = cones.n >= 1000
    large, small = cones.sel(n=many), cones.sel(n=~many)
    kept, falls = worse(large.late == 0), bool((large.spread.diff("time") < rise).all())
    return Found(
        False if worse(large.late > 0).exceeds(typical) else claims.all_of(kept.exceeds(often) or None, falls or None),
        {
            "runs without a change": kept,
            "changed": {f"n = {n}": float((small.late.sel(n=n) > 0).mean()) for n in small.n.values},
        },
    )


def one_step_error() -> float:
    """Largest error of the identity of one step over five draws, weights of order one."""
    return max(decoupling.one_step_gap(seed, n=1000, m=32, d=3, step=0.05) for seed in range(5))


@decides(drift="simplicity_bias/phases/phases_drift", one_step=one_step_error)
def sb_52(drift, one_step, *, low, high, identity):
    """Lemma 2: a_j^2 - |w_j|^2 is constant along the flow, and output weights keep their signs."""
    logs = np.log(drift.drift.transpose("step", "seed").values)
    slope, flips = stats.student(np.polyfit(np.log(drift.step.values), logs, 1)[0]), int(drift.flips.sum())
    holds = claims.all_of(claims.within(slope, low, high) or None, flips == 0 or None, one_step <= identity or None)
    return Found(
        False if not slope.exceeds(0) and slope.high < low else holds,
        {
            "power of the step": slope,
            "identity of one step": one_step,
            "drift at step 0.05": float(drift.drift.sel(step=0.05).max()),
            "flips": flips,
            "holds to": max(one_step, RESOLVED[1]),
        },
    )


@decides(pairs="simplicity_bias/phases/phases_decoupling")
def sb_56(pairs, *, exact):
    """Lemma 4: while no pattern changes the flow is that of two systems, each with its half sample."""
    clean = pairs.late == 0
    if not clean.any():
        raise ValueError("pairs must have runs without a change of pattern, got none")
    gap = float(pairs.gap.where(clean).max())
    return Found(
        gap <= exact,
        {
            "largest relative difference": gap,
            "agree to": max(gap, RESOLVED[1]),
            "difference in the others": float(pairs.gap.where(~clean).max()),
            "times apart": float(abs(pairs.stopping.diff("sign")).where(clean).median()),
            "runs without a change": int(clean.sum()),
            "runs": clean.size,
        },
    )


# Growth and convergence.


@decides(grown=GROWTH)
def sb_57(grown, *, fit, low, high, least, often, typical):
    """Lemma 5: slow growth takes ln(1/λ)/|D|, and leaves the neurons of one sign parallel and in their cone."""
    small = 1e-2  # cones are kept from small scales
    grown = grown.sortby("scale")
    logs = -np.log(grown.scale.values)
    scaled = (grown.norm * grown.slow).transpose("scale", "seed", ...).values.reshape(len(logs), -1)
    slopes, constants = np.polyfit(logs, scaled, 1)
    left = np.sum((scaled - np.outer(logs, slopes) - constants) ** 2, axis=0)
    determined = float((1 - left / np.sum((scaled - scaled.mean(axis=0)) ** 2, axis=0)).min())
    slope = stats.student(slopes.reshape(grown.sizes["seed"], -1).mean(axis=1))
    gathers = power(grown.spread, 1.0)
    inside = worse(grown.inside.where(grown.scale <= small * 1.001, True).all("scale"))
    holds = claims.within(slope, low, high), gathers.exceeds(least), inside.exceeds(often)
    return Found(
        False if determined < fit or claims.below(inside, typical) else claims.all_of(*(one or None for one in holds)),
        {
            "slope of the time": slope,
            "power of the spread": gathers,
            "groups in their cone": inside,
            "least R²": np.floor(1000 * determined) / 1000,
            "power at the larger scales": power(grown.spread.isel(scale=slice(-3, None)), 1.0),
            "in their cone at the largest scale": worse(grown.inside.isel(scale=-1)),
            "identity holds to": max(float(grown.pairs.max()), RESOLVED[0]),
        },
    )


@decides(grown=GROWTH)
def sb_58(grown, *, equation, change, often):
    """Lemma 6: in a time without λ output weights increase and the sum contracts to the fit of the half sample."""
    grown = grown.sel(scale=[1e-2, 1e-3, 1e-4], method="nearest")
    lasting = grown.fast - grown.slow
    changes = lasting.max("scale") / lasting.min("scale") - 1
    shares = {
        "a": worse(grown.rising.all("scale")),
        "b": worse((grown.aggregate <= equation).all("scale")),
        "c": worse(changes <= change),
        "d": worse(grown.inside.all("scale")),
    }
    refused = any(claims.below(shares[name], often) for name in "bd")
    return Found(
        False if refused else claims.all_of(*(one.exceeds(often) or None for one in shares.values())),
        {f"{name}, share of groups": one for name, one in shares.items()}
        | {
            "equation holds to": max(float(grown.aggregate.max()), RESOLVED[0]),
            "largest change": float(changes.max()),
            "increase to the end": float((grown.turning == 0).mean()),
        },
    )


@decides(dominated="simplicity_bias/phases/phases_domination")
def sb_60(dominated, *, rounding):
    """Equation (45): near the fit the gradient bounds the loss above its least value."""
    least = {name: float(dominated[name].min()) for name in ("path", "near")}
    return Found(
        min(least.values()) >= 1 - rounding,
        {f"least quotient, {name}": one for name, one in least.items()}
        | {
            "at least": {name: np.floor(1e4 * one) / 1e4 for name, one in least.items()},
            "runs": dominated.path.size // 2,
            "states": 1000 * dominated.near.size,
            "broken outside": float(dominated.outside.mean()),
        },
    )


@decides(converged="simplicity_bias/phases/phases_convergence")
def sb_61(converged, *, slack, short, close, often, typical):
    """Lemma 7: exponential decay, a path of finite length, and least squares at its end."""
    ratio = -converged.slope / converged.promised
    arrives = (converged.path < short).all("horizon") & (converged.away <= close).all(["sign", "horizon"])
    good, slow = worse((ratio >= 1 - slack).all("sign") & arrives), worse((ratio <= 0).any("sign"))
    least = float(ratio.min())
    return Found(
        False if slow.exceeds(typical) else good.exceeds(often) or None,
        {
            "runs as stated": good,
            "decay over the promise, least": least,
            "decay": [least, float(ratio.max())],
            "path": max(float(converged.path.max()), RESOLVED[1]),
            "distance": max(float(converged.away.max()), RESOLVED[1]),
        },
    )
