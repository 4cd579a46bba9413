r"""Rules on the processes that the network tells apart: LO-01 to LO-07.

All of them are computed now, from independent draws along `seed`; intervals are Student's over the draws.  Where a
sample has to agree with a closed form, its difference from it has to lie within a margin by its whole interval.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from experiments.localization.data import cells as processes
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

ROUNDING = -1e-6  # of the least eigenvalue, over the largest
SEEN = 1e-8  # power over the largest from which on a frequency is looked at


def each(values: xr.DataArray) -> list[Interval]:
    """Student's intervals over `seed`, one for every place of the other axes."""
    rows = values.transpose(..., "seed").values
    return [stats.student(row) for row in rows.reshape(-1, rows.shape[-1])]


def by_gain(values: xr.DataArray) -> dict[str, Interval]:
    """Student's intervals over `seed` by gain."""
    return {f"g = {gain:g}": stats.student(values.sel(gain=gain).values) for gain in values.gain.values}


def all_within(values: xr.DataArray, low: float, high: float) -> bool | None:
    """Whether every mean over `seed` lies between two values."""
    return claims.all_of(*(claims.within(one, low, high) for one in each(values)))


def all_above(values: xr.DataArray, value: float) -> bool | None:
    """Whether every mean over `seed` lies above a value."""
    return claims.all_of(*(one.exceeds(value) for one in each(values)))


def all_below(values: xr.DataArray, value: float) -> bool | None:
    """Whether every mean over `seed` lies below a value."""
    return claims.all_of(*(claims.below(one, value) for one in each(values)))


def farthest(values: xr.DataArray, centre: float = 0.0) -> Interval:
    """The interval that reaches farthest from a value."""
    return max(each(values), key=lambda one: max(abs(one.low - centre), abs(one.high - centre)))


def reach(values: xr.DataArray, centre: float = 0.0) -> float:
    """How far from a value any of the intervals reaches."""
    worst = farthest(values, centre)
    return max(abs(worst.low - centre), abs(worst.high - centre))


@decides(covariances=processes.covariances)
def lo_01(covariances, *, margin):
    """Section 1, the remark on rigour: a definition, with the covariance that it gives."""
    off = covariances["sample"] - covariances.formula
    holds = claims.all_of(all_within(off, -margin, margin), float(covariances.least.min()) >= ROUNDING)
    return Found(
        "answered" if holds else holds,
        {
            "largest difference from the formula": farthest(off),
            "C from the formula": float(np.abs(covariances.formula - covariances.latent).max()),
            "within": reach(off),
        },
    )


def rises(power: xr.DataArray) -> list[Interval]:
    """Power over that of the frequency before, and over that of frequency 0, where it is more than :data:`SEEN`."""
    found = []
    for one in power.transpose(..., "seed", "k").values.reshape(-1, power.sizes["seed"], power.sizes["k"]):
        mean = one.mean(axis=0)
        for k in np.flatnonzero(mean[1:] > SEEN * mean.max()) + 1:
            found += [stats.student(one[:, k] / one[:, before]) for before in (k - 1, 0)]
    return found


@decides(lags=processes.half_lags, spectra=processes.spectra)
def lo_02(lags, spectra, *, constant, near, peak):
    """Section 1: xi is a length scale (a), and the spectrum has no peak at a positive frequency (b)."""
    centre = lags.formula.mean("xi")
    spread = float(((lags.formula.max("xi") - lags.formula.min("xi")) / centre).max())
    over, rising = lags["sample"] / centre, rises(spectra.power)
    top = max(rising, key=lambda one: one.high)
    return Found(
        {
            "a": claims.all_of(spread <= constant, all_within(over, 1 - near, 1 + near)),
            "b": claims.all_of(*(claims.below(one, peak) for one in rising)),
        },
        {"half-value lag over the mean": farthest(over, 1.0), "largest rise, ratio": top}
        | {f"half-value lag, g = {one.gain.item():g}": float(one) for one in centre}
        | {"spread": spread, "within": reach(over, 1.0), "rise": max(top.high - 1, 0)},
    )


