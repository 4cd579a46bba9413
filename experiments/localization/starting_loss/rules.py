r"""Rules on the loss before training, ReLU against erf: LO-51 to LO-57.

All of them are computed now, from independent draws along `seed`; intervals are Student's over the draws.  The curves
against the gain are averages over the weights, exact but for the norms of the samples.
"""

from __future__ import annotations

import xarray as xr

from experiments.localization.data.rules import all_within, each, farthest, reach
from experiments.localization.starting_loss import starting_draws
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

EXACT = 1e-10  # of an identity
#: Starts of the programs of the note's months: normalisation of the data, variance of the weights.
OWN = (("unit", "2/(n+K)"), ("raw", "2/(n+K)"), ("mismatched", "1/n"))


def exact(identities: xr.Dataset, of: str) -> bool:
    """Whether the two sides of an equation are equal."""
    one = identities.sel(of=of)
    return bool(abs(one["sum"] - one.whole) / one.whole < EXACT)


@decides(draws=starting_draws.means)
def lo_51(draws, *, margin, least):
    """Equation (15): zero mean at every gain, and a Gaussian limit, for three normalisations."""
    zero = all_within(draws["mean"], -margin, margin)
    variance = {str(name): draws.variance.sel(normalisation=name).values for name in draws.normalisation.values}
    return Found(
        {"zero mean": zero, "limit": bool(variance["unit"][0] > least)},
        {"mean of a pixel, farthest": farthest(draws["mean"]), "reach": reach(draws["mean"]), "variance": variance},
    )


@decides(identities=starting_draws.identities)
def lo_52(identities):
    """Equations (16) to (18): the loss as a quarter of the sum over the classes."""
    equal = exact(identities, "(18)")
    return Found(equal, {"relative difference below 1e-10": equal})


def relative(curve: xr.DataArray) -> xr.DataArray:
    """A curve (gain, seed) as its change from the first gain, in parts of the mean value there."""
    return (curve - curve.isel(gain=0)) / curve.isel(gain=0).mean()


def changed(curve: xr.DataArray) -> Interval:
    """Change of a curve (gain, seed) from the first gain to the last, in percent."""
    return stats.student(100 * relative(curve).isel(gain=-1).values)


def falls(curve: xr.DataArray) -> bool | None:
    """Whether a curve (gain, seed) falls from the first to the last gain and rises at no step."""
    rise = any(step.above(0) for step in each(relative(curve).diff("gain")))
    return claims.all_of(claims.below(changed(curve), 0), not rise)


def spread(curve: xr.DataArray) -> Interval:
    """Range of a curve (gain, seed) over the gain, in parts of its mean."""
    return stats.student(((curve.max("gain") - curve.min("gain")) / curve.mean("gain")).values)


def settings(curves: xr.DataArray) -> dict[str, list[xr.DataArray]]:
    """The curves (gain, seed) of all widths and scales, by normalisation."""
    cases = [(K, scale) for K in curves.neurons.values for scale in curves.scale.values]
    return {
        str(name): [curves.sel(normalisation=name, neurons=K, scale=scale) for K, scale in cases]
        for name in curves.normalisation.values
    }


def own(curves: xr.DataArray) -> dict[str, xr.DataArray]:
    """The curves of the widths above 1 and of the starts that the note's programs had."""
    return {
        f"{name}, {scale}, K = {K}": curves.sel(normalisation=name, scale=scale, neurons=K)
        for name, scale in OWN
        for K in curves.neurons.values
        if K > 1
    }


@decides(curves=starting_draws.curves)
def lo_53(curves):
    """The question of Section 3: does ReLU's loss at the start fall with the gain?"""
    curves = curves.sel(activation="relu")
    programs = {name: changed(curve) for name, curve in own(curves).items()}
    found = {name: [falls(curve) for curve in them] for name, them in settings(curves).items()}
    ends = {name: [changed(curve).estimate for curve in them] for name, them in settings(curves).items()}
    return Found(
        {name: claims.below(one, 0) for name, one in programs.items()},
        {"change in %": programs}
        | {"falling": {name: [sum(map(bool, flags)), len(flags)] for name, flags in found.items()}}
        | {"least and most": {name: [min(them), max(them)] for name, them in ends.items()}},
    )


