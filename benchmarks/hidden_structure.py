"""Many small multilayer perceptrons side by side: this book's ensembles, and what a reader would otherwise use.

Every method takes a problem and a number of threads, and returns `run(epochs)`, which trains all networks from the
start in single precision on the batches `Problem.orders(epochs)`, and returns their parameters, shape (R, P).
`threadpoolctl.threadpool_info()` names the kernels of the matrix products: OPENBLAS_CORETYPE may force slower ones.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
import torch

from benchmarks import deep_kernels, timing
from shallow import mlp
from shallow.extras import threadpool_limits
from shallow.stats import stream
from shallow.train import ensemble

BATCH = 32
RATES = {"Adam": 1e-3, "AdaDelta": 1.0}
#: Networks, widths, optimiser, points and epochs of a timing: the shapes of the chapter, and fewer networks.
PROBLEMS = [
    (10, (7, 128, 1), "Adam", 20_320, 2),
    (10, (7, 64, 64, 64, 1), "Adam", 20_320, 1),
    (10, (7, 128, 128, 128, 128, 128, 1), "Adam", 2048, 1),
    (10, (100, 128, 1), "AdaDelta", 8000, 2),
    (10, (100, 512, 1), "AdaDelta", 4000, 1),
    (10, (100, 1024, 1), "AdaDelta", 2016, 1),
    (4, (7, 64, 64, 64, 1), "Adam", 20_320, 2),
    (4, (100, 512, 1), "AdaDelta", 8000, 1),
]
#: PyTorch's loop takes so many points as all its data: its steps are slow, and equal.
FEW = 320


class Problem(NamedTuple):
    """Initial networks, their data and optimiser; the loss is the cross-entropy for Adam, else absolute."""

    networks: mlp.Stack
    x: np.ndarray
    y: np.ndarray
    optimiser: str

    def parameters(self) -> list[np.ndarray]:
        """Weights of all layers, then biases, with a leading axis for the networks."""
        return [*self.networks.weights, *self.networks.biases]

    def streams(self) -> list[np.random.Generator]:
        return [stream("benchmark", "order", r) for r in range(len(self.networks))]

    def orders(self, epochs: int) -> np.ndarray:
        """The points of every step and network, shape (steps, R, B)."""
        of_each = [np.concatenate([rng.permutation(len(self.y)) for _ in range(epochs)]) for rng in self.streams()]
        return np.stack(of_each, axis=1).reshape(-1, BATCH, len(of_each)).swapaxes(1, 2)


def problem(networks: int, widths: tuple[int, ...], optimiser: str, points: int) -> Problem:
    rng = stream("benchmark", "hidden structure")
    x = rng.standard_normal((points, widths[0])).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
    return Problem(mlp.default([stream("benchmark", r) for r in range(networks)], widths), x, y, optimiser)


def flat(parameters: list) -> np.ndarray:
    """Weights and biases of all networks in the order of a stack, shape (R, P)."""
    half = len(parameters) // 2
    layers = [part for layer in zip(parameters[:half], parameters[half:], strict=True) for part in layer]
    return np.concatenate([np.asarray(part).reshape(len(part), -1) for part in layers], axis=1)


def pytorch_loop(given: Problem, threads: int) -> Callable:
    """One network after the other, as in a tutorial: nn.Sequential, autograd, torch.optim."""
    x, y, adam = torch.tensor(given.x), torch.tensor(given.y), given.optimiser == "Adam"
    loss = torch.nn.BCEWithLogitsLoss() if adam else torch.nn.L1Loss()

    def train(network, orders):
        model = deep_kernels.sequential(*network)
        make = torch.optim.Adam if adam else torch.optim.Adadelta
        descent = make(model.parameters(), lr=RATES[given.optimiser])
        for rows in torch.tensor(orders):
            descent.zero_grad()
            loss(model(x[rows])[:, 0], y[rows]).backward()
            descent.step()
        return torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy()

    def run(epochs):
        orders = given.orders(epochs)
        return np.stack([train(given.networks.network(r), orders[:, r]) for r in range(orders.shape[1])])

    return run


def jax_compiled(given: Problem, threads: int) -> Callable:
    """All networks and steps in one compiled program: jit, scan over steps, vmap over networks."""
    import jax
    import jax.numpy as jnp

    x, y, adam, rate = jnp.asarray(given.x), jnp.asarray(given.y), given.optimiser == "Adam", RATES[given.optimiser]

    def loss(parameters, x, y):
        hidden, half = x, len(parameters) // 2
        for layer in range(half):
            z = hidden @ parameters[layer].T + parameters[half + layer]
            hidden = z if layer == half - 1 else jax.nn.relu(z)
        f = hidden[:, 0]
        return jnp.mean(jax.nn.softplus(f) - y * f if adam else jnp.abs(f - y))

    def moved(p, g, first, second, t):
        if adam:
            first, second = first + 0.1 * (g - first), second + 0.001 * (g * g - second)
            return p - rate / (1 - 0.9**t) * first / (jnp.sqrt(second / (1 - 0.999**t)) + 1e-8), first, second
        second = 0.9 * second + 0.1 * g * g
        change = jnp.sqrt((first + 1e-6) / (second + 1e-6)) * g
        return p - rate * change, 0.9 * first + 0.1 * change * change, second

    def step(state, rows):
        *parts, t = state
        gradients = jax.vmap(jax.grad(loss))(parts[0], x[rows], y[rows])
        moves = [moved(p, g, *moments, t) for p, g, *moments in zip(parts[0], gradients, *parts[1:], strict=True)]
        return (*map(list, zip(*moves, strict=True)), t + 1), None

    @jax.jit
    def train(parameters, orders):
        zeros = [jnp.zeros_like(p) for p in parameters]
        return jax.lax.scan(step, (parameters, zeros, zeros, jnp.float32(1)), orders)[0][0]

    return lambda epochs: flat(train(given.parameters(), given.orders(epochs).astype(np.int32)))


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _numba_train(W, b, x, y, orders, adam, rate):
    """Steps of one network, in place, with products of NumPy."""
    depth, one, zero = len(W), x.dtype.type(1), x.dtype.type(0)
    moments = [(np.zeros_like(w), np.zeros_like(w), np.zeros_like(c), np.zeros_like(c)) for w, c in zip(W, b)]
    for t, rows in enumerate(orders):
        hidden = [x[rows]]
        for layer in range(depth):
            z, c = np.dot(hidden[layer], W[layer].T), b[layer]
            for i in range(z.shape[0]):
                for j in range(z.shape[1]):
                    z[i, j] += c[j]
                    if layer < depth - 1:
                        z[i, j] = max(z[i, j], zero)
            hidden.append(z)
        f, labels = hidden[depth], y[rows]
        delta = np.sign(f - labels.reshape(-1, 1))
        if adam:
            for i in range(len(f)):
                delta[i, 0] = one / (one + np.exp(-f[i, 0])) - labels[i]
        delta /= x.dtype.type(len(f))
        for layer in range(depth - 1, -1, -1):
            below, by_b = hidden[layer], np.zeros_like(b[layer])
            by_W = np.dot(delta.T, below)
            for i in range(delta.shape[0]):
                for j in range(len(by_b)):
                    by_b[j] += delta[i, j]
            if layer:
                delta = np.dot(delta, W[layer])
                for i in range(delta.shape[0]):
                    for j in range(delta.shape[1]):
                        delta[i, j] = delta[i, j] if below[i, j] > zero else zero
            of_W, squares_W, of_b, squares_b = moments[layer]
            _numba_step(W[layer].ravel(), by_W.ravel(), of_W.ravel(), squares_W.ravel(), adam, rate, t + 1)
            _numba_step(b[layer], by_b, of_b, squares_b, adam, rate, t + 1)


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _numba_step(p, g, first, second, adam, rate, t):
    number = p.dtype.type
    step = number(rate / (1 - 0.9**t) if adam else rate)
    scale, guard = number((1 - 0.999**t) ** -0.5), number(1e-8)
    tenth, thousandth, eps = number(0.1), number(1e-3), number(1e-6)
    if adam:
        for j in range(len(p)):
            m, s = first[j] + tenth * (g[j] - first[j]), second[j] + thousandth * (g[j] * g[j] - second[j])
            first[j], second[j] = m, s
            p[j] -= step * m / (np.sqrt(s) * scale + guard)
    else:
        for j in range(len(p)):
            s = second[j] + tenth * (g[j] * g[j] - second[j])
            change = np.sqrt((first[j] + eps) / (s + eps)) * g[j]
            first[j], second[j] = first[j] + tenth * (change * change - first[j]), s
            p[j] -= step * change


def numba_dense(given: Problem, threads: int) -> Callable:
    """Compiled loops around NumPy's products, a network in each thread."""
    adam, rate = given.optimiser == "Adam", RATES[given.optimiser]

    def run(epochs):
        orders, parameters = given.orders(epochs), [part.copy() for part in given.parameters()]
        half = len(parameters) // 2

        def train(r):
            W, b = (tuple(part[r] for part in parts) for parts in (parameters[:half], parameters[half:]))
            _numba_train(W, b, given.x, given.y, np.ascontiguousarray(orders[:, r]), adam, rate)

        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            list(pool.map(train, range(orders.shape[1])))
        return flat(parameters)

    return run


