"""Time the trainers side by side and write `benchmarks/univariate.json`:  python -m benchmarks [--rounds 7]

One process per number of threads is confined to that many processors before it loads anything.  Every round times each
method once for every size, so that a disturbance hits all methods alike; the page `book/speed.md` shows medians.
"""

import argparse
import json
import multiprocessing
from pathlib import Path

from benchmarks import timing, univariate

THREADS = (1, 2)
SIZES = [(50, 128), (105, 128), (105, 512), (200, 512)]
FIELDS = ("method", "dtype", "n", "m", "threads")
OUTPUT = Path(__file__).with_name("univariate.json")


def main() -> None:
    """Run all rounds; the first one compiles and is not counted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition(":")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    found = timing.environment() | {"networks": timing.NETWORKS, "rounds": rounds}
    keys = [
        (method, dtype, n, m, threads)
        for threads in THREADS
        for n, m in SIZES
        for method, (_, dtypes, _) in univariate.METHODS.items()
        for dtype in dtypes
    ]
    times = {key: [] for key in keys}
    spawn = multiprocessing.get_context("spawn")
    pools = {threads: spawn.Pool(1, timing.confine, (threads,)) for threads in THREADS}
    for number in range(rounds + 1):
        for key in keys:
            value = pools[key[-1]].apply(timing.seconds, key)
            if number and value is not None:
                times[key].append(round(value * 1e6, 4))
        print(f"round {number} of {rounds}", flush=True)
    found["microseconds"] = [dict(zip(FIELDS, key, strict=True)) | {"times": t} for key, t in times.items() if t]
    OUTPUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
