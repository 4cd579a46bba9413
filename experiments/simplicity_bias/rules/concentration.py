r"""Rules on concentration (Theorems 1 and 3, Proposition 1): SB-06, 07, 09, 47 to 51 and 54.

The *deviation* of a sample is $\sup_w \sup_{D \in \mathfrak D_n(w)} \|D - D(w)\|$.  Intervals are bootstrap intervals
over the samples, those of shares of samples Wilson's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import xarray as xr

from experiments.simplicity_bias import concentration, deviation, planar
from shallow import nets, stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data import teachers
from shallow.stats import Interval

SLOPES = (-0.55, -0.43)  # of the logarithm of the mean deviation against log n
Samples = Mapping[int, np.ndarray]  # deviations by the number of points

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


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


def printed_rate(n: float, d: int, second_moment: float) -> float:
    r"""$\sqrt{d \log n / n}\,\sqrt{\mathbb E[y^2\|x\|^2]}$, the bound of Theorem 1 without its constant."""
    return float(np.sqrt(d * np.log(n) / n * second_moment))


# Theorem 1.


def plane() -> tuple[Samples, Samples]:
    """Recorded deviations in the plane, with Gaussian noise and with noise without a variance."""
    some, large = load("simplicity_bias/planar_suprema").deviation, load("simplicity_bias/planar_suprema_large")
    found = {noise: {int(n): some.sel(n=n, freedom=noise).values.ravel() for n in some.n.values} for noise in (0, 1.5)}
    more = {int(n): large.deviation.sel(n=n).values.ravel() for n in large.n.values}
    return found[0] | more, found[1.5]


def sb_06(samples: Samples | None = None, heavy: Samples | None = None) -> Outcome:
    """Theorem 1: the mean deviation falls at least as fast as the root of log n / n."""
    fails, growth = -0.40, 1.2
    recorded = plane() if samples is None or heavy is None else None
    samples, heavy = (recorded[0], recorded[1]) if recorded else (samples, heavy)
    fall, null = slope(samples, "SB-06"), slope(heavy, "SB-06 null")
    first, last = min(samples), max(samples)
    rates = {n: printed_rate(n, 2, 4 + 2 * teachers.NOISE) for n in samples}
    over = {n: samples[n].mean() / rates[n] for n in samples}
    grown = ratio(samples[last] / rates[last], samples[first] / rates[first], "SB-06")
    holds = claims.all_of(claims.within(fall, *SLOPES), claims.below(grown, growth))
    fails_by = claims.any_of(fall.exceeds(fails), bool((np.diff(list(over.values())) > 0).all()))
    return Outcome(
        verdict=holds if holds is not False else False if fails_by else None,
        answer={
            "reproduced": "Yes: over all directions together the largest deviation shrinks like one over the root of "
            "the number of samples.",
            "contradicted": "No: the largest deviation shrinks more slowly than the theorem says.",
            "otherwise": "Open: our samples do not decide how fast the largest deviation shrinks.",
        },
        finding=f"the mean deviation falls like n to the power {fall:.3f} from n = {first} to {last:,} (the bound "
        f"itself: {bound_slope(samples):.3f} on this grid), and its ratio to the bound from {over[first]:.2f} to "
        f"{over[last]:.2f}; with labels that have no second moment the power is {null}",
        evidence={"power of n": fall, "ratio to the bound, last over first": grown, "no second moment": null},
    )  # fmt: skip


def bound_slope(samples: Mapping[int, object]) -> float:
    """The slope that the theorem's own root of log n / n has on the grid of the samples."""
    n = np.array(list(samples), float)
    return float(np.polyfit(np.log(n), np.log(np.log(n) / n) / 2, 1)[0])


@cache
def by_dimension() -> dict[tuple[str, int, int], np.ndarray]:
    """Recorded deviations by teacher, dimension and number of points: twenty, of 100,000 points five."""
    ends = ("dimensions", "dimensions_more", "quantiles")
    five, relu, linear = (load(f"simplicity_bias/deviation_{end}") for end in ends)
    found = {}
    for kind in ("linear", "relu"):
        for d in concentration.DIMENSIONS:
            for n in concentration.SIZES:
                values = five.deviation.sel(kind=kind, d=d, n=n).values
                if n <= 10_000:
                    more = linear.sel(seed=slice(5, 19)) if kind == "linear" else relu.sel(kind=kind)
                    values = np.concatenate([values, more.deviation.sel(d=d, n=n).values])
                found[kind, d, n] = values.astype(float)
    return found


