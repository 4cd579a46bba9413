"""What counts as a bump of the test loss: definitions fixed before any run."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.ndimage import median_filter

INTERVAL, WINDOW, START = 100, 11, 500
RISE, SPIKE = 0.05, 0.2


def smooth(values: np.ndarray, window: int = WINDOW) -> np.ndarray:
    """Running median along axis 1 of values (run, record, ...), ends repeated."""
    size = (1, window) + (1,) * (values.ndim - 2)
    return median_filter(values, size=size, mode="nearest")


def _from_start(runs: xr.Dataset, interval: int | None = None) -> xr.Dataset:
    epoch = runs.epoch
    chosen = epoch >= START
    if interval:
        chosen &= epoch % interval == 0
    return runs.isel(epoch=np.flatnonzero(chosen))


def slow(runs: xr.Dataset, *, rise: float = RISE, window: int = WINDOW) -> xr.Dataset:
    r"""The slow bump of each run: where the smoothed test loss rises most above its running minimum.

    Args:
        runs: dataset of :func:`runs.run` cells stacked along `seed`, with records at least every 100 epochs.
        rise, window: threshold of the rise and length of the running median in records; change them only to see
            what hangs on them.

    Returns:
        Dataset over `seed` with `rise` (largest rise of the running median of 11 records, 100 epochs apart, above its
        running minimum, epochs >= 500), `low` and `peak` (epochs), and the flags `bump` (rise > 0.05), `diverging` (a
        bump at whose peak the training loss is not above that at the low), `recovers` (a diverging bump after which the
        smoothed test loss falls back to its value at the low), and `cluster` (where the loss rises most from low to
        peak).  A run that is not finite has no bump.

    Raises:
        ValueError: when records are missing at some multiple of 100 epochs.
    """
    every = runs.isel(epoch=np.flatnonzero(runs.epoch % INTERVAL == 0)).transpose("seed", "epoch", ...)
    if not (np.diff(every.epoch) == INTERVAL).all() or every.epoch[-1] < START:
        given = runs.epoch.values
        raise ValueError(f"runs must have a record every {INTERVAL} epochs up to {START} or more, got epochs {given}")
    smoothed = every.assign(
        test_loss=(("seed", "epoch"), smooth(every.test_loss.values, window)),
        cluster_loss=(("seed", "epoch", "cluster"), smooth(every.cluster_loss.values, window)),
    )
    late = _from_start(smoothed)
    test, train, epoch = late.test_loss.values, late.train_loss.values, late.epoch.values
    rises = test - np.minimum.accumulate(test, axis=1)
    finite = np.isfinite(test).all(axis=1)
    peak = np.where(finite, np.argmax(np.where(finite[:, None], rises, 0), axis=1), 0)
    low = np.array([np.argmin(row[: p + 1]) if ok else 0 for row, p, ok in zip(test, peak, finite, strict=True)])
    row = np.arange(len(test))
    height = np.where(finite, rises[row, peak], 0.0)
    bump = height > rise
    diverging = bump & (train[row, peak] <= train[row, low])
    recovers = diverging & np.array([(t[p:] <= t[q]).any() for t, p, q in zip(test, peak, low, strict=True)])
    clusters = late.cluster_loss.values
    gain = clusters[row, peak] - clusters[row, low]
    data = dict(rise=height, low=epoch[low], peak=epoch[peak], bump=bump, diverging=diverging, recovers=recovers)
    data["cluster"] = np.argmax(gain, axis=1)
    return xr.Dataset({k: ("seed", v) for k, v in data.items()}, {"seed": runs.seed})


def spikes(runs: xr.Dataset) -> xr.Dataset:
    """Spikes of each run, on all records from epoch 500.

    Returns:
        Dataset over `seed`: `spike`, whether the unsmoothed test loss rises more than 0.2 above its running minimum;
        `rise`, the largest rise; `peak`, the epoch where it is; `train_jump`, the (summed) training loss there over its
        running minimum.  A run that is not finite has no spike.
    """
    late = _from_start(runs.transpose("seed", "epoch", ...))
    test, train = late.test_loss.values, late.train_loss.values
    rises = test - np.minimum.accumulate(test, axis=1)
    peak = np.argmax(np.where(np.isfinite(rises), rises, -1), axis=1)
    row = np.arange(len(test))
    jump = train[row, peak] - np.minimum.accumulate(train, axis=1)[row, peak]
    data = dict(spike=rises[row, peak] > SPIKE, rise=rises[row, peak], peak=late.epoch.values[peak], train_jump=jump)
    return xr.Dataset({k: ("seed", v) for k, v in data.items()}, {"seed": runs.seed})


def choose(bumps: xr.Dataset) -> int | None:
    """The run to draw: the lowest seed with a diverging slow bump that recovers; None if there is none."""
    seeds = bumps.seed.values[bumps.recovers.values]
    return int(seeds.min()) if len(seeds) else None
