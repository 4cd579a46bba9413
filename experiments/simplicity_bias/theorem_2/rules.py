r"""Rules on Assumption 1 and the statement of Theorem 2: SB-16 to SB-21, SB-27, SB-39, SB-55 and SB-59.

The *two fits* are the least-squares fits $\beta_{n,\pm}$ of the half samples, as one function; a run *succeeds* if its
function is within a relative distance of 1e-6 of it on training and on fresh inputs.  Shares have Wilson's interval,
means Student's, slopes and ratios a bootstrap over the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import comb, log
from operator import attrgetter

import numpy as np
import xarray as xr
from scipy import optimize

from experiments.simplicity_bias import half_samples, two_fits
from experiments.simplicity_bias.theorem_2 import sample_size
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data import teachers
from shallow.stats import Interval

LAWS = {"whitened": True, "as drawn": False}
LARGE = 2  # so many of the largest sample sizes stand for "large n"
ENOUGH = 0.9  # share of the runs that succeed where a scale is admissible, or a sample large enough
ENOUGH_PER_DIMENSION = 10  # where a first-order law of the fits is asked to hold, predicted points per dimension
SCALES = (
    "simplicity_bias/two_fits_scales",
    "simplicity_bias/two_fits_scales_fine",
    "simplicity_bias/two_fits_scales_large",
)
low_end = attrgetter("low")


def slope(sizes: np.ndarray, values: np.ndarray, name: str) -> Interval:
    """Log-log slope of the mean over the draws; values (draws, sizes)."""
    weights = log_weights(sizes)

    def statistic(drawn: np.ndarray, axis: int = 0) -> float:
        return weights @ np.log(drawn.mean(axis=axis))

    return stats.bootstrap(np.asarray(values, dtype=float), statistic, name=name)


def log_weights(sizes: np.ndarray) -> np.ndarray:
    """Weights whose product with values is their least-squares slope against the logarithm of the sizes."""
    centred = np.log(sizes) - np.log(sizes).mean()
    return centred / (centred**2).sum()


def judged(holds: bool | None, fails: bool | None) -> str | bool | None:
    """Contradicted where it surely fails, partly where it merely does not hold."""
    return "contradicted" if fails else "partly" if holds is False else holds


# Assumption 1.


@decides(found="simplicity_bias/theorem_2/assumption")
def sb_16(found, *, errors, vanishing):
    """Assumption 1 and its example: a symmetric law near a Gaussian meets all five conditions for small margins c."""
    sampled = (found.symmetric < errors) & (found.second < errors) & (found["tail"] <= 1)
    margins = (found.slack >= -1e-9) & (found.white > 0)
    falls = bool((found.gap.sortby("c").diff("c") > 0).all())
    over_c = found.gap / found.c
    near, conditioned = over_c.sel(law="squeezed").max("d").sortby("c"), over_c.sel(law="conditioned")
    return Found(
        {
            "conditions 1, 3 and 5": bool((sampled & margins).all()),
            "condition 4": falls and bool((near.diff("c") > 0).all()) and float(near[0]) < vanishing,
        },
        {
            "gap over c, squeezed": float(near[0]),
            "gap over c, conditioned": float(conditioned.min()),
            "largest over c, conditioned": float(conditioned.max()),
            "gap, squeezed": float(near[0] * near.c[0]),
            "cases": sampled.size,
            "standard errors": float(max(found.symmetric.max(), found.second.max())),
        },
    )


@decides(
    plane="simplicity_bias/theorem_2/extremal_pairs",
    space="simplicity_bias/theorem_2/extremal_pairs_space",
)
def sb_55(plane, space, *, nearly_all, too_few):
    """Equation (19): on the event of (17) there are exactly two extremal vectors, one for each half sample."""
    plane = plane.sortby("n")
    cases, exceptions = int(plane.event.sum()), int((plane.event & ~plane.two).sum())
    late, early = plane.two.isel(n=slice(-LARGE, None)), plane.isel(n=slice(None, -LARGE)).mean("draw")
    shares = {
        law: min((stats.share(late.sel(c=c, whiten=white)) for c in plane.c.values), key=low_end)
        for law, white in LAWS.items()
    }
    likely = {
        law: True if one.exceeds(nearly_all) else False if one.below(too_few) else None for law, one in shares.items()
    }
    three = space.two.sortby("n").isel(n=-1).mean("draw")
    return Found(
        {"on the event": exceptions == 0 if cases else None} | likely,
        {f"two at large n, {law}": one for law, one in shares.items()}
        | {"draws on the event": cases, "exceptions": exceptions}
        | {f"least share, n = {n}": float(early.two.sel(n=n).min()) for n in early.n.values}
        | {"least share of the event": [float(early.event.sel(n=n).min()) for n in early.n.values]}
        | {"in space": [float(three.min()), float(three.max())]},
    )


@decides(half="simplicity_bias/half_covariance", high="simplicity_bias/half_covariance_high")
def sb_59(half, high, *, in_n, in_d, least, often, points):
    """Equation (37): the covariance of a half sample is near half that of the inputs, of order sqrt(d/n)."""
    c, dims, sizes = half.c.values, half.d.values, half.n.values
    deviation = half.deviation
    by_n = [
        slope(sizes, deviation.sel(c=k, d=d).transpose("draw", "n").values, f"SB-59/{k}/{d}")
        for k, d in product(c, dims)
    ]
    few = [
        slope(dims, deviation.sel(c=k, n=n).transpose("draw", "d").values, f"SB-59/d/{k}/{n}")
        for k, n in product(c, sizes)
    ]
    many = slope(high.d.values, high.deviation.squeeze().transpose("draw", "d").values, "SB-59/high")
    safe = [
        stats.share(half.smallest.sel(d=d, n=n, c=k) > least) for k, d, n in product(c, dims, sizes) if n >= points * d
    ]
    worst = min(safe, key=low_end)
    return Found(
        {
            "in n": claims.all_of(*(claims.within(one, *in_n) for one in by_n)),
            "in d": claims.within(many, *in_d),
            "conditioning": worst.exceeds(often),
        },
        {
            "exponent of d, 10 to 80": many,
            "share well conditioned": worst,
            "exponents of n": by_n,
            "widest": max(by_n, key=lambda one: one.high - one.low),
            "exponents of d, 3 to 10": few,
        },
    )


# The statement of Theorem 2.


@decides(ends="simplicity_bias/two_fits_ends")
def sb_17(ends, *, close, far, nearly_all, most):
    """Theorem 2: training ends at the two fits; ends over n, law, time (the second twice the first) and seed."""
    worst = ends[["train", "fresh", "sums"]].to_dataarray().max("variable").sortby("n")
    first, last = (worst.sel(time=time) for time in worst.time.values)
    late = first.isel(n=slice(-LARGE, None))
    arrived, away = stats.share(late <= close), stats.share(late > far)
    settled = bool(((late <= close) == (last.isel(n=slice(-LARGE, None)) <= close)).all())
    largest = max(float(worst.isel(n=slice(-LARGE, None)).max()), 1e-12)
    few = first.isel(n=slice(None, -LARGE)) <= close
    return Found(
        judged(claims.all_of(arrived.exceeds(nearly_all), settled), away.exceeds(most)),
        {"at the two fits": arrived, "farther than 1 %": away, "runs": late.size}
        | {"largest distance below": 10.0 ** np.ceil(np.log10(largest))}
        | {f"at the two fits, n = {n}": stats.share(few.sel(n=n)) for n in few.n.values}
        | {"runs at each smaller n": few.isel(n=0).size},
    )


@decides(runs="simplicity_bias/two_fits_failures")
def sb_18(runs, *, rare, errors):
    """Theorem 2, its probability: failures become rare with n, and at small width only equal signs are left."""
    runs = runs.sortby("n")
    first, last = runs.isel(n=0), runs.isel(n=-1)
    small, large = (
        {int(m): stats.share(at.failed.sel(m=m).values[at.both.sel(m=m).values]) for m in runs.m.values}
        for at in (first, last)
    )
    fewer = [claims.below(one, small[m].low) for m, one in large.items()]
    lone = runs.failed.values[~runs.both.values]
    one_sign = {m: 2.0 ** (1 - m) for m in (2, 3, 4)}
    seen = {m: float(last.failed.sel(m=m).mean()) for m in one_sign}
    off = max(abs(seen[m] - p) / (p * (1 - p) / last.sizes["seed"]) ** 0.5 for m, p in one_sign.items())
    largest = max(large.values(), key=lambda one: one.high)
    return Found(
        {
            "data": claims.all_of(claims.below(largest, rare), *fewer),
            "signs": bool(lone.all()) and off <= errors,
        },
        {f"failures at n = {int(last.n)}, m = {m}": one for m, one in large.items()}
        | {"failures at the smallest n": [one.estimate for one in small.values()]}
        | {"failures with both signs": int((last.failed & last.both).sum()), "both signs": int(last.both.sum())}
        | {"largest share": largest, "failures with one sign": int(lone.sum()), "one sign": lone.size}
        | {"all failures": list(seen.values()), "standard errors": off},
    )


def all_scales(scales: Sequence[xr.Dataset]) -> xr.Dataset:
    """The runs by sample size, width and scale of several records, on one grid; NaN where there are none."""
    return xr.merge(scales, join="outer", compat="no_conflicts").sortby(["n", "scale"])


def admissible(succeeded: xr.DataArray, tried: xr.DataArray) -> tuple[float, float]:
    """Bounds of the largest scale at which ENOUGH of the runs succeed; counts over scale, ascending, NaN left out.

    Up to the first bound every scale is clearly admissible, the second is the first that clearly is not (infinity:
    none was tried).
    """
    low, all_are = 0.0, True
    for scale in map(float, succeeded.scale.values[(tried > 0).values]):
        found = stats.wilson(int(succeeded.sel(scale=scale)), int(tried.sel(scale=scale)))
        if found.below(ENOUGH):
            return low, scale
        all_are = all_are and found.above(ENOUGH)
        low = scale if all_are else low
    return low, np.inf


def largest_scales(runs: xr.Dataset) -> dict[str, dict[int, tuple[float, float]]]:
    """Bounds of the admissible scale by n, all widths together, and by m, all sample sizes together."""
    return {
        axis: {
            int(size): admissible(*(runs[name].sel({axis: size}).sum(other) for name in ("succeeded", "tried")))
            for size in runs[axis].values
        }
        for axis, other in (("n", "m"), ("m", "n"))
    }


@decides(scales=SCALES)
def sb_19(scales, *, step, fall):
    """Theorem 2 and footnote 5: the admissible scale of the start depends neither on n nor on m."""
    bounds = largest_scales(all_scales(scales))
    every = {f"{axis} = {size}": ends for axis, found in bounds.items() for size, ends in found.items()}
    low = min(low for low, _ in every.values())
    ratio = max((high for _, high in every.values() if np.isfinite(high)), default=np.inf) / low if low else np.inf
    ends = [list(found.values()) for found in bounds.values()]
    return Found(
        "contradicted" if any(of[-1][1] * fall < of[0][0] for of in ends) else ratio <= step or None,
        {f"largest scale, {size}": f"{low:g} to {high:g}" for size, (low, high) in every.items()}
        | {f"lower bound, {size}": low for size, (low, _) in every.items()}
        | {"factor": ratio},
    )


# How many points?


def needed(flags: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Smallest n from which on ENOUGH of flags (seed, d, n) hold for all larger n, (d,); NaN if never."""
    holds = np.cumprod(np.flip(flags.mean(axis=0) >= ENOUGH, -1), -1).astype(bool)
    return np.where(holds.any(-1), sizes[len(sizes) - np.maximum(holds.sum(-1), 1)], np.nan)