def sb_07(samples: Mapping[tuple[str, int, int], np.ndarray] | None = None, off: float | None = None) -> Outcome:
    """Theorem 1: at most the root of d times the root of the second moment, linear in the labels.

    Args:
        samples: deviations by teacher, dimension and number of points.
        off: relative error of 3 sup(y) for sup(3 y).
    """
    most, rounding = 2.0, 1e-12
    samples = by_dimension() if samples is None else samples
    off = homogeneity_error() if off is None else off
    kinds, dims, sizes = (sorted({key[i] for key in samples}) for i in range(3))
    plane, lines = {}, {}
    for kind in kinds:
        for n in sizes:
            for d in dims[1:]:
                scaled = [samples[kind, q, n] / rate_of(kind, q, n) for q in (d, dims[0])]
                plane[kind, n, d] = ratio(*scaled, f"SB-07 {kind} {n} {d}")
        for d in dims:
            lines[kind, d] = slope({n: samples[kind, d, n] for n in sizes}, f"SB-07 {kind} {d}")
    growth = slope({d: samples["linear", d, sizes[-2]] for d in dims}, "SB-07 in d")
    at_last = [plane[kind, n, dims[-1]].estimate for kind in kinds for n in sizes]
    steepest, flattest = min(lines.values(), key=_estimate), max(lines.values(), key=_estimate)
    return Outcome(
        parts={
            "a": claims.all_of(*(claims.below(one, most) for one in plane.values())),
            "b": off <= rounding,
            "c": claims.all_of(*(claims.below(one, SLOPES[1]) for one in lines.values())),
        },
        answer={
            "reproduced": "Yes, and more slowly than the bound: the deviation grows about like the root of the "
            "dimension, and in proportion to the labels.",
            "contradicted": "No: the deviation grows faster with the dimension than the bound.",
            "otherwise": "In part: growth with the dimension, decay with samples and proportion to labels do not all "
            "come out.",
        },
        finding=f"from d = {dims[0]} to {dims[-1]} the ratio to the bound falls to {min(at_last):.2f} to "
        f"{max(at_last):.2f} of its value in the plane; the deviation of the linear teacher grows like d to the power "
        f"{growth} where the bound has about 1; the powers of n lie between {steepest} and {flattest}, where the "
        f"bound itself has {bound_slope(dict.fromkeys(sizes)):.3f} on this grid; three times the labels give three "
        "times the deviation",
        evidence={f"power of n, {kind}, d = {d}": one for (kind, d), one in lines.items()}
        | {"power of d": growth, "largest ratio to the plane": max(plane.values(), key=_estimate)},
    )  # fmt: skip


def _estimate(interval: Interval) -> float:
    return interval.estimate


@cache
def rate_of(kind: str, d: int, n: int) -> float:
    """:func:`printed_rate` for the teachers of the record."""
    return printed_rate(n, d, concentration.moment(concentration.teacher(kind, d)))


@cache
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


def sb_54(
    samples: Mapping[tuple[int, int], np.ndarray] | None = None, moments: Mapping[int, Interval] | None = None
) -> Outcome:
    """Equation (17): of order d times the root of log n / n in the linear model.

    Args:
        samples: deviations by dimension and number of points, linear teacher.
        moments: measured second moment over (d + 2) + d sigma^2, by dimension.
    """
    close, most = 0.01, 3.0
    samples = quantile_samples() if samples is None else samples
    moments = second_moments() if moments is None else moments
    scaled = {(d, n): values / (d * np.sqrt(np.log(n) / n)) for (d, n), values in samples.items()}
    first = min(scaled)
    over = {k: ratio(values, scaled[first], f"SB-54 {k}", quantile) for k, values in scaled.items() if k != first}
    level = {k: float(quantile(values)) for k, values in scaled.items()}
    (low, high), n = (min(d for d, _ in level), max(d for d, _ in level)), max(n for _, n in level)
    off = max(moments.values(), key=lambda one: abs(one.estimate - 1))
    return Outcome(
        verdict=claims.all_of(
            *(claims.within(one, 1 - close, 1 + close) for one in moments.values()),
            *(claims.below(one, most) for one in over.values()),
        ),
        answer={
            "reproduced": "Yes: d times the root of log n over n bounds the deviation of a linear teacher, generously "
            "in high dimension.",
            "contradicted": "No: the deviation of a linear teacher outgrows d times the root of log n over n.",
            "otherwise": "Open: our samples do not decide whether this order holds.",
        },
        finding=f"the second moment over its formula (d + 2) + d σ² is farthest from 1 at {off:.4f}, and the 95 % "
        f"quantile of the deviation over d √(log n / n) is {level[first]:.2f} in the plane at n = {first[1]} and falls "
        f"with the dimension, at n = {n:,} from {level[low, n]:.2f} to {level[high, n]:.2f}",
        evidence={f"second moment over its formula, d = {d}": f"{one:.4f}" for d, one in moments.items()}
        | {f"quantile over the first one, d = {d}, n = {n}": one for (d, n), one in over.items()},
    )  # fmt: skip


