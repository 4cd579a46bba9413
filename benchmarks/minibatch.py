"""Mini-batch steps of a two-layer ReLU network: PyTorch, JAX, numba, and the trainer of this book.

Each method takes a problem (sample, network), a batch size and a number type, and returns `run(steps)`, which trains
from the start with learning rate `RATE` and returns the input weights, shape (m, d).
"""

from functools import partial
from itertools import chain, islice, repeat

import numba
import numpy as np
import torch

from benchmarks import timing
from shallow import nets
from shallow.data import teachers
from shallow.stats import stream
from shallow.train import minibatch

RATE, POINTS, INPUTS, BATCH = 0.01, 2000, 5, 32
WIDTHS = (1000, 10_000)


def problem(width, points=POINTS):
    """The sample of Figure 1 with 2000 points and its initial network."""
    sample = teachers.gaussian(stream("benchmark", "data"), teachers.first_axis(INPUTS), points)
    return sample, nets.small(stream("benchmark", "network"), width, INPUTS, (1e-5 / width**0.5) ** 0.5)


def tensors(real, *arrays):
    return (torch.tensor(array.astype(real)) for array in arrays)


def pytorch_loop(problem, batch, real):
    """As in a tutorial: nn.Sequential, DataLoader, autograd, optim.SGD."""
    sample, network = problem
    data = torch.utils.data.TensorDataset(*tensors(real, *sample))
    loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, drop_last=True)

    def run(steps):
        first = torch.nn.Linear(INPUTS, network.width, bias=False)
        last = torch.nn.Linear(network.width, 1, bias=False)
        first.weight.data, last.weight.data = tensors(real, network.W, network.v[None])
        model, loss = torch.nn.Sequential(first, torch.nn.ReLU(), last), torch.nn.MSELoss()
        descent = torch.optim.SGD(model.parameters(), lr=RATE)
        for x, y in islice(chain.from_iterable(repeat(loader)), steps):
            descent.zero_grad()
            loss(model(x)[:, 0], y).backward()
            descent.step()
        return first.weight.detach().numpy()

    return run


def in_jax(problem, batch, real):
    """Gradients by hand, W as (d, m): faster than by transformation, and than with W as (m, d); the loop by `scan`."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    sample, network = problem
    inputs, labels = (jnp.asarray(array.astype(real)) for array in sample)
    start = tuple(jnp.asarray(array.astype(real)) for array in (network.W.T, network.v))

    def step(weights, chosen):
        (W, a), (x, y) = weights, (inputs[chosen], labels[chosen])
        pre = x @ W
        hidden = jnp.maximum(pre, 0)
        residual = (hidden @ a - y) * real(2 * RATE / batch)
        D = x.T @ jnp.where(pre > 0, residual[:, None], real(0))
        return (W - a * D, a - residual @ hidden), None

    descend = jax.jit(lambda weights, batches: jax.lax.scan(step, weights, batches)[0])

    def run(steps):
        batches = np.tile(np.arange(batch, dtype=np.int32), (steps, 1))
        if batch < len(inputs):
            batches = np.random.default_rng(0).integers(len(inputs), size=batches.shape, dtype=np.int32)
        return np.asarray(descend(start, jnp.asarray(batches))[0]).T

    return run


@numba.njit(fastmath=True, error_model="numpy")
def _descend(x, y, W, a, batches, rate):
    """Inner loops run over neurons; W is (d, m), a rate already twice that of the mean square over the batch size."""
    d, m = W.shape
    pre, D, pull = np.empty((batches.shape[1], m), W.dtype), np.empty_like(W), np.empty_like(a)
    for batch in batches:
        D[:] = 0
        pull[:] = 0
        for b, k in enumerate(batch):
            row = pre[b]
            row[:] = 0
            for i in range(d):
                weights, coordinate = W[i], x[k, i]
                for j in range(m):
                    row[j] += weights[j] * coordinate
            output = -y[k]
            for j in range(m):
                row[j] = max(row[j], row.dtype.type(0))
                output += a[j] * row[j]
            residual = output * rate
            for j in range(m):
                pull[j] += residual * row[j]
            for i in range(d):
                sums, part = D[i], residual * x[k, i]
                for j in range(m):
                    sums[j] += part if row[j] > 0 else row.dtype.type(0)
        for i in range(d):
            for j in range(m):
                W[i, j] -= a[j] * D[i, j]
        a -= pull


def in_numba(problem, batch, real):
    """The formulas in compiled loops, which draw nothing."""
    (x, y), network = (np.ascontiguousarray(p, real) for p in problem[0]), problem[1]

    def run(steps):
        W, a = network.W.T.astype(real, order="C"), network.v.astype(real)
        batches = np.tile(np.arange(batch), (steps, 1))
        if batch < len(x):
            batches = np.random.default_rng(0).integers(len(x), size=batches.shape)
        _descend(x, y, W, a, batches, real(2 * RATE / batch))
        return W.T

    return run


def this_book(problem, batch, real):
    """One run is one thread."""
    sample, network = problem

    def run(steps):
        rng = stream("benchmark", "batches")
        options = {"rate": RATE, "steps": steps, "batch": batch, "rng": rng, "dtype": real}
        return minibatch.train(*sample, network, **options).network.W

    return run


METHODS = {
    "PyTorch loop": pytorch_loop,
    "JAX": in_jax,
    "numba": in_numba,
    "this book": this_book,
}


def agree(width, real):
    """Twenty steps with the full batch, where chance has no part, lead all methods to one place.

    Rounding may switch a neuron that a sample's hyperplane touches: a few weights may differ more than the others.
    """
    given = problem(width, 100)
    found = {name: make(given, 100, real)(20) for name, make in timing.available(METHODS).items()}
    largest = np.abs(found["this book"]).max()
    for name, weights in found.items():
        error = np.abs(weights - found["this book"]) / largest
        assert np.quantile(error, 0.999) < 1e-5 and error.max() < 1e-2, (name, width)


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step by width, number type and method; a first run is not counted."""
    cases = []
    for width in WIDTHS:
        for real in (np.float32, np.float64):
            agree(width, real)
            for name, make in timing.available(METHODS).items():
                run = make(problem(width), BATCH, real)
                count = timing.lasting(run)
                row = {"trainer": "minibatch", "problem": f"m {width}, d {INPUTS}, B {BATCH}"}
                row |= {"numbers": real.__name__, "method": name, "threads": threads}
                cases.append((row, partial(run, count), count))
    return timing.timed(cases, rounds)
