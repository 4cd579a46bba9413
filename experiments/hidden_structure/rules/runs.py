"""What the rules on networks for polynomials read from a record, and how they compare shares of runs.

A share of runs is compared with one half: ten of ten runs leave a share between 0.72 and 1 open (Wilson), so a rule
that asks for "80 % of ten runs" can never be met.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

from shallow import stats
from shallow.book import records
from shallow.stats import Interval

FIT = 0.8  # Rc of a run that fits
ALIGNED = 0.02  # share of aligned units by which the epoch of alignment is recognised
NEVER = 10_000  # stands for an epoch that was not reached

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


def rc(runs: xr.Dataset, part: str = "test") -> xr.DataArray:
    """Rc = 1 - MSE/Var(y) over the points of a part with |v| <= 1."""
    return runs.r2.sel(part=part, range="bulk")


def test_error(runs: xr.Dataset) -> xr.DataArray:
    """Mean square over all test points."""
    return runs.mse.sel(part="test", range="all")


def share(flags: xr.DataArray | np.ndarray) -> Interval:
    """Share of the runs with a property, Wilson's interval."""
    return stats.wilson(np.ravel(flags).astype(bool))


def most(flags: xr.DataArray | np.ndarray) -> bool | None:
    """Whether more than half of all runs have a property; None if these runs leave it open."""
    return share(flags).exceeds(0.5)


def count(flags: xr.DataArray | np.ndarray) -> str:
    """How many runs have a property, in words."""
    return f"{int(np.sum(flags))} of {np.size(flags)}"


def first_epoch(path: xr.DataArray, level: float = ALIGNED) -> xr.DataArray:
    """First epoch at which a path is at a level; :data:`NEVER` where it is not."""
    reached = path >= level
    return path.epoch[reached.argmax("epoch")].where(reached.any("epoch"), NEVER).drop_vars("epoch")


def middle(epochs: xr.DataArray | np.ndarray) -> str:
    """Median of epochs with their range, in words."""
    values = np.ravel(epochs)
    low, centre, high = (
        "never" if one >= NEVER else f"{one:g}" for one in (values.min(), np.median(values), values.max())
    )
    return f"{centre} ({low} to {high})"
