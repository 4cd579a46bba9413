r"""The rules on the sweep over learning rates at ten steps (the document's Figures 5, 22, 23 and 24).

A *sweep* is a Dataset over (seed, rate) of one optimiser in one reading, as :func:`sweep_of` makes it: losses,
alignment and exponent of the features beside the spectra and their shapes; rate 0 is the untrained student.  A rule
returns its letters, so that each gets a verdict.  Unless a rule says otherwise it is one on means over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from scipy.stats import ks_2samp

from experiments.heavy_tails import scaling, shapes, sweeps
from experiments.heavy_tails.runs import RATES
from shallow import stats

#: The document's range of PL_Alpha_Hill for networks that generalise well, bounds excluded.
INTERVAL = (2.0, 2.5)
BENIGN, LARGE, HUGE = [0.01, 0.1, 1.0], [1.0, 10.0, 100.0], [1000.0, 2000.0, 3000.0]


def sweep_of(record: xr.Dataset, table: xr.Dataset, rule: str, features: str = "code") -> xr.Dataset:
    """One rule and reading of the features: the record at the document's ridge constant and its `shape_table`."""
    return sweeps.reading(record, rule, features).assign(table.sel(rule=rule).data_vars)


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


def onset_rate(one: xr.Dataset, noise: float) -> float | None:
    """:func:`lower_end` of the learning rates with HT-ONSET; `noise` is the exponent of noise of this shape."""
    means = one[["hill_excl", "d_mp"]].sel(rate=list(RATES)).mean("seed")
    return lower_end(scaling.heavy(means, noise, onset=True))


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
        part = part.drop_vars(set(part.coords) - {"seed", "rate"}).sel(rate=list(RATES))
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
        "b": sweeps.monotone(adam.hill, BENIGN, sign=-1)
        and sweeps.monotone(adam.test, BENIGN, sign=-1)
        and bool(test.sel(rate=1) < test.sel(rate=0.01))
        and sweeps.in_most(adam.test.sel(rate=1) < adam.test.sel(rate=0.01)),
        "c": loss_inside < loss_outside and lower_is_better(changed) >= 0.5,
    }


def very_heavy(adam: xr.Dataset) -> dict[str, bool]:
    """Adam at rates of 1 and more (HT-24)."""
    hill, test = (adam[name].mean("seed") for name in ("hill", "test"))
    level = hill.sel(rate=LARGE)
    return {
        "a": float(level.max() - level.min()) <= 0.1,
        "b": sweeps.monotone(adam.ks, LARGE, sign=-1) and sweeps.in_most(adam.ks.sel(rate=100) < adam.ks.sel(rate=1)),
        "c": bool((hill.sel(rate=HUGE) < 1.8).all()),
        "d": bool((test.sel(rate=HUGE) >= 1.05 * test.sel(rate=list(RATES)).min()).all()),
    }


def bulk_distances(adam: xr.Dataset, rates: Sequence[float], *, reference: float = 1.0) -> xr.DataArray:
    """Kolmogorov-Smirnov distance (rate, seed) of the bulk, without the largest eigenvalue and over its median, to that
    of the same seed at the rate `reference`."""
    rest = -np.sort(-adam.eigenvalues.transpose("seed", "rate", "k").values, axis=-1)[..., 1:]
    scaled = xr.DataArray(
        rest / np.median(rest, axis=-1, keepdims=True), {"seed": adam.seed, "rate": adam.rate}, ["seed", "rate", "k"]
    )
    found = [
        [
            ks_2samp(scaled.sel(seed=s, rate=rate), scaled.sel(seed=s, rate=reference), method="asymp").statistic
            for s in adam.seed
        ]
        for rate in rates
    ]
    return xr.DataArray(found, {"rate": list(rates), "seed": adam.seed}, ["rate", "seed"])


