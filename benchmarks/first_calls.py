"""The first call of every trainer: what it compiles, what it finds compiled, and the memory that a run takes.

Each runs in a fresh process, once with an empty cache of compiled code and then with what that left.  A small problem
is trained first; then a large one, whose highest memory is measured.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shallow import committee, mlp, nets
from shallow.data.nlgp import Process
from shallow.train import ensemble, first_layer, flow, minibatch, online, plain, univariate


def gaussian(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    return x, np.sign(x[:, 0])


def network(m: int, d: int) -> nets.TwoLayer:
    return nets.default(np.random.default_rng(1), m, d)


def without_biases(m: int, d: int) -> nets.TwoLayer:
    return nets.small(np.random.default_rng(1), m, d, 0.1)


def of_plain(n, d, m):
    plain.train(*gaussian(n, d), network(m, d), step=0.01, steps=3)


def of_univariate(n, d, m):
    x, y = gaussian(n, d)
    univariate.train(x[:, 0], y, network(m, d), step=0.01, epochs=3)


def of_minibatch(n, d, m):
    options = {"rate": 0.01, "steps": 3, "batch": 32, "rng": np.random.default_rng(2)}
    minibatch.train(*gaussian(n, d), without_biases(m, d), dtype=np.float32, **options)


def of_flow(n, d, m):
    flow.train(*gaussian(n, d), without_biases(m, d), step=0.001, steps=3)


def of_first_layer(n, d, h):
    x, y = (part.astype(np.float32) for part in gaussian(n, d))
    student = nets.ntk(np.random.default_rng(1), h, d)
    student = nets.Student(student.W.astype(np.float32), student.a, student.scale)
    first_layer.train(x, y, student, first_layer.Adam(), rate=0.1, steps=3)


def of_ensemble(n, d, m):
    x, y = (np.abs(part).astype(np.float32) for part in gaussian(n, d))
    networks, rngs = mlp.default([np.random.default_rng(1)], (d, m, m, 1)), [np.random.default_rng(2)]
    options = {"loss": "bce-logit", "optimiser": "adam", "rate": 0.001, "epochs": 3, "batch": 32}
    ensemble.train(networks, x, np.round(np.minimum(y, 1)), rngs=rngs, **options)


def of_online(n, d, m):
    networks, rngs = committee.start([np.random.default_rng(1)], m, d), [np.random.default_rng(2)]
    online.train(networks, (Process(d, 2.0, 3.0), Process(d, 1.0, 3.0)), rngs=rngs, rate=1.0, steps=3, batch=n)


#: Trainer: its run, a small problem (points, inputs, neurons) and a large one.
RUNS: dict[str, tuple[Callable, tuple, tuple]] = {
    "plain": (of_plain, (20, 10, 8), (20_000, 500, 1000)),
    "univariate": (of_univariate, (20, 1, 8), (1_000_000, 1, 100_000)),
    "minibatch": (of_minibatch, (40, 5, 8), (1_000_000, 5, 100_000)),
    "online": (of_online, (40, 40, 8), (10_000, 400, 100)),
    "flow": (of_flow, (20, 5, 8), (100_000, 5, 100)),
    "first layer": (of_first_layer, (20, 10, 8), (8000, 2000, 3000)),
    "ensemble": (of_ensemble, (40, 10, 8), (100_000, 100, 1000)),
}


def report(trainer: str) -> None:
    """Print seconds of the first call, and by how many MB a large run, with its data, raises the memory (Linux)."""
    run, small, large = RUNS[trainer]
    began = time.perf_counter()
    run(*small)
    seconds = time.perf_counter() - began
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = peak()
    run(*large)
    print(json.dumps([seconds, peak() - before]))


def peak() -> float:
    """The highest memory of this process so far, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def measure(rounds: int, threads: int) -> list[dict]:
    """Seconds of the first call, compiled (once) and from the cache (`times`), and MB of a large run."""
    rows = []
    for trainer, (_, _, (n, d, m)) in RUNS.items():
        with TemporaryDirectory() as cache:
            command = [sys.executable, "-c", f"from benchmarks import first_calls as f; f.report({trainer!r})"]
            alone = os.environ | {"NUMBA_CACHE_DIR": cache}
            found = [json.loads(subprocess.check_output(command, env=alone)) for _ in range(1 + rounds)]
        compiled, *cached = (seconds for seconds, _ in found)
        row = {"trainer": trainer, "problem": f"n {n}, d {d}, m {m}", "compiled": compiled, "times": cached}
        rows.append(row | {"memory": float(np.median([memory for _, memory in found]))})
    return rows