def exponent(flags: xr.DataArray, name: str) -> Interval:
    """Exponent in d of :func:`needed`, fitted over the dimensions in which it is reached."""
    values, n = flags.transpose("seed", "d", "n").values, flags.n.values

    def fitted(drawn: np.ndarray, axis: int = 0) -> float:
        points = needed(drawn, n)
        used = np.isfinite(points)
        return log_weights(flags.d.values[used]) @ np.log(points[used])

    return stats.bootstrap(values, fitted, name=f"SB-20/{name}", resamples=500)


def bound_on_sample_size(d: int, *, refined: bool, margin: float = two_fits.MARGIN) -> float:
    r"""The n at which Theorem 1 with its constant makes the deviation as small as the margin needs, $\frac12 c'$.

    $2\sqrt{\frac83\log(2P)\,V/n}$, or refined $2\sqrt{(2\log 2\,V + 4\log P\,\Lambda)/n}$, with $P = 2\sum_{i<d}
    \binom{n-1}{i}$ patterns, $V = d + 2 + \sigma^2 d$, $\Lambda = 3 + \sigma^2$ and the margin c' after whitening.
    """
    V, top = d + 2 + teachers.NOISE * d, 3 + teachers.NOISE
    c = teachers.whitened_margin(d, margin * (3 / d) ** 0.5)

    def over(log_n: float) -> float:
        n = round(np.exp(log_n))
        patterns = log(2 * sum(comb(n - 1, i) for i in range(d)))
        inner = 2 * log(2) * V + 4 * patterns * top if refined else 8 / 3 * (log(2) + patterns) * V
        return log(2 * (inner / n) ** 0.5) - log(c / 2)

    return float(np.exp(optimize.brentq(over, log(10.0), log(1e12), xtol=1e-3)))


