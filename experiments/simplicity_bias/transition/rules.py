"""Rules on Figures 1 and 3, on footnote 2, and on GeLU and Adam: SB-28, 34 to 37, 40, 41, 45, 46 and 62.

The runs of a figure are Datasets over n and seed at one moment (:func:`end`): train, excess, ols, ols_excess; losses
are mean squares, the excess is the test loss without the noise.  Ratios are compared with their thresholds by Student's
interval of their logarithm over the draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from experiments.simplicity_bias.transition import cells as transition
from experiments.simplicity_bias.transition import noise
from experiments.simplicity_bias.transition.cells import Bounds
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data.teachers import NOISE
from shallow.stats import Interval

WIDE, NARROW = "10,000 neurons", "1008 neurons"
FIGURE_1 = "simplicity_bias/transition/figure_1_narrow"
WIDER = "simplicity_bias/transition/figure_1_decayed", "simplicity_bias/transition/figure_1_between"
FIGURE_3 = "simplicity_bias/transition/figure_3_decayed", "simplicity_bias/transition/figure_3_between"
THREE = "simplicity_bias/transition/dimension_3"
TEN = "simplicity_bias/transition/dimension_10_decayed", "simplicity_bias/transition/dimension_10_further"
VARIANTS = (
    "simplicity_bias/transition/variants",
    "simplicity_bias/transition/variants_ends",
    "simplicity_bias/transition/variants_more",
)
KINDS = {"where interpolation ends": "interpolation", "half of the way to least squares": "half"}  # of thresholds


# The ends of recorded runs.


def end(run: xr.Dataset, *, constant: bool = False) -> xr.Dataset:
    """The end of runs: after the decay of the rate if they have one, else (or if asked) at the constant rate."""
    if "decayed_train" in run and not constant:
        last = {"train": run.decayed_train.isel(restart=-1, drop=True), "excess": run.decayed_excess}
    else:
        last = {name: run[name].isel(step=-1, drop=True) for name in ("train", "excess")}
    return xr.Dataset(last | {name: run[name] for name in ("ols", "ols_excess")}).load()


def at(run: xr.Dataset, step: int) -> xr.Dataset:
    """Runs at a step of the constant rate."""
    last = {name: run[name].sel(step=step, drop=True) for name in ("train", "excess")}
    return xr.Dataset(last | {name: run[name] for name in ("ols", "ols_excess")}).load()


def joined(runs: Sequence[xr.Dataset]) -> xr.Dataset:
    """Ends of runs over different sizes as one, n ascending."""
    return xr.concat([end(run) for run in runs], "n").sortby("n")


def figure_1(narrow: xr.Dataset, wide: Sequence[xr.Dataset]) -> dict[str, xr.Dataset]:
    """The ends of the runs of Figure 1 by width."""
    return {WIDE: joined(wide), NARROW: end(narrow.sel(n=slice(100, 10_000)))}


def figure_3(relu: Sequence[xr.Dataset]) -> xr.Dataset:
    """The ends of the runs of Figure 3, with the teacher as the replicate."""
    return joined([run.isel(seed=0, drop=True) for run in relu]).rename(teacher="seed")


def dimensions(narrow: xr.Dataset, ten: Sequence[xr.Dataset]) -> dict[int, xr.Dataset]:
    """The ends of the runs in dimensions 5 and 10, 1008 neurons."""
    return {5: end(narrow), 10: joined(ten)}


def variants(runs: Sequence[xr.Dataset]) -> dict[str, xr.Dataset]:
    """The ends of the runs with Adam and with GeLU; draws of which only some sizes are known are NaN elsewhere."""
    both = xr.concat(list(map(end, runs)), "seed", join="outer")
    return {str(kind): both.sel(kind=kind, drop=True) for kind in both.kind.values}


# Intervals over draws.


def mean(values: np.ndarray) -> Interval:
    """Mean over the draws with Student's interval, which is the whole line for fewer than two draws."""
    values = np.ravel(values).astype(float)
    if len(values) < 2 or not np.isfinite(values).all():
        return Interval(float(np.mean(values)) if len(values) else np.nan, -np.inf, np.inf)
    return stats.student(values)


def exponential(logs: Interval) -> Interval:
    """The interval of a quantity from that of its logarithm."""
    with np.errstate(over="ignore"):
        return Interval(*(float(np.exp(value)) for value in (logs.estimate, logs.low, logs.high)))