@decides(curves=starting_draws.curves)
def lo_54(curves, *, most):
    """The question of Section 3: does erf's loss at the start stay fixed?"""
    curves = curves.sel(activation="erf")
    ranges = {name: [spread(curve) for curve in them] for name, them in settings(curves).items()}
    found = {name: [claims.below(one, most) for one in them] for name, them in ranges.items()}
    programs = {name: spread(curve) for name, curve in own(curves).items()}
    ranges["the note's programs"] = list(programs.values())
    largest = {name: max(them, key=lambda one: one.high) for name, them in ranges.items()}
    return Found(
        {name: claims.below(one, most) for name, one in programs.items()},
        {"largest range": largest, "at most": {name: one.estimate for name, one in largest.items()}}
        | {"fixed": {name: [sum(map(bool, flags)), len(flags)] for name, flags in found.items()}},
    )


@decides(folded=starting_draws.folded, identities=starting_draws.identities)
def lo_55(folded, identities, *, margin, twice):
    """Equations (19) to (24): the class sum (a), the fold (b) and the squares (c)."""
    over = folded.value / folded.value.sel(of="(20)")
    fold, even, other = (over.sel(of=name) for name in ("(22)", "(24)", "(24), conditional"))
    folds, evens = (all_within(each, 1 - margin, 1 + margin) for each in (fold, even))
    return Found(
        {"a": exact(identities, "(20)"), "b": claims.all_of(folds, all_within(other, *twice)), "c": evens},
        {"(22) over (20)": farthest(fold, 1.0), "(24) over (20)": farthest(even, 1.0)}
        | {"with conditional means": farthest(other, 2.0), "mean with conditional means": float(other.mean())}
        | {"reach": reach(over.sel(of=["(22)", "(24)"]), 1.0)},
    )


@decides(draws=starting_draws.excesses)
def lo_56(draws, *, margin):
    """Equation (25), left blank: the closed forms, by what they add to 2."""
    holds = all_within(draws.ratio, 1 - margin, 1 + margin)
    return Found(
        "answered" if holds else claims.verdict(holds),
        {"ratio, farthest from 1": farthest(draws.ratio, 1.0), "reach": reach(draws.ratio, 1.0)}
        | {"ratio of the twin": stats.student(draws.twin.isel(network=0).values)},
    )


@decides(identities=starting_draws.identities, averages=starting_draws.relu_averages, spheres=starting_draws.spheres)
def lo_57(identities, averages, spheres, *, margin, part):
    """Equations (26) and (27): ReLU's sum and its average over the weights (a), and the cause of the change (b)."""
    unit, one_norm, raw = (
        100 * relative(spheres.sel(of=of)).isel(gain=slice(1, None))
        for of in ("unit", "unit, one norm", "raw, one norm")
    )
    whole, stays = stats.student(unit.isel(gain=-1).values), list(each(raw))
    limit = part * abs(whole.estimate)
    still = claims.any_of(
        claims.all_of(*(one.exceeds(limit) for one in stays)),
        claims.all_of(*(claims.below(one, -limit) for one in stays)),
    )
    return Found(
        {
            "a": claims.all_of(exact(identities, "(27)"), all_within(averages, 1 - margin, 1 + margin)),
            "b": claims.all_of(claims.below(whole, 0), all_within(one_norm, -limit, limit), still),
        },
        {"network over the average, farthest": farthest(averages, 1.0), "reach": reach(averages, 1.0)}
        | {"change in %, unit": whole, "change in %, unit, one norm, farthest": farthest(one_norm)}
        | {"change in %, raw, one norm, least": min(stays, key=lambda one: abs(one.estimate))},
    )
