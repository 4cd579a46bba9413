"""Cells that leave a trace of every call, wait, fail on demand or differ from run to run."""

import os
import time
from pathlib import Path

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_info

from shallow.book.recipes import Agreement, Recipe, releases_gil


def _leave_trace(**point) -> None:
    """Append one line to the file named by PLANTED_TRACE: which cells were computed, and how often."""
    if trace := os.environ.get("PLANTED_TRACE"):
        with Path(trace).open("a", encoding="utf-8") as file:
            file.write(f"{point}\n")


def slow(seed: int, *, seconds: float = 0.0, size: int = 20) -> xr.Dataset:
    """Normal numbers, after a while; if PLANTED_GATE is set, from seed 6 on not before that file exists."""
    _leave_trace(seed=seed)
    time.sleep(seconds)
    gate = os.environ.get("PLANTED_GATE")
    while gate and seed >= 6 and not os.path.exists(gate):
        time.sleep(0.02)
    return xr.Dataset({"value": ("k", np.random.default_rng(seed).standard_normal(size)), "count": ((), seed)})


@releases_gil
def threaded(seed: int, *, count: int) -> xr.Dataset:
    """The mean of many random numbers."""
    value = np.random.default_rng(seed).standard_normal(count).mean()
    _leave_trace(seed=seed)
    return xr.Dataset({"value": ((), value)})


def walk(seed: int, *, records: tuple[int, ...] = (0, 1, 10)) -> xr.Dataset:
    """A random walk at some of its steps."""
    _leave_trace(seed=seed, steps=records[-1])
    path = np.random.default_rng(seed).standard_normal(records[-1] + 1).cumsum()
    return xr.Dataset({"value": ("step", path[list(records)])}, {"step": list(records)})


def fragile(seed: int, *, bad: tuple[int, ...] = (2,)) -> xr.Dataset:
    """Fails for some seeds, unless the environment says that it is mended."""
    _leave_trace(seed=seed)
    if seed in bad and "PLANTED_MENDED" not in os.environ:
        raise ArithmeticError(f"seed {seed} diverged")
    return xr.Dataset({"value": ((), float(seed))})


def chaotic(seed: int, *, shift: float = 0.0) -> xr.Dataset:
    """Differs at every call, around the same mean."""
    return xr.Dataset({"value": ("k", shift + np.random.default_rng().standard_normal(50))})


def placed(seed: int, *, device: str = "cpu") -> xr.Dataset:
    """Says where it ran, and with how many compute threads."""
    threads = max([pool["num_threads"] for pool in threadpool_info()], default=1)
    return xr.Dataset({"threads": ((), threads), "on_gpu": ((), device != "cpu"), "process": ((), os.getpid())})


SEEDS = list(range(12))
RECORDS = {
    "planted/slow": Recipe(slow, {"seed": SEEDS}, {"seconds": 0.2}, "Slow cells"),
    "planted/large": Recipe(slow, {"seed": SEEDS}, {"size": 4000}, "A record of 180 kB, from cells of 32 kB"),
    "planted/many": Recipe(threaded, {"seed": list(range(400))}, {"count": 400_000}, "Quick cells, in threads"),
    "planted/quick": Recipe(slow, {"seed": [3, 4, 5]}, {}, "Quick cells"),
    "planted/fragile": Recipe(fragile, {"seed": SEEDS[:5]}, {}, "One cell fails"),
    "planted/chaotic": Recipe(
        chaotic, {"seed": SEEDS}, {}, "Chaotic cells", agreement=Agreement(elsewhere=None), start="planted/slow"
    ),
    "planted/placed": Recipe(placed, {"seed": SEEDS[:2]}, {}, "Cells with a device"),
    "planted/walk": Recipe(walk, {"seed": SEEDS[:4]}, {}, "Long cells", shortened={"records": (1,)}),
    "planted/pairs": Recipe(slow, {"seed": SEEDS[:4], "seconds": [0.0, 0.01]}, {}, "Two axes"),
}
