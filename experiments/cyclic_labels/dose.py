"""Dose and response: how bumps depend on the number of points in a cluster, one factor changed at a time.

Source: the first question of Bowman (2025, Section 6).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import bumps
from experiments.cyclic_labels.runs import run
from shallow import stats
from shallow.book.recipes import releases_gil

ABLATIONS: dict[str, dict] = {
    "reference": {},
    "inner cluster": {"cluster": 2},
    "step 0.0003": {"step": 0.0003},
    "step 0.0003, longer": {"step": 0.0003, "epochs": 66_700},
    "step 0.003": {"step": 0.003},
    "step 0.01": {"step": 0.01},
    "width 128": {"width": 128},
    "width 2048": {"width": 2048},
    "normal": {"initial": "normal"},
    "antisymmetric": {"antisymmetric": True},
    "AGOP 0.001": {"agop": 0.001},
    "decay 0.001": {"decay": 0.001},
    "n = 20": {"n": 20},
    "n = 100": {"n": 100},
}
POINTS = (0, 1, 2, 3, 5, 8)


@releases_gil
def ablation(variant: str, seed: int, points: int | None = None) -> xr.Dataset:
    """Outcome of a run with `points` points in one cluster (None: stratified), one factor changed from the reference.

    The reference is cluster 5, step 0.001, width 512, default initialisation, no penalty, n = 50.  Returns scalars:
    those of :func:`outcome`.
    """
    options = dict(ABLATIONS[variant])
    cluster = options.pop("cluster", 5)
    design = "strat" if points is None else f"poor({cluster},{points})"
    return result(seed, design=design, **options)


@releases_gil
def result(seed: int, **options) -> xr.Dataset:
    """:func:`outcome` of :func:`runs.run` with its options."""
    return outcome(run(seed, **options))


@releases_gil
def iid(n: int, seed: int) -> xr.Dataset:
    """Outcome of a run on independent data, step 0.001, width 512, with `smallest`: the smallest cluster count."""
    trained = run(seed, n=n)
    return outcome(trained).assign(smallest=((), trained["count"].values.min()))


def outcome(trained: xr.Dataset) -> xr.Dataset:
    """One :func:`runs.run` cell as scalars: rise, low, peak, recovery, diverging, recovers, final loss and error.

    recovery is the epoch at which the smoothed test loss is back at its value at the low, NaN if it is not by the end.
    """
    single = trained.expand_dims(seed=[0])
    found = bumps.slow(single).isel(seed=0, drop=True)
    scalars = {name: found[name] for name in ("rise", "low", "peak", "diverging", "recovers")}
    scalars["recovery"] = xr.DataArray(recovery(single)[0])
    return xr.Dataset(scalars | {"loss": trained.test_loss[-1], "error": trained.error[-1]}).reset_coords(drop=True)


def recovery(runs: xr.Dataset) -> np.ndarray:
    """Epoch after the peak at which the smoothed test loss is back at or under its value at the low, shape (seed,).

    It is given for diverging bumps that recover and NaN otherwise.
    """
    found = bumps.slow(runs)
    every = runs.isel(epoch=np.flatnonzero(runs.epoch % bumps.INTERVAL == 0)).transpose("seed", "epoch", ...)
    test, epoch = bumps.smooth(every.test_loss.values), every.epoch.values
    back = np.full(len(test), np.nan)
    for s in np.flatnonzero(found.recovers.values):
        level = test[s, np.searchsorted(epoch, found.low.values[s])]
        after = (epoch >= found.peak.values[s]) & (test[s] <= level)
        back[s] = epoch[after.argmax()]
    return back


def fraction_trend(flags: np.ndarray, points: np.ndarray, *, name: str) -> stats.Interval:
    """Rank correlation of the fraction of flagged runs with the number of points, bootstrap over seeds.

    flags: (points, seeds); points: (points,).
    """
    flags = np.asarray(flags, dtype=float)
    rows = stats.stream("fractions", name).integers(0, flags.shape[1], (stats.RESAMPLES, flags.shape[1]))
    draws = [stats.rank_correlation(points, flags[:, r].mean(axis=1)) for r in rows]
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return stats.Interval(stats.rank_correlation(points, flags.mean(axis=1)), float(low), float(high))


def given_size(smallest: np.ndarray, rise: np.ndarray, n: np.ndarray, *, name: str) -> stats.Interval:
    """Partial rank correlation of smallest count and bump size given n, bootstrap over runs; all arrays (runs,)."""
    rows = stats.stream("partial", name).integers(0, len(n), (stats.RESAMPLES, len(n)))
    draws = [_partial(smallest[r], rise[r], n[r]) for r in rows]
    return stats.Interval(_partial(smallest, rise, n), *map(float, np.nanquantile(draws, [0.025, 0.975])))


def _partial(a: np.ndarray, b: np.ndarray, given: np.ndarray) -> float:
    ab, ac, bc = (stats.rank_correlation(*pair) for pair in ((a, b), (a, given), (b, given)))
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))
