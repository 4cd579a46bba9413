"""Timing the methods of :mod:`benchmarks.univariate`, in a process of its own for every number of threads."""

import functools
import importlib.metadata
import os
import platform
import time
from datetime import UTC, datetime

NETWORKS = 8


def confine(threads: int) -> None:
    """Leave this process `threads` processors, before libraries count them."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


@functools.cache
def prepared(method: str, dtype: str, n: int, m: int, threads: int):
    """The method with its problems, compiled and checked against the book's trainer; None without its library."""
    import numpy as np

    from benchmarks import univariate
    from shallow import nets
    from shallow.data import cyclic

    samples = [cyclic.sample(n, seed=seed) for seed in range(NETWORKS)]
    problems = [(data.x, data.y, nets.default(data.rng, m)) for data in samples]
    make, _, epochs = univariate.METHODS[method]
    try:
        run = make(problems, dtype, threads)
    except ImportError:
        return None
    wanted = univariate.prefix_sums(problems, "float64", 1)(20)
    for found, network in zip(run(20), wanted, strict=True):
        for a, b in zip(found, network, strict=True):
            assert np.abs(a - b).max() < (1e-10 if dtype == "float64" else 1e-2), (method, dtype, n, m)
    run(epochs)
    return run


def seconds(method: str, dtype: str, n: int, m: int, threads: int) -> float | None:
    """Seconds per epoch and network, once."""
    from benchmarks import univariate

    run, epochs = prepared(method, dtype, n, m, threads), univariate.METHODS[method][2]
    if run is None:
        return None
    start = time.perf_counter()
    run(epochs)
    return (time.perf_counter() - start) / epochs / NETWORKS


def environment() -> dict:
    """What the numbers depend on."""
    from shallow.book.records import processor

    versions = {name: importlib.metadata.version(name) for name in ("dask", "numba", "numpy", "torch")}
    try:
        versions["jax"] = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        print("JAX is not installed (pip install '.[bench]'): its rows are left out")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": versions,
    }
