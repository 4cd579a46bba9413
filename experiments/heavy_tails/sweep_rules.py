"""The rules on sweeps over learning rates: losses, alignments and exponents after one step and after ten.

A *sweep* is a Dataset with dimensions seed and rate (and k for eigenvalues) of one optimiser in one reading of the text
or the code; rate 0 is the untrained student, so that every change is paired with the same draw.  A *shaped* sweep has
the shapes of its spectra too, see :func:`shaped`.  A rule returns its letters as truth values, so that each gets a
verdict.  Unless it says otherwise it is one on means over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY, RATES
from shallow import checks, stats

GRID = list(RATES)
SMALL, HUGE = GRID[:6], GRID[6:]
BENIGN, TENS = [0.01, 0.1, 1.0], [1.0, 10.0, 100.0]
#: The learning rates of Adam for which the document finds heavy tails with normalised weights (Appendix F.4).
BROAD = [0.01, 0.1, 1.0, 10.0, 100.0]
#: The document's range of PL_Alpha_Hill for networks that generalise well, bounds excluded.
INTERVAL = (2.0, 2.5)


def reading(record: xr.Dataset, rule: str, features: str = "code") -> xr.Dataset:
    """One rule and one reading of the features of a sweep, at the document's ridge constant."""
    checks.one_of(FEATURES, features=features)
    return record.sel(rule=rule, features=features, penalty=PENALTY).transpose("seed", "rate", ...)


def shaped(record: xr.Dataset, table: xr.Dataset, rule: str, features: str = "code") -> xr.Dataset:
    """:func:`reading` with the shapes of the same spectra, a :func:`shapes.shape_table`."""
    return reading(record, rule, features).assign(table.sel(rule=rule).data_vars)


def in_most(flags: xr.DataArray, least: float = 0.8) -> bool:
    """Whether a condition holds in 4 of 5 seeds, or the same share of fewer."""
    return bool(flags.mean("seed") >= least)


def jump(values: xr.DataArray, *, sign: int) -> bool:
    """The rule on a jump at rate 2000 (Figure 3, GD): next to nothing up to 100, less than half of it at 1000.

    Args:
        values: (seed, rate), rate 0 untrained.
        sign: -1 for a quantity that falls, 1 for one that rises.
    """
    change = values - values.sel(rate=0)
    mean = np.abs(change.mean("seed"))
    at = float(mean.sel(rate=2000))
    below = bool((mean.sel(rate=SMALL) <= 0.05 * at).all())
    return below and float(mean.sel(rate=1000)) <= 0.5 * at and in_most(sign * change.sel(rate=2000) > 0)


def monotone(values: xr.DataArray, rates: Sequence[float], *, sign: int) -> bool:
    """Whether the means over seeds strictly rise (sign 1) or fall (sign -1) along the rates."""
    return bool((sign * np.diff(values.mean("seed").sel(rate=list(rates))) > 0).all())


def one_step_losses(sweep: xr.Dataset) -> dict[str, bool]:
    """The letters of the claim on losses after one Adam step: (b), (c), (d) for test and for training, (e)."""
    test, train = sweep.test, sweep.train
    mean = {name: sweep[name].mean("seed") for name in ("test", "train", "alignment", "similarity")}
    at_init = {name: float(values.sel(rate=0)) for name, values in mean.items()}
    small = {name: float(values.sel(rate=0.001)) for name, values in mean.items()}
    best = mean["test"].sel(rate=mean["test"].rate > 0)
    where, least = float(best.idxmin()), float(best.min())
    return {
        "b": abs(small["test"] / at_init["test"] - 1) <= 0.01
        and abs(small["alignment"] / at_init["alignment"] - 1) <= 0.05
        and small["similarity"] <= 0.1,
        "c": monotone(test, [0.001, 0.01, 0.1, 1], sign=-1)
        and float(mean["test"].sel(rate=1)) <= 0.98 * at_init["test"]
        and in_most(test.sel(rate=1) < test.sel(rate=0.01)),
        "d, test": all(in_most(test.sel(rate=rate) > test.sel(rate=1)) for rate in (10, 100)),
        "d, training": all(in_most(train.sel(rate=rate) < train.sel(rate=1)) for rate in [*TENS[1:], *HUGE]),
        "e": 0.001 < where < 100 and float(mean["test"].sel(rate=3000)) >= 1.05 * least,
    }


def paired_change(sweep: xr.Dataset, rate: float, *, of: str, name: str) -> stats.Interval:
    """Mean relative change of a quantity at a rate against the untrained student, with its interval over seeds."""
    relative = sweep[of].sel(rate=rate) / sweep[of].sel(rate=0) - 1
    return stats.bootstrap(relative.values, name=name)


