"""A full-batch step on the first layer of a student: PyTorch, JAX, numba, the trainer of this book, and a bound.

Each method takes a problem (x, y, student) and an optimiser by name, and returns `run(steps)`, which goes on from where
it was and returns the weights.  The bound is the two matrix products of a step and nothing else.

How fast a product is depends on the kernels that a library has for the processor: NumPy's OpenBLAS names those that it
took as `architecture` in the output of `python -m threadpoolctl -i numpy`; the environment variable OPENBLAS_CORETYPE
makes it take others.
"""

from functools import partial

import numba
import numpy as np
import torch

from benchmarks import timing
from shallow import nets
from shallow.data import single_index
from shallow.stats import stream
from shallow.train import first_layer

RATE = 0.1
#: Points, inputs and width: two small ones, the document's base setting, and its largest.
SIZES = [(1000, 200, 300), (2000, 1000, 500), (2000, 1000, 1500), (8000, 1000, 1500)]
OPTIMISERS = {
    "GD": (first_layer.GD(), torch.optim.SGD),
    "Adam": (first_layer.Adam(), torch.optim.Adam),
}


def problem(n, d, h):
    """A training set and a student in NTK scaling, float32."""
    teacher = single_index.random_teacher(stream("benchmark", "teacher"), d)
    x, y = single_index.split(teacher, n, seed="benchmark").train
    student = nets.ntk(stream("benchmark", "student"), h, d)
    return x, y, nets.Student(student.W.astype(np.float32), student.a, student.scale)


def pytorch_loop(problem, optimiser):
    """As in a tutorial: nn.Module, autograd, torch.optim."""
    x, y, student = problem
    inputs, labels, output = (torch.tensor(array) for array in (x, y, student.a))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(x.shape[1], len(student.a), bias=False)
            self.first.weight.data = torch.tensor(student.W)

        def forward(self, x):
            return torch.tanh(student.scale * self.first(x)) @ output / len(output) ** 0.5

    model, loss = Net(), torch.nn.MSELoss()
    descent = OPTIMISERS[optimiser][1](model.parameters(), lr=RATE)

    def run(steps):
        for _ in range(steps):
            descent.zero_grad()
            loss(model(inputs), labels).backward()
            descent.step()
        return model.first.weight.detach().numpy()

    return run


def own(problem, optimiser, **options):
    """The trainer of this book; on a device it is PyTorch, with gradients by hand and in place."""
    trainer = first_layer.Trainer(*problem, OPTIMISERS[optimiser][0], **options)

    def run(steps):
        for _ in range(steps):
            trainer.step(RATE)
        return trainer.W.numpy()

    return run


def in_jax(problem, optimiser):
    """Compiled steps in a scan, with gradients by hand, which are as fast as jax.grad's or faster."""
    import jax
    import jax.numpy as jnp

    x, y, student = problem
    x, y, out = jnp.asarray(x), jnp.asarray(y), jnp.asarray(student.a / len(student.a) ** 0.5)
    rows, beta, beta2 = (2 * student.scale / len(y) * out)[:, None], 0.9, 0.999

    def step(now, t):
        W, first, second = now
        hidden = jnp.tanh(student.scale * (x @ W.T))
        gradient = (((1 - hidden**2) * (hidden @ out - y)[:, None]).T @ x) * rows
        if optimiser == "GD":
            return (W - RATE * gradient, first, second), None
        first, second = beta * first + (1 - beta) * gradient, beta2 * second + (1 - beta2) * gradient**2
        size = RATE / (1 - beta**t)
        return (W - size * first / (jnp.sqrt(second / (1 - beta2**t)) + 1e-8), first, second), None

    @partial(jax.jit, static_argnums=2)
    def scan(now, taken, steps):
        return jax.lax.scan(step, now, taken + jnp.arange(1, steps + 1, dtype=jnp.float32))[0]

    now, taken = (jnp.asarray(student.W), jnp.zeros_like(student.W), jnp.zeros_like(student.W)), 0.0

    def run(steps):
        nonlocal now, taken
        now, taken = scan(now, taken, steps), taken + steps
        return np.asarray(now[0])

    return run


