r"""Rules on concentration (Theorems 1 and 3, Proposition 1): SB-06, 07, 09, 47 to 51 and 54.

The *deviation* of a sample is $\sup_w \sup_{D \in \mathfrak D_n(w)} \|D - D(w)\|$.  Intervals are bootstrap intervals
over the samples, those of shares of samples Wilson's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from operator import attrgetter

import numpy as np
import xarray as xr

from experiments.simplicity_bias.concentration import cells as concentration
from experiments.simplicity_bias.concentration import deviation, planar
from shallow import nets, stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data import teachers
from shallow.stats import Interval

Samples = Mapping[int, np.ndarray]  # deviations by the number of points
QUANTILES = "simplicity_bias/concentration/deviation_quantiles"  # linear teacher, a hundred samples
DIMENSIONS = (
    "simplicity_bias/concentration/deviation_dimensions",
    "simplicity_bias/concentration/deviation_dimensions_more",
    QUANTILES,
)
TAILS = "simplicity_bias/concentration/deviation_tails"
LINEAR = "simplicity_bias/concentration/planar_extremes"
RELU = (
    "simplicity_bias/concentration/planar_extremes_relu",
    "simplicity_bias/concentration/planar_extremes_relu_large",
)
by_estimate = attrgetter("estimate")


# Intervals.


def slope(samples: Mapping[int, np.ndarray], name: str, statistic=np.mean) -> Interval:
    """Slope of the logarithm of a statistic of samples against log of their key, samples resampled for each key."""
    rng, keys = stats.stream("bootstrap", "slope", name), np.log(list(samples))
    resampled = [resample(rng, values, statistic) for values in samples.values()]
    estimate = np.polyfit(keys, np.log([statistic(values) for values in samples.values()]), 1)[0]
    return Interval.from_draws(float(estimate), np.polyfit(keys, np.log(resampled), 1)[0])


def resample(rng: np.random.Generator, values: np.ndarray, statistic=np.mean, times: int = 1000) -> np.ndarray:
    """A statistic of samples (n,) with n of them drawn with replacement, (times,)."""
    return statistic(values[rng.integers(0, len(values), (times, len(values)))], axis=1)


def ratio(first: np.ndarray, second: np.ndarray, name: str, statistic=np.mean) -> Interval:
    """Ratio of a statistic of two independent samples."""
    rng = stats.stream("bootstrap", "ratio", name)
    draws = resample(rng, first, statistic) / resample(rng, second, statistic)
    return Interval.from_draws(float(statistic(first) / statistic(second)), draws)


# Theorem 1.


def printed_rate(n: float, d: int, second_moment: float) -> float:
    r"""$\sqrt{d \log n / n}\,\sqrt{\mathbb E[y^2\|x\|^2]}$, the bound of Theorem 1 without its constant."""
    return float(np.sqrt(d * np.log(n) / n * second_moment))


def bound_slope(sizes) -> float:
    """The slope that the theorem's own root of log n / n has on a grid of sizes."""
    n = np.array(list(sizes), float)
    return float(np.polyfit(np.log(n), np.log(np.log(n) / n) / 2, 1)[0])


def plane(some: xr.Dataset, large: xr.Dataset) -> tuple[Samples, Samples]:
    """Deviations in the plane by n, with Gaussian noise and with noise without a variance."""
    gaussian, heavy = (some.deviation.sel(freedom=freedom) for freedom in (0, 1.5))
    by_n = [{int(n): one.sel(n=n).values.ravel() for n in one.n.values} for one in (gaussian, large.deviation, heavy)]
    return by_n[0] | by_n[1], by_n[2]


@decides(
    some="simplicity_bias/concentration/planar_suprema", large="simplicity_bias/concentration/planar_suprema_large"
)
def sb_06(some, large, *, slopes, growth, fails):
    """Theorem 1: the mean deviation falls at least as fast as the root of log n / n."""
    samples, heavy = plane(some, large)
    fall, (first, *_, last) = slope(samples, "SB-06"), samples
    rates = {n: printed_rate(n, 2, 4 + 2 * teachers.NOISE) for n in samples}
    over = {n: values.mean() / rates[n] for n, values in samples.items()}
    grown = ratio(samples[last] / rates[last], samples[first] / rates[first], "SB-06")
    holds = claims.all_of(claims.within(fall, *slopes), claims.below(grown, growth))
    fails_by = claims.any_of(fall.exceeds(fails), bool((np.diff(list(over.values())) > 0).all()))
    return Found(
        holds if holds is not False else False if fails_by else None,
        {
            "power of n": fall,
            "ratio to the bound, last over first": grown,
            "no second moment": slope(heavy, "SB-06 null"),
            "power of the bound": bound_slope(samples),
            "grid": [first, last],
            "ratio to the bound": [over[first], over[last]],
        },
    )