def quantile(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """The 95 % quantile."""
    return np.quantile(values, 0.95, axis=axis)


@cache
def quantile_samples() -> dict[tuple[int, int], np.ndarray]:
    """A hundred recorded deviations by dimension and number of points, linear teacher."""
    found = load("simplicity_bias/deviation_quantiles").deviation
    return {(int(d), int(n)): found.sel(d=d, n=n).values.astype(float) for d in found.d.values for n in found.n.values}


@cache
def second_moments() -> dict[int, Interval]:
    r"""$\mathbb E[y^2\|x\|^2]$ of ten million recorded points over $(d + 2) + d\sigma^2$, by dimension."""
    found = load("simplicity_bias/second_moments").ratio
    return {int(d): stats.student(found.sel(d=d).values.astype(float)) for d in found.d.values}


# The proof of Theorem 1.


def sb_47(found: xr.Dataset | None = None) -> Outcome:
    """Equations (9) to (14): symmetrisation, counting, norms, union bound.

    Args:
        found: of `planar.links`, over d, n, block (and draw).
    """
    rounding = 1e-12
    found = load("simplicity_bias/links") if found is None else found
    cases = [(int(d), int(n)) for d in found.d.values for n in found.n.values]
    at = {case: found.sel(d=case[0], n=case[1]) for case in cases}
    signs = {case: ratio_of_pairs(one, f"SB-47 {case}") for case, one in at.items()}
    counted = [bool((one.patterns == planar.cover(n, d)).all()) for (d, n), one in at.items()]
    used = {(d, n): float(np.quantile(one.scaled, 0.95) / union_level(d, n, 3.0)) for (d, n), one in at.items()}
    ratios = [one.estimate for one in signs.values()]
    return Outcome(
        parts={
            "a": claims.all_of(*(claims.below(one, 2) for one in signs.values())),
            "b": all(counted),
            "c": bool((found.operator <= 1 + rounding).all() and (found.frobenius <= 1 + rounding).all()),
            "d": claims.all_of(*(under_union_bound(one.scaled.values.ravel(), d, n) for (d, n), one in at.items())),
        },
        answer={
            "reproduced": "Yes: each step of the proof holds in numbers, most of them with room to spare.",
            "contradicted": "No: the steps of the proof fail in numbers.",
            "otherwise": "In part: some step of the proof fails in numbers or stays open.",
        },
        finding=f"the mean deviation is {min(ratios):.2f} to {max(ratios):.2f} times that of the sums with random "
        f"signs (allowed: 2), {sum(counted)} of {len(counted)} sizes have Cover's number of patterns in every "
        f"sample, the norms are in order for every pattern, and the 95 % quantile of the signed supremum reaches at "
        f"most {max(used.values()):.2f} of its bound",
        evidence={"largest ratio to the signed sums": max(signs.values(), key=_estimate)},
    )  # fmt: skip


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
    shares = {s: stats.wilson(scaled >= union_level(d, n, s)) for s in np.arange(0.25, 4.1, 0.25)}
    return claims.all_of(*(claims.below(share, float(np.exp(-s))) for s, share in shares.items()))


def sb_48(found: xr.Dataset | None = None) -> Outcome:
    """Lemma 1: the sets at the rays add nothing to the supremum over the arcs.

    Args:
        found: of `planar.rays`, over n, kind, block and draw.
    """
    rounding = 1e-10
    found = load("simplicity_bias/rays") if found is None else found
    excess = (found.sets - found.arcs).sel(kind=["linear", "relu"])
    mirrored = (found.sets / found.arcs - 1).sel(kind="mirrored") > 1e-3
    return Outcome(
        verdict=float(excess.max()) <= rounding,
        answer={
            "reproduced": "Yes: what happens on the boundary between two activation patterns adds nothing, as long as "
            "no two points lie on one line.",
            "contradicted": "No: boundaries between activation patterns make the largest deviation larger.",
        },
        finding=f"in {excess.size} samples no set exceeds the supremum over the arcs by more than "
        f"{max(float(excess.max()), rounding):.0e}; with mirrored points, which no continuous law draws, sets are "
        f"larger in {float(mirrored.mean()):.0%} of the samples",
        evidence={"largest excess": f"{float(excess.max()):.1e}", "larger with mirrored points":
                  stats.wilson(mirrored.values.ravel())},
    )  # fmt: skip


# Theorem 3 and Corollary 1.

GRID = np.linspace(0.5, 10, 20)  # of n t^2 / V, V = E[y^2 |x|^2]
FITTED = 100  # points of the samples that fix the constants of Theorem 3
LAWS = ("Gaussian", "Student 5")


@cache
def tails() -> dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]:
    """By noise and n: n sup^2 / V of the recorded samples, and whether Z_n exceeds 2 V; (block, draw) each."""
    found = load("simplicity_bias/deviation_tails")
    return {
        (noise, int(n)): (
            n * found.deviation.sel(noise=noise, n=n).transpose("block", "draw").values.astype(float) ** 2
            / (4 + 2 * concentration.variance(noise)),
            found.above.sel(noise=noise, n=n).transpose("block", "draw").values > 0,
        )
        for noise in found.noise.values for n in found.n.values
    }  # fmt: skip