def against_laws(cells: xr.Dataset) -> xr.Dataset:
    r"""Points that training and the two fits need by noise, c and d, and what two laws say of them.

    points: for `what` = "fits", "succeeded"; predicted: :func:`sample_size.predicted`; constant: $K = n c'^2 /
    (\sigma^2 \log n)$ of training, c' the margin after whitening.
    """
    names = ("noise", "c", "d")
    grid = [cells[name].values for name in names]
    points = [
        [needed(cells[what].sel(noise=noise, c=c).transpose("seed", "d", "n").values, cells.n.values)]
        for what, noise, c in product(("fits", "succeeded"), *grid[:2])
    ]
    shape = [len(axis) for axis in grid]
    first = np.reshape([sample_size.predicted(*map(float, cell[:2]), int(cell[2])) for cell in product(*grid)], shape)
    margin = np.array([[teachers.whitened_margin(int(d), float(c)) for d in grid[2]] for c in grid[1]])
    found = xr.Dataset(
        {"points": (("what", *names), np.reshape(points, (2, *shape))), "predicted": (names, first)},
        {"what": ["fits", "succeeded"], **dict(zip(names, grid, strict=True))},
    )
    trained = found.points.sel(what="succeeded")
    return found.assign(constant=trained * margin**2 / (found.noise * np.log(trained)))


