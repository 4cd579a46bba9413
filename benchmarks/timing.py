"""What the suites share: processes with few processors, methods that are installed, and timing in rounds.

NumPy is not loaded here: its BLAS counts the processors when it is.
"""

import importlib
import importlib.metadata
import importlib.util
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

#: Quartiles that are farther from the median than this share of it are a wide spread; how often that is measured again.
NEAR, AGAIN = 0.05, 2


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


def lasting(run: Callable[[int], object], seconds: float = 0.1, least: int = 2) -> int:
    """How many steps of a run take about so long, by a second run of as many as take a quarter; compiles."""
    steps = 4
    while True:
        run(steps)
        began = time.perf_counter()
        run(steps)
        taken = time.perf_counter() - began
        if taken > seconds / 4:
            break
        steps *= 8
    steps = max(least, round(steps * seconds / taken))
    run(steps)
    return steps


def timed(cases: list[tuple[dict, Callable[[], object], float]], rounds: int, unit: float = 1e6) -> list[dict]:
    """The rows of the cases, each now with its `times`, one per round, of five digits.

    A case is a row, a run, and into how many parts, such as steps, its time is divided; `unit` is 1e6 for microseconds.
    A round times each run once, so that a disturbance hits all alike.  What spreads by more than `NEAR` is measured
    again, with all methods of the same problem, up to `AGAIN` times; of those the steadiest measurement counts.
    """
    problems: dict[tuple, list] = {}
    for case in cases:
        key = tuple(str(value) for name, value in case[0].items() if name not in ("method", "numbers"))
        problems.setdefault(key, []).append(case)
    steadiest = dict.fromkeys(problems, math.inf)
    for _ in range(1 + AGAIN):
        left = {key: same for key, same in problems.items() if steadiest[key] > NEAR}
        taken = {key: [[] for _ in same] for key, same in left.items()}
        for _ in range(rounds):
            for key, same in left.items():
                for (_, run, parts), times in zip(same, taken[key], strict=True):
                    began = time.perf_counter()
                    run()
                    times.append(float(f"{(time.perf_counter() - began) / parts * unit:.5g}"))
        for key, same in left.items():
            if (widest := max(map(spread, taken[key]))) < steadiest[key]:
                steadiest[key] = widest
                for (row, _, _), times in zip(same, taken[key], strict=True):
                    row["times"] = times
    return [row for row, _, _ in cases]


def spread(times: Sequence[float]) -> float:
    """Distance of the farther quartile from the median, relative to it."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return max(high - middle, middle - low) / middle


def environment() -> dict:
    """What the numbers depend on."""
    import scipy.linalg  # noqa: F401  has a BLAS of its own, which compiled code calls
    import torch  # noqa: F401
    from threadpoolctl import threadpool_info

    from shallow.book.records import processor

    blas = [one for one in threadpool_info() if one["user_api"] == "blas" and "architecture" in one]
    versions = {name: importlib.metadata.version(name) for name in ("numba", "numpy", "torch")}
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
        "blas": sorted({f"{one['internal_api']} {one['version']} ({one['architecture']})" for one in blas}),
    }
