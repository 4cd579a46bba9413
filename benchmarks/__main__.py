"""Time the book's methods side by side:  python -m benchmarks [SUITE ...] [--rounds 7]

A suite is written to `benchmarks/SUITE.json`, and the page `book/speed.md` shows medians.  One process per number of
threads is confined to that many processors before it loads anything.  Every round times each method once for every
size, so that a disturbance hits all methods alike; a first run compiles and is not counted.
"""

import argparse
import json
import multiprocessing
import time
from pathlib import Path

from benchmarks import timing

ONE, BOTH = (1,), (1, 2)
#: The parts of every suite, the functions that measure them, and on how many threads.
SUITES = {
    "trainers": {
        "plain": ("plain.measure", BOTH),
        "univariate": ("univariate.measure", BOTH),
        "minibatch": ("minibatch.measure", BOTH),
        "online": ("online_gradients.measure", BOTH),
        "flow": ("flow.measure", BOTH),
        "first layer": ("first_layer.measure", BOTH),
        "ensemble": ("hidden_structure.measure", BOTH),
    },
    "first_calls": {"calls": ("first_calls.measure", ONE)},
    "routines": {"fits and spectra": ("tails.measure", ONE), "kernels": ("deep_kernels.measure", BOTH)},
    "laboratories": {"runs": ("laboratories.measure", ONE)},
    "scaling": {"curves": ("scaling.measure", ONE)},
}


def suite(name: str, rounds: int) -> dict:
    """The rows of every part of a suite."""
    spawn, found = multiprocessing.get_context("spawn"), {}
    workers = {threads: spawn.Pool(1, timing.confine, (threads,)) for threads in BOTH}
    for part, (measure, counts) in SUITES[name].items():
        rows = [workers[threads].apply(timing.measured, (measure, rounds, threads)) for threads in counts]
        found[part] = [row for of_count in rows for row in of_count]
    return found


def main() -> None:
    """Run the chosen suites, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition(":")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name in options.suites or SUITES:
        if name not in SUITES:
            parser.error(f"unknown suite {name!r}; there are {', '.join(SUITES)}")
        began = time.perf_counter()
        found = timing.environment() | {"rounds": options.rounds} | suite(name, options.rounds)
        found = {"minutes": round((time.perf_counter() - began) / 60, 2)} | found
        Path(__file__).with_name(f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