def ends(values: xr.DataArray) -> list[float]:
    """Least and largest value."""
    return [float(values.min()), float(values.max())]


@decides(
    small="simplicity_bias/two_fits_cones",
    large="simplicity_bias/two_fits_cones_large",
    cells="simplicity_bias/theorem_2/points_needed",
)
def sb_20(small, large, cells):
    """Theorem 2: how the number of points that it needs grows with the dimension; a sufficient condition."""
    laws_of_data = product(cells.noise.values, cells.c.values)
    fixed = [exponent(cells.succeeded.sel(noise=noise, c=c), f"{noise}/{c}") for noise, c in laws_of_data]
    laws = against_laws(cells)
    ratio = laws.points / laws.predicted
    many = laws.predicted >= ENOUGH_PER_DIMENSION * laws.d
    fits = ratio.sel(what="fits").where(many)
    return Found(
        "answered",
        {
            "least exponent, margin fixed": min(fixed, key=attrgetter("estimate")),
            "largest exponent, margin fixed": max(fixed, key=attrgetter("estimate")),
            "range of K": ends(laws.constant),
            "fits over predicted": ends(fits),
            "training over predicted": ends(ratio.sel(what="succeeded").where(many)),
            "mean of fits over predicted": float(np.exp(np.log(fits).mean())),
            "cells with enough": int(many.sum()),
            "cells": many.size,
        }
        | {f"exponent, {law}": exponent(small.succeeded.sel(whiten=white), law) for law, white in LAWS.items()}
        | {
            "exponent of the pulls": exponent(large.pulls.sel(whiten=True), "pulls"),
            "success goes with the patterns": stats.share(small.fits == small.succeeded),
            "runs": small.fits.size,
            "succeed without": int((small.succeeded & ~small.fits).sum()),
        },
    )