def deviations(five: xr.Dataset, relu: xr.Dataset, linear: xr.Dataset) -> dict[tuple[str, int, int], np.ndarray]:
    """Deviations by teacher, dimension and number of points: twenty, of 100,000 points five."""
    found = {}
    for kind, d, n in product(("linear", "relu"), concentration.DIMENSIONS, concentration.SIZES):
        values = [five.deviation.sel(kind=kind, d=d, n=n).values]
        if n <= 10_000:
            more = linear.sel(seed=slice(5, 19)) if kind == "linear" else relu.sel(kind=kind)
            values.append(more.deviation.sel(d=d, n=n).values)
        found[kind, d, n] = np.concatenate(values).astype(float)
    return found


@cache
def rate_of(kind: str, d: int, n: int) -> float:
    """:func:`printed_rate` for the teachers of the record."""
    return printed_rate(n, d, concentration.moment(concentration.teacher(kind, d)))


def homogeneity_error() -> float:
    """Largest relative error of 3 sup(y) for sup(3 y) in samples whose supremum is exact."""
    wrong = []
    for d, kind in ((2, "linear"), (2, "relu"), (3, "linear")):
        teacher = concentration.teacher(kind, d)
        x, y = teachers.gaussian(stats.stream("homogeneity", d, kind), teacher, 300)
        once, thrice = teacher, nets.with_output(teacher, 3 * teacher.v)
        if kind == "linear":
            once, thrice = 0.5 * teacher.W[0], 1.5 * teacher.W[0]
        wrong.append(abs(deviation.supremum(x, 3 * y, thrice) / (3 * deviation.supremum(x, y, once)) - 1))
    return max(wrong)


@decides(five=DIMENSIONS[0], relu=DIMENSIONS[1], linear=DIMENSIONS[2], off=homogeneity_error)
def sb_07(five, relu, linear, off, *, most, exact, steep):
    """Theorem 1: at most the root of d times the root of the second moment, linear in the labels (error `off`)."""
    samples, kinds = deviations(five, relu, linear), ("linear", "relu")
    dims, sizes = concentration.DIMENSIONS, concentration.SIZES
    over = {key: values / rate_of(*key) for key, values in samples.items()}
    in_plane = {
        (kind, n, d): ratio(over[kind, d, n], over[kind, dims[0], n], f"SB-07 {kind} {n} {d}")
        for kind, n, d in product(kinds, sizes, dims[1:])
    }
    lines = {
        (kind, d): slope({n: samples[kind, d, n] for n in sizes}, f"SB-07 {kind} {d}")
        for kind, d in product(kinds, dims)
    }
    last = [in_plane[kind, n, dims[-1]].estimate for kind, n in product(kinds, sizes)]
    return Found(
        {
            "a": claims.all_of(*(claims.below(one, most) for one in in_plane.values())),
            "b": off <= exact,
            "c": claims.all_of(*(claims.below(one, steep) for one in lines.values())),
        },
        {f"power of n, {kind}, d = {d}": one for (kind, d), one in lines.items()}
        | {
            "power of d": slope({d: samples["linear", d, sizes[-2]] for d in dims}, "SB-07 in d"),
            "largest ratio to the plane": max(in_plane.values(), key=by_estimate),
            "ratio in the highest dimension": [min(last), max(last)],
            "steepest power of n": min(lines.values(), key=by_estimate),
            "flattest power of n": max(lines.values(), key=by_estimate),
            "power of the bound": bound_slope(sizes),
            "dimensions": [dims[0], dims[-1]],
        },
    )