def geometric(ratios: np.ndarray) -> Interval:
    """Geometric mean of ratios over the draws with :func:`mean`'s interval of the logarithm."""
    return exponential(mean(np.log(np.ravel(ratios))))


def quotient(above: np.ndarray, under: np.ndarray) -> Interval:
    """Quotient of the geometric means of two samples of draws, with Welch's interval of its logarithm."""
    first, second = (np.log(np.ravel(values).astype(float)) for values in (above, under))
    if min(len(first), len(second)) < 2 or not np.isfinite([*first, *second]).all():
        return Interval(float(np.exp(first.mean() - second.mean())), 0.0, np.inf)
    return exponential(stats.welch(first, second))


# The shape of Figure 1.


def falls(ratio: xr.DataArray) -> np.ndarray:
    """The largest fall of a relative loss from one size to the next by draw, zero if it only rises."""
    return np.maximum(-np.diff(ratio.transpose("n", "seed").values, axis=0), 0).max(0)


def features(final: xr.Dataset, *, over_noise: bool = False) -> dict[str, Interval | float]:
    """Train and test loss with few points and with many, over those of least squares or (if asked) the noise."""
    test = (final.excess + NOISE) / (NOISE if over_noise else final.ols_excess + NOISE)
    train, average = (final.train / NOISE, geometric) if over_noise else (final.train / final.ols, mean)
    few = final.train.isel(n=0) / NOISE
    return {
        "train at few at least": float(few.min()),
        "train at few at most": float(few.max()),
        "test at few": geometric(test.isel(n=0)),
        "train at many": average(train.isel(n=-1)),
        "test at many": geometric(test.isel(n=-1)),
        "fall": mean(falls(train)),
    }


def shape(
    found: Mapping[str, Interval], interpolates: float, worse: float, least: float, most: float, fall: float
) -> dict[str, bool | None]:
    """Whether runs have the three :func:`features` of Figure 1; None is undecided.

    a: at the smallest n every draw interpolates (not: none does), and the test loss is clearly worse; b: at the largest
    n the training loss is at least, and the test loss at most what it should be; c: in between the relative training
    loss never falls by more.
    """
    every, some = (found[f"train at few at {end}"] <= interpolates for end in ("most", "least"))
    interpolate = True if every else None if some else False
    return {
        "a": claims.all_of(interpolate, found["test at few"].exceeds(worse)),
        "b": claims.all_of(found["train at many"].exceeds(least), claims.below(found["test at many"], most)),
        "c": claims.below(found["fall"], fall),
    }


def judged(a: bool | None, b: bool | None, c: bool | None) -> str | bool | None:
    """All of a, b and c: reproduced; c and one of a, b: partly; neither a nor b: contradicted."""
    whole = claims.all_of(a, b, c)
    return False if a is False and b is False else "partly" if whole is False else whole


@decides(narrow=FIGURE_1, wide=WIDER)
def sb_34(narrow, wide, *, interpolates, worse, least, most, fall):
    """Figure 1: interpolation with few points, least squares with many (three draws, after the rate has decayed)."""
    found = {name: features(final) for name, final in figure_1(narrow, wide).items()}
    flags = {name: shape(one, interpolates, worse, least, most, fall) for name, one in found.items()}
    return Found(
        {name: judged(**one) for name, one in flags.items()},
        {f"{name}, {key}": value for of in (flags, found) for name, one in of.items() for key, value in one.items()},
    )


@decides(small="simplicity_bias/transition/figure_1_small")
def sb_35(small, *, interpolates, worse, least, most, fall):
    """Figure 1 with 256 neurons and a million steps."""
    found = features(end(small))
    return Found(judged(**shape(found, interpolates, worse, least, most, fall)), found)


def slope_in_n(excess: xr.DataArray) -> Interval:
    """Slope of log excess in log n over the runs (n, seed) that are not NaN, with Student's interval."""
    known = excess.notnull().values
    n, values = excess.n.broadcast_like(excess).values[known], excess.values[known]
    if len(np.unique(n)) < 3:
        return Interval(np.nan, -np.inf, np.inf)
    line = scipy_stats.linregress(np.log(n), np.log(values))
    half = line.stderr * scipy_stats.t.ppf(0.975, len(n) - 2)
    return Interval(line.slope, line.slope - half, line.slope + half)