# What the limit is worth.


def difference(ends: xr.Dataset) -> xr.DataArray:
    """beta_+ - beta_- of trained networks (..., axis)."""
    return ends.beta.isel(sign=0) - ends.beta.isel(sign=1)


def turned(ends: xr.Dataset) -> xr.DataArray:
    """Angle between beta_+ and beta_- in degrees."""
    norms = np.sqrt((ends.beta**2).sum("axis")).prod("sign")
    return np.degrees(np.arccos((ends.beta.prod("sign").sum("axis") / norms).clip(-1, 1)))


def bent(ends: xr.Dataset, c: float = two_fits.MARGIN) -> xr.DataArray:
    r"""Root mean square distance of the two fits from the best linear one, $\frac12\sqrt{\delta^\top\Sigma\delta}$."""
    delta = difference(ends)
    laws, d = np.atleast_1d(ends.whiten.values), delta.sizes["axis"]
    rows = [np.ones(d) if white else teachers.variances(d, c) for white in laws]
    sigma = xr.DataArray(rows, {"whiten": laws}, ("whiten", "axis"))
    return np.sqrt((sigma * delta**2).sum("axis")) / 2


@decides(ends="simplicity_bias/two_fits_linear")
def sb_21(ends, *, slopes):
    """Section 4, after Theorem 2: the two units point in nearly opposite directions, so that they are nearly linear."""
    gap = np.sqrt((difference(ends) ** 2).sum("axis"))
    falls = {
        law: slope(ends.n.values, gap.sel(whiten=white).transpose("seed", "n").values, f"SB-21/{law}")
        for law, white in LAWS.items()
    }
    last = ends.sel(n=ends.n.max())
    return Found(
        judged(
            claims.all_of(*(claims.within(one, *slopes) for one in falls.values())),
            claims.all_of(*(one.exceeds(0) for one in falls.values())),
        ),
        {f"slope, {law}": one for law, one in falls.items()}
        | {"angle": float(turned(last).mean()), "from linear": float(bent(last).mean()), "largest n": int(last.n)},
    )


def excess_exponents(runs: xr.Dataset) -> tuple[dict[int, Interval], Interval]:
    """Exponents of the mean excess risk in n, by dimension, and in d at fixed n, averaged over n."""
    values, weights = runs.excess.transpose("seed", "d", "n").values, log_weights(runs.d.values)

    def in_d(drawn: np.ndarray, axis: int = 0) -> float:
        return (weights @ np.log(drawn.mean(axis=axis))).mean()

    in_n = {int(d): slope(runs.n.values, values[:, i], f"SB-27/{d}") for i, d in enumerate(runs.d.values)}
    return in_n, stats.bootstrap(values, in_d, name="SB-27/d")