def quantile(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """The 95 % quantile."""
    return np.quantile(values, 0.95, axis=axis)


@decides(linear=QUANTILES, moments="simplicity_bias/concentration/second_moments")
def sb_54(linear, moments, *, close, most):
    r"""Equation (17): of order d times the root of log n / n; `moments` hold E[y²|x|²] over (d + 2) + d σ²."""
    found, pairs = linear.deviation, list(product(linear.d.values.tolist(), linear.n.values.tolist()))
    scaled = {(d, n): found.sel(d=d, n=n).values.astype(float) / (d * np.sqrt(np.log(n) / n)) for d, n in pairs}
    first, last = pairs[0], pairs[-1]
    over = {k: ratio(scaled[k], scaled[first], f"SB-54 {k}", quantile) for k in pairs[1:]}
    second = {int(d): stats.student(moments.ratio.sel(d=d).values.astype(float)) for d in moments.d.values}
    return Found(
        claims.all_of(
            *(claims.within(one, 1 - close, 1 + close) for one in second.values()),
            *(claims.below(one, most) for one in over.values()),
        ),
        {f"second moment over its formula, d = {d}": f"{one:.4f}" for d, one in second.items()}
        | {f"quantile over the first one, d = {d}, n = {n}": one for (d, n), one in over.items()}
        | {
            "second moment farthest from its formula": max(second.values(), key=lambda one: abs(one.estimate - 1)),
            "first quantile": quantile(scaled[first]),
            "quantile at the last n, in the plane": quantile(scaled[first[0], last[1]]),
            "last quantile": quantile(scaled[last]),
            "first n": first[1],
            "last n": last[1],
        },
    )


# The proof of Theorem 1.


def ratio_of_pairs(one: xr.Dataset, name: str) -> Interval:
    """Mean of the process over the mean of the signed one, the samples resampled in pairs."""
    pairs = np.stack([one.process.values.ravel(), one.signed.values.ravel()], axis=1)
    rows = stats.stream("bootstrap", name).integers(0, len(pairs), (1000, len(pairs)))
    means = pairs[rows].mean(axis=1)
    return Interval.from_draws(float(np.divide(*pairs.mean(axis=0))), means[:, 0] / means[:, 1])


def union_level(d: int, n: int, s: float) -> float:
    r"""Level of $\sup\|R_n\| / \sqrt{Z_n/n}$ that is exceeded with probability at most $e^{-s}$, by (14)."""
    return float(np.sqrt(8 / 3 * (np.log(2 * planar.cover(n, d)) + s)))


def under_union_bound(scaled: np.ndarray, d: int, n: int) -> bool | None:
    """Whether the share of samples over the level stays below exp(-s), s = 0.25, 0.5, ..., 4."""
    shares = {s: stats.share(scaled >= union_level(d, n, s)) for s in np.arange(0.25, 4.1, 0.25)}
    return claims.all_of(*(claims.below(share, float(np.exp(-s))) for s, share in shares.items()))


@decides(links="simplicity_bias/concentration/links")
def sb_47(links, *, times):
    """Equations (9) to (14): symmetrisation, counting, norms, union bound; of `planar.links`."""
    least = 1 + 1e-12  # of a norm that is too large, for rounding
    at = {(int(d), int(n)): links.sel(d=d, n=n) for d, n in product(links.d.values, links.n.values)}
    signs = [ratio_of_pairs(one, f"SB-47 {case}") for case, one in at.items()]
    counted = [bool((one.patterns == planar.cover(n, d)).all()) for (d, n), one in at.items()]
    used = [float(quantile(one.scaled) / union_level(d, n, 3.0)) for (d, n), one in at.items()]
    largest = max(signs, key=by_estimate)
    return Found(
        {
            "a": claims.all_of(*(claims.below(one, times) for one in signs)),
            "b": all(counted),
            "c": bool((links.operator <= least).all() and (links.frobenius <= least).all()),
            "d": claims.all_of(*(under_union_bound(one.scaled.values, d, n) for (d, n), one in at.items())),
        },
        {
            "largest ratio to the signed sums": largest,
            "ratios to the signed sums": [min(map(by_estimate, signs)), largest.estimate],
            "sizes with Cover's number": sum(counted),
            "sizes": len(counted),
            "largest quantile over its bound": max(used),
        },
    )


@decides(rays="simplicity_bias/concentration/rays")
def sb_48(rays, *, equal):
    """Lemma 1: the sets at the rays add nothing to the supremum over the arcs; of `planar.rays`."""
    excess = (rays.sets - rays.arcs).sel(kind=["linear", "relu"])
    mirrored = stats.share(((rays.sets / rays.arcs - 1).sel(kind="mirrored") > 1e-3).values)
    largest = float(excess.max())
    return Found(
        largest <= equal,
        {
            "largest excess": f"{largest:.1e}",
            "larger with mirrored points": mirrored,
            "samples": excess.size,
            "excess at most": max(largest, equal),
            "share of mirrored": mirrored.estimate,
        },
    )


# Theorem 3 and Corollary 1.

GRID = np.linspace(0.5, 10, 20)  # of n t^2 / V, V = E[y^2 |x|^2]
FITTED = 100  # points of the samples that fix the constants of Theorem 3
LEVEL = 0.98  # quantile that fixes the constant of Corollary 1
LAWS = ("Gaussian", "Student 5")
Tails = Mapping[tuple[str, int], tuple[np.ndarray, np.ndarray]]


def by_noise(tails: xr.Dataset) -> Tails:
    """By noise and n: n sup^2 / V of the samples, and whether Z_n exceeds 2 V; (block, draw) each."""
    found = {}
    for noise, n in product(tails.noise.values.tolist(), tails.n.values.tolist()):
        one = tails.sel(noise=noise, n=n).transpose("block", "draw")
        scaled = n * one.deviation.values.astype(float) ** 2 / (4 + 2 * concentration.variance(noise))
        found[noise, n] = scaled, one.above.values > 0
    return found


def fitted_constants(samples: Tails) -> tuple[float, float]:
    r"""c_1, c_2 of $c_1 n^d e^{-c_2 n t^2/M} + P(Z_n > M)$, M = 2V: slope at n = 100 and the least lift over it."""
    tails = {noise: (samples[noise, FITTED][0].ravel() > GRID[:, None]).mean(axis=1) for noise in LAWS}
    slopes = []
    for noise, tail in tails.items():
        seen = (tail < 0.5) & (tail * samples[noise, FITTED][0].size >= 10)
        slopes.append(np.polyfit(GRID[seen] / 2, np.log(tail[seen]), 1)[0])
    c_2 = -max(slopes)
    lifts = [
        (tail - samples[noise, FITTED][1].mean()) / (FITTED**2 * np.exp(-c_2 * GRID / 2))
        for noise, tail in tails.items()
    ]
    return float(np.max(lifts)), float(c_2)


def dominated(scaled: np.ndarray, above: np.ndarray, n: int, c_1: float, c_2: float) -> bool | None:
    """Whether the probability is below the bound at every t of the grid at which the bound says something."""
    bound = c_1 * n**2 * np.exp(-c_2 * GRID / 2) + above.mean()
    shares = [(stats.share(scaled > t), float(level)) for t, level in zip(GRID, bound) if level < 1]
    return claims.all_of(*(claims.below(share, level) for share, level in shares))


def bend(scaled: np.ndarray, groups: int = 5) -> Interval:
    """Steepness of the log of the tail between 2 % and 0.4 % over that between 50 % and 10 %, by groups of blocks."""
    found = []
    for group in np.array_split(scaled, groups):
        half, tenth, far, farther = np.quantile(group, [0.5, 0.9, 0.98, 0.996])
        found.append((tenth - half) / (farther - far))  # both stretches are a factor of five in probability
    return stats.student(np.array(found))


@decides(tails=TAILS)
def sb_49(tails, *, least):
    """Theorem 3: a tail bound with the constants of one size holds at the others; "Student 2.5" is the null."""
    samples = by_noise(tails)
    c_1, c_2 = fitted_constants(samples)
    cases = [(noise, n) for noise, n in samples if noise in LAWS and n >= FITTED]
    held = [dominated(*samples[noise, n], n, c_1, c_2) for noise, n in cases if n > FITTED]
    bends = {case: bend(np.where(samples[case][1], 0, samples[case][0])) for case in cases}
    return Found(
        {
            "bound": claims.all_of(*held),
            "at most linear": claims.all_of(*(one.exceeds(least) for one in bends.values())),
        },
        {f"steepness far over near, {noise}, n = {n}": one for (noise, n), one in bends.items()}
        | {
            "without a fourth moment": bend(samples["Student 2.5", max(n for _, n in samples)][0]),
            "least steepness": min(bends.values(), key=by_estimate),
            "constant": c_2,
            "held": sum(map(bool, held)),
            "cases": len(held),
        },
    )


def exceedance(samples: Tails, noise: str) -> dict[int, Interval]:
    """Share of samples over C sqrt(log n / n), C the quantile :data:`LEVEL` at the least n, for the larger n."""
    relative = {n: np.sqrt(scaled / np.log(n)) for (law, n), (scaled, _) in samples.items() if law == noise}
    first, *others = sorted(relative)
    constant = np.quantile(relative[first], LEVEL)
    return {n: stats.share(relative[n] > constant) for n in others}


@decides(tails=TAILS)
def sb_50(tails):
    """Corollary 1: C sqrt(log n / n) is exceeded with probability 1/n, C being fixed at n = 50."""
    over = {noise: exceedance(by_noise(tails), noise) for noise in tails.noise.values.tolist()}
    held = claims.all_of(*(claims.below(share, 1 / n) for noise in LAWS for n, share in over[noise].items()))
    first, *_, last = over[LAWS[0]]
    falls = all(over[noise][last].high < over[noise][first].low for noise in LAWS)
    told = {noise: Interval(*(last * value for value in vars(one[last]).values())) for noise, one in over.items()}
    return Found(
        held if held is not False else None if falls else False,
        {f"n times the share, {noise}, n = {last}": one for noise, one in told.items()},
    )


# Proposition 1.

EPSILONS = (0.3, 0.1, 0.05)


def by_size(*found: xr.Dataset) -> dict[int, xr.Dataset]:
    """Distances and deviations of one teacher by n; (sample,) each."""
    return {int(n): one.isel(kind=0).sel(n=n).stack(sample=["block", "draw"]) for one in found for n in one.n.values}


@decides(linear=LINEAR)
def sb_09(linear, *, tolerances, rare, slopes, stalls):
    """Proposition 1: every extremal vector comes close to one of the infinite sample."""
    samples = {n: one.distance.values for n, one in by_size(linear).items()}
    fall, last = slope(samples, "SB-09", np.median), max(samples)
    far = {eps: {n: stats.share(values > eps) for n, values in samples.items()} for eps in tolerances}
    holds = claims.all_of(claims.within(fall, *slopes), *(claims.below(shares[last], rare) for shares in far.values()))
    return Found(
        holds if holds is not False else False if fall.exceeds(stalls) else None,
        {"power of n": fall}
        | {f"beyond {eps:g}, n = {last:,}": f"{shares[last]:.4f}" for eps, shares in far.items()}
        | {
            f"first n with few beyond {eps:g}": next((n for n, one in shares.items() if one.below(rare)), np.inf)
            for eps, shares in far.items()
        },
    )


def separations() -> dict[tuple[str, float], float]:
    """The constants delta(eps) of the proof, by teacher and eps."""
    return {(kind, eps): planar.separation(kind, eps) for kind in ("linear", "relu") for eps in EPSILONS}


def tally(by_n: Mapping[int, xr.Dataset], eps: float, delta: float) -> tuple[int, int, int, int]:
    """Samples with a deviation below the constant, those of them with a vector beyond eps; all, beyond of all."""
    names = ("distance", "deviation")
    distance, deviates = (np.concatenate([one[name].values for one in by_n.values()]) for name in names)
    small, far = deviates < min(delta, eps / 2), distance >= eps
    return int(small.sum()), int((small & far).sum()), len(far), int(far.sum())


@decides(linear=LINEAR, relu=RELU, constants=separations)
def sb_51(linear, relu, constants):
    """Proof of Proposition 1: a deviation below delta(eps), `constants`, leaves no extremal vector beyond eps."""
    samples = {"linear": by_size(linear), "relu": by_size(*relu)}
    counts = {(kind, eps): tally(samples[kind], eps, delta) for (kind, eps), delta in constants.items()}
    applies, beyond, cases, far = (sum(of) for of in zip(*counts.values()))
    fewest, least = min(small for small, *_ in counts.values()), min(constants.values())
    return Found(
        False if beyond or least <= 0 else fewest > 0 or None,
        {f"deviations below it, {kind}, {eps:g}": small for (kind, eps), (small, *_) in counts.items()}
        | {"least constant": least, "deviations below": applies, "fewest": fewest, "of them beyond": beyond}
        | {"cases": cases, "beyond": far},
    )
