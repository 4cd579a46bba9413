"""One recorded grid through the command `record`: by joblib on this machine, and by dask on workers of its own.

A worker is a process with one thread.  Every way computes all cells of `NAME` anew into an empty folder, and all must
give one dataset.  Beside the time on the clock goes the computing time of the cells, as the manifest counts it: what is
missing to the product of workers and clock went into waiting, sending and stacking.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import xarray as xr
from click.testing import CliRunner
from distributed import LocalCluster

from shallow.__main__ import main
from shallow.book import paths, records

#: 40 cells of about a second.
NAME = "hidden_structure/alignment/shifted_roots"
WORKERS = (1, 2)


def recorded(*options: str) -> tuple[float, dict, xr.Dataset]:
    """Seconds of `python -m shallow record NAME --anew OPTIONS` without the start of Python, manifest and dataset."""
    with TemporaryDirectory() as folder, patch.object(paths, "RECORDS", Path(folder)):
        began = time.perf_counter()
        result = CliRunner().invoke(main, ["record", NAME, "--anew", *options])
        seconds = time.perf_counter() - began
        if result.exit_code:
            raise RuntimeError(result.output) from result.exception
        return seconds, records.manifest(NAME), records.load(NAME)


def measure(rounds: int) -> dict:
    """Seconds on the clock and seconds of computing by way and number of workers, one of each per round.

    The clusters stand side by side for the whole time, idle but for their turn, and have done the grid once before
    they are timed: workers import the library when they first meet it.
    """
    made = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**made) as one, LocalCluster(**made | {"n_workers": 2}) as two:
        ways = {("joblib", workers): ("--jobs", str(workers)) for workers in WORKERS}
        ways |= {
            ("dask", workers): ("--scheduler", cluster.scheduler_address)
            for workers, cluster in zip(WORKERS, (one, two), strict=True)
        }
        rows = {way: {"way": way[0], "workers": way[1], "times": [], "computing": []} for way in ways}
        expected = None
        for number in range(rounds + 1):
            for way, options in ways.items():
                seconds, manifest, dataset = recorded(*options)
                expected = dataset if expected is None else expected
                xr.testing.assert_identical(dataset, expected)
                if number:
                    rows[way]["times"].append(round(seconds, 3))
                    rows[way]["computing"].append(manifest["seconds"])
    ways = [row | {"cells": manifest["cells"]} for row in rows.values()]
    return {"record": NAME, "rounds": rounds, "ways": ways}