def sb_49(samples: Mapping[tuple[str, int], tuple[np.ndarray, np.ndarray]] | None = None) -> Outcome:
    """Theorem 3: a tail bound with the constants of one size holds at the others.

    Args:
        samples: n sup^2 / V and whether Z_n > 2 V, (block, draw), by noise and n; "Student 2.5" is the null.
    """
    least = 0.5
    samples = tails() if samples is None else samples
    c_1, c_2 = fitted_constants(samples)
    cases = [(noise, n) for noise, n in samples if noise in LAWS and n > FITTED]
    held = {case: dominated(*samples[case], case[1], c_1, c_2) for case in cases}
    bends = {
        (noise, n): bend(np.where(above, 0, scaled))
        for (noise, n), (scaled, above) in samples.items() if noise in LAWS and n >= FITTED
    }  # fmt: skip
    null = bend(samples["Student 2.5", max(n for _, n in samples)][0])
    least_bend = min(bends.values(), key=_estimate)
    return Outcome(
        parts={
            "bound": claims.all_of(*held.values()),
            "at most linear": claims.all_of(*(one.exceeds(least) for one in bends.values())),
        },
        answer={
            "reproduced": "Yes: far deviations are as rare as the bound says, apart from samples with unusually large "
            "labels, which have a term of their own.",
            "contradicted": "No: far deviations are more frequent than the bound allows.",
            "otherwise": "In part: the bound holds for some sizes or laws only, or it stays open.",
        },
        finding=f"with c₂ = {c_2:.2f} fitted at n = {FITTED} the bound lies over the tail in "
        f"{sum(map(bool, held.values()))} of {len(held)} cases; where Z_n ≤ 2V the logarithm of the probability "
        f"falls far out at least {least_bend} times as steeply as near by; without a fourth moment and without that "
        f"restriction, {null} times",
        evidence={f"steepness far over near, {noise}, n = {n}": one for (noise, n), one in bends.items()}
        | {"without a fourth moment": null},
    )  # fmt: skip