def interpolating(narrow: xr.Dataset, wide: xr.Dataset, solved: xr.Dataset) -> dict[str, xr.DataArray]:
    """Excess risks (n, seed) of the runs that interpolate, train < sigma2/100, NaN for the others."""
    found = {
        name: run.excess.where(run.train < NOISE / 100).dropna("n", how="all")
        for name, run in ((NARROW, end(narrow)), (WIDE, end(wide)))
    }
    return found | {"order-one start": solved.solved_excess.isel(step=-1, drop=True)}


@decides(
    narrow=FIGURE_1,
    wide="simplicity_bias/transition/figure_1",
    solved="simplicity_bias/limits/interpolating",
)
def sb_28(narrow, wide, solved, *, least, most, flat, steep):
    """Section 4.1: interpolation is tempered overfitting, neither benign nor catastrophic."""
    runs = {name: excess / NOISE for name, excess in interpolating(narrow, wide, solved).items()}
    slopes = {name: slope_in_n(excess) for name, excess in runs.items()}

    def tempered(excess: xr.DataArray, slope: Interval) -> str | bool | None:
        if slope.below(-steep) or slope.above(steep):
            return "contradicted"
        level, inside = claims.within(slope, -flat, flat), excess.min() >= least and excess.max() <= most
        return "partly" if level is False or level and not inside else level

    return Found(
        {name: tempered(runs[name], slope) for name, slope in slopes.items()},
        {f"{name}, slope": slope for name, slope in slopes.items()}
        | {f"{name}, excess": [float(one.min()), float(one.max())] for name, one in runs.items()}
        | {f"{name}, sizes": one.n.values[[0, -1]].tolist() for name, one in runs.items()},
    )


# The threshold and the dimension.


def interpolation_ends(final: xr.Dataset) -> np.ndarray:
    """The n_int of every draw, NaN where the sizes that were run only bound it; then no interval decides anything."""
    return transition.known(transition.thresholds(final).interpolation).values


def exponent(high: xr.Dataset, low: xr.Dataset, kind: str, dims: tuple[int, int]) -> Interval:
    """The exponent p of threshold ~ d^p from the second dimension to the first, by Welch's interval over the draws."""
    ratio = quotient(*(transition.known(transition.thresholds(one)[kind]).values for one in (high, low)))
    with np.errstate(divide="ignore"):
        parts = np.log([ratio.estimate, ratio.low, ratio.high]) / np.log(dims[0] / dims[1])
    return Interval(*map(float, parts))


@decides(narrow=FIGURE_1, ten=TEN, three=THREE)
def sb_36(narrow, ten, three, *, cubic, far):
    """Section 5 and footnote 2: from 5 to 10 dimensions the threshold grows like the cube."""
    runs, before = dimensions(narrow, ten), [end(one, constant=True) for one in (narrow, three)]
    found = {what: exponent(runs[10], runs[5], kind, (10, 5)) for what, kind in KINDS.items()}

    def judge(power: Interval) -> str | bool | None:
        near = claims.within(power, *cubic)
        return False if power.below(far[0]) or power.above(far[1]) else "partly" if near is False else near

    return Found(
        {what: judge(power) for what, power in found.items()},
        found
        | {f"{what}, from 3 to 5": exponent(*before, kind, (5, 3)) for what, kind in KINDS.items()}
        | {f"ends, d = {d}": geometric(interpolation_ends(run)).estimate for d, run in runs.items()},
    )


@decides(narrow=FIGURE_1, ten=TEN, three=THREE)
def sb_37(narrow, ten, three, *, least, growth):
    """Section 5: the threshold lies at n much larger than d, the more so the larger d."""
    runs = {3: end(three, constant=True)} | dimensions(narrow, ten)
    known = {d: interpolation_ends(run) / d for d, run in runs.items()}
    ratios = {d: geometric(values) for d, values in known.items()}
    rising = [quotient(known[b], known[a]).exceeds(growth) for a, b in ((3, 5), (5, 10))]
    holds = claims.all_of(*(ratio.exceeds(least) for ratio in ratios.values()), *rising)
    return Found(
        "contradicted" if rising == [False, False] else "partly" if holds is False else holds,
        {f"n / d, d = {d}": ratio for d, ratio in ratios.items()},
    )