def spectra_differ(adam: xr.Dataset) -> dict[str, bool]:
    """The spectra of Adam at 1, 10, 100 and 1000 (HT-25): scale, spike in the exponent, gap, shape of the bulk."""
    medians = np.log10(adam.eigenvalues.median("k").mean("seed").sel(rate=LARGE))
    lift = abs((adam.hill - adam.hill_excl).mean("seed").sel(rate=LARGE))
    wider = (adam.spike_ratio.sel(rate=[*LARGE, 1000.0]).diff("rate") > 0).all("rate")
    away = bulk_distances(adam, [10.0, 100.0, 1000.0]).mean("seed")
    return {
        "a": bool((np.abs(np.diff(medians)) > 1).all()),
        "b": bool((lift >= 0.05).any()),
        "c": sweeps.in_most(wider, 2 / 3 - 1e-6),
        "d": bool((away.sel(rate=[10, 100]) <= 0.05).all() and away.sel(rate=1000) >= 0.10),
    }


def large_gd(gd: xr.Dataset) -> dict[str, bool]:
    """GD along untrained, 1000, 2000, 3000 (HT-21): losses, alignment, and both exponents."""
    rates = [0.0, *HUGE]
    falling = {name: sweeps.monotone(gd[name], rates, sign=-1) for name in ("train", "test", "hill", "ks")}
    far = []
    for name in ("hill", "ks"):
        fall = gd[name].sel(rate=0) - gd[name].sel(rate=3000)
        far.append(float(fall.mean()) > 3 * standard_error(fall))
    return {
        "a, training": falling["train"],
        "a, test": falling["test"],
        "a, alignment": sweeps.monotone(gd.alignment, rates, sign=1),
        "b": falling["hill"] and falling["ks"] and all(far),
    }


def standard_error(values: xr.DataArray) -> float:
    """Standard error of the mean over seeds; 0 for a single seed, so that a rule then asks for the sign alone."""
    seeds = values.sizes["seed"]
    return float(values.std("seed", ddof=1)) / seeds**0.5 if seeds > 1 else 0.0


def with_training_loss(one: xr.Dataset) -> dict[str, float]:
    """Spearman over the learning rates of the training loss with alignment and both exponents (HT-22)."""
    return {name: sweeps.rank(one.train, one[name]) for name in ("alignment", "hill", "ks")}


def tighter(adam: Mapping[str, float], gd: Mapping[str, float]) -> dict[str, bool]:
    """Which correlations of :func:`with_training_loss` are at least 0.8 with Adam and larger than with GD, in size."""
    return {name: abs(adam[name]) >= 0.8 and abs(adam[name]) > abs(gd[name]) for name in adam}


def alike(one: xr.Dataset, other: xr.Dataset) -> dict[str, float]:
    """Spearman over the learning rates between the curves of two sweeps, means over the seeds they share (HT-54)."""
    one, other = xr.align(one, other, join="inner")
    return {name: sweeps.rank(one[name], other[name]) for name in ("train", "test", "alignment", "hill")}


def fewer_points(few: xr.Dataset, many: xr.Dataset) -> dict[str, bool]:
    """Adam at 1 with 2000 and with 8000 points (HT-59): exponents, and the gap by direction and by the letter."""
    few, many = xr.align(few.sel(rate=1), many.sel(rate=1), join="inner")
    near = [abs(float(one.hill.mean()) - quoted) <= 0.05 for one, quoted in ((few, 1.8), (many, 1.9))]
    no_spike = float(many.spike_ratio.mean()) < shapes.SPIKE_RATIO
    return {
        "a": all(near) and sweeps.in_most(few.hill < many.hill),
        "b, direction": sweeps.in_most(few.spike_ratio >= 2 * many.spike_ratio),
        "b, literal": no_spike and float(few.spike_ratio.mean()) >= 10**0.5,
    }


def same_trend(adam: xr.Dataset) -> dict[str, bool]:
    """Both exponents of Adam from 0.1 on (HT-71): correlated, and neither rises.

    A rise is allowed up to 0.03 for PL_Alpha_Hill and one standard error of the (paired) rise for PL_Alpha_KS.
    """
    kept = adam.sel(rate=[rate for rate in RATES if rate >= 0.1])
    ks_rises = [kept.ks.diff("rate").sel(rate=rate) for rate in kept.rate.values[1:]]
    return {
        "correlated": sweeps.rank(kept.hill, kept.ks) >= 0.8,
        "PL_Alpha_Hill does not rise": bool((kept.hill.mean("seed").diff("rate") <= 0.03).all()),
        "PL_Alpha_KS does not rise": all(float(rise.mean()) <= standard_error(rise) for rise in ks_rises),
    }
