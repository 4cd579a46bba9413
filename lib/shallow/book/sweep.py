"""A grid of cells as one labelled dataset: in parallel and resumable."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from shallow.book import fingerprint, records
from shallow.book.store import Store

PAUSE = 0.5  # seconds between two looks at what other processes are doing
RUNS, UNDER_WAY = itertools.count(), set()  # sweeps of this process by number, and those that keep cells
WRITES = threading.Lock()  # of whoever writes cells in a thread, or ends a sweep


@dataclass(frozen=True)
class Failure:
    """A cell that raised: its point on the grid, the exception as one line, and the traceback."""

    point: Mapping[str, object]
    error: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{', '.join(f'{name}={value!r}' for name, value in self.point.items())}: {self.error}"


class SweepError(RuntimeError):
    """Some cells raised; all others were computed, and kept where there is a store.  `failures` holds what failed."""

    def __init__(self, failures: Sequence[Failure], cells: int) -> None:
        self.failures = list(failures)
        lines = "\n  ".join(map(str, failures))
        super().__init__(f"{len(failures)} of {cells} cells failed:\n  {lines}\n\n{failures[0].traceback}")


@dataclass(frozen=True)
class _Work:
    """What the cells of a grid have in common; a process that has that code computes them, and keeps them there."""

    cell: Callable[..., xr.Dataset]
    fixed: Mapping[str, object]
    code: str | None
    folder: Path | None

    def __str__(self) -> str:
        return f"{self.cell.__module__}.{self.cell.__qualname__}"


Task = tuple[int, Mapping[str, object]]  # number and point of a cell
Outcome = tuple[int, xr.Dataset | Failure, float, str]  # number, result, seconds and processor


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

    Cells run in processes, or in threads if marked by `releases_gil`, with one compute thread each.

    Args:
        cell: a pure function that returns a Dataset; all its results have the same variables and shapes.
        axes: named axes; they become the leading dimensions, in this order.
        jobs: number of cells at a time; all cores by default.
        progress: show a progress line; by default only on a terminal.
        store: where finished cells are kept; what is there is not computed again, nor what another process puts there.
        fixed: further arguments of the cell, the same everywhere.

    Raises:
        ValueError: for an axis that is empty, repeats a value or is no parameter; for results that do not stack.
        SweepError: when cells raised, or a process had other code than the store wants; the others are computed.
        OSError: when the store cannot be written.
    """
    points = _points(cell, axes, fixed)
    compute = functools.partial(_computed, _Work(cell, fixed, store and store.code, store and store.folder), jobs)
    found, failures = {}, []
    if store is None:
        outcomes = compute(enumerate(points))
    else:
        found = {i: kept for i, point in enumerate(points) if (kept := store.get(point)) is not None}
        outcomes = _kept(compute, {i: point for i, point in enumerate(points) if i not in found}, store)
    quiet = None if progress is None else not progress
    line = tqdm(total=len(points), initial=len(found), desc=cell.__name__, unit="cell", disable=quiet)
    with line, one_compute_thread(), closing(outcomes):
        for i, outcome, *_ in outcomes:
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                found[i] = outcome
            line.update()
    if failures:
        raise SweepError(failures, len(points))
    return _stack([found[i] for i in range(len(points))], axes)