# Settings, steps and convergence.


Reading = tuple[tuple[Bounds, Bounds], list[float]]


def read(final: xr.Dataset) -> Reading:
    """n_int and n_half, known or bounded, and train over OLS at 1000, 2000 and 5000 points, of one draw (n,)."""
    found, ratio = transition.thresholds(final), final.train / final.ols
    both = tuple(Bounds(*map(float, found[kind].values)) for kind in ("interpolation", "half"))
    return both, [float(ratio.sel(n=n)) for n in (1000, 2000, 5000)]


def settings(narrow, scales, rates, batches, full_batch) -> dict[tuple[str, str], tuple[Reading, Reading]]:
    """What :func:`read` finds with one setting changed and not changed; by what is changed and to what.

    One draw, at a constant rate and before any decay.  Runs of other rates and batches are compared at the same flow
    time, 20,000.
    """
    one = narrow.sel(seed=0)
    grid = sorted(set.intersection(*(set(run.n.values.tolist()) for run in (scales, rates, batches, narrow))))
    every, few = [int(n) for n in narrow.n.values if n >= 100], [int(n) for n in full_batch.n.values]
    default, same_time = (read(one.sel(step=step, n=grid)) for step in (2_000_000, 1_000_000))
    found = {("draw", f"seed {s}"): (read(narrow.sel(seed=s, step=2_000_000, n=grid)), default) for s in (1, 2)}
    for steps, name in ((500_000, "500,000"), (8_000_000, "8 million")):
        found["steps", name] = read(one.sel(step=steps, n=every)), read(one.sel(step=2_000_000, n=every))
    for scale in scales.scale.values:
        changed = scales.sel(seed=0, scale=scale, step=2_000_000, n=grid)
        found["initial deviation", f"{scale:.2g}"] = read(changed), default
    for rate in rates.rate.values:
        found["rate", f"{rate:g}"] = read(rates.isel(seed=0).sel(rate=rate, time=2e4, n=grid)), same_time
    for batch in batches.batch.values:
        found["batch", f"{batch}"] = read(batches.sel(seed=0, batch=batch, time=2e4, n=grid)), same_time
    reference = read(one.sel(step=1_000_000, n=few))
    found["batch", "full, rate 0.05"] = read(full_batch.isel(seed=0).sel(time=2e4, n=few)), reference
    return found


def factor(changed: Reading, reference: Reading) -> Bounds:
    """The larger of the changes of the two thresholds, at least 1; a bound where the sizes only bound one of them."""
    return largest(a.over(b).factor() for a, b in zip(changed[0], reference[0], strict=True))


def largest(factors: Iterable[Bounds]) -> Bounds:
    """The largest of several numbers."""
    factors = list(factors)
    return Bounds(max(one.low for one in factors), max(one.high for one in factors))


@decides(
    narrow=FIGURE_1,
    scales="simplicity_bias/transition/scales",
    rates="simplicity_bias/transition/rates",
    batches="simplicity_bias/transition/batches",
    full_batch="simplicity_bias/transition/full_batch",
    noisy=noise.RECORDS,
    draws=noise.DRAWS,
)
def sb_40(narrow, scales, rates, batches, full_batch, noisy, draws):
    """Which of the settings that the document does not give does the transition depend on, and does noise move it?"""
    found = settings(narrow, scales, rates, batches, full_batch)
    groups = ("steps", "initial deviation", "rate", "batch", "draw")
    every, more = noise.joined(noisy), noise.joined(draws)
    places, few = transition.thresholds(noise.ends(every)), noise.left(every, more)
    told = {"draws": few.sizes["seed"], "sizes": few.n.values.tolist()}
    told |= {f"fitted more, {noise.name(more, i)}": one for i, one in noise.fitted(few).items()}
    told |= {f"left, {noise.name(more, i)}": mean(few.isel(setting=i).mean("n")) for i in range(len(few.setting))}
    for what, kind in KINDS.items():
        told |= {f"{what}, {noise.name(every, i)}": one for i, one in noise.moved(places[kind]).items()}
        told |= {f"{what}, power": noise.power(places[kind])}
        told |= {f"{what}, equal noise": noise.apart(places[kind], same) for same in noise.equally_noisy(every)[:1]}
    return Found(
        "answered",
        {one: largest(factor(*pair) for (of, _), pair in found.items() if of == one) for one in groups} | told,
    )