@decides(crossings=processes.crossings, covariances=processes.covariances)
def lo_03(crossings, covariances, *, near, proportional, some, margin):
    """Footnote 1: crossings follow xi (a) and not g (b), while the correlation of two places follows g (c)."""
    count, expected, changed = crossings["count"], crossings.expected, int(crossings.changed)
    over, products = count / expected, count * crossings.xi / (expected * crossings.xi).mean()
    gains = crossings.apart / crossings.apart.mean(["gain", "seed"])
    pairs = covariances.sel(xi=2.0, lag=[1, 2, 3, 4])
    at_xi = pairs.formula.sel(lag=2)
    proportions = all_within(products, 1 - proportional, 1 + proportional)
    return Found(
        {
            "a": claims.all_of(all_within(over, 1 - near, 1 + near), proportions),
            "b": claims.all_of(changed == 0, all_within(gains, 1 - near, 1 + near)),
            "c": claims.all_of(
                float(at_xi.max() - at_xi.min()) > some, all_within(pairs["sample"] - pairs.formula, -margin, margin)
            ),
        },
        {
            "count over the formula": farthest(over, 1.0),
            "samples whose signs change": changed,
            "count times xi over the mean": farthest(products, 1.0),
            "count by gain over the mean": farthest(gains, 1.0),
            "count within": reach(over, 1.0),
            "product within": reach(products, 1.0),
            "gains within": reach(gains, 1.0),
        }
        | {f"correlation at lag xi, g = {one.gain.item():g}": float(one) for one in at_xi},
    )


@decides(pictured=processes.pictured)
def lo_04(pictured, *, low, high):
    """Figure 1: two length scales, and what the gain does to the samples."""
    ratio = stats.student((pictured["count"].sel(xi=10.0) / pictured["count"].sel(xi=20.0)).values)
    shares = by_gain(pictured.near.mean("xi"))
    return Found(
        claims.all_of(claims.within(ratio, low, high), all_above(pictured.near.diff("gain"), 0)),
        {
            "ratio of crossings": ratio,
            "near the largest value": shares,
            "share": [one.estimate for one in shares.values()],
        },
    )


@decides(limits=processes.limits, one_place=processes.marginals)
def lo_05(limits, one_place, *, margin, noise):
    """Section 1: a Gaussian limit for g to 0 (a), and less Gaussian with every step of the gain (b)."""
    at_first, at_last = (limits.distance.isel(gain=end) for end in (0, -1))
    kurtosis = one_place.sel(measure="excess kurtosis", drop=True)
    size = kurtosis * np.sign(kurtosis.isel(gain=-1).mean())
    steps = xr.concat([size, one_place.sel(measure="distance", drop=True)], "measure").diff("gain")
    rising = [one.above(0) for one in each(steps)]
    return Found(
        {
            "a": claims.all_of(all_below(at_first, margin), all_above(limits.distance.diff("gain"), -noise)),
            "b": all_above(steps, 0),
        },
        {
            "distance at g = 0.01": max(each(at_first), key=lambda one: one.high),
            "one place, g = 3": stats.student(at_last.sel(of="one place").values),
            "projection, g = 3": stats.student(at_last.sel(of="projection").values),
            "rising": sum(rising),
            "steps": len(rising),
            "variance undivided": float(limits.raw),
        },
    )


@decides(one_place=processes.marginals)
def lo_06(one_place, *, least, margin):
    """Footnote 2: heavy tails (a), and an exact meaning of the degree of non-Gaussianity (b)."""
    gains = one_place.gain.values
    large = one_place.sel(gain=gains[gains >= least])
    kurtosis = dict(zip(large.gain.values, each(large.sel(measure="excess kurtosis"))))
    heavy = [one.exceeds(0) for one in kurtosis.values()]
    differ = "partly" if {True, False} <= set(heavy) else None
    histograms = one_place.sel(measure="histogram", gain=gains[(gains >= 0.1) & (gains <= 10)])
    formula = xr.DataArray([processes.nonlinear_part(gain) for gain in gains], {"gain": gains})
    off = one_place.sel(measure="nonlinear") - formula
    exact = claims.all_of(
        all_below(histograms, margin), bool((np.diff(formula) > 0).all()), all_within(off, -margin, margin)
    )
    return Found(
        {"a": heavy[0] if len(set(heavy)) == 1 else differ, "b": "answered" if exact else exact},
        {f"excess kurtosis, g = {gain:.3g}": one for gain, one in kurtosis.items()}
        | {"histogram from the density": farthest(histograms), "part not linear, off": farthest(off)}
        | {"kurtosis": [one.estimate for one in kurtosis.values()], "gains": list(kurtosis)}
        | {
            "below 0": heavy.count(False),
            "tried": len(heavy),
            "beyond 3, at most": farthest(large.sel(measure="beyond 3")).high,
        }
        | {"beyond 3, normal": 2 * float(scipy_stats.norm.sf(3)), "density within": farthest(histograms).high},
    )


@decides(seams=processes.seams)
def lo_07(seams, *, low, high):
    """Section 1: on the torus the seam is like any other place."""
    return Found(
        all_within(seams.ratio, low, high),
        {
            "seam over elsewhere, farthest": farthest(seams.ratio, 1.0),
            "cut out of a longer ring": stats.student(seams.cut.values),
            "processes": seams.sizes["case"],
        },
    )
