r"""Whether the noise of batches moves the threshold: readings of the runs of :mod:`.batch_noise`, for SB-40.

A setting is a rate and a batch; its noise is their ratio, and that of the full batch is zero.  All settings share data,
start and flow time.  Thresholds are compared draw by draw, with Student's interval over the draws of the logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.simplicity_bias.transition import batch_noise
from experiments.simplicity_bias.transition import cells as transition
from shallow import stats
from shallow.data.teachers import NOISE
from shallow.stats import Interval

#: Runs at all sizes, and further draws at two sizes.
RECORDS = tuple(f"simplicity_bias/transition/batch_noise{name}" for name in ("", "_full", "_flow", "_slow"))
DRAWS = tuple(f"simplicity_bias/transition/batch_noise_draws{name}" for name in ("", "_full"))
#: Settings are equally noisy if their ratios of rate and batch agree to this factor.
EQUAL = 1.01


def joined(runs: Sequence[xr.Dataset]) -> xr.Dataset:
    """The recorded runs along one dimension `setting`, with coordinates rate, batch and noise; noise ascending.

    At the sizes that all have, since thresholds are interpolated between them.  The full batch at its smallest rate is
    the first.
    """
    sizes = sorted(set.intersection(*(set(run.n.values.tolist()) for run in runs)))
    stacked = [run.sel(n=sizes).stack(setting=("rate", "batch")).reset_index("setting") for run in runs]
    every = xr.concat(stacked, "setting")
    noise = xr.where(every.batch >= batch_noise.FULL, 0.0, every.rate / every.batch)
    return every.assign_coords(noise=noise).sortby(["noise", "rate"])


def ends(runs: xr.Dataset, *, settled: bool = True) -> xr.Dataset:
    """Train loss and that of least squares: after the finish on full batches, or (if not) at the constant rate."""
    train = runs.settled_train if settled else runs.train.isel(time=-1, drop=True)
    return xr.Dataset({"train": train, "ols": runs.ols})


def moved(found: xr.DataArray) -> dict[int, Interval]:
    """By place of the setting: threshold over that of the first, the whole line where the sizes only bound one."""
    values = transition.known(found).transpose("setting", "seed").values
    return {i: _geometric(one / values[0]) for i, one in enumerate(values) if i}


def left(every: xr.Dataset, more: xr.Dataset, *, settled: bool = True) -> xr.DataArray:
    """Train loss over the noise of all draws at the sizes and settings of `more`; setting, n and seed.

    Args:
        every, more: of :func:`joined`, the runs at all sizes and the further draws.
    """
    names = [name(every, i) for i in range(every.sizes["setting"])]
    places = [names.index(name(more, i)) for i in range(more.sizes["setting"])]
    first = every.sel(n=more.n.values).isel(setting=places)
    both = [ends(runs, settled=settled).train / NOISE for runs in (first, more)]
    return xr.concat([one.drop_vars(["rate", "batch", "noise"]) for one in both], "seed").assign_coords(
        rate=more.rate, batch=more.batch, noise=more.noise
    )


def fitted(train: xr.DataArray) -> dict[int, Interval]:
    """By place: how much more of the noise is fitted than at the first, mean over n, Student's over the draws."""
    loss = train.mean("n").transpose("setting", "seed").values
    return {i: stats.student(loss[0] - one) for i, one in enumerate(loss) if i}


def power(found: xr.DataArray) -> Interval:
    r"""The power p of threshold $\propto (\eta / B)^p$ over the settings with batches, fitted in every draw."""
    noisy = found.isel(setting=found.noise.values > 0)
    logs = np.log(transition.known(noisy).transpose("setting", "seed").values)
    if logs.shape[1] < 2 or not np.isfinite(logs).all():
        return Interval(np.nan, -np.inf, np.inf)
    return stats.student(np.polyfit(np.log(noisy.noise.values), logs, 1)[0])


def name(runs: xr.Dataset, i: int) -> str:
    """What a setting is called."""
    rate, batch = float(runs.rate[i]), int(runs.batch[i])
    return f"rate {rate:g}, batches of {batch}" if batch < batch_noise.FULL else f"rate {rate:g}, full batch"


def equally_noisy(found: xr.DataArray | xr.Dataset) -> list[list[int]]:
    """Places of settings with batches that share the ratio of rate and batch, two or more."""
    noise, groups = found.noise.values, {}
    for i in np.flatnonzero(noise > 0):
        key = next((one for one in groups if max(one / noise[i], noise[i] / one) < EQUAL), noise[i])
        groups.setdefault(key, []).append(int(i))
    return [places for places in groups.values() if len(places) > 1]


def apart(found: xr.DataArray, places: Sequence[int]) -> Interval:
    """Threshold at the largest rate over that at the smallest among equally noisy settings."""
    by_rate = sorted(places, key=lambda i: float(found.rate[i]))
    values = transition.known(found).transpose("setting", "seed").values
    return _geometric(values[by_rate[-1]] / values[by_rate[0]])


def _geometric(ratios: np.ndarray) -> Interval:
    if len(ratios) < 2 or not np.isfinite(ratios).all():
        return Interval(float(np.exp(np.log(ratios).mean())), 0.0, np.inf)
    return stats.geometric(ratios)