def rank(values: xr.DataArray, others: xr.DataArray) -> float:
    """Spearman's rank correlation of two curves over the rates, of seed means, without the untrained student."""
    first, second = (array.mean("seed").sel(rate=array.rate > 0) for array in (values, others))
    return stats.rank_correlation(first.values, second.values)


def inside(hill: xr.DataArray) -> xr.DataArray:
    """Whether an exponent lies in the document's range."""
    return (hill > INTERVAL[0]) & (hill < INTERVAL[1])


def lower_end(flags: xr.DataArray) -> float | None:
    """Smallest rate of the flagged ones, if these are all rates from there on; None if there are none, or gaps."""
    flags = flags.sortby("rate")
    values = flags.values
    if not values.any() or (np.diff(values.astype(int)) < 0).any():
        return None
    return float(flags.rate[values.argmax()])


def onset_rate(sweep: xr.Dataset, noise: float) -> float | None:
    """:func:`lower_end` of the learning rates with HT-ONSET, see :func:`at_onset`."""
    return lower_end(at_onset(sweep, noise))


def at_onset(sweep: xr.Dataset, noise: float) -> xr.DataArray:
    """HT-ONSET on the seed means of a shaped sweep, over the learning rates; `noise` is the exponent of pure noise."""
    return shapes.heavy(sweep[["hill_excl", "d_mp"]].sel(rate=GRID).mean("seed"), noise, onset=True)


