"""What rules and pages read from the records of networks for polynomials."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr

from experiments.hidden_structure.polynomials import ALIGNED

NEVER = 10_000  # stands for an epoch that was not reached


def rc(runs: xr.Dataset, part: str = "test") -> xr.DataArray:
    """Rc = 1 - MSE/Var(y) over the points of a part with |v| <= 1."""
    return runs.r2.sel(part=part, range="bulk", drop=True)


def everywhere(runs: xr.Dataset, degrees: Iterable[int]) -> dict[int, float]:
    """Median over runs of R2 over all test points, the few with |v| > 1 included, by degree: the document's score."""
    whole = runs.r2.sel(part="test", range="all", drop=True)
    return {int(d): float((whole.sel(degree=d) if "degree" in whole.dims else whole).median()) for d in degrees}


def of_all_units(runs: xr.Dataset) -> xr.DataArray:
    """F, the share of aligned units among all: records hold it among those that have a direction left."""
    return runs.aligned.fillna(0) * (1 - runs.collapsed)


def test_error(runs: xr.Dataset) -> xr.DataArray:
    """Mean square over all test points."""
    return runs.mse.sel(part="test", range="all", drop=True)


def first_epoch(path: xr.DataArray, level: float = ALIGNED) -> xr.DataArray:
    """First epoch at which a path is at a level; :data:`NEVER` where it is not."""
    reached = path >= level
    return path.epoch[reached.argmax("epoch")].where(reached.any("epoch"), NEVER).drop_vars("epoch")


def middle(epochs: xr.DataArray | np.ndarray) -> str:
    """Median of epochs with their range, in words, for an epoch that was not reached is no number."""
    values = np.ravel(epochs)
    low, centre, high = (
        "never" if one >= NEVER else f"{one:g}" for one in (values.min(), np.median(values), values.max())
    )
    return f"{centre} ({low} to {high})"
