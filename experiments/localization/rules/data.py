r"""Rules on the processes that the network tells apart: LO-01 to LO-07.

All of them are computed now, from independent draws along `seed`; intervals are Student's over the draws.  Where a
sample has to agree with a closed form, its difference from it has to lie within a margin by its whole interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from experiments.localization import processes
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Outcome
from shallow.stats import Interval

NEGATIVE = -1e-6  # least eigenvalue over the largest
MARGIN = 0.01  # of a correlation, a distance between laws, or a share of the variance


@cache
def covariances() -> xr.Dataset:
    """The draws of LO-01 and of the correlations in LO-03."""
    return processes.covariances()


@cache
def marginals() -> xr.DataArray:
    """The draws of one place, for LO-05 and LO-06."""
    return processes.marginals()


def each(values: xr.DataArray) -> Iterator[Interval]:
    """Student's intervals over `seed`, one for every place of the other axes."""
    rows = values.transpose(..., "seed").values
    return (stats.student(row) for row in rows.reshape(-1, rows.shape[-1]))


def all_within(values: xr.DataArray, low: float, high: float) -> bool | None:
    """Whether every mean over `seed` lies between two values."""
    return claims.all_of(*(claims.within(one, low, high) for one in each(values)))


def all_above(values: xr.DataArray, value: float) -> bool | None:
    """Whether every mean over `seed` lies above a value."""
    return claims.all_of(*(one.exceeds(value) for one in each(values)))


def farthest(values: xr.DataArray, centre: float = 0.0) -> Interval:
    """The interval that reaches farthest from a value."""
    return max(each(values), key=lambda one: max(abs(one.low - centre), abs(one.high - centre)))


def reach(values: xr.DataArray, centre: float = 0.0) -> float:
    """How far from a value any of the intervals reaches."""
    worst = farthest(values, centre)
    return max(abs(worst.low - centre), abs(worst.high - centre))


def lo_01(draws: xr.Dataset | None = None) -> Outcome:
    """Section 1, the remark on rigour: a definition, with the covariance that it gives.

    Args:
        draws: sample (xi, gain, seed, lag), formula (xi, gain, lag), latent (xi, lag), least (xi, gain).
    """
    draws = covariances() if draws is None else draws
    differences = draws.sample - draws.formula
    least = float(draws.least.min())
    holds = claims.all_of(all_within(differences, -MARGIN, MARGIN), least >= NEGATIVE)
    other = float(np.abs(draws.formula - draws.latent).max())
    worst = farthest(differences)
    return Outcome(
        verdict="answered" if holds else "undecided" if holds is None else "contradicted",
        answer={
            "answered": "Yes: a Gaussian process on the ring, passed place by place through erf and divided by its "
            "standard deviation.",
            "contradicted": "No: the samples do not have the covariance that the definition gives.",
            "otherwise": "Open: too few samples to check the covariance of the definition.",
        },
        finding=f"defined as erf(gZ) over its standard deviation; at no lag, gain and length scale is the sample "
        f"covariance farther from arcsin(αC)/arcsin(α) than {reach(differences):.3f} by its "
        f"interval, while the covariance C of Z is up to {other:.2f} away; no eigenvalue is below "
        f"{'-1e-6' if least >= NEGATIVE else f'{least:.0e}'} of the largest",
        evidence={"largest difference from the formula": f"{worst:.4f}", "C from the formula": f"{other:.3f}"},
    )