def fitted_constants(samples: Mapping[tuple[str, int], tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    r"""c_1, c_2 of $c_1 n^d e^{-c_2 n t^2/M} + P(Z_n > M)$, M = 2V: slope at n = 100 and the least lift over it."""
    slopes, lifts = [], []
    for noise in LAWS:
        scaled = samples[noise, FITTED][0].ravel()
        tail = (scaled > GRID[:, None]).mean(axis=1)
        seen = (tail < 0.5) & (tail * scaled.size >= 10)
        slopes.append(np.polyfit(GRID[seen] / 2, np.log(tail[seen]), 1)[0])
    c_2 = -max(slopes)
    for noise in LAWS:
        scaled, above = samples[noise, FITTED]
        tail = (scaled.ravel() > GRID[:, None]).mean(axis=1) - above.mean()
        lifts.append((tail / (FITTED**2 * np.exp(-c_2 * GRID / 2))).max())
    return float(max(lifts)), float(c_2)


def dominated(scaled: np.ndarray, above: np.ndarray, n: int, c_1: float, c_2: float) -> bool | None:
    """Whether the probability is below the bound at every t of the grid at which the bound says something."""
    bound = c_1 * n**2 * np.exp(-c_2 * GRID / 2) + above.mean()
    shares = [(stats.wilson(scaled.ravel() > t), float(level)) for t, level in zip(GRID, bound) if level < 1]
    return claims.all_of(*(claims.below(share, level) for share, level in shares))


def bend(scaled: np.ndarray, groups: int = 5) -> Interval:
    """Steepness of the log of the tail between 2 % and 0.4 % over that between 50 % and 10 %, by groups of blocks."""
    found = []
    for group in np.array_split(scaled, groups):
        half, tenth, far, farther = np.quantile(group, [0.5, 0.9, 0.98, 0.996])
        found.append((tenth - half) / (farther - far))  # both stretches are a factor of five in probability
    return stats.student(np.array(found))


def sb_50(samples: Mapping[tuple[str, int], tuple[np.ndarray, np.ndarray]] | None = None) -> Outcome:
    """Corollary 1: C sqrt(log n / n) is exceeded with probability 1/n, C being fixed at n = 50.

    Args:
        samples: as in :func:`sb_49`.
    """
    level = 0.98
    samples = tails() if samples is None else samples
    over = {noise: exceedance(samples, noise, level) for noise in dict.fromkeys(noise for noise, _ in samples)}
    kept = [claims.below(share, 1 / n) for noise in LAWS for n, share in over[noise].items()]
    falls = [falling(over[noise]) for noise in LAWS]
    last = max(over[LAWS[0]])
    told = {noise: Interval(*(last * v for v in (one[last].estimate, one[last].low, one[last].high)))
            for noise, one in over.items()}  # fmt: skip
    held = claims.all_of(*kept)
    return Outcome(
        verdict=held if held is not False else False if False in falls else None,
        answer={
            "reproduced": "Yes: if labels and inputs have a fourth moment, at most one sample in n exceeds the bound.",
            "contradicted": "No: the chance to exceed the bound does not fall as the sample grows.",
            "otherwise": "Open: the chance to exceed the bound falls, but we cannot say that it falls like 1/n.",
        },
        finding=f"with the constant that one sample in 50 exceeds at n = 50, n times the share of samples over the "
        f"bound is {told['Gaussian']} (Gaussian noise) and {told['Student 5']} (Student's, five degrees of freedom) at "
        f"n = {last}; with 2.5 degrees of freedom, without a fourth moment, it rises to {told['Student 2.5']:.1f}",
        evidence={f"n times the share, {noise}, n = {last}": one for noise, one in told.items()},
    )  # fmt: skip


def exceedance(samples, noise: str, level: float) -> dict[int, Interval]:
    """Share of samples over C sqrt(log n / n), C the quantile of that level at the least n, for the larger n."""
    relative = {n: np.sqrt(scaled.ravel() / np.log(n)) for (law, n), (scaled, _) in samples.items() if law == noise}
    first, *others = sorted(relative)
    constant = np.quantile(relative[first], level)
    return {n: stats.wilson(relative[n] > constant) for n in others}


def falling(shares: Mapping[int, Interval]) -> bool:
    """Whether the share at the largest n is below that at the least one."""
    return shares[max(shares)].high < shares[min(shares)].low


# Proposition 1.


@cache
def extremes(kind: str) -> dict[int, xr.Dataset]:
    """Recorded distances and deviations by n; (sample,) each."""
    names = {"linear": ("planar_extremes",), "relu": ("planar_extremes_relu", "planar_extremes_relu_large")}[kind]
    found = [load(f"simplicity_bias/{name}").sel(kind=kind) for name in names]
    return {int(n): one.sel(n=n).stack(sample=["block", "draw"]) for one in found for n in one.n.values}


def sb_09(samples: Samples | None = None) -> Outcome:
    """Proposition 1: every extremal vector comes close to one of the infinite sample.

    Args:
        samples: largest distance of an extremal vector from the limit, by n.
    """
    tolerances, rare, slopes, stalls = (0.1, 0.05), 0.01, (-0.6, -0.4), -0.2
    samples = {n: one.distance.values for n, one in extremes("linear").items()} if samples is None else samples
    fall = slope(samples, "SB-09", np.median)
    far = {eps: {n: stats.wilson(values > eps) for n, values in samples.items()} for eps in tolerances}
    holds = claims.all_of(
        claims.within(fall, *slopes), *(claims.below(shares[max(samples)], rare) for shares in far.values())
    )
    since = {eps: next((n for n, share in shares.items() if share.below(rare)), None) for eps, shares in far.items()}
    told = " and ".join(f"{eps:g} from n = {n:,} on" if n else f"{eps:g} at no n" for eps, n in since.items())
    return Outcome(
        verdict=holds if holds is not False else False if fall.exceeds(stalls) else None,
        answer={
            "reproduced": "Yes: with more samples every direction that neurons can settle in comes close to one of the "
            "infinite sample.",
            "contradicted": "No: some directions stay away from those of the infinite sample.",
            "otherwise": "Open: the directions come closer, but not as surely or as fast as asked.",
        },
        finding=f"fewer than 1 % of the samples have an extremal vector farther from the limit than {told}, and the "
        f"median of the largest distance falls like n to the power {fall}",
        evidence={"power of n": fall}
        | {f"beyond {eps:g}, n = {max(samples):,}": f"{shares[max(samples)]:.4f}" for eps, shares in far.items()},
    )  # fmt: skip


EPSILONS = (0.3, 0.1, 0.05)


def sb_51(
    samples: Mapping[str, Mapping[int, xr.Dataset]] | None = None,
    constants: Mapping[tuple[str, float], float] | None = None,
) -> Outcome:
    """Proof of Proposition 1: a deviation below delta(eps) leaves no extremal vector beyond eps.

    Args:
        samples: by teacher and n, distance and deviation (sample,).
        constants: delta(eps) by teacher and eps.
    """
    samples = {kind: extremes(kind) for kind in ("linear", "relu")} if samples is None else samples
    constants = separations() if constants is None else constants
    counts = {key: tally(samples[key[0]], key[1], delta) for key, delta in constants.items()}
    applies, beyond = (sum(one[i] for one in counts.values()) for i in (0, 1))
    unused = [f"{kind}, {eps:g}" for (kind, eps), one in counts.items() if not one[0]]
    least = min(constants.values())
    return Outcome(
        verdict=False if beyond or least <= 0 else None if unused else True,
        answer={
            "reproduced": "Yes: whenever the deviation is below the constant of the proof, all extremal vectors are "
            "within the distance it promises.",
            "contradicted": "No: there are samples with a deviation below the constant and an extremal vector too far "
            "away.",
            "otherwise": "Open: for some distances no sample has a deviation below the constant.",
        },
        finding=f"the constant is positive for every distance, at least {least:.3f}, and in {applies} cases of a "
        f"deviation below it, {min(one[0] for one in counts.values())} or more for each teacher and distance, "
        f"{beyond} have an extremal vector too far away; of all {sum(one[2] for one in counts.values())} cases "
        f"{sum(one[3] for one in counts.values())} have one",
        evidence={f"deviations below it, {kind}, {eps:g}": one[0] for (kind, eps), one in counts.items()},
    )  # fmt: skip


@cache
def separations() -> dict[tuple[str, float], float]:
    """The constants of the proof for both teachers."""
    return {(kind, eps): planar.separation(kind, eps) for kind in ("linear", "relu") for eps in EPSILONS}


def tally(by_n: Mapping[int, xr.Dataset], eps: float, delta: float) -> tuple[int, int, int, int]:
    """Samples with a deviation below the constant, those of them with a vector beyond eps; all, beyond of all."""
    names = ("distance", "deviation")
    distance, deviates = (np.concatenate([one[name].values for one in by_n.values()]) for name in names)
    small, far = deviates < min(delta, eps / 2), distance >= eps
    return int(small.sum()), int((small & far).sum()), len(far), int(far.sum())
