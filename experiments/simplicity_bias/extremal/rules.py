"""Rules on extremal vectors, few directions and the width that is left (Sections 2.3, 3, 4.1): SB-02 to SB-25.

Intervals over draws are Student's, of factors on their logarithms, those of mean numbers of vectors and of exponents
percentile bootstraps, of shares Wilson's.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise, product

import numpy as np
import xarray as xr

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import geometry, infinite_sample
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data import teachers
from shallow.stats import Interval

LIMIT = 2 + 4 * teachers.NOISE**0.5 / np.pi  # mean number of extremal vectors, of the limit law
TILTS = np.radians(np.arange(1, 90, 2))
PLANAR_LAWS = {"N(0, I)": 1.0, "square": "square", "4 : 1": 4.0, "16 : 1": 16.0, "64 : 1": 64.0}
AT_TAU, TWICE = 1, 2  # places of the exponents 1/3 and 2/3 in the records


# One matrix, one gradient.


@decides(steps="simplicity_bias/extremal/one_matrix")
def sb_02(steps, *, exact):
    """Section 2.3: one matrix moves all neurons of a pattern; largest relative differences `worst` of steps."""
    worst, runs = float(steps.worst.max()), steps.worst.size
    company = float(steps.company.mean()) - 1
    return Found(
        worst <= exact,
        {"largest relative difference": worst, "steps": 100 * runs, "runs": runs, "sharing": company},
    )


def measured_jumps() -> list[geometry.Jumps]:
    """Six samples of 200 points in two and five dimensions."""
    return [geometry.jumps(d, seed) for d in (2, 5) for seed in range(3)]


@decides(jumps=measured_jumps)
def sb_03(jumps, *, continuous, gradient):
    """Section 2.3, (5): G_n is continuous and piecewise linear with gradient D_n."""
    jump, wrong = float(max(one.function for one in jumps)), float(max(one.gradient.max() for one in jumps))
    return Found(
        {"continuous": jump <= continuous, "gradient": wrong <= gradient},
        {
            "largest jump of G_n": jump,
            "largest error of the gradient": wrong,
            "largest jump of D_n": max(one.vector for one in jumps),
            "hyperplanes": 200 * len(jumps),
        },
    )


@decides(
    toward="simplicity_bias/extremal/toward_extremal", shuffled="simplicity_bias/extremal/toward_extremal_shuffled"
)
def sb_05(toward, shuffled, *, nearly_all, most):
    """Section 2.3: neurons along extremal vectors at tau; share over n, scale, seed and exponent."""
    toward = toward.share.sortby("scale", ascending=False).transpose("exponent", "n", "scale", "seed")
    decided, shares = {}, {}
    for n in toward.n.values:
        runs = toward.sel(n=n).isel(exponent=AT_TAU).values
        shares[f"n = {n}"] = [stats.student(one) for one in runs]
        last, grows = shares[f"n = {n}"][-1], [stats.student(b - a).exceeds(0) for a, b in pairwise(runs)]
        decided[f"n = {n}"] = (
            "contradicted" if claims.below(last, most) else claims.all_of(last.exceeds(nearly_all) or None, *grows)
        )
    mixed = shuffled.share.isel(exponent=AT_TAU)
    return Found(
        decided,
        {f"share at the smallest lambda, {n}": one[-1] for n, one in shares.items()}
        | {
            "shares": shares,
            "at the start": float(toward.isel(exponent=0).mean()),
            "at twice the time": [stats.student(one) for one in toward.isel(exponent=TWICE, scale=-1).values],
            "permuted labels": [stats.student(mixed.sel(n=n).values) for n in mixed.n.values],
        },
    )


# Infinitely many points.


def two_examples() -> list[tuple[set, set]]:
    """Numbers of solutions for a linear teacher and for one unit in two and five dimensions."""
    return [geometry.two_examples(d) for d in (2, 5)]


def by_law() -> dict[str, list[int]]:
    """Solutions with D other than 0 for one unit at 45 angles from the first axis, by law of the inputs."""
    return {name: [geometry.unit_solutions(law, angle) for angle in TILTS] for name, law in PLANAR_LAWS.items()}


@decides(laws="simplicity_bias/extremal/symmetric_laws", exact=two_examples, counts=by_law)
def sb_08(laws, exact, counts, *, errors):
    """Section 3, (6): two directions for a linear teacher, one for one unit; counts over directions by law."""
    worst = float(laws.worst.max())
    more = {law: stats.share(np.array(of) > 1) for law, of in counts.items()}
    several = [law for law, share in more.items() if share.estimate]
    return Found(
        {
            "linear teacher": worst < errors and all(linear == {(2, 2)} for linear, _ in exact),
            "one unit, N(0, I)": all(single == {(2, 1)} for _, single in exact) and set(counts["N(0, I)"]) == {1},
            "one unit, other laws": not several,
        },
        {"largest distance of D_n in standard errors": worst, "components": int(laws.trials.sum())}
        | {f"units with several directions, {law}": share for law, share in more.items()}
        | {"share": {law: more[law].estimate for law in several}, "most": {law: max(counts[law]) for law in several}},
    )


def solutions(plane: xr.Dataset, newton: xr.Dataset) -> xr.DataArray:
    """Numbers of solutions of (6) for random teachers: all in the plane, those of 2000 Newton starts in d = 3, 5."""
    return xr.concat([plane["count"].expand_dims(d=[2]), newton["count"]], "d")


def star_counts() -> dict[int, int]:
    """Solutions for odd stars in the plane, all."""
    return {k: len(infinite_sample.on_circle(geometry.star(k))) for k in (3, 5, 7, 9)}


@decides(
    plane="simplicity_bias/extremal/teacher_directions_plane",
    newton="simplicity_bias/extremal/teacher_directions",
    stars=star_counts,
)
def sb_10(plane, newton, stars, *, per_unit):
    """Section 3, a conjecture: small teachers have few directions; counts over d, k and seed."""
    counts = solutions(plane, newton)
    median = counts.median("seed")
    return Found(
        "answered",
        {"share with at most 4k directions": stats.share((counts <= per_unit * counts.k).values)}
        | {f"largest number, d = {d}": int(counts.sel(d=d).max()) for d in counts.d.values}
        | {
            "largest number": int(counts.max()),
            "supported": bool((median <= per_unit * counts.k).all()),
            "teachers": counts.size,
            "median": float(median.max()),
            "star": {f"k = {k}": n for k, n in stars.items()},
        },
    )


# Many points, and orthogonal ones.


def trend(counts: xr.DataArray) -> Interval:
    """Rank correlation of the numbers of clusters with n over all runs."""
    values = counts.transpose("seed", "n").values
    return stats.spearman(np.broadcast_to(counts.n, values.shape).ravel(), values.ravel(), name="clusters")


@decides(numbers="simplicity_bias/extremal/extremal_numbers", aligned="simplicity_bias/aligned")
def sb_11(numbers, aligned, *, most, growth):
    """Section 3: few extremal vectors and few clusters for n much larger than d."""
    first, number = 100, numbers.number.sel(labels="teacher")
    last = int(number.n.max())
    means = {n: stats.bootstrap(number.sel(n=n).values, name=f"extremal {n}") for n in number.n.values if n >= first}
    grown = stats.student(number.sel(n=last).values - number.sel(n=first).values)
    groups = aligned.clusters.sel(time="aligned", angle=0.05)
    trends = {str(start): trend(groups.sel(start=start)) for start in groups.start.values}
    ends = groups.mean("seed").sortby("n").isel(n=[0, -1])
    return Found(
        {
            "vectors": claims.all_of(
                claims.below(grown, growth), *(claims.below(mean, most) for mean in means.values())
            ),
            "clusters, (8)": claims.below(trends["dominated"], 0),
            "clusters, Gaussian": claims.below(trends["gaussian"], 0),
        },
        {f"growth from n = {first} to {last}": grown}
        | {"exactly two at the largest n": stats.share(number.sel(n=last).values == 2)}
        | {f"rank correlation of clusters with n, {start}": one for start, one in trends.items()}
        | {f"mean number, n = {n}": mean for n, mean in means.items()}
        | {"heuristic": LIMIT, "clusters": {start: ends.sel(start=start).values for start in trends}},
    )


@decides(found="simplicity_bias/extremal/orthogonal_numbers")
def sb_12(found, *, doubling):
    """Section 3: exponentially many extremal vectors for orthogonal inputs; `agree` of `of` label signs for every n."""
    sizes, agree, of = found.n.values, int(found.agree.sum()), int(found.of.sum())
    balanced = np.log2([extremal.orthogonal_count(n - n // 2, n // 2) for n in sizes])
    slope = float(np.polyfit(sizes, balanced, 1)[0])
    return Found(
        agree == of and slope >= doubling,
        {
            "signs of labels that agree": f"{agree} of {of}",
            "doublings a point, balanced": slope,
            "in open cells": int(found.inside.max()),
        },
    )


# Few points.


def early_counts(early: xr.Dataset, draws: xr.Dataset) -> xr.DataArray:
    """Clusters at the end of early alignment, over d, ratio and seed; NaN where a draw was not made."""
    first, more = (one.number.sel(exponent=0.5, drop=True) for one in (early, draws))
    return first.combine_first(more.expand_dims(d=[20]))


@decides(early="simplicity_bias/extremal/early_clusters", draws="simplicity_bias/extremal/early_clusters_draws")
def sb_14(early, draws, *, many):
    """Section 3: many clusters when data are few; n = d beside n = 100 d, orthogonal and Gaussian inputs."""
    counts, factors = early_counts(early, draws), {}
    for (ratio, name), d in product((("orthogonal", "orthogonal"), ("1", "Gaussian")), (20, 50)):
        few, lots = counts.sel(d=d, ratio=[ratio, "100"]).dropna("seed").transpose("ratio", "seed").values
        factors[f"{name}, d = {d}"] = stats.geometric(few / lots)
    medians = counts.median("seed").transpose("ratio", "d")
    return Found(
        {name: True if one.above(many) else False if one.below(1) else None for name, one in factors.items()},
        {f"factor, {name}": one for name, one in factors.items()}
        | {"median": {ratio: medians.sel(ratio=ratio).values for ratio in ("orthogonal", "1", "2", "100")}},
    )


def final_runs(ended: xr.Dataset, large: xr.Dataset) -> xr.Dataset:
    """Runs to convergence, over kappa, d and seed; NaN where there is none."""
    return xr.merge([ended, large], join="outer", compat="no_conflicts")


def exponent(ended: xr.Dataset, kappa: int, variable: str = "number") -> Interval:
    """Slope of the mean logarithm against log d, bootstrap over the draws of each dimension."""
    values = ended[variable].sel(kappa=kappa).dropna("d").transpose("seed", "d")
    d, logs = np.log(values.d.values), np.log(values.values)
    weights = (d - d.mean()) / np.sum((d - d.mean()) ** 2)  # of least squares
    rng = stats.stream("exponent of clusters", variable, kappa)
    rows = rng.integers(0, len(logs), (stats.RESAMPLES, *logs.shape))
    drawn = np.take_along_axis(logs[None], rows, axis=1).mean(axis=1)
    return Interval.from_draws(logs.mean(axis=0) @ weights, drawn @ weights)


@decides(ended="simplicity_bias/extremal/final_clusters", large="simplicity_bias/extremal/final_clusters_large")
def sb_15(ended, large, *, low, high, hardly):
    """Section 3, a conjecture: clusters at convergence of the order of n for n = d and 2d."""
    ended, sizes = final_runs(ended, large), {"n = d": 1, "n = 2d": 2}
    found = {size: exponent(ended, kappa) for size, kappa in sizes.items()}
    over = (ended.number / (ended.kappa * ended.d)).median("seed")
    loss = ended.loss.sel(kappa=[1, 2]).values
    done = stats.share(loss[np.isfinite(loss)] < 1e-8)
    return Found(
        "answered",
        {f"exponent of the clusters, {size}": one for size, one in found.items()}
        | {
            "runs that interpolate": done,
            "supported": claims.all_of(*(claims.within(one, low, high) for one in found.values())),
            "not supported": any(one.below(hardly) for one in found.values()),
            "of the participation ratio": [exponent(ended, kappa, "effective_width") for kappa in sizes.values()],
            "clusters over n": {size: over.sel(kappa=kappa).dropna("d").values for size, kappa in sizes.items()},
            "share that interpolates": done.estimate,
            "runs": int(np.isfinite(loss).sum()),
        },
    )


# Directions without a neuron.

FIRST = 4096  # neurons, from which on a trend is taken
STARTS = {"gaussian": "Gaussian", "equation 8": "start (8)"}
NAMES = {"relu": "ReLU", "gelu": "GeLU"}
TIMES = (5.0, 20.0)


def all_gaps(*found: xr.Dataset) -> xr.DataArray:
    """Largest angles without a neuron over activation, initialisation, n, m, seed, time; NaN where there is no run."""
    return reduce(lambda a, b: a.combine_first(b), [one.gap for one in found])


def slopes(found: xr.DataArray, activation: str, initialisation: str, time: float, n: int = 20) -> np.ndarray:
    """Of every draw, the slope of the logarithm of the gap against that of the width from :data:`FIRST` on."""
    chosen = found.sel(activation=activation, initialisation=initialisation, time=time, n=n)
    chosen = chosen.sel(m=chosen.m >= FIRST).dropna("seed", how="any").transpose("m", "seed")
    return np.polyfit(np.log(chosen.m.values), np.log(chosen.values), 1)[0]


def trends(found: xr.DataArray) -> dict[tuple[str, str, float], Interval]:
    """Mean slope over the draws, by activation, start and time, twenty points."""
    keys = product(found.activation.values.tolist(), found.initialisation.values.tolist(), TIMES)
    return {key: stats.student(slopes(found, *key)) for key in keys}


@decides(
    gaps="simplicity_bias/extremal/gaps",
    wide="simplicity_bias/extremal/gaps_wide",
    draws="simplicity_bias/extremal/gaps_draws",
)
def sb_25(gaps, wide, draws, *, closing, persistent):
    """Section 4.1: ReLU loses directions, smooth activations do not; largest gaps against the width, two inputs."""
    found, decided = all_gaps(gaps, wide, draws), {}
    slope = trends(found)
    for start, name in STARTS.items():
        gelu, relu = ([slope[a, start, time] for time in TIMES] for a in ("gelu", "relu"))
        decided[f"{name}: GeLU keeps"] = claims.all_of(*(claims.below(one, closing) for one in gelu))
        decided[f"{name}: ReLU loses"] = claims.any_of(*(one.exceeds(persistent) for one in relu))
    late = [slopes(found, activation, "gaussian", TIMES[-1]) for activation in ("relu", "gelu")]
    return Found(
        decided,
        {f"{NAMES[a]}, {STARTS[s]}, time {t:g}": one for (a, s, t), one in slope.items() if s in STARTS}
        | {"ReLU minus GeLU, Gaussian, time 20": stats.student(late[0] - late[1])},
    )