def lo_02(lags: xr.Dataset | None = None, spectra: xr.Dataset | None = None) -> Outcome:
    """Section 1: xi is a length scale (a), and the spectrum has no peak at a positive frequency (b).

    Args:
        lags: half-value lag over xi, sample (gain, xi, seed) and formula (gain, xi).
        spectra: power (xi, gain, seed, k), formula (xi, gain, k).
    """
    near, peak, cut = 0.025, 1.1, 1e-8
    lags = processes.half_lags() if lags is None else lags
    spectra = processes.spectra() if spectra is None else spectra
    centre = lags.formula.mean("xi")
    spread = float(((lags.formula.max("xi") - lags.formula.min("xi")) / centre).max())
    steps, over = rises(spectra.power, cut)
    parts = {
        "a": claims.all_of(spread <= 2 * near, all_within(lags.sample / centre, 1 - near, 1 + near)),
        "b": claims.all_of(*(claims.below(one, peak) for one in [*steps, *over])),
    }
    low, high = (float(centre.sel(gain=gain)) for gain in lags.gain.values)
    top = max(steps + over, key=lambda one: one.high)
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: correlations fade over a distance proportional to the length scale, and no frequency "
            "is preferred.",
            "contradicted": "No: correlations do not scale with the length scale, and a frequency is preferred.",
            "otherwise": "In part: only one of the two holds, the length scale or the lack of a preferred frequency.",
        },
        finding=f"the covariance falls to half its value at {low:.3f} ξ for g = 0.01 and {high:.3f} ξ for g = 3, the "
        f"same for ξ = 5 to 40 within {spread:.1%} (samples within {reach(lags.sample / centre, 1.0):.1%}); the power "
        f"at no frequency exceeds that at the one before, or at 0, by more than {max(top.high - 1, 0):.0%}",
        evidence={"half-value lag over the mean": farthest(lags.sample / centre, 1.0), "largest rise, ratio": top},
    )


def rises(power: xr.DataArray, cut: float) -> tuple[list[Interval], list[Interval]]:
    """Power over that of the frequency before, and over that of frequency 0, where it is above `cut` of the largest."""
    steps, over = [], []
    for one in power.transpose(..., "seed", "k").values.reshape(-1, power.sizes["seed"], power.sizes["k"]):
        mean = one.mean(axis=0)
        for k in np.flatnonzero(mean[1:] > cut * mean.max()) + 1:
            steps.append(stats.student(one[:, k] / one[:, k - 1]))
            over.append(stats.student(one[:, k] / one[:, 0]))
    return steps, over


def lo_03(draws: xr.Dataset | None = None, pairs: xr.Dataset | None = None) -> Outcome:
    """Footnote 1: crossings follow xi (a) and not g (b), while the correlation of two places follows g (c).

    Args:
        draws: count (xi, seed), expected (xi), apart (length, gain, seed), changed.
        pairs: the table of :func:`lo_01`.
    """
    near, proportional, some, lags = 0.02, 0.01, 0.02, (1, 2, 3, 4)
    draws = processes.crossings() if draws is None else draws
    pairs = covariances() if pairs is None else pairs
    over = draws["count"] / draws.expected
    products = draws["count"] * draws.xi / (draws.expected * draws.xi).mean()
    gains = draws.apart / draws.apart.mean(["gain", "seed"])
    at_xi = pairs.formula.sel(xi=2.0, lag=2)
    pairs = pairs.sel(xi=2.0, lag=list(lags))
    parts = {
        "a": claims.all_of(
            all_within(over, 1 - near, 1 + near), all_within(products, 1 - proportional, 1 + proportional)
        ),
        "b": claims.all_of(int(draws.changed) == 0, all_within(gains, 1 - near, 1 + near)),
        "c": claims.all_of(
            float(at_xi.max() - at_xi.min()) > some, all_within(pairs.sample - pairs.formula, -MARGIN, MARGIN)
        ),
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the length scale sets how often samples cross zero, whatever the gain; correlations do "
            "change with the gain.",
            "contradicted": "No: the crossings do not follow the length scale alone.",
            "otherwise": "In part: not all of it holds, crossings by length scale, independent of gain, correlations "
            "not.",
        },
        finding=f"mean counts are (n/π) arccos exp(-1/ξ²) within {reach(over, 1.0):.1%}, and counts times ξ "
        f"constant within {reach(products, 1.0):.1%}; one Z has the same signs at all gains in "
        f"{'every sample' if int(draws.changed) == 0 else f'all but {int(draws.changed)} samples'}, and independent "
        f"draws at different gains have equal means within {reach(gains, 1.0):.1%}; the correlation at lag ξ goes "
        f"from {float(at_xi[0]):.3f} at g = 0.01 to {float(at_xi[-1]):.3f} at g = 100",
        evidence={
            "count over the formula": f"{farthest(over, 1.0):.3f}", "samples whose signs change": int(draws.changed),
            "count times xi over the mean": f"{farthest(products, 1.0):.3f}",
            "count by gain over the mean": f"{farthest(gains, 1.0):.3f}",
        },
    )  # fmt: skip