def over_expected(runs: xr.Dataset) -> tuple[float, float]:
    """Mean excess risk over what is expected of one fit and of two, averaged over d and n."""
    risk = runs.excess.transpose("seed", "d", "n")
    expected = [[half_samples.expected_excess(int(n), int(d)) for n in risk.n.values] for d in risk.d.values]
    return tuple((risk.mean("seed").values[..., None] / expected).mean((0, 1)))


@decides(runs="simplicity_bias/two_fits_excess", figure_1="simplicity_bias/transition/figure_1_narrow")
def sb_27(runs, figure_1, *, in_n, in_d, slow):
    """Section 4.1: above the threshold the excess risk decreases like d/n; Figure 1 beside it."""
    by_n, by_d = excess_exponents(runs)
    one, two = over_expected(runs)
    seen = figure_1.decayed_excess.sel(n=figure_1.n[figure_1.n >= 2000]).transpose("n", "seed")
    holds = claims.all_of(*(claims.within(each, *in_n) for each in by_n.values()), claims.within(by_d, *in_d))
    return Found(
        judged(holds, claims.any_of(*(each.exceeds(slow) for each in by_n.values()))),
        {f"exponent in n, d = {d}": each for d, each in by_n.items()}
        | {"exponent in d": by_d, "over one fit": one, "over two fits": two}
        | {"Figure 1, exponent in n": stats.student(np.polyfit(np.log(seen.n.values), np.log(seen.values), 1)[0])},
    )


@cache
def limits(d: int, n: int, draws: int = 2000) -> np.ndarray:
    """Excess risks of one fit and of the two fits on the same Gaussian data, (draws, 2)."""
    whole, halves = half_samples.errors(stats.stream("SB-39", d, n), n, d, draws)
    return np.stack(half_samples.excess(whole, halves), axis=1)


def risks() -> xr.DataArray:
    """:func:`limits` for d = 3, 5, 10 at sample sizes from 10 d^3 on, in multiples of d^3, (d, size, draw, fits)."""
    d, sizes = [3, 5, 10], [10, 100, 1000]
    table = [[limits(k, size * k**3) for size in sizes] for k in d]
    return xr.DataArray(table, {"d": d, "size": sizes, "fits": ["one", "two"]}, ("d", "size", "draw", "fits"))


def over_the_first(pairs: np.ndarray, axis: int = 0) -> float:
    """Ratio of the means of the second and the first column."""
    first, second = pairs.mean(axis=axis)
    return second / first


def percent(found: Interval) -> Interval:
    """An interval in per cent."""
    return Interval(*(100 * value for value in (found.estimate, found.low, found.high)))


@decides(table=risks)
def sb_39(table):
    """Section 5: how far the test losses of the two fits and of OLS are apart, from 10 d^3 points on."""
    one, two = table.sel(fits="one"), table.sel(fits="two")
    relative = (two - one) / (teachers.NOISE + one.mean("draw"))
    dims, sizes = table.d.values.tolist(), table["size"].values.tolist()
    losses = {(d, size): stats.student(relative.sel(d=d, size=size).values) for d, size in product(dims, sizes)}
    last = table.sel(size=sizes[-1]).transpose("d", "draw", "fits")
    return Found(
        "answered",
        {f"difference of losses, %, d = {d}, n = {s * d**3}": f"{percent(one):.4f}" for (d, s), one in losses.items()}
        | {
            f"ratio of the excess risks, d = {d}": stats.bootstrap(
                last.sel(d=d).values, over_the_first, name=f"SB-39/ratio/{d}"
            )
            for d in dims
        }
        | {f"beyond OLS in per cent, d = {d}": percent(losses[d, sizes[0]]) for d in dims},
    )
