"""Mini-batch steps of a two-layer ReLU network: the trainer of this book, a plain PyTorch loop, one by hand, and JAX.

Each function takes a problem (sample, network), a batch size and a number of threads, and returns `run(steps)`, which
trains from the start in single precision with learning rate `RATE` and returns the input weights, shape (m, d).
"""

import time

import numpy as np
import torch

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


def plain(problem, batch, threads):
    """As in a tutorial: nn.Sequential, DataLoader, autograd, optim.SGD."""
    sample, network = problem
    torch.set_num_threads(threads)
    data = torch.utils.data.TensorDataset(*tensors(sample))

    def run(steps):
        first = torch.nn.Linear(INPUTS, network.width, bias=False)
        last = torch.nn.Linear(network.width, 1, bias=False)
        with torch.no_grad():
            first.weight.copy_(torch.tensor(network.W))
            last.weight.copy_(torch.tensor(network.v[None]))
        model, loss = torch.nn.Sequential(first, torch.nn.ReLU(), last), torch.nn.MSELoss()
        descent = torch.optim.SGD(model.parameters(), lr=RATE)
        taken = 0
        while taken < steps:
            for x, y in torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, drop_last=True):
                descent.zero_grad()
                loss(model(x)[:, 0], y).backward()
                descent.step()
                taken += 1
                if taken == steps:
                    break
        return first.weight.detach().numpy()

    return run


@torch.no_grad()
def by_hand(problem, batch, threads):
    """PyTorch without autograd: gradients by hand and in place, batches by random indices drawn at once."""
    sample, network = problem
    torch.set_num_threads(threads)
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


def jax_scan(problem, batch, threads):
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
        rng = np.random.default_rng(0)
        shape = (steps, batch)
        batches = (
            rng.integers(len(inputs), size=shape) if batch < len(inputs) else np.tile(np.arange(batch), (steps, 1))
        )
        start = (jnp.asarray(network.W, jnp.float32), jnp.asarray(network.v, jnp.float32))
        return np.asarray(descend(start, jnp.asarray(batches))[0])

    return run


def fused(problem, batch, threads):
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
    found = {name: make(given, 100, 1)(20) for name, make in available().items()}
    largest = np.abs(found["fused"]).max()
    for name, weights in found.items():
        error = np.abs(weights - found["fused"]) / largest
        assert np.quantile(error, 0.999) < 1e-5 and error.max() < 1e-2, (name, width)


def available():
    """The methods whose library is installed."""
    try:
        import jax  # noqa: F401
    except ImportError:
        return {name: make for name, (make, _) in METHODS.items() if name != "JAX"}
    return {name: make for name, (make, _) in METHODS.items()}


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step by method and width, one time per round; a round times each method once."""
    rows, runs = [], []
    for width, steps in WIDTHS.items():
        agree(width)
        for name, make in available().items():
            count = steps * METHODS[name][1]
            run = make(problem(width), BATCH, threads)
            run(count)
            rows.append({"method": name, "m": width, "threads": threads, "steps": count, "times": []})
            runs.append(run)
    for _ in range(rounds):
        for row, run in zip(rows, runs):
            began = time.perf_counter()
            run(row["steps"])
            row["times"].append(round((time.perf_counter() - began) / row["steps"] * 1e6, 2))
    return rows


def scaling(rounds: int) -> list[dict]:
    """Microseconds of a step of the fused trainer by width, dimension and batch, one thread."""
    rows, runs = [], []
    cases = [(m, INPUTS, BATCH) for m in (256, 512, 1024, 2048, 4096, 8192, 16_384)]
    cases += [(1024, d, BATCH) for d in (2, 3, 10, 20)] + [(1024, INPUTS, b) for b in (8, 16, 64, 128, 256)]
    for m, d, batch in cases:
        sample = teachers.gaussian(stream("benchmark", "data"), teachers.first_axis(d), POINTS)
        network = nets.small(stream("benchmark", "network"), m, d, 1e-3)

        def run(steps, sample=sample, network=network, batch=batch):
            options = {"steps": steps, "batch": batch, "rng": stream("benchmark"), "dtype": np.float32}
            minibatch.train(*sample, network, rate=RATE, **options)

        run(10)
        rows.append({"m": m, "d": d, "batch": batch, "times": []})
        runs.append(run)
    for _ in range(rounds):
        for row, run in zip(rows, runs):
            steps = max(200, int(2e8 / (row["m"] * row["d"] * row["batch"])) // 10)
            began = time.perf_counter()
            run(steps)
            row["times"].append(round((time.perf_counter() - began) / steps * 1e6, 3))
    return rows