def lo_04(draws: xr.Dataset | None = None) -> Outcome:
    """Figure 1: two length scales, and what the gain does to the samples.

    Args:
        draws: count (xi, seed), near (xi, gain, seed), the share of values within a tenth of the largest.
    """
    low, high = 1.8, 2.2
    draws = processes.pictured() if draws is None else draws
    ratio = stats.student((draws["count"].sel(xi=10.0) / draws["count"].sel(xi=20.0)).values)
    growth = draws.near.transpose("gain", "xi", "seed").diff("gain")
    shares = [stats.student(draws.near.sel(gain=g).mean("xi").values) for g in draws.gain.values]
    return Outcome(
        verdict=claims.all_of(claims.within(ratio, low, high), all_above(growth, 0)),
        answer={
            "reproduced": "Yes: half the length scale means twice as many zero crossings, and a larger gain pushes "
            "values towards their bounds.",
            "contradicted": "No: samples of the two length scales, or of the gains, do not differ as expected.",
            "otherwise": "Open: too few samples to compare crossings and shapes.",
        },
        finding=f"crossings for ξ = 10 over those for ξ = 20: {ratio:.3f}; the share of values above 0.9 max|X| grows "
        f"with g for both ξ, from {shares[0].estimate:.4f} over {shares[1].estimate:.2f} to {shares[2].estimate:.2f}",
        evidence={"ratio of crossings": f"{ratio:.3f}"}
        | {f"near the largest value, g = {g:g}": f"{s:.4f}" for g, s in zip(draws.gain.values, shares)},
    )


def lo_05(limits: xr.Dataset | None = None, one_place: xr.DataArray | None = None) -> Outcome:
    """Section 1: a Gaussian limit for g to 0 (a), and less Gaussian with every step of the gain (b).

    Args:
        limits: distance (gain, of, seed) from the normal laws, raw: the variance without the division.
        one_place: measures (gain, measure, seed).
    """
    noise = 0.005
    limits = processes.limits() if limits is None else limits
    one_place = marginals() if one_place is None else one_place
    near = list(each(limits.distance.isel(gain=0)))
    kurtosis = one_place.sel(measure="excess kurtosis", drop=True)
    size = kurtosis * np.sign(kurtosis.isel(gain=-1).mean())
    steps = xr.concat([size, one_place.sel(measure="distance", drop=True)], "measure").diff("gain")
    parts = {
        "a": claims.all_of(
            *(claims.below(one, MARGIN) for one in near),
            all_above(limits.distance.transpose("gain", "of", "seed").diff("gain"), -noise),
        ),
        "b": all_above(steps, 0),
    }
    rising = sum(one.above(0) for one in each(steps))
    last = limits.distance.isel(gain=-1)
    place, projection = (stats.student(last.sel(of=name).values) for name in ("one place", "projection"))
    top = max(near, key=lambda one: one.high)
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: for small gain the samples are Gaussian, and each larger gain makes them less so.",
            "contradicted": "No: the samples are not Gaussian at small gain, nor less so at larger gain.",
            "otherwise": "In part: the Gaussian limit, or the steady departure from it, does not hold.",
        },
        finding=f"largest distance from a normal law at g = 0.01: {top:.4f}, which is sampling noise, at g = 3 "
        f"{place:.3f} for one place and {projection:.4f} for a projection; the size of the excess kurtosis and the "
        f"distance from N(0, 1) rise at {rising} of {steps.sizes['gain'] * steps.sizes['measure']} steps of the gain; "
        f"without the division by the standard deviation the variance at g = 0.01 is {float(limits.raw):.5f} and the "
        "limit is 0",
        evidence={"distance at g = 0.01": f"{top:.4f}", "one place, g = 3": place, "projection, g = 3": projection},
    )


