"""A grid of cells as one labelled dataset: in parallel, resumable, on this machine or on a cluster."""

from __future__ import annotations

import inspect
import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import xarray as xr
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from shallow.store import Store


@dataclass(frozen=True)
class Failure:
    """A cell that raised: its point on the grid, the exception as one line, and the traceback."""

    point: Mapping[str, object]
    error: str
    traceback: str

    def __str__(self) -> str:
        return f"{_described(self.point)}: {self.error}"


class SweepError(RuntimeError):
    """Some cells raised; all others were computed, and kept where there is a store.  `failures` holds what failed."""

    def __init__(self, failures: Sequence[Failure], cells: int) -> None:
        self.failures = list(failures)
        lines = "\n  ".join(map(str, failures))
        super().__init__(f"{len(failures)} of {cells} cells failed:\n  {lines}\n\n{failures[0].traceback}")


def grid(
    cell: Callable[..., xr.Dataset],
    axes: Mapping[str, Sequence],
    *,
    jobs: int | None = None,
    progress: bool | None = None,
    store: Store | None = None,
    **fixed,
) -> xr.Dataset:
    """Call ``cell(**point, **fixed)`` at every point of the grid and stack the results along the axes.

    The cells run in processes, or in threads if they are marked by :func:`shallow.experiments.releases_gil`, each
    with one compute thread; inside ``joblib.parallel_config(backend="dask")`` they run on that cluster.

    Args:
        cell: a pure function that returns a Dataset; all its results have the same variables and shapes.
        axes: named axes; they become the leading dimensions, in this order.
        jobs: number of cells at a time; all cores by default.
        progress: show a progress line; by default only on a terminal.
        store: where finished cells are kept; those that it already has are not computed again.
        fixed: further arguments of the cell, the same everywhere.

    Raises:
        ValueError: for an axis that is empty, repeats a value or is no parameter of the cell; for results that do not
            stack.
        SweepError: when cells raised, after all others have been computed.
    """
    points = _points(cell, axes, fixed)
    kept = {} if store is None else {i: store.get(point) for i, point in enumerate(points)}
    found = {i: dataset for i, dataset in kept.items() if dataset is not None}
    left = [i for i in range(len(points)) if i not in found]
    calls = [delayed(_call)(os.getpid(), i, cell, points[i], fixed) for i in left]
    hint = "threads" if getattr(cell, "releases_gil", False) else "processes"
    # With a store every cell is delivered when it is done, not in a batch with its neighbours.
    options = {"batch_size": 1} if store is not None else {}
    parallel = Parallel(jobs or cpu_count(), prefer=hint, return_as="generator_unordered", **options)
    quiet = None if progress is None else not progress
    line = tqdm(total=len(points), initial=len(found), desc=cell.__name__, unit="cell", disable=quiet)
    failures = []
    with line, one_compute_thread():
        for i, outcome, seconds in parallel(calls):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                found[i] = outcome
                if store is not None:
                    store.put(points[i], outcome, seconds)
            line.update()
    if failures:
        raise SweepError(failures, len(points))
    return _stack([found[i] for i in range(len(points))], axes)


def _points(cell: Callable, axes: Mapping[str, Sequence], fixed: Mapping[str, object]) -> list[dict[str, object]]:
    """All points of the grid, or a ValueError that names the axis or the parameter that is wrong."""
    parameters = inspect.signature(cell).parameters
    free = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in [*axes, *fixed]:
        if name not in parameters and not free:
            raise ValueError(f"{cell.__name__} has no parameter {name!r}; it has {', '.join(parameters)}")
        if name in axes and name in fixed:
            raise ValueError(f"{name!r} must be an axis or fixed, not both")
    for name, parameter in parameters.items():
        optional = parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
        if not optional and name not in axes and name not in fixed:
            raise ValueError(f"{cell.__name__} needs its parameter {name!r} as an axis or fixed")
    for name, values in axes.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise ValueError(f"axes[{name!r}] must be a sequence of values, got {values!r}")
        if not len(values):
            raise ValueError(f"axes[{name!r}] must not be empty")
        repeated = [value for i, value in enumerate(values) if value in list(values[:i])]
        if repeated:
            raise ValueError(f"axes[{name!r}] must not repeat a value, got {repeated[0]!r} twice")
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def _call(
    parent: int, i: int, cell: Callable[..., xr.Dataset], point: Mapping[str, object], fixed: Mapping[str, object]
) -> tuple[int, xr.Dataset | Failure, float]:
    """One cell with its index and its seconds; an exception comes back as a value, so that the others go on."""
    began = time.perf_counter()
    try:
        if os.getpid() == parent:  # a thread of the caller, who has set the number of compute threads and restores it
            threadpool_limits(1)  # but OpenMP keeps a number of its own for every thread
            outcome = cell(**point, **fixed)
        else:
            with one_compute_thread():
                outcome = cell(**point, **fixed)
    except Exception as error:
        outcome = Failure(dict(point), f"{type(error).__name__}: {error}", traceback.format_exc())
    return i, outcome, time.perf_counter() - began


@contextmanager
def one_compute_thread() -> Iterator[None]:
    """One thread in BLAS, OpenMP, torch and numba within the block; the former numbers are restored after it."""
    torch, numba = sys.modules.get("torch"), sys.modules.get("numba")
    before = torch and torch.get_num_threads(), numba and numba.get_num_threads()
    with threadpool_limits(1):
        try:
            _set_threads(torch, torch and 1, numba, numba and 1)
            yield
        finally:
            _set_threads(torch, before[0], numba, before[1])


def _set_threads(torch, torch_threads: int | None, numba, numba_threads: int | None) -> None:
    if torch:
        torch.set_num_threads(torch_threads)
    if numba:
        numba.set_num_threads(numba_threads)


def _described(point: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in point.items())


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
