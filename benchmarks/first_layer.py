"""One full-batch step on the first layer of a student: the trainer of this book, a plain PyTorch loop, and a bound.

Each function takes a problem (x, y, student), an optimizer by name and a number type, and returns `run(steps)`, which
trains from the start with learning rate `RATE` and returns the weights; the bound computes the two matrix products of a
step and nothing else, and returns None.
"""

import time

import numpy as np
import torch

from shallow import nets
from shallow.data import single_index
from shallow.stats import stream
from shallow.train import first_layer

RATE = 0.1
#: Points, inputs and width of the document's base setting, and of its largest one.
SIZES = [(2000, 1000, 1500), (8000, 1000, 1500)]
OPTIMIZERS = {
    "GD": (first_layer.GD(), torch.optim.SGD),
    "Adam": (first_layer.Adam(), torch.optim.Adam),
}


def problem(n, d, h):
    """A training set and a student in NTK scaling."""
    teacher = single_index.random_teacher(stream("benchmark", "teacher"), d)
    x, y = single_index.split(teacher, n, seed="benchmark").train
    return x, y, nets.ntk(stream("benchmark", "student"), h, d)


def pytorch_loop(problem, optimizer, dtype, threads):
    """As in a tutorial: nn.Module, autograd, torch.optim."""
    x, y, student = problem
    torch.set_num_threads(threads)
    dtype = getattr(torch, dtype)
    inputs, labels, output = (torch.tensor(array, dtype=dtype) for array in (x, y, student.a))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(x.shape[1], len(student.a), bias=False)
            self.first.weight.data = torch.tensor(student.W, dtype=dtype)

        def forward(self, x):
            return torch.tanh(student.scale * self.first(x)) @ output / len(output) ** 0.5

    def run(steps):
        model, loss = Net(), torch.nn.MSELoss()
        descent = OPTIMIZERS[optimizer][1](model.parameters(), lr=RATE)
        for _ in range(steps):
            descent.zero_grad()
            loss(model(inputs), labels).backward()
            descent.step()
        return model.first.weight.detach().numpy()

    return run


def by_hand(problem, optimizer, dtype, threads):
    """The trainer of this book: gradients by hand, in place."""
    x, y, given = problem
    student = nets.Student(given.W.astype(dtype), given.a, given.scale)
    torch.set_num_threads(threads)

    def run(steps):
        trainer = first_layer.Trainer(x, y, student, OPTIMIZERS[optimizer][0], dtype=getattr(torch, dtype))
        for _ in range(steps):
            trainer.step(RATE)
        return trainer.W.numpy()

    return run


def two_products(problem, optimizer, dtype, threads):
    """The bound: W x and its transpose, the only part of a step that takes n d h operations."""
    x, _, student = problem
    torch.set_num_threads(threads)
    inputs, W = (torch.tensor(array, dtype=getattr(torch, dtype)) for array in (x, student.W))
    hidden, gradient = W.new_empty(len(W), len(x)), torch.empty_like(W)

    def run(steps):
        for _ in range(steps):
            torch.mm(W, inputs.T, out=hidden)
            torch.mm(hidden, inputs, out=gradient)

    return run


#: name: (function, number types)
METHODS = {
    "PyTorch loop": (pytorch_loop, ("float32", "float64")),
    "by hand": (by_hand, ("float32", "float64")),
    "two products": (two_products, ("float32", "float64")),
}


def measure(rounds: int, threads: int, steps: int = 5) -> list[dict]:
    """Milliseconds of a step by method, optimizer and number of points in single precision, one time per round.

    The first run of a method is checked against the others and not counted.  A round times each method once, so that a
    disturbance hits all alike.
    """
    rows, runs = [], []
    for n, d, h in SIZES:
        given = problem(n, d, h)
        for optimizer in OPTIMIZERS:
            weights = []
            for name, (make, _) in METHODS.items():
                run = make(given, optimizer, "float32", threads)
                found = run(steps)
                weights += [] if found is None else [found]
                rows.append({"method": name, "optimizer": optimizer, "n": n, "threads": threads, "times": []})
                runs.append(run)
            assert np.abs(weights[0] - weights[1]).max() < 1e-2, (optimizer, n)  # Adam magnifies rounding
    for _ in range(rounds):
        for row, run in zip(rows, runs):
            began = time.perf_counter()
            run(steps)
            row["times"].append(round((time.perf_counter() - began) / steps * 1e3, 2))
    return rows
