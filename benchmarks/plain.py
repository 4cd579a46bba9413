"""Full-batch descent by the formulas, float64: `shallow.train.plain`, PyTorch, JAX, and compiled NumPy.

Each method takes a problem (x, y, networks), an activation and a number of threads, and returns `run(steps)`, which
trains all networks from the start on the mean square loss and returns their input weights, shape (R, m, d).
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numba
import numpy as np
import torch

from benchmarks import timing
from shallow import nets
from shallow.stats import stream
from shallow.train import plain
from shallow.train.functions import ACTIVATIONS

STEP = 1e-3
#: Networks, points, inputs, width, activation.
PROBLEMS = [
    (1, 50, 1, 100, "relu"),
    (1, 200, 5, 50, "tanh"),
    *((1, 100, 10, 200, activation) for activation in ACTIVATIONS),
    (1, 500, 100, 500, "relu"),
    (1, 2000, 784, 300, "relu"),
    (16, 100, 10, 200, "relu"),
]
TORCH = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "tanh": torch.tanh,
    "erf": lambda z: torch.erf(z * 0.5**0.5),
}


def problem(R, n, d, m):
    rng = stream("benchmark", "plain")
    x, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    return x, y, [nets.default(rng, m, d) for _ in range(R)]


def parameters(networks):
    """W (R, m, d), b and v (R, m)."""
    return [np.stack([getattr(network, name) for network in networks]) for name in ("W", "b", "v")]


def pytorch_loop(problem, activation, threads):
    """One network after the other, as in a tutorial: nn.Linear, autograd, optim.SGD."""
    x, y, networks = problem
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def train(network, steps):
        first = torch.nn.Linear(*network.W.shape[::-1], dtype=torch.float64)
        last = torch.nn.Linear(len(network.v), 1, bias=False, dtype=torch.float64)
        first.weight.data, first.bias.data = torch.tensor(network.W), torch.tensor(network.b)
        last.weight.data = torch.tensor(network.v[None])
        descent = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=STEP)
        for _ in range(steps):
            descent.zero_grad()
            output = last(TORCH[activation](first(inputs)))[:, 0]
            (0.5 * (output - labels).square().mean()).backward()
            descent.step()
        return first.weight.detach().numpy()

    return lambda steps: np.stack([train(network, steps) for network in networks])


def in_jax(problem, activation, threads):
    """One compiled program: jit, scan over steps, vmap over networks."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import erf

    jax.config.update("jax_enable_x64", True)
    x, y, networks = problem
    inputs, labels = jnp.asarray(x), jnp.asarray(y)
    functions = {
        "relu": jax.nn.relu,
        "gelu": partial(jax.nn.gelu, approximate=False),
        "tanh": jnp.tanh,
        "erf": lambda z: erf(z * 0.5**0.5),
    }

    def loss(parameters):
        W, b, v = parameters
        return 0.5 * jnp.mean((functions[activation](inputs @ W.T + b) @ v - labels) ** 2)

    def train(parameters, steps):
        def step(now, _):
            return [p - STEP * g for p, g in zip(now, jax.grad(loss)(now), strict=True)], None

        return jax.lax.scan(step, parameters, length=steps)[0]

    each = jax.vmap(train, in_axes=(0, None)) if len(networks) > 1 else train
    compiled = jax.jit(each, static_argnums=1)
    start = [jnp.asarray(p if len(networks) > 1 else p[0]) for p in parameters(networks)]
    return lambda steps: np.asarray(compiled(start, steps)[0]).reshape(len(networks), -1, x.shape[1])


@numba.njit(cache=True, nogil=True, fastmath=True)
def _dense(x, y, W, b, v, relu, steps):
    """The formulas as one writes them in NumPy, compiled, for ReLU and tanh."""
    for _ in range(steps):
        h = np.dot(x, W.T)
        slope = np.empty_like(h)
        for i in range(len(x)):
            for k in range(len(v)):
                z = h[i, k] + b[k]
                h[i, k] = max(z, 0.0) if relu else np.tanh(z)
                slope[i, k] = (1.0 if z > 0.0 else 0.0) if relu else 1.0 - h[i, k] ** 2
        g = (np.dot(h, v) - y) * (STEP / len(y))
        for i in range(len(x)):
            for k in range(len(v)):
                slope[i, k] *= g[i] * v[k]
        v -= np.dot(h.T, g)
        W -= np.dot(slope.T, x)
        b -= slope.sum(axis=0)
    return W


def numba_dense(problem, activation, threads):
    """A thread for each network."""
    x, y, networks = problem

    def run(steps):
        def train(one):
            return _dense(x, y, one.W.copy(), one.b.copy(), one.v.copy(), activation == "relu", steps)

        with ThreadPoolExecutor(threads) as pool:
            return np.stack(list(pool.map(train, networks)))

    return run


def this_book(problem, activation, threads):
    x, y, networks = problem
    options = {"step": STEP, "activation": activation}

    def run(steps):
        if len(networks) == 1:
            return plain.train(x, y, networks[0], steps=steps, **options).network.W[None]
        runs = plain.train_each(x, y, networks, steps=steps, jobs=threads, **options)
        return np.stack([run.network.W for run in runs])

    return run


METHODS = {
    "PyTorch loop": pytorch_loop,
    "JAX": in_jax,
    "numba": numba_dense,
    "this book": this_book,
}


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step of one network; all methods agree on the weights after ten steps."""
    cases = []
    for R, n, d, m, activation in PROBLEMS:
        given, wanted = problem(R, n, d, m), None
        name = f"{R} networks, " * (R > 1) + f"n {n}, d {d}, m {m}, {activation}"
        for method, make in timing.available(METHODS).items():
            if method == "numba" and activation in ("gelu", "erf"):
                continue
            run = make(given, activation, threads)
            found = run(10)
            wanted = found if wanted is None else wanted
            assert np.abs(found - wanted).max() < 1e-11, (name, method)
            steps = timing.lasting(run, least=20)  # the losses at both ends cost one step
            row = {"trainer": "plain", "problem": name, "numbers": "float64", "method": method, "threads": threads}
            cases.append((row, partial(run, steps), steps * R))
    return timing.timed(cases, rounds)
