r"""What is asked of losses beyond one sweep: more points, other ridge constants, normalised weights, another teacher.

A *sweep* is, as in :mod:`experiments.heavy_tails.sweeps`, a Dataset with dimensions seed and rate of one rule
and one reading of the features, rate 0 untrained; a *shaped* one has the shapes of its spectra too, as
:func:`ten_rules.sweep_of` makes it.  A rule returns its letters as truth values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import xarray as xr

from experiments.heavy_tails import scaling, shapes, sweeps, ten_rules
from experiments.heavy_tails.runs import PENALTY, RATES
from shallow import stats

GRID = list(RATES)
#: The learning rates of Adam for which the document finds heavy tails with normalised weights (Appendix F.4).
BROAD = [0.01, 0.1, 1.0, 10.0, 100.0]


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
        still.append(bool((mean.sel(rate=sweeps.SMALL) < 0.05 * mean.sel(rate=3000)).all()))
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
    return sweeps.in_most((change.train < 0) & (change.test > 0))


def smaller_penalties(sweep: xr.Dataset, rate: float = 1.0) -> dict[str, bool]:
    """Ridge constants below 0.01: (a) lower losses, (b) a larger gap, 0.01 a compromise.

    Args:
        sweep: with the dimension penalty, among its values 0.1, 0.01, 0.001 and 0.0001.
    """
    at = sweep[["train", "test"]].sel(rate=rate, penalty=[0.1, PENALTY, 0.001, 0.0001])
    falls = {
        f"a, {name}": sweeps.in_most((at[name].isel(penalty=[2, 3]) < at[name].isel(penalty=1)).all("penalty"))
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
    """Learning rates with HT-ONSET on seed means, and those of them whose test loss is not above the untrained one.

    Args:
        sweep: shaped.
        noise: PL_Alpha_Hill of pure noise.
    """
    mean = sweep[["hill_excl", "d_mp", "test"]].mean("seed")
    there = [rate for rate in GRID if scaling.heavy(mean.sel(rate=rate), noise, onset=True)]
    return there, [rate for rate in there if mean.test.sel(rate=rate) <= mean.test.sel(rate=0)]


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
    signs = {float(np.sign(sweeps.rank(one.hill, one.test))) for one in (normalised, plain)}
    return {
        "a": set(BROAD) <= set(there),
        "b": bool(good.sel(rate=BROAD).all()),
        "c": len(useful) > len(onsets(plain, noise)[1]),
        "d": all(sweeps.in_most(lower.sel(rate=rate) < 0) for rate in (10, 100)),
        "e": stats.rank_correlation(*(mean[name].sel(rate=BROAD).values for name in ("ks", "hill"))) >= 0.8,
        "f": bool((mean_lower <= 0).all() and (mean_lower < 0).sum() >= 2) and len(signs) == 1,
    }


def at_two(sweep: xr.Dataset) -> tuple[float, float]:
    """The rate of a shaped sweep whose mean exponent is nearest to 2, and its test loss over the least, minus 1."""
    mean = sweep[["hill", "test"]].mean("seed").sel(rate=GRID)
    rate = float(np.abs(mean.hill - 2).idxmin())
    return rate, float(mean.test.sel(rate=rate) / mean.test.min() - 1)


def benign(sweep: xr.Dataset) -> list[float]:
    """Rates of a shaped sweep with a mean exponent in the suitable interval and a test loss below the untrained one.

    Runs that left the spectrum UNCHANGED do not count.
    """
    changed = sweep.change > shapes.UNCHANGED_TOLERANCE
    exponent = sweep.hill.where(changed).mean("seed")
    gain = (sweep.test - sweep.test.sel(rate=0)).where(changed).mean("seed")
    return [rate for rate in GRID if ten_rules.inside(exponent.sel(rate=rate)) and gain.sel(rate=rate) < 0]


def narrower(few: Sequence[float], many: Sequence[float]) -> bool:
    """Whether a list of rates is shorter than another and ends at a tenth of its end or below it; none ends at 0."""
    return len(few) < len(many) and max(few, default=0.0) <= max(many) / 10


def turns(values: xr.DataArray, rate: float = 0.1) -> bool:
    """Whether the grid steps to a rate and from it change a quantity in opposite directions, in 4 of 5 seeds."""
    k = GRID.index(rate)
    into, out_of = (values.sel(rate=GRID[i + 1]) - values.sel(rate=GRID[i]) for i in (k - 1, k))
    return sweeps.in_most(into * out_of < 0)
