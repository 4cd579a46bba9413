"""Ten small multilayer perceptrons: this book's ensembles, PyTorch one network at a time, and PyTorch in batches.

Each method takes a problem (x, y, networks, optimiser), a batch size and a number of threads, and returns `run(steps)`,
which trains all networks from the start in single precision and returns their parameters, shape (R, P).
"""

from functools import partial
from itertools import islice

import numpy as np
import torch

from benchmarks import timing
from shallow import mlp
from shallow.stats import stream
from shallow.train import ensemble

NETWORKS, BATCH = 10, 32
RATES = {"adam": 1e-3, "adadelta": 1.0}
#: The shapes of the two parts of the chapter, with their optimiser and number of points.
ORTHANTS, POLYNOMIAL = ("adam", 20_320), ("adadelta", 8000)
CASES = {
    (7, 128, 1): ORTHANTS,
    (7, 64, 64, 64, 1): ORTHANTS,
    (7, 128, 128, 128, 128, 128, 1): ORTHANTS,
    (100, 128, 1): POLYNOMIAL,
    (100, 512, 1): POLYNOMIAL,
    (100, 1024, 1): POLYNOMIAL,
}


def problem(widths, points=None):
    """Inputs, labels, initial networks and optimiser; the loss is the cross-entropy for Adam, else absolute."""
    optimiser, full = CASES[widths]
    rng = stream("benchmark", "hidden structure")
    x = rng.standard_normal((points or full, widths[0])).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
    return x, y, mlp.default([stream("benchmark", r) for r in range(NETWORKS)], widths), optimiser


def loss_of(optimiser):
    return torch.nn.BCEWithLogitsLoss() if optimiser == "adam" else torch.nn.L1Loss()


def sequential(weights, biases):
    """A network in PyTorch with ReLU between its layers."""
    layers = [torch.nn.Linear(*W.shape[::-1]) for W in weights]
    for layer, W, b in zip(layers, weights, biases):
        layer.weight.data, layer.bias.data = torch.tensor(W), torch.tensor(b)
    return torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.ReLU())][:-1])


def one_by_one(problem, batches):
    """nn.Sequential, autograd, torch.optim; `batches(x, y)` yields the batches of one epoch."""
    x, y, networks, optimiser = problem
    x, y, loss = torch.tensor(x), torch.tensor(y), loss_of(optimiser)
    descents = {"adam": torch.optim.Adam, "adadelta": torch.optim.Adadelta}

    def train(network, steps):
        model = sequential(*network)
        descent = descents[optimiser](model.parameters(), lr=RATES[optimiser])
        for inputs, labels in islice(timing.endless(lambda: batches(x, y)), steps):
            descent.zero_grad()
            loss(model(inputs)[:, 0], labels).backward()
            descent.step()
        return torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy()

    return lambda steps: np.stack([train(networks.network(r), steps) for r in range(NETWORKS)])


def tutorial(problem, batch, threads):
    """One network at a time, as in a tutorial: with a DataLoader."""
    data, options = torch.utils.data, {"batch_size": batch, "shuffle": True}
    return one_by_one(problem, lambda x, y: data.DataLoader(data.TensorDataset(x, y), **options))


def indexed(problem, batch, threads):
    """One network at a time; batches are taken from the tensors by a random order."""
    return one_by_one(problem, lambda x, y: ((x[i], y[i]) for i in torch.randperm(len(x)).split(batch)))


def stacked(problem, batch, gradients):
    """All networks in one tensor per layer, steps by lists of tensors; `gradients(W, b, x, y)` as [*of W, *of b]."""
    x, y, networks, optimiser = problem
    x, y, rate = torch.tensor(x), torch.tensor(y), RATES[optimiser]

    @torch.no_grad()
    def run(steps):
        W, b = ([torch.tensor(part) for part in parts] for parts in (networks.weights, networks.biases))
        first, second = ([torch.zeros_like(p) for p in W + b] for _ in range(2))
        orders = torch.stack([torch.randperm(len(x)) for _ in range(NETWORKS)]).split(batch, dim=1)
        for t in range(1, steps + 1):
            rows = orders[(t - 1) % len(orders)]
            gradient = gradients(W, b, x[rows], y[rows])
            if optimiser == "adam":
                torch._foreach_lerp_(first, gradient, 0.1)
                torch._foreach_mul_(second, 0.999)
                torch._foreach_addcmul_(second, gradient, gradient, 0.001)
                below = torch._foreach_sqrt(second)
                torch._foreach_div_(below, (1 - 0.999**t) ** 0.5)
                torch._foreach_add_(below, 1e-8)
                torch._foreach_addcdiv_(W + b, first, below, -rate / (1 - 0.9**t))
            else:
                torch._foreach_mul_(second, 0.9)
                torch._foreach_addcmul_(second, gradient, gradient, 0.1)
                change, below = torch._foreach_add(first, 1e-6), torch._foreach_add(second, 1e-6)
                torch._foreach_div_(change, below)
                torch._foreach_sqrt_(change)
                torch._foreach_mul_(change, gradient)
                torch._foreach_mul_(first, 0.9)
                torch._foreach_addcmul_(first, change, change, 0.1)
                torch._foreach_add_(W + b, change, alpha=-rate)
        parts = [part.flatten(1) for layer in zip(W, b) for part in layer]
        return torch.cat(parts, dim=1).numpy()

    return run


