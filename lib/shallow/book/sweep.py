"""A grid of cells as one labelled dataset: in parallel, resumable, on this machine or on a cluster."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import queue
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from shallow.book import fingerprint, records
from shallow.book.store import Store

BEGAN = time.time()  # about when this process has loaded the first module of the library
PAUSE = 0.5  # seconds between two looks at what other processes and workers are doing
RUNS, UNDER_WAY = itertools.count(), set()  # sweeps of this process by number, and those that keep cells
WRITES = threading.Lock()  # of whoever writes cells in a thread, or ends a sweep
PATIENCE = 10.0  # seconds without any worker that has the right code, after which a sweep on a cluster gives up


@dataclass(frozen=True)
class Failure:
    """A cell that raised: its point on the grid, the exception as one line, and the traceback."""

    point: Mapping[str, object]
    error: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{', '.join(f'{name}={value!r}' for name, value in self.point.items())}: {self.error}"


class Refusal(Failure):
    """A cell that was not computed, since the process that was to do so has other code for it."""


class SweepError(RuntimeError):
    """Some cells raised; all others were computed, and kept where there is a store.  `failures` holds what failed."""

    def __init__(self, failures: Sequence[Failure], cells: int) -> None:
        self.failures = list(failures)
        lines = "\n  ".join(map(str, failures))
        super().__init__(f"{len(failures)} of {cells} cells failed:\n  {lines}\n\n{failures[0].traceback}")


class WorkerError(RuntimeError):
    """No worker of a cluster has the right code, or its scheduler is gone; what was computed before is kept."""


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
    client=None,
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
        client: a ``distributed.Client``: the cells run on all workers of its cluster, whatever `jobs` is.
        fixed: further arguments of the cell, the same everywhere.

    Raises:
        ValueError: for an axis that is empty, repeats a value or is no parameter; for results that do not stack.
        SweepError: when cells raised, or a process had other code than the store wants; the others are computed.
        WorkerError: when all workers of a cluster have other code, or its scheduler is gone.
        OSError: when the store cannot be written.
    """
    points, here = _points(cell, axes, fixed), store is not None and client is None  # a worker may have another disk
    work = _Work(cell, fixed, store and store.code, store.folder if here else None)
    compute = _Cluster(client, work).outcomes if client else functools.partial(_here, work, jobs)
    found, failures = {}, []
    if store is None:
        outcomes = compute(enumerate(points))
    else:
        found = {i: kept for i, point in enumerate(points) if (kept := store.get(point)) is not None}
        outcomes = _kept(compute, {i: point for i, point in enumerate(points) if i not in found}, store, here)
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


