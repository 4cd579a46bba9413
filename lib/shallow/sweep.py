"""A grid of cells as one labelled dataset, computed in parallel."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr
from joblib import Parallel, cpu_count, delayed
from tqdm import tqdm


def grid(
    cell: Callable[..., xr.Dataset],
    axes: Mapping[str, Sequence],
    *,
    jobs: int | None = None,
    progress: bool | None = None,
    **fixed,
) -> xr.Dataset:
    """Call ``cell(**point, **fixed)`` at every point of the grid and stack the results along the axes.

    Args:
        cell: a pure function that returns a Dataset; all its results have the same variables and shapes.  It should
            spend its time in compiled code that releases the interpreter's lock: the cells run in threads.
        axes: named axes; they become the leading dimensions, in this order.
        jobs: number of threads; all cores by default.
        progress: show a progress line; by default only on a terminal.
        fixed: further arguments of the cell, the same everywhere.

    Raises:
        ValueError: for an empty axis, or results that do not stack.
    """
    for name, values in axes.items():
        if not len(values):
            raise ValueError(f"axes[{name!r}] must not be empty")
    points = list(itertools.product(*axes.values()))
    calls = (delayed(cell)(**dict(zip(axes, point, strict=True)), **fixed) for point in points)
    results = Parallel(n_jobs=jobs or cpu_count(), prefer="threads", return_as="generator")(calls)
    quiet = None if progress is None else not progress
    return _stack(list(tqdm(results, total=len(points), desc=cell.__name__, disable=quiet)), axes)


def _stack(results: list[xr.Dataset], axes: Mapping[str, Sequence]) -> xr.Dataset:
    """One dataset from equal-shaped ones; numpy stacking, which is far faster than concatenating labels."""
    first = results[0]
    shape = tuple(map(len, axes.values()))
    variables = {}
    for name, template in first.data_vars.items():
        if any(result[name].dims != template.dims or result[name].shape != template.shape for result in results):
            raise ValueError(f"results differ in the shape of {name!r} and cannot be stacked")
        values = np.stack([result[name].values for result in results]).reshape(shape + template.shape)
        variables[name] = (tuple(axes) + template.dims, values, template.attrs)
    coordinates = {name: list(values) for name, values in axes.items()}
    return xr.Dataset(variables, coordinates | dict(first.coords), first.attrs)
