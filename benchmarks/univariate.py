"""The univariate trainer beside what a reader would otherwise use: five ways to train the same networks.

Each function takes a list of problems (x, y, network) of one size and a number type, and returns `run(epochs)`, which
trains all of them from the start by full-batch gradient descent on the summed hinge loss with `STEP` and returns the
parameters (W, b, v) of every network.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numba
import numpy as np
import torch

from benchmarks import timing
from shallow import nets
from shallow.data import cyclic
from shallow.train import univariate

STEP = 0.01
#: Networks, points, neurons and epochs.
SIZES = [(8, 50, 128, 20_000), (8, 105, 128, 20_000), (8, 105, 512, 8000), (8, 200, 512, 5000), (4, 500, 1000, 4000)]


def pytorch_loop(problems, dtype, threads):
    """One network after the other, as in a tutorial: nn.Module, autograd, SGD."""

    class TwoLayer(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.hidden = torch.nn.Linear(1, network.width)
            self.output = torch.nn.Linear(network.width, 1, bias=False)
            for parameter, value in zip(self.parameters(), (network.W, network.b, network.v[None]), strict=True):
                parameter.data = torch.tensor(value)

        def forward(self, x):
            return self.output(torch.relu(self.hidden(x)))

    def run(epochs):
        trained = []
        for x, y, network in problems:
            model = TwoLayer(network).to(getattr(torch, dtype))
            inputs, labels = (torch.tensor(a[:, None], dtype=getattr(torch, dtype)) for a in (x, y))
            optimizer = torch.optim.SGD(model.parameters(), lr=STEP)
            for _ in range(epochs):
                optimizer.zero_grad()
                torch.relu(1 - labels * model(inputs)).sum().backward()
                optimizer.step()
            trained.append([parameter.detach().numpy().ravel() for parameter in model.parameters()])
        return trained

    return run


def jax_compiled(problems, dtype, threads):
    """All networks and epochs in one compiled program: jit, scan over epochs, vmap over networks."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, y = (jnp.asarray(np.stack(a), dtype) for a in list(zip(*problems, strict=True))[:2])
    start = [jnp.asarray(np.stack([getattr(net, k).ravel() for *_, net in problems]), dtype) for k in ("W", "b", "v")]

    def loss(parameters, x, y):
        W, b, v = parameters
        return jax.nn.relu(1 - y * (jax.nn.relu(x[:, None] * W + b) @ v)).sum()

    def train(parameters, x, y, epochs):
        def step(parameters, _):
            gradients = jax.grad(loss)(parameters, x, y)
            return [p - STEP * g for p, g in zip(parameters, gradients, strict=True)], None

        return jax.lax.scan(step, parameters, length=epochs)[0]

    compiled = jax.jit(jax.vmap(train, in_axes=(0, 0, 0, None)), static_argnums=3)
    return lambda epochs: list(zip(*map(np.asarray, compiled(start, x, y, epochs)), strict=True))


@numba.njit(cache=True, nogil=True, fastmath=True)
def _dense(x, y, W, b, v, step, epochs):
    """All n m products, in loops that vectorise; gradients only over the points within the margin."""
    n, m = x.size, W.size
    f, xs, gs = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    one, zero = x.dtype.type(1), x.dtype.type(0)
    for _ in range(epochs):
        f[:] = zero
        for k in range(m):
            w, c, u = W[k], b[k], v[k]
            for i in range(n):
                f[i] += u * max(w * x[i] + c, zero)
        count = 0
        for i in range(n):
            if one - y[i] * f[i] > zero:
                xs[count], gs[count] = x[i], -y[i]
                count += 1
        for k in range(m):
            w, c, u = W[k], b[k], v[k]
            g0 = g1 = zero
            for i in range(count):
                g = gs[i] if w * xs[i] + c > zero else zero
                g0 += g
                g1 += g * xs[i]
            v[k] = u - step * (w * g1 + c * g0)
            W[k] = w - step * u * g1
            b[k] = c - step * u * g0


def one_a_thread(train, problems, threads):
    """The run of a function that trains one network, (x, y, network, epochs) -> (W, b, v), without the GIL."""

    def run(epochs):
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda problem: train(*problem, epochs), problems))

    return run


def numba_dense(problems, dtype, threads):
    """A compiled dense loop, one network per thread."""

    def train(x, y, network, epochs):
        W, b, v = (a.ravel().astype(dtype) for a in (network.W, network.b, network.v))
        _dense(x.astype(dtype), y.astype(dtype), W, b, v, W.dtype.type(STEP), epochs)
        return W, b, v

    return one_a_thread(train, problems, threads)


def this_book(problems, dtype, threads):
    """The trainer of this book, one network per thread."""

    def train(x, y, network, epochs):
        last = univariate.train(x, y, network, step=STEP, epochs=epochs, records=max(epochs, 1)).network
        return last.W.ravel(), last.b, last.v

    return one_a_thread(train, problems, threads)


#: name: (function, number types, products of a point and a neuron in one timing of a network).  The last two skip
#: points or neurons that have no part in a step, more of them later on: both train for as long, the epochs of `SIZES`.
METHODS = {
    "PyTorch loop": (pytorch_loop, ("float32", "float64"), 2e6),
    "JAX": (jax_compiled, ("float32", "float64"), 3e7),
    "numba": (numba_dense, ("float32", "float64"), np.inf),
    "this book": (this_book, ("float64",), np.inf),
}


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of an epoch of one network by method, number type, and numbers of networks, points and neurons.

    Before that all methods have to agree on the parameters after twenty epochs, and have run once.
    """
    cases = []
    for networks, n, m, longest in SIZES:
        samples = [cyclic.sample(n, seed=seed) for seed in range(networks)]
        problems = [(data.x, data.y, nets.default(data.rng, m)) for data in samples]
        wanted = this_book(problems, "float64", 1)(20)
        for method, (make, dtypes, products) in timing.available(METHODS).items():
            epochs = round(min(longest, max(20, products / (n * m))))
            for dtype in dtypes:
                run, most = make(problems, dtype, threads), 1e-10 if dtype == "float64" else 1e-2
                for found, network in zip(run(20), wanted, strict=True):
                    assert all(np.abs(a - b).max() < most for a, b in zip(found, network, strict=True)), (method, n, m)
                run(epochs)
                row = {"trainer": "univariate", "problem": f"{networks} nets, n {n}, m {m}", "numbers": dtype}
                cases.append((row | {"method": method, "threads": threads}, partial(run, epochs), epochs * networks))
    return timing.timed(cases, rounds)