def late_changes(run: xr.Dataset) -> xr.DataArray:
    """Change of the training loss from four to eight million steps over the noise, by n and seed."""
    return (run.train.sel(step=8_000_000, drop=True) - run.train.sel(step=4_000_000, drop=True)) / NOISE


@decides(narrow=FIGURE_1)
def sb_41(narrow, *, most, half):
    """Section A.1: at the constant rate the training loss has stabilised when half of the steps remain."""
    change = late_changes(narrow)
    moved = (np.abs(change) > most).mean("seed")
    everywhere = float((moved == 1).mean())
    signed = mean(change.where(moved > 0).mean("n"))
    return Found(
        True if not moved.any() else False if everywhere >= half else "partly" if everywhere else None,
        {f"n = {n}": change.sel(n=n).values.round(3).tolist() for n in narrow.n.values}
        | {
            "moves in all": narrow.n.values[moved == 1].tolist(),
            "moves in some": narrow.n.values[(moved > 0) & (moved < 1)].tolist(),
            "moves in none": narrow.n.values[moved == 0].tolist(),
            "change in per cent": 100 * signed.estimate,
            "change from": 100 * signed.low,
            "change to": 100 * signed.high,
        },
    )


# Figure 3, and other optimisers and activations.


@decides(relu=FIGURE_3)
def sb_45(relu, *, interpolates, worse, least, most, fall):
    """Figure 3: the picture of Figure 1 for teachers of five ReLU units; the draws are those of the teacher."""
    found = features(figure_3(relu), over_noise=True)
    return Found(shape(found, interpolates, worse, least, most, fall), found)


def both_close(final: xr.Dataset, level: float) -> np.ndarray:
    """The n from which training and test loss lie within a share of the noise, log-interpolated, of every draw."""
    off = np.maximum(np.abs(final.train - NOISE), np.abs(final.excess)).transpose("n", ...)
    found = [transition.crossing(final.n.values, level * NOISE - one) for one in off.values.T]
    return np.array([one.low if one.low == one.high else np.nan for one in found])


def shared(*runs: xr.Dataset) -> list[xr.Dataset]:
    """Runs at the sizes that all of them have: thresholds are interpolated between sizes, so these must agree."""
    sizes = sorted(set.intersection(*(set(run.n.values.tolist()) for run in runs)))
    return [run.sel(n=sizes) for run in runs]


@decides(narrow=FIGURE_1, relu=FIGURE_3)
def sb_46(narrow, relu, *, levels, same, later, no_later):
    """Section A.3: interpolation is lost at the same n, but both losses come close to the noise only much later."""
    both = shared(figure_3(relu), end(narrow))
    ends = [interpolation_ends(run) for run in both]
    close = [[both_close(run, level) for run in both] for level in levels]
    ratios = [quotient(*pair) for pair in close]
    slower = [ratio.exceeds(later) for ratio in ratios]
    early, late = [claims.below(ratio, no_later) for ratio in ratios], claims.all_of(*slower)
    if late is False:
        late = "contradicted" if all(early) else None if None in early and not any(slower) else "partly"
    return Found(
        {"lost at the same n": claims.within(quotient(*ends), *same), "close to the noise much later": late},
        {"lost": quotient(*ends), "close": ratios, "linear": [np.median(linear) for _, linear in (ends, *close)]},
    )


@decides(runs=VARIANTS)
def sb_62(runs, *, interpolates, worse, least, most, fall):
    """Section 1 of the published version: the transition is there with GeLU and with Adam as well."""
    kinds = variants(runs)
    found = {name: features(final.isel(n=[0, -1]).dropna("seed")) for name, final in kinds.items()}
    flags = {name: shape(one, interpolates, worse, least, most, fall) for name, one in found.items()}
    whole = {name: final.dropna("seed") for name, final in kinds.items()}  # the draws that know all sizes
    deepest = {name: float(falls(final.train / final.ols).max()) for name, final in whole.items()}
    return Found(
        {name: claims.all_of(one["a"], one["b"], deepest[name] <= fall) for name, one in flags.items()},
        {f"{name}, {key}": value for name, one in found.items() for key, value in one.items()}
        | {f"{name}, fall of one draw": value for name, value in deepest.items()},
    )