@numba.njit(parallel=True, fastmath=True, error_model="numpy")
def _between(hidden, scale, out, rows, y):
    """From x W^T to the factor of x in the gradient."""
    one = np.float32(1)
    for i in numba.prange(len(y)):
        z, r = hidden[i], -y[i]
        for j in range(len(z)):
            z[j] = np.tanh(scale * z[j])
            r += out[j] * z[j]
        for j in range(len(z)):
            z[j] = (one - z[j] * z[j]) * rows[j] * r


@numba.njit(parallel=True, fastmath=True, error_model="numpy")
def _descend(W, gradient, rate):
    for i in numba.prange(len(W)):
        for j in range(W.shape[1]):
            W[i, j] -= rate * gradient[i, j]


@numba.njit(parallel=True, fastmath=True, error_model="numpy")
def _adam(W, gradient, first, second, rate, root, beta, beta2, eps):
    one = np.float32(1)
    for i in numba.prange(len(W)):
        for j in range(W.shape[1]):
            g = gradient[i, j]
            first[i, j] = beta * first[i, j] + (one - beta) * g
            second[i, j] = beta2 * second[i, j] + (one - beta2) * g * g
            W[i, j] -= rate * first[i, j] / (np.sqrt(second[i, j]) * root + eps)


def in_numba(problem, optimiser):
    """NumPy's products and compiled loops between and behind them."""
    x, y, student = problem
    W, gradient, first, second = student.W.copy(), *(np.zeros_like(student.W) for _ in range(3))
    hidden, out = np.empty((len(y), len(W)), np.float32), student.a / np.float32(len(W) ** 0.5)
    scale, taken, real = np.float32(student.scale), 0, np.float32
    rows = np.float32(2 * student.scale / len(y)) * out

    def run(steps):
        nonlocal taken
        for _ in range(steps):
            taken += 1
            np.dot(x, W.T, out=hidden)
            _between(hidden, scale, out, rows, y)
            np.dot(hidden.T, x, out=gradient)
            if optimiser == "GD":
                _descend(W, gradient, real(RATE))
            else:
                numbers = RATE / (1 - 0.9**taken), (1 - 0.999**taken) ** -0.5, 0.9, 0.999, 1e-8
                _adam(W, gradient, first, second, *map(real, numbers))
        return W

    return run


def two_products(problem, _):
    """The bound: the only parts of a step that take n d h operations, by the library with the fastest ones, NumPy."""
    x, _, student = problem
    turned, hidden, gradient = x.T.copy(), np.empty((len(student.W), len(x)), np.float32), np.empty_like(student.W)

    def run(steps):
        for _ in range(steps):
            np.dot(student.W, turned, out=hidden)
            np.dot(hidden, x, out=gradient)

    return run


METHODS = {
    "PyTorch loop": pytorch_loop,
    "JAX": in_jax,
    "numba": in_numba,
    "this book": own,
    "two products": two_products,
}


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step by problem and method; all methods are compared after a first run."""
    cases = []
    for n, d, h in SIZES:
        given = problem(n, d, h)
        for optimiser in OPTIMISERS:
            runs = {name: make(given, optimiser) for name, make in timing.available(METHODS).items()}
            moved = {name: run(3) - given[2].W for name, run in runs.items() if name != "two products"}
            wanted = moved["this book"]
            for name, found in moved.items():  # Adam magnifies rounding where a gradient is nearly zero
                assert np.linalg.norm(found - wanted) < 1e-2 * np.linalg.norm(wanted), (name, n, optimiser)
            row = {"trainer": "first layer", "problem": f"n {n}, d {d}, h {h}, {optimiser}", "numbers": "float32"}
            for name, run in runs.items():
                steps = timing.lasting(run)
                cases.append((row | {"method": name, "threads": threads}, partial(run, steps), steps))
    return timing.timed(cases, rounds)