def this_book(given: Problem, threads: int) -> Callable:
    """The trainer of this book: whole epochs, a network in each thread; it returns the mean loss of each epoch too."""
    adam = given.optimiser == "Adam"
    options = {"optimiser": given.optimiser.lower(), "rate": RATES[given.optimiser], "batch": BATCH, "jobs": threads}
    options["loss"] = "bce-logit" if adam else "absolute"

    def run(epochs):
        networks, x, y, _ = given
        return ensemble.train(networks, x, y, rngs=given.streams(), epochs=epochs, **options).last.parameters

    return run


METHODS = {
    "PyTorch loop": pytorch_loop,
    "JAX": jax_compiled,
    "numba": numba_dense,
    "this book": this_book,
}


def agree(*shape) -> None:
    """Two epochs of three batches lead all methods to one place."""
    given = problem(*shape, 3 * BATCH)
    wanted = this_book(given, 1)(2)
    moved = np.abs(wanted - given.networks.parameters).max()
    for name, make in timing.available(METHODS).items():
        error = np.abs(make(given, 1)(2) - wanted) / moved
        assert np.quantile(error, 0.999) < 1e-3, (name, shape, error.max())


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step of one network by problem and method; a first run is not counted."""
    cases = []
    for networks, widths, optimiser, points, epochs in PROBLEMS:
        agree(networks, widths, optimiser)
        name = f"{networks} networks, {'-'.join(map(str, widths))}, {optimiser}"
        for method, make in timing.available(METHODS).items():
            n, times = (FEW, 1) if method == "PyTorch loop" else (points, epochs)
            run = make(problem(networks, widths, optimiser, n), threads)
            run(times)
            row = {"trainer": "ensemble", "problem": name, "numbers": "float32", "method": method, "threads": threads}
            cases.append((row, partial(run, times), times * n // BATCH * networks))
    return timing.timed(cases, rounds)
