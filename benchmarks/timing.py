"""What the suites share: processes with few processors, methods that are installed, and timing in rounds."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime


def confine(threads: int) -> None:
    """Leave this process `threads` processors, before libraries count them."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def measured(name: str, rounds: int, threads: int) -> list[dict]:
    """What a function of this package, such as `flow.measure`, finds; libraries are loaded here."""
    import torch

    torch.set_num_threads(threads)
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f"benchmarks.{module}"), function)(rounds, threads)


def available(methods: dict) -> dict:
    """The methods whose library is installed."""
    installed = importlib.util.find_spec("jax") is not None
    return {name: method for name, method in methods.items() if installed or not name.startswith("JAX")}


def endless(epoch: Callable[[], Iterable]) -> Iterator:
    """The batches of one epoch after the other."""
    while True:
        yield from epoch()


def timed(cases: list[tuple[dict, Callable[[], object], float]], rounds: int, unit: float) -> list[dict]:
    """The rows of the cases, each now with its `times`, one per round, of five digits.

    A case is a row, a run, and into how many parts, such as steps, its time is divided; `unit` is 1e3 for milliseconds.
    A round times each run once, so that a disturbance hits all alike.
    """
    rows = [row for row, _, _ in cases]
    for row in rows:
        row["times"] = []
    for _ in range(rounds):
        for row, run, parts in cases:
            began = time.perf_counter()
            run()
            row["times"].append(float(f"{(time.perf_counter() - began) / parts * unit:.5g}"))
    return rows


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
