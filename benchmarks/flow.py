"""Full-batch descent on the square loss of a ReLU network: PyTorch, JAX, numba, and the trainer of this book.

Each method takes a problem (x, y, network) and returns `run(steps)`, which trains from the start in double precision
and returns the input weights, shape (m, d).  Three kinds of problems: networks of ordinary size, where some neuron
becomes active on other points at almost every step; weights near zero, where that ends after some time; and the setting
of Theorem 2, where it ends after a few steps.
"""

import time

import numba
import numpy as np
import torch

from benchmarks import timing
from experiments.simplicity_bias import two_fits
from shallow import nets
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow

STEP = two_fits.STEP
#: Points, inputs, width, kind, and steps of a run: the whole run, as what a step costs changes on its way.
PROBLEMS = [
    (200, 5, 50, "ordinary", 1000),
    (200, 5, 50, "near zero", 1000),
    (2000, 5, 200, "ordinary", 1000),
    (2000, 5, 200, "near zero", 1000),
    (5000, 5, 100, "ordinary", 1000),
    (2000, 5, 1000, "ordinary", 100),
    (1000, 3, 32, "Theorem 2", 300),
    (1000, 3, 32, "Theorem 2", 8000),
    (1000, 3, 1024, "Theorem 2", 8000),
    (100_000, 3, 32, "Theorem 2", 8000),
]
#: Of the other methods, whose steps all cost the same, no more steps than take so many inputs to neurons.
ENOUGH = 20_000_000


def problem(n, d, m, kind):
    """The setting of Theorem 2, or inputs N(0, I), a linear teacher with noise, and a network without biases."""
    if kind == "Theorem 2":
        return two_fits.draw(0, n, d=d, m=m)[:3]
    sample = teachers.gaussian(stream("benchmark", "data", n), teachers.first_axis(d), n)
    rng = stream("benchmark", "network", m)
    network = nets.default(rng, m, d) if kind == "ordinary" else nets.dominated(rng, m, d, two_fits.SCALE)
    return *sample, TwoLayer(network.W, np.zeros(m), network.v)


def pytorch_loop(problem):
    """As in a tutorial: nn.Sequential, autograd, torch.optim."""
    x, y, network = problem
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def run(steps):
        first = torch.nn.Linear(x.shape[1], network.width, bias=False)
        last = torch.nn.Linear(network.width, 1, bias=False)
        first.weight.data, last.weight.data = torch.tensor(network.W), torch.tensor(network.v[None])
        model = torch.nn.Sequential(first, torch.nn.ReLU(), last)
        descent = torch.optim.SGD(model.parameters(), lr=STEP)
        for _ in range(steps):
            descent.zero_grad()
            ((model(inputs)[:, 0] - labels).square().mean() / 2).backward()
            descent.step()
        return first.weight.detach().numpy()

    return run


def in_jax(problem):
    """Gradients by hand, W as (d, m): faster than by transformation, and than with W as (m, d); the loop by `scan`."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, y, network = jnp.asarray(problem[0]), jnp.asarray(problem[1]), problem[2]
    start = jnp.asarray(network.W.T), jnp.asarray(network.v)

    def step(weights, _):
        W, v = weights
        inputs = x @ W
        hidden = jnp.maximum(inputs, 0)
        residual = (y - hidden @ v) * (STEP / len(y))
        D = x.T @ jnp.where(inputs > 0, residual[:, None], 0.0)
        return (W + v * D, v + residual @ hidden), None

    descend = jax.jit(lambda weights, steps: jax.lax.scan(step, weights, length=steps)[0], static_argnums=1)
    return lambda steps: np.asarray(descend(start, steps)[0]).T


@numba.njit(fastmath=True, error_model="numpy")
def _descend(x, y, W, v, step, steps):
    """One pass over the points in a step; W is (d, m), so that inner loops run over neurons."""
    (n, d), m = x.shape, len(v)
    pre, D, pull = np.empty(m), np.empty_like(W), np.empty(m)
    for _ in range(steps):
        D[:] = 0.0
        pull[:] = 0.0
        for k in range(n):
            pre[:] = 0.0
            for i in range(d):
                weights, coordinate = W[i], x[k, i]
                for j in range(m):
                    pre[j] += weights[j] * coordinate
            output = 0.0
            for j in range(m):
                pre[j] = max(pre[j], 0.0)
                output += v[j] * pre[j]
            residual = (y[k] - output) * step / n
            for j in range(m):
                pull[j] += residual * pre[j]
            for i in range(d):
                sums, part = D[i], residual * x[k, i]
                for j in range(m):
                    sums[j] += part if pre[j] > 0.0 else 0.0
        for i in range(d):
            for j in range(m):
                W[i, j] += v[j] * D[i, j]
        v += pull


def in_numba(problem):
    """The formulas in compiled loops."""
    x, y, network = problem

    def run(steps):
        W, v = np.ascontiguousarray(network.W.T), network.v.copy()
        _descend(x, y, W, v, STEP, steps)
        return W.T

    return run


def this_book(problem):
    return lambda steps: flow.train(*problem, step=STEP, steps=steps).network.W


METHODS = {
    "PyTorch loop": pytorch_loop,
    "JAX": in_jax,
    "numba": in_numba,
    "this book": this_book,
}


def repeated(run, steps):
    """The run so often that it takes a twentieth of a second, and how often."""
    began = time.perf_counter()
    run(steps)
    times = max(1, round(0.05 / (time.perf_counter() - began)))
    return lambda: [run(steps) for _ in range(times)], times


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step by problem and method; a run of the trainer is timed whole, with its start.

    Before that all methods take some steps from the same start and have to agree.
    """
    cases = []
    for n, d, m, kind, steps in PROBLEMS:
        runs = {name: make(problem(n, d, m, kind)) for name, make in timing.available(METHODS).items()}
        few = min(steps, ENOUGH // (n * m))
        first, *others = (run(few) for run in runs.values())
        assert all(np.allclose(W, first, rtol=1e-9, atol=1e-13) for W in others), (n, m, kind)
        for name, run in runs.items():
            row = {"trainer": "flow", "problem": f"n {n}, d {d}, m {m}, {kind}, {steps} steps", "numbers": "float64"}
            taken = steps if name == "this book" else few
            again, times = repeated(run, taken)
            cases.append((row | {"method": name, "threads": threads}, again, taken * times))
    return timing.timed(cases, rounds)
