"""Time the book's methods side by side:  python -m benchmarks [SUITE ...] [--rounds 7]

A suite is written to `benchmarks/SUITE.json`, and the page `book/speed.md` shows medians.  One process per number of
threads is confined to that many processors before it loads anything.  Every round times each method once for every
size, so that a disturbance hits all methods alike; the first round compiles and is not counted.  The suite `cluster`,
whose rounds take minutes, has half as many.
"""

import argparse
import json
import multiprocessing
import time
from multiprocessing.pool import Pool
from pathlib import Path

from benchmarks import timing

THREADS = (1, 2)
SIZES = [(50, 128), (105, 128), (105, 512), (200, 512)]
FIELDS = ("method", "dtype", "n", "m", "threads")


def pools() -> dict[int, Pool]:
    """A process of its own for every number of threads."""
    spawn = multiprocessing.get_context("spawn")
    return {threads: spawn.Pool(1, timing.confine, (threads,)) for threads in THREADS}


def univariate(rounds: int) -> dict:
    """Training on a line: microseconds per epoch and network."""
    from benchmarks import univariate

    keys = [
        (method, dtype, n, m, threads)
        for threads in THREADS
        for n, m in SIZES
        for method, (_, dtypes, _) in univariate.METHODS.items()
        for dtype in dtypes
    ]
    times, workers = {key: [] for key in keys}, pools()
    for number in range(rounds + 1):
        for key in keys:
            value = workers[key[-1]].apply(timing.seconds, key)
            if number and value is not None:
                times[key].append(round(value * 1e6, 4))
        print(f"round {number} of {rounds}", flush=True)
    rows = [dict(zip(FIELDS, key, strict=True)) | {"times": t} for key, t in times.items() if t]
    return {"networks": timing.NETWORKS, "microseconds": rows}


def heavy_tails(rounds: int) -> dict:
    """A step on the first layer, fits of a power law, and spectra: milliseconds."""
    from benchmarks import first_layer, tails

    workers = pools()
    steps = [row for threads, worker in workers.items() for row in worker.apply(first_layer.measure, (rounds, threads))]
    return {"steps": steps, "fits and spectra": workers[1].apply(tails.measure, (rounds, 1))}


def simplicity_bias(rounds: int) -> dict:
    """Mini-batch steps, how their cost grows, and full-batch descent by groups of neurons: microseconds."""
    from benchmarks import flow, minibatch

    workers = pools()
    steps = [row for threads, worker in workers.items() for row in worker.apply(minibatch.measure, (rounds, threads))]
    alone = workers[1]
    return {
        "mini-batch": steps,
        "scaling": alone.apply(minibatch.scaling, (rounds,)),
        "full batch": alone.apply(flow.measure, (rounds, 1)),
    }


def hidden_structure(rounds: int) -> dict:
    """Steps of ten multilayer perceptrons, in microseconds of one network, and tangent kernels, in milliseconds."""
    from benchmarks import deep_kernels, hidden_structure

    workers = pools()
    parts = {"steps": hidden_structure.measure, "kernels": deep_kernels.measure}
    found = {
        name: [row for threads, worker in workers.items() for row in worker.apply(measure, (rounds, threads))]
        for name, measure in parts.items()
    }
    return {"networks": hidden_structure.NETWORKS} | found


def localization(rounds: int) -> dict:
    """Steps on fresh samples of networks of receptive fields: microseconds of one network."""
    from benchmarks import online_gradients

    found = [worker.apply(online_gradients.measure, (rounds, threads)) for threads, worker in pools().items()]
    return {"networks": online_gradients.NETWORKS, "steps": [row for rows in found for row in rows]}


def laboratories(rounds: int) -> dict:
    """The run with which each laboratory opens: seconds."""
    from benchmarks import laboratories

    return {"runs": pools()[1].apply(laboratories.measure, (rounds, 1))}


def scaling(rounds: int) -> dict:
    """How the cost of the main routines grows with their sizes: microseconds."""
    from benchmarks import scaling

    return {"curves": pools()[1].apply(scaling.measure, (rounds, 1))}


def cluster(rounds: int) -> dict:
    """A recorded grid on this machine and on local workers, from this process, as those of a pool have no children."""
    from benchmarks import cluster

    rounds = max(1, rounds // 2)
    return {"record": cluster.NAME, "rounds": rounds, "ways": cluster.measure(rounds)}


SUITES = {
    "univariate": univariate,
    "heavy_tails": heavy_tails,
    "simplicity_bias": simplicity_bias,
    "hidden_structure": hidden_structure,
    "localization": localization,
    "laboratories": laboratories,
    "scaling": scaling,
    "cluster": cluster,
}


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
        found = timing.environment() | {"rounds": options.rounds} | SUITES[name](options.rounds)
        found = {"minutes": round((time.perf_counter() - began) / 60, 2)} | found
        Path(__file__).with_name(f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