def pooled(by_optimiser: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Trained students of all optimisers, rates and seeds along one dimension `run`.

    Returns hill and test as they are; `gain`, the test loss over that of the untrained student of the same draw, minus
    one; `unchanged`, UNCHANGED; `inside`, the exponent in the document's range; coordinates optimiser, seed and rate.
    """
    parts = []
    for name, one in by_optimiser.items():
        part = one[["hill", "test"]].assign(
            gain=one.test / one.test.sel(rate=0, drop=True) - 1,
            unchanged=one.change <= shapes.UNCHANGED_TOLERANCE,
            inside=inside(one.hill),
        )
        part = part.drop_vars(set(part.coords) - {"seed", "rate"}).sel(rate=GRID)
        parts.append(part.expand_dims(optimiser=[name]))
    return xr.concat(parts, "optimiser").stack(run=("optimiser", "seed", "rate"))


def lower_is_better(runs: xr.Dataset, *, of: str = "test") -> float:
    """Spearman's correlation of exponent and test loss (or `gain`) over the runs inside the range; NaN under three."""
    kept = runs.isel(run=runs.inside.values)
    return stats.rank_correlation(kept.hill.values, kept[of].values) if kept.sizes["run"] > 2 else float("nan")


def benign(adam: xr.Dataset, runs: xr.Dataset) -> dict[str, bool]:
    """The range of exponents (HT-23): (a) that of Adam, (b) lower and better in it, (c) over all `runs` (pooled)."""
    hill, test = (adam[name].mean("seed") for name in ("hill", "test"))
    changed = runs.isel(run=~runs.unchanged.values)
    loss_inside, loss_outside = (float(runs.test.where(flags).mean()) for flags in (runs.inside, ~runs.inside))
    return {
        "a": bool(inside(hill.sel(rate=BENIGN)).all()),
        "b": monotone(adam.hill, BENIGN, sign=-1)
        and monotone(adam.test, BENIGN, sign=-1)
        and bool(test.sel(rate=1) < test.sel(rate=0.01))
        and in_most(adam.test.sel(rate=1) < adam.test.sel(rate=0.01)),
        "c": loss_inside < loss_outside and lower_is_better(changed) >= 0.5,
    }


def very_heavy(adam: xr.Dataset) -> dict[str, bool]:
    """Adam at rates of 1 and more (HT-24)."""
    hill, test = (adam[name].mean("seed") for name in ("hill", "test"))
    level = hill.sel(rate=TENS)
    return {
        "a": float(level.max() - level.min()) <= 0.1,
        "b": monotone(adam.ks, TENS, sign=-1) and in_most(adam.ks.sel(rate=100) < adam.ks.sel(rate=1)),
        "c": bool((hill.sel(rate=HUGE) < 1.8).all()),
        "d": bool((test.sel(rate=HUGE) >= 1.05 * test.sel(rate=GRID).min()).all()),
    }


def bulk_distances(adam: xr.Dataset, rates: Sequence[float], *, reference: float = 1.0) -> xr.DataArray:
    """Kolmogorov-Smirnov distance (rate, seed) of the bulk, without the largest eigenvalue and over its median, to that
    of the same seed at the rate `reference`."""
    found = [
        [
            shapes.median_distance(*(np.sort(values.sel(rate=r))[:-1] for r in (rate, reference)))
            for values in adam.eigenvalues.transpose("seed", ...)
        ]
        for rate in rates
    ]
    return xr.DataArray(found, {"rate": list(rates), "seed": adam.seed}, ["rate", "seed"])


def spectra_differ(adam: xr.Dataset) -> dict[str, bool]:
    """The spectra of Adam at 1, 10, 100 and 1000 (HT-25): scale, spike in the exponent, gap, shape of the bulk."""
    medians = np.log10(adam.eigenvalues.median("k").mean("seed").sel(rate=TENS))
    lift = abs((adam.hill - adam.hill_excl).mean("seed").sel(rate=TENS))
    wider = (adam.spike_ratio.sel(rate=[*TENS, 1000.0]).diff("rate") > 0).all("rate")
    away = bulk_distances(adam, [10.0, 100.0, 1000.0]).mean("seed")
    return {
        "a": bool((np.abs(np.diff(medians)) > 1).all()),
        "b": bool((lift >= 0.05).any()),
        "c": in_most(wider, 2 / 3 - 1e-6),
        "d": bool((away.sel(rate=[10, 100]) <= 0.05).all() and away.sel(rate=1000) >= 0.10),
    }


def large_gd(gd: xr.Dataset) -> dict[str, bool]:
    """GD along untrained, 1000, 2000, 3000 (HT-21): losses, alignment, and both exponents."""
    rates = [0.0, *HUGE]
    falling = {name: monotone(gd[name], rates, sign=-1) for name in ("train", "test", "hill", "ks")}
    far = []
    for name in ("hill", "ks"):
        fall = gd[name].sel(rate=0) - gd[name].sel(rate=3000)
        far.append(float(fall.mean()) > 3 * standard_error(fall))
    return {
        "a, training": falling["train"],
        "a, test": falling["test"],
        "a, alignment": monotone(gd.alignment, rates, sign=1),
        "b": falling["hill"] and falling["ks"] and all(far),
    }


def standard_error(values: xr.DataArray) -> float:
    """Standard error of the mean over seeds; 0 for a single seed, so that a rule then asks for the sign alone."""
    seeds = values.sizes["seed"]
    return float(values.std("seed", ddof=1)) / seeds**0.5 if seeds > 1 else 0.0


def with_training_loss(one: xr.Dataset) -> dict[str, float]:
    """Spearman over the learning rates of the training loss with alignment and both exponents (HT-22)."""
    return {name: rank(one.train, one[name]) for name in ("alignment", "hill", "ks")}


def tighter(adam: Mapping[str, float], gd: Mapping[str, float]) -> dict[str, bool]:
    """Which correlations of :func:`with_training_loss` are at least 0.8 with Adam and larger than with GD, in size."""
    return {name: abs(adam[name]) >= 0.8 and abs(adam[name]) > abs(gd[name]) for name in adam}


def alike(one: xr.Dataset, other: xr.Dataset) -> dict[str, float]:
    """Spearman over the learning rates between the curves of two sweeps, means over the seeds they share (HT-54)."""
    one, other = xr.align(one, other, join="inner")
    return {name: rank(one[name], other[name]) for name in ("train", "test", "alignment", "hill")}


def fewer_points(few: xr.Dataset, many: xr.Dataset) -> dict[str, bool]:
    """Adam at 1 with 2000 and with 8000 points (HT-59): exponents, and the gap by direction and by the letter."""
    few, many = xr.align(few.sel(rate=1), many.sel(rate=1), join="inner")
    near = [abs(float(one.hill.mean()) - quoted) <= 0.05 for one, quoted in ((few, 1.8), (many, 1.9))]
    no_spike = float(many.spike_ratio.mean()) < shapes.SPIKE_RATIO
    return {
        "a": all(near) and in_most(few.hill < many.hill),
        "b, direction": in_most(few.spike_ratio >= 2 * many.spike_ratio),
        "b, literal": no_spike and float(few.spike_ratio.mean()) >= 10**0.5,
    }


def same_trend(adam: xr.Dataset) -> dict[str, bool]:
    """Both exponents of Adam from 0.1 on (HT-71): correlated, and neither rises.

    A rise is allowed up to 0.03 for PL_Alpha_Hill and one standard error of the (paired) rise for PL_Alpha_KS.
    """
    kept = adam.sel(rate=[rate for rate in GRID if rate >= 0.1])
    ks_rises = [kept.ks.diff("rate").sel(rate=rate) for rate in kept.rate.values[1:]]
    return {
        "correlated": rank(kept.hill, kept.ks) >= 0.8,
        "PL_Alpha_Hill does not rise": bool((kept.hill.mean("seed").diff("rate") <= 0.03).all()),
        "PL_Alpha_KS does not rise": all(float(rise.mean()) <= standard_error(rise) for rise in ks_rises),
    }


@dataclass(frozen=True)
class Best:
    """Where the mean test loss of some sweeps is least over their learning rates above 0, and the mean losses there.

    Attributes:
        name: of the sweep.
        rate: its learning rate.
        test, train: seed means.
    """

    name: str
    rate: float
    test: float
    train: float

    @property
    def gap(self) -> float:
        """Test minus train loss."""
        return self.test - self.train


def best(of: Mapping[str, xr.Dataset]) -> Best:
    """The best learning rate of several sweeps, by name."""
    found = []
    for name, sweep in of.items():
        mean = sweep[["test", "train"]].sel(rate=sweep.rate > 0).mean("seed")
        rate = float(mean.test.idxmin())
        found.append(Best(name, rate, *(float(mean[loss].sel(rate=rate)) for loss in ("test", "train"))))
    return min(found, key=lambda one: one.test)


def first_rate(values: xr.DataArray, share: float = 0.25) -> int:
    """Place on the grid of the first rate whose mean change exceeds a share of the extreme change."""
    change = np.abs((values - values.sel(rate=0)).mean("seed").sel(rate=GRID))
    return int(np.argmax((change > share * change.max()).values))


def one_step_shape(gd: xr.Dataset, adam: xr.Dataset) -> dict[str, bool]:
    """(a) GD falls at 3000 and does nothing up to 100, Adam has an interior optimum; (b) all begin at one rate."""
    still, falls = [], []
    for loss in (gd.test, gd.train):
        change = loss - loss.sel(rate=0)
        mean = np.abs(change.mean("seed"))
        still.append(bool((mean.sel(rate=SMALL) < 0.05 * mean.sel(rate=3000)).all()))
        falls.append(bool((change.sel(rate=3000) < 0).mean() > 0.5))
    begins = [[first_rate(one[name]) for name in ("test", "alignment", "similarity")] for one in (gd, adam)]
    interior = 0.001 < best({"Adam": adam}).rate < 100
    return {"a": all(still) and all(falls) and interior, "b": all(max(places) - min(places) <= 1 for places in begins)}


def more_points(by_n: Mapping[int, xr.Dataset], rate: float = 1.0) -> dict[str, bool]:
    """One learning rate with 500, 2000, 4000 and 8000 points: (a) the last is best by far; (b) few points overfit.

    Letter (a) is about the test loss; (b) asks for losses that move apart between rate 0 and the given rate at 500 and
    2000 points, and for a gap that shrinks with the number of points.  Means are over the seeds that all sweeps have.
    """
    shared = reduce(np.intersect1d, [sweep.seed.values for sweep in by_n.values()])
    mean = {n: sweep[["test", "train"]].sel(seed=shared, rate=rate).mean("seed") for n, sweep in by_n.items()}
    test = {n: float(one.test) for n, one in mean.items()}
    gaps = [float(mean[n].test - mean[n].train) for n in sorted(mean)]
    return {
        "a": test[8000] < min(test[500], test[4000]) and test[8000] <= 0.95 * test[2000],
        "b": all(overfits(by_n[n], rate) for n in (500, 2000)) and bool((np.diff(gaps) < 0).all()),
    }


def overfits(sweep: xr.Dataset, rate: float) -> bool:
    """Whether training has lowered the train loss and raised the test loss, in 4 of 5 seeds."""
    change = sweep[["test", "train"]].sel(rate=rate) - sweep[["test", "train"]].sel(rate=0)
    return in_most((change.train < 0) & (change.test > 0))


def smaller_penalties(sweep: xr.Dataset, rate: float = 1.0) -> dict[str, bool]:
    """Ridge constants below 0.01: (a) lower losses, (b) a larger gap, 0.01 a compromise.

    Args:
        sweep: with the dimension penalty, among its values 0.1, 0.01, 0.001 and 0.0001.
    """
    at = sweep[["train", "test"]].sel(rate=rate, penalty=[0.1, PENALTY, 0.001, 0.0001])
    falls = {
        f"a, {name}": in_most((at[name].isel(penalty=[2, 3]) < at[name].isel(penalty=1)).all("penalty"))
        for name in ("train", "test")
    }
    gaps = (at.test - at.train).transpose("seed", "penalty")
    widening = bool((np.diff(gaps, axis=1) > 0).all(axis=1).mean() >= 0.8)
    mean = at.test.mean("seed")
    return falls | {"b": widening and bool(mean.isel(penalty=1) <= mean.isel(penalty=0))}


def by_penalty(sweep: xr.Dataset, hill: xr.DataArray, rates: Sequence[float] = BROAD) -> dict[float, float]:
    """Spearman's correlation over the rates of the mean exponent and the mean test loss, by ridge constant."""
    exponents = hill.mean("seed").sel(rate=list(rates)).values
    test = sweep.test.mean("seed").sel(rate=list(rates)).transpose("penalty", "rate")
    return {float(p): stats.rank_correlation(exponents, row) for p, row in zip(test.penalty, test.values)}


def onsets(sweep: xr.Dataset, noise: float) -> tuple[list[float], list[float]]:
    """Learning rates :func:`at_onset`, and those of them whose mean test loss is not above the untrained one."""
    there = [rate for rate, onset in zip(GRID, at_onset(sweep, noise).values) if onset]
    test = sweep.test.mean("seed")
    return there, [rate for rate in there if test.sel(rate=rate) <= test.sel(rate=0)]


def normalisation(normalised: xr.Dataset, plain: xr.Dataset, noise: float) -> dict[str, bool]:
    """Six letters on shaped sweeps of Adam with and without normalised weights, of the same seeds.

    (a) heavy tails and (b) good losses over the broad range of rates, (c) which is broader than without; (d) lower
    exponents at 10 and 100; (e) PL_Alpha_KS along with PL_Alpha_Hill; (f) heavier tails in general, and the same sign
    of the correlation between exponent and loss.
    """
    mean, lower = normalised[["hill", "ks", "test"]].mean("seed"), normalised.hill - plain.hill
    mean_lower = lower.mean("seed").sel(rate=BROAD[1:])
    close = 1.02 * mean.test.sel(rate=GRID).min()
    good = (mean.test < mean.test.sel(rate=0)) | (mean.test <= close)
    there, useful = onsets(normalised, noise)
    signs = {float(np.sign(rank(one.hill, one.test))) for one in (normalised, plain)}
    return {
        "a": set(BROAD) <= set(there),
        "b": bool(good.sel(rate=BROAD).all()),
        "c": len(useful) > len(onsets(plain, noise)[1]),
        "d": all(in_most(lower.sel(rate=rate) < 0) for rate in (10, 100)),
        "e": stats.rank_correlation(*(mean[name].sel(rate=BROAD).values for name in ("ks", "hill"))) >= 0.8,
        "f": bool((mean_lower <= 0).all() and (mean_lower < 0).sum() >= 2) and len(signs) == 1,
    }


def at_two(sweep: xr.Dataset) -> tuple[float, float]:
    """The rate of a shaped sweep whose mean exponent is nearest to 2, and its test loss over the least, minus 1."""
    mean = sweep[["hill", "test"]].mean("seed").sel(rate=GRID)
    rate = float(np.abs(mean.hill - 2).idxmin())
    return rate, float(mean.test.sel(rate=rate) / mean.test.min() - 1)


def benign_rates(sweep: xr.Dataset) -> list[float]:
    """Rates of a shaped sweep with a mean exponent in the suitable interval and a test loss below the untrained one.

    Runs that left the spectrum UNCHANGED do not count.
    """
    changed = sweep.change > shapes.UNCHANGED_TOLERANCE
    exponent = sweep.hill.where(changed).mean("seed")
    gain = (sweep.test - sweep.test.sel(rate=0)).where(changed).mean("seed")
    return [rate for rate in GRID if inside(exponent.sel(rate=rate)) and gain.sel(rate=rate) < 0]


def narrower(few: Sequence[float], many: Sequence[float]) -> bool:
    """Whether a list of rates is shorter than another and ends at a tenth of its end or below it; none ends at 0."""
    return len(few) < len(many) and max(few, default=0.0) <= max(many) / 10


def turns(values: xr.DataArray, rate: float = 0.1) -> bool:
    """Whether the grid steps to a rate and from it change a quantity in opposite directions, in 4 of 5 seeds."""
    k = GRID.index(rate)
    into, out_of = (values.sel(rate=GRID[i + 1]) - values.sel(rate=GRID[i]) for i in (k - 1, k))
    return in_most(into * out_of < 0)