def _points(cell: Callable, axes: Mapping[str, Sequence], fixed: Mapping[str, object]) -> list[dict[str, object]]:
    """All points of the grid, or a ValueError that names the axis or the parameter that is wrong."""
    try:
        inspect.signature(cell).bind(**dict.fromkeys([*axes, *fixed]))
    except TypeError as error:
        raise ValueError(f"axes and fixed must be the parameters of {cell.__name__}: {error}") from None
    for name, values in axes.items():
        if name in fixed or isinstance(values, str) or not hasattr(values, "__len__") or not len(values):
            raise ValueError(f"axes[{name!r}] must be a sequence of values, and not fixed as well, got {values!r}")
        if repeated := [value for i, value in enumerate(values) if value in list(values[:i])]:
            raise ValueError(f"axes[{name!r}] must not repeat a value, got {repeated[0]!r} twice")
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def _computed(work: _Work, jobs: int | None, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Outcomes by threads or processes, as they come."""
    hint = "threads" if getattr(work.cell, "releases_gil", False) else "processes"
    # With a store no cell is claimed long before it is computed, in a batch with its neighbours.
    one_by_one = {"batch_size": 1, "pre_dispatch": "n_jobs + 1", "initializer": end_with, "initargs": (os.getpid(),)}
    options = {"return_as": "generator_unordered"} | (one_by_one if work.folder else {})
    parallel = Parallel(jobs or cpu_count(), prefer=hint, **options)
    caller = os.getpid(), next(RUNS)
    UNDER_WAY.add(caller)
    try:
        # joblib starts when it is called: not before somebody waits, who has set the number of compute threads by then.
        with closing(parallel(delayed(_call)(work, i, point, caller) for i, point in tasks)) as outcomes:
            yield from outcomes
    finally:
        with WRITES:  # threads outlive joblib, and HDF5 hangs or crashes if one writes while the process ends
            UNDER_WAY.remove(caller)


def _kept(compute: Callable, left: dict[int, Mapping[str, object]], store: Store) -> Iterator[Outcome]:
    """Outcomes of the cells `left`: computed, or put into the store by another process.

    Whoever computes a cell puts it there at once.
    """
    try:
        while left:
            problems: list[OSError] = []
            tasks = _claimed(store, dict(left), problems)
            if first := next(tasks, None):
                with closing(compute(itertools.chain([first], tasks))) as outcomes:
                    for i, outcome, *cost in outcomes:
                        if not isinstance(outcome, Failure):
                            store.note(left[i], *cost)
                        store.release(left.pop(i))
                        yield i, outcome, *cost
            if problems:
                raise problems[0]
            for i, found in [(i, store.get(point)) for i, point in left.items()]:
                if found is not None:
                    del left[i]
                    yield i, found, 0.0, ""
            if left:
                time.sleep(PAUSE)
    finally:
        store.release()


def _claimed(store: Store, left: Mapping[int, Mapping[str, object]], problems: list[OSError]) -> Iterator[Task]:
    """Those of the cells `left` that no other process has claimed or finished by the time that they are asked for.

    joblib asks from a thread of its own, where an error would be lost: it is left in `problems`.
    """
    try:
        for i, point in left.items():
            if store.claim(point):
                if store.get(point) is None:
                    yield i, point
                else:
                    store.release(point)
    except OSError as problem:
        problems.append(problem)


def _call(work: _Work, i: int, point: Mapping[str, object], caller: tuple[int, int] = (0, 0)) -> Outcome:
    """One cell, kept if it is to be; an exception of its own comes back as a value, so that the others go on."""
    began, processor = time.perf_counter(), f"{records.processor()}, {cpu_count()} cores"
    try:
        if work.code is not None and fingerprint.of(work.cell) != work.code:
            return i, Failure(dict(point), f"process {os.getpid()} has other code for {work}"), 0.0, processor
        if os.getpid() == caller[0]:
            # A thread of the caller, who restores the number of compute threads; but OpenMP has one for every thread.
            threadpool_limits(1)
            outcome = work.cell(**point, **work.fixed)
        else:
            with one_compute_thread():
                outcome = work.cell(**point, **work.fixed)
    except Exception as error:
        outcome = Failure(dict(point), f"{type(error).__name__}: {error}", traceback.format_exc())
    seconds = time.perf_counter() - began
    if work.folder and not isinstance(outcome, Failure):
        with WRITES:
            if os.getpid() != caller[0] or caller in UNDER_WAY:
                Store(work.folder).put(point, outcome, seconds, processor)
    return i, outcome, seconds, processor


def end_with(parent: int) -> None:
    """Let this worker process end soon after its parent, even if that was killed by force; its cell would be lost."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PAUSE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def one_compute_thread() -> Iterator[None]:
    """One thread in BLAS, OpenMP and torch within the block; the former numbers are restored after it.

    A torch that is first loaded within the block reads the environment, and has as many threads as cores after it.
    Numba is not asked, since its answer starts threads and sets OpenMP's number; no kernel of the book is parallel.
    """
    torch, said = sys.modules.get("torch"), os.environ.get("OMP_NUM_THREADS")
    before = torch.get_num_threads() if torch else cpu_count()
    os.environ["OMP_NUM_THREADS"] = "1"
    with threadpool_limits(1):
        try:
            if torch:
                torch.set_num_threads(1)
            yield
        finally:
            os.environ.pop("OMP_NUM_THREADS")
            if said is not None:
                os.environ["OMP_NUM_THREADS"] = said
            if torch := sys.modules.get("torch"):
                torch.set_num_threads(before)


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