def lo_06(one_place: xr.DataArray | None = None) -> Outcome:
    """Footnote 2: heavy tails (a), and an exact meaning of the degree of non-Gaussianity (b).

    Args:
        one_place: measures (gain, measure, seed).
    """
    from_gain, middle = 0.3, (0.1, 10.0)
    one_place = marginals() if one_place is None else one_place
    gains = one_place.gain.values
    large = one_place.sel(gain=gains[gains >= from_gain])
    kurtosis = list(each(large.sel(measure="excess kurtosis")))
    heavy = claims.all_of(*(one.exceeds(0) for one in kurtosis))
    light = claims.all_of(*(claims.below(one, 0) for one in kurtosis))
    histograms = one_place.sel(measure="histogram", gain=gains[(gains >= middle[0]) & (gains <= middle[1])])
    formula = xr.DataArray([processes.nonlinear_part(gain) for gain in gains], {"gain": gains})
    parts_off = one_place.sel(measure="nonlinear") - formula
    exact = claims.all_of(
        *(claims.below(one, MARGIN) for one in each(histograms)),
        bool((np.diff(formula) > 0).all()),
        all_within(parts_off, -MARGIN, MARGIN),
    )
    normal = 2 * float(scipy_stats.norm.sf(3))
    beyond = farthest(large.sel(measure="beyond 3"))
    coarse = farthest(histograms)
    asks = "the footnote asks what the words mean and only supposes heavy tails, with the words kind of: the answer is "
    return Outcome(
        parts={
            "a": "reproduced" if heavy else "contradicted" if light else "undecided" if None in (heavy, light) else
            "partly",
            "b": "answered" if exact else "undecided" if exact is None else "contradicted",
        },
        answer="No: values are bounded and tails lighter than Gaussian, the more so the larger the gain; this has an "
        "exact measure."
        if light
        else "Yes: the tails are heavier than Gaussian ones."
        if heavy
        else "Open: the fourth cumulant has no clear sign.",
        finding=f"excess kurtosis {', '.join(f'{one.estimate:.2f}' for one in kurtosis)} at g = "
        f"{', '.join(f'{g:.3g}' for g in large.gain.values)}, below 0 by its interval at "
        f"{sum(one.below(0) for one in kurtosis)} of {len(kurtosis)}, and P(|X| > 3) at most {beyond.high:.5f}, "
        f"normal {normal:.5f}; density within {coarse.high:.3f} of histograms in total variation; the part not linear "
        "in Z is 1 - α/arcsin(α), strictly increasing",
        evidence={f"excess kurtosis, g = {g:.3g}": f"{one:.3f}" for g, one in zip(large.gain.values, kurtosis)}
        | {"histogram from the density": f"{coarse:.4f}", "part not linear, off": f"{farthest(parts_off):.4f}"},
        reading="answered" if light and exact else None,
        reading_why=asks + "lighter tails, with a density and a measure" if light and exact else None,
    )  # fmt: skip


def lo_07(draws: xr.Dataset | None = None) -> Outcome:
    """Section 1: on the torus the seam is like any other place.

    Args:
        draws: ratio (case, seed) of squared jumps at the seam and elsewhere, cut (seed): out of a longer ring.
    """
    low, high = 0.9, 1.1
    draws = processes.seams() if draws is None else draws
    worst, cut = farthest(draws.ratio, 1.0), stats.student(draws.cut.values)
    return Outcome(
        verdict=all_within(draws.ratio, low, high),
        answer={
            "reproduced": "Yes: on the ring the last place and the first are neighbours like any other two.",
            "contradicted": "No: samples jump where the ring closes.",
            "otherwise": "Open: too few samples to compare the jumps.",
        },
        finding=f"mean squared jump at the seam over that elsewhere: {worst} in the process that is farthest from 1, "
        f"of {draws.sizes['case']}; {cut} for samples cut out of a longer ring",
        evidence={"seam over elsewhere, farthest": worst, "cut out of a longer ring": cut},
    )