def _here(work: _Work, jobs: int | None, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Outcomes by threads or processes of this machine, as they come."""
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


def _kept(compute: Callable, left: dict[int, Mapping[str, object]], store: Store, put: bool) -> Iterator[Outcome]:
    """Outcomes of the cells `left`: computed, or put into the store by another process.

    Whoever computes a cell puts it there at once; of the workers of a cluster, where `put` is false, this process.
    """
    try:
        while left:
            problems: list[OSError] = []
            tasks = _claimed(store, dict(left), problems)
            if first := next(tasks, None):
                with closing(compute(itertools.chain([first], tasks))) as outcomes:
                    for i, outcome, *cost in outcomes:
                        if not isinstance(outcome, Failure):
                            store.note(left[i], *cost) if put else store.put(left[i], outcome, *cost)
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


class _Cluster:
    """The workers of a dask cluster; one that shows other code gets no more cells, and what it refuses others get."""

    def __init__(self, client, work: _Work) -> None:
        self.client, self.work = client, work
        self.right: dict[str, int] = {}  # threads of the workers of which nothing bad is known
        self.wrong: set[str] = set()
        self.under_way: dict = {}  # future -> task, and the workers that may do it, or None for all
        self.again: list[Task] = []
        self.done: queue.SimpleQueue = queue.SimpleQueue()
        self.deadline = time.monotonic() + PATIENCE

    def outcomes(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        """Outcomes as they come.  Raises WorkerError when for a while all workers have had other code."""
        task = next(tasks, None)
        while task or self.again or self.under_way:
            self._look()
            while (task or self.again) and len(self.under_way) < 1.5 * sum(self.right.values()):
                if self.again:
                    self._submit(self.again.pop())
                else:
                    self._submit(task)
                    task = next(tasks, None)
            yield from self._finished()

    def _look(self) -> None:
        """Who is there now; cells whose workers have all gone are to be done again."""
        try:
            there = self.client.nthreads()
        except OSError as error:
            raise self._lost() from error
        for future, (task, workers) in list(self.under_way.items()):
            if workers and not workers & there.keys() and not future.done():
                del self.under_way[future]
                self.again.append(task)
        self.right = {address: threads for address, threads in there.items() if address not in self.wrong}
        if self.right or not there:
            self.deadline = time.monotonic() + PATIENCE
        elif time.monotonic() > self.deadline:
            raise WorkerError(f"no worker has the code of this process for {self.work}: not {', '.join(sorted(there))}")

    def _lost(self) -> WorkerError:
        return WorkerError(f"the scheduler {self.client.scheduler.address} is gone")

    def _submit(self, task: Task) -> None:
        workers = list(self.right) if self.wrong else None
        future = self.client.submit(_there, self.work, *task, pure=False, workers=workers)
        self.under_way[future] = task, workers and set(workers)
        future.add_done_callback(self.done.put)

    def _finished(self) -> Iterator[Outcome]:
        """Outcomes of the cells that are done, after a pause if there is none."""
        with suppress(queue.Empty):
            futures = [self.done.get(timeout=PAUSE)]
            for future in futures + [self.done.get() for _ in range(self.done.qsize())]:
                if future in self.under_way and (outcome := self._outcome(future, *self.under_way.pop(future))):
                    yield outcome
                future.release()  # in words, since an interruption would be lost in its __del__

    def _outcome(self, future, task: Task, _) -> Outcome | None:
        """What came of a cell; None if its worker has other code, so that another one is to do it."""
        if future.cancelled():
            raise self._lost()
        if error := future.exception():  # not the cell's: it has killed its workers, say
            return task[0], Failure(task[1], f"{type(error).__name__}: {error}"), 0.0, ""
        worker, outcome = future.result()
        if not isinstance(outcome[1], Refusal):
            return outcome
        if worker not in self.wrong:
            self.wrong.add(worker)
            warnings.warn(f"worker {worker} has other code for {self.work}: it gets none", RuntimeWarning, stacklevel=1)
        self.again.append(task)
        return None


def _there(work: _Work, i: int, point: Mapping[str, object]) -> tuple[str, Outcome]:
    """On a worker of a cluster: its address and the outcome of a cell."""
    from distributed import get_worker

    outdated = work.code is not None and _may_be_outdated(work.cell)
    return get_worker().address, (i, Refusal(point, ""), 0.0, "") if outdated else _call(work, i, point)


def _call(work: _Work, i: int, point: Mapping[str, object], caller: tuple[int, int] = (0, 0)) -> Outcome:
    """One cell, kept if it is to be; an exception of its own comes back as a value, so that the others go on."""
    began, processor = time.perf_counter(), f"{records.processor()}, {cpu_count()} cores"
    try:
        if work.code is not None and fingerprint.of(work.cell) != work.code:
            refusal = Refusal(dict(point), f"process {os.getpid()} has other code for {work}")
            return i, refusal, 0.0, processor
        if (
            os.getpid() == caller[0]
        ):  # a thread of the caller, who has set the number of compute threads and restores it
            threadpool_limits(1)  # but OpenMP keeps a number of its own for every thread
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


@functools.cache
def _may_be_outdated(cell: Callable[..., xr.Dataset]) -> bool:
    """Whether, when the process first meets the cell, a file of a loaded module is younger than the process."""
    packages = {fingerprint.PACKAGE, cell.__module__.partition(".")[0]}
    loaded = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in packages]
    return any(Path(module.__file__).stat().st_mtime > BEGAN for module in loaded if getattr(module, "__file__", None))


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