def by_hand(problem, batch, threads):
    """Batched matrix products, backpropagation by hand."""
    classified = problem[-1] == "adam"

    def gradients(W, b, x, y):
        hidden = [x]
        for weights, biases in zip(W, b):
            z = torch.baddbmm(biases[:, None], hidden[-1], weights.mT)
            hidden.append(z if len(hidden) == len(W) else z.relu_())
        output = hidden[-1][..., 0]
        slope = torch.sigmoid(output) - y if classified else torch.sign(output - y)
        delta, of_weights, of_biases = slope[..., None] / y.shape[1], [], []
        for layer in reversed(range(len(W))):
            of_weights.insert(0, torch.bmm(delta.mT, hidden[layer]))
            of_biases.insert(0, delta.sum(dim=1))
            if layer:
                delta = torch.bmm(delta, W[layer]).mul_(hidden[layer] > 0)
        return of_weights + of_biases

    return stacked(problem, batch, gradients)


def functional(problem, batch, threads):
    """Gradients of one network by torch.func.grad, all networks by torch.func.vmap."""
    loss = loss_of(problem[-1])

    def of_one(parameters, x, y):
        half, hidden = len(parameters) // 2, x
        for layer, (W, b) in enumerate(zip(parameters[:half], parameters[half:])):
            hidden = torch.nn.functional.linear(hidden.relu() if layer else hidden, W, b)
        return loss(hidden[:, 0], y)

    gradient = torch.func.vmap(torch.func.grad(of_one))
    return stacked(problem, batch, lambda W, b, x, y: list(gradient(W + b, x, y)))


def compiled(problem, batch, threads):
    """The trainer of this book: whole epochs, a thread for each network."""
    x, y, networks, optimiser = problem

    def run(steps):
        epochs, rest = divmod(steps * batch, len(x))
        assert not rest, "the trainer takes whole epochs"
        rngs = [stream("benchmark", "order", r) for r in range(NETWORKS)]
        loss = "bce-logit" if optimiser == "adam" else "absolute"
        options = {"loss": loss, "optimiser": optimiser, "rate": RATES[optimiser], "jobs": threads}
        return ensemble.train(networks, x, y, rngs=rngs, epochs=epochs, batch=batch, **options).last.parameters

    return run


#: name: (function, steps of one timing; None is one epoch)
METHODS = {
    "DataLoader": (tutorial, 20),
    "indexed": (indexed, 20),
    "torch.func": (functional, 20),
    "torch.bmm": (by_hand, 20),
    "ensemble": (compiled, None),
}


def agree(widths):
    """Five steps with the full batch, where chance has no part, lead all methods to one place."""
    given = problem(widths, 64)
    found = {name: make(given, 64, 1)(5) for name, (make, _) in METHODS.items()}
    moved = np.abs(found["ensemble"] - given[2].parameters).max()
    for name, parameters in found.items():
        error = np.abs(parameters - found["ensemble"]) / moved
        assert np.quantile(error, 0.999) < 1e-3, (name, widths, error.max())


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step of one network by method and shape; a first run is not counted."""
    cases = []
    for widths, (optimiser, points) in CASES.items():
        agree(widths)
        for name, (make, steps) in METHODS.items():
            run, steps = make(problem(widths), BATCH, threads), steps or points // BATCH
            run(steps)
            row = {"method": name, "widths": widths, "threads": threads, "optimiser": optimiser, "steps": steps}
            cases.append((row, partial(run, steps), steps * NETWORKS))
    return timing.timed(cases, rounds, 1e6)
