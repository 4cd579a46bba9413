"""Full-batch descent on the square loss in the setting of Theorem 2: by groups of neurons, one by one, and in PyTorch.

Each method takes a problem (x, y, network) and returns `run(steps)`, which trains from the start and returns the
weights.  A step by groups costs the same for all sizes; what grows is the alignment before it, a few steps one by one.
"""

from functools import partial

import numpy as np
import torch

from benchmarks import timing
from experiments.simplicity_bias import two_fits
from shallow.stats import stream
from shallow.train import flow, second_moments

#: Points and width: the setting of the chapter, more neurons, more points.
SIZES = [(1000, 32), (1000, 1024), (100_000, 32)]
STEP = two_fits.STEP


def pytorch_loop(problem):
    """As in a tutorial: parameters, autograd, torch.optim, in double precision."""
    x, y, network = problem
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def run(steps):
        W, v = (torch.tensor(p, requires_grad=True) for p in (network.W, network.v))
        descent = torch.optim.SGD([W, v], lr=STEP)
        for _ in range(steps):
            descent.zero_grad()
            loss = ((torch.relu(inputs @ W.T) @ v - labels) ** 2).mean() / 2
            loss.backward()
            descent.step()
        return W.detach().numpy()

    return run


def numpy_loop(problem):
    """The formulas with NumPy's matrix products."""
    x, y, network = problem

    def run(steps):
        W, v = network.W, network.v
        for _ in range(steps):
            hidden = x @ W.T
            residual = y - np.maximum(hidden, 0) @ v
            D = ((hidden > 0) * residual[:, None]).T @ x / len(y)
            W, v = W + STEP * v[:, None] * D, v + STEP * (W * D).sum(axis=1)
        return W

    return run


def one_by_one(problem):
    """The plain steps of this book's trainer, compiled."""
    x, y, network = problem
    keys = stream("benchmark", "keys").integers(2**64, size=len(x), dtype=np.uint64)

    def run(steps):
        Z = np.column_stack([network.W, network.v])
        patterns, changed = np.zeros(len(Z), dtype=np.uint64), np.zeros(steps, dtype=np.int64)
        second_moments.walk(x, y, Z, patterns, keys, STEP, steps, steps, changed)
        return Z[:, :-1]

    return run


def by_groups(problem):
    """The trainer of this book."""

    def run(steps):
        return flow.train(*problem, step=STEP, steps=steps).network.W

    return run


#: name: (function, steps in a timed run)
METHODS = {
    "PyTorch loop": (pytorch_loop, 5),
    "NumPy loop": (numpy_loop, 5),
    "one by one": (one_by_one, 5),
    "by groups": (by_groups, 8000),
}


def measure(rounds: int, threads: int, compared: int = 100) -> list[dict]:
    """Microseconds of a step by method, number of points and width; a run by groups is timed whole, with its start.

    Before that all methods take some steps from the same start and have to agree.
    """
    cases = []
    for n, m in SIZES:
        given = two_fits.draw(0, n, m=m)[:3]
        runs = {name: make(given) for name, (make, _) in METHODS.items()}
        first, *others = (run(compared if n * m < 1_000_000 else 10) for run in runs.values())
        assert all(np.allclose(W, first, rtol=1e-9, atol=1e-14) for W in others), (n, m)
        for name, (_, steps) in METHODS.items():
            row = {"method": name, "n": n, "m": m, "threads": threads}
            cases.append((row, partial(runs[name], steps), steps))
    return timing.timed(cases, rounds, 1e6)
