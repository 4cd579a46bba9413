"""Mini-batch steps of a two-layer ReLU network: the trainer of this book, a plain PyTorch loop, one by hand, and JAX.

Each function takes a problem (sample, network) and a batch size, and returns `run(steps)`, which trains from the start
in single precision with learning rate `RATE` and returns the input weights, shape (m, d).
"""

from functools import partial
from itertools import islice

import numpy as np
import torch

from benchmarks import timing
from shallow import nets
from shallow.data import teachers
from shallow.stats import stream
from shallow.train import minibatch

RATE, POINTS, INPUTS, BATCH = 0.01, 2000, 5, 32
#: Widths, and steps of one timing of the plain loop; the faster methods take more.
WIDTHS = {1000: 500, 10_000: 100}


def problem(width, points=POINTS):
    """The sample of Figure 1 with 2000 points and its initial network."""
    sample = teachers.gaussian(stream("benchmark", "data"), teachers.first_axis(INPUTS), points)
    return sample, nets.small(stream("benchmark", "network"), width, INPUTS, (1e-5 / width**0.5) ** 0.5)


def tensors(sample):
    return (torch.tensor(array, dtype=torch.float32) for array in sample)


def plain(problem, batch):
    """As in a tutorial: nn.Sequential, DataLoader, autograd, optim.SGD."""
    sample, network = problem
    data = torch.utils.data.TensorDataset(*tensors(sample))
    loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, drop_last=True)

    def run(steps):
        first = torch.nn.Linear(INPUTS, network.width, bias=False)
        last = torch.nn.Linear(network.width, 1, bias=False)
        with torch.no_grad():
            first.weight.copy_(torch.tensor(network.W))
            last.weight.copy_(torch.tensor(network.v[None]))
        model, loss = torch.nn.Sequential(first, torch.nn.ReLU(), last), torch.nn.MSELoss()
        descent = torch.optim.SGD(model.parameters(), lr=RATE)
        for x, y in islice(timing.endless(lambda: loader), steps):
            descent.zero_grad()
            loss(model(x)[:, 0], y).backward()
            descent.step()
        return first.weight.detach().numpy()

    return run


@torch.no_grad()
def by_hand(problem, batch):
    """PyTorch without autograd: gradients by hand and in place, batches by random indices drawn at once."""
    sample, network = problem
    inputs, labels = tensors(sample)

    @torch.no_grad()
    def run(steps):
        W, a = (torch.tensor(array, dtype=torch.float32) for array in (network.W, network.v))
        batches = torch.randint(len(inputs), (steps, batch)) if batch < len(inputs) else None
        hidden, pull = torch.empty(batch, len(a)), torch.empty(batch, len(a))
        gradient = torch.empty_like(W)
        for step in range(steps):
            x, y = (inputs, labels) if batches is None else (inputs[batches[step]], labels[batches[step]])
            torch.mm(x, W.T, out=hidden).relu_()
            residual = torch.mv(hidden, a).sub_(y).mul_(2 * RATE / batch)
            torch.mul(hidden.sign(), residual[:, None], out=pull)
            torch.mm(pull.T, x, out=gradient).mul_(a[:, None])
            a.addmv_(hidden.T, residual, alpha=-1)
            W.sub_(gradient)
        return W.numpy()

    return run


def jax_scan(problem, batch):
    """JAX: gradients by transformation, the loop over steps compiled by `scan`; raises ImportError without JAX."""
    import jax
    import jax.numpy as jnp

    sample, network = problem
    inputs, labels = (jnp.asarray(array, jnp.float32) for array in sample)

    def loss(parameters, x, y):
        return jnp.mean((jax.nn.relu(x @ parameters[0].T) @ parameters[1] - y) ** 2)

    @jax.jit
    def descend(parameters, batches):
        def step(parameters, chosen):
            gradients = jax.grad(loss)(parameters, inputs[chosen], labels[chosen])
            return jax.tree.map(lambda p, g: p - RATE * g, parameters, gradients), None

        return jax.lax.scan(step, parameters, batches)[0]

    def run(steps):
        batches = np.tile(np.arange(batch), (steps, 1))
        if batch < len(inputs):
            batches = np.random.default_rng(0).integers(len(inputs), size=batches.shape)
        start = (jnp.asarray(network.W, jnp.float32), jnp.asarray(network.v, jnp.float32))
        return np.asarray(descend(start, jnp.asarray(batches))[0])

    return run


def fused(problem, batch):
    """The trainer of this book; one run is one thread."""
    sample, network = problem

    def run(steps):
        rng = stream("benchmark", "batches")
        options = {"rate": RATE, "steps": steps, "batch": batch, "rng": rng, "dtype": np.float32}
        return minibatch.train(*sample, network, **options).network.W

    return run


#: name: (function, how many times more steps than the plain loop it takes in one timing)
METHODS = {"plain loop": (plain, 1), "by hand": (by_hand, 3), "JAX": (jax_scan, 3), "fused": (fused, 20)}


def agree(width):
    """Twenty steps with the full batch, where chance has no part, lead all methods to one place.

    Rounding may switch a neuron that a sample's hyperplane touches: a few weights may differ more than the others.
    """
    given = problem(width, 100)
    found = {name: make(given, 100)(20) for name, (make, _) in timing.available(METHODS).items()}
    largest = np.abs(found["fused"]).max()
    for name, weights in found.items():
        error = np.abs(weights - found["fused"]) / largest
        assert np.quantile(error, 0.999) < 1e-5 and error.max() < 1e-2, (name, width)


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step by method and width; a first run is not counted."""
    cases = []
    for width, steps in WIDTHS.items():
        agree(width)
        for name, (make, more) in timing.available(METHODS).items():
            run, count = make(problem(width), BATCH), steps * more
            run(count)
            row = {"method": name, "m": width, "threads": threads, "steps": count}
            cases.append((row, partial(run, count), count))
    return timing.timed(cases, rounds, 1e6)


def scaling(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step of the fused trainer by width, dimension and batch."""
    sizes, cases = [(m, INPUTS, BATCH) for m in (256, 512, 1024, 2048, 4096, 8192, 16_384)], []
    sizes += [(1024, d, BATCH) for d in (2, 3, 10, 20)] + [(1024, INPUTS, b) for b in (8, 16, 64, 128, 256)]
    for m, d, batch in sizes:
        sample = teachers.gaussian(stream("benchmark", "data"), teachers.first_axis(d), POINTS)
        run = fused((sample, nets.small(stream("benchmark", "network"), m, d, 1e-3)), batch)
        run(10)
        steps = max(200, int(2e8 / (m * d * batch)) // 10)
        cases.append(({"m": m, "d": d, "batch": batch}, partial(run, steps), steps))
    return timing.timed(cases, rounds, 1e6)
