"""One full-batch step on the first layer of a student: the trainer of this book, a plain PyTorch loop, and a bound.

Each function takes a problem (x, y, student) and an optimizer by name, and returns `run(steps)`, which trains from the
start in single precision with learning rate `RATE` and returns the weights; the bound is the two matrix products of a
step and nothing else, and returns None.
"""

from functools import partial

import numpy as np
import torch

from benchmarks import timing
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


def pytorch_loop(problem, optimizer):
    """As in a tutorial: nn.Module, autograd, torch.optim."""
    x, y, student = problem
    inputs, labels, output = (torch.tensor(array, dtype=torch.float32) for array in (x, y, student.a))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(x.shape[1], len(student.a), bias=False)
            self.first.weight.data = torch.tensor(student.W, dtype=torch.float32)

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


def by_hand(problem, optimizer):
    """The trainer of this book: gradients by hand, in place."""
    x, y, given = problem
    student = nets.Student(given.W.astype(np.float32), given.a, given.scale)

    def run(steps):
        trainer = first_layer.Trainer(x, y, student, OPTIMIZERS[optimizer][0])
        for _ in range(steps):
            trainer.step(RATE)
        return trainer.W.numpy()

    return run


def two_products(problem, optimizer):
    """The bound: W x and its transpose, the only part of a step that takes n d h operations."""
    x, _, student = problem
    inputs, W = (torch.tensor(array, dtype=torch.float32) for array in (x, student.W))
    hidden, gradient = W.new_empty(len(W), len(x)), torch.empty_like(W)

    def run(steps):
        for _ in range(steps):
            torch.mm(W, inputs.T, out=hidden)
            torch.mm(hidden, inputs, out=gradient)

    return run


METHODS = {"PyTorch loop": pytorch_loop, "by hand": by_hand, "two products": two_products}


def measure(rounds: int, threads: int, steps: int = 5) -> list[dict]:
    """Milliseconds of a step by method, optimizer and number of points; a first run is compared with the others."""
    cases = []
    for n, d, h in SIZES:
        given = problem(n, d, h)
        for optimizer in OPTIMIZERS:
            runs = {name: make(given, optimizer) for name, make in METHODS.items()}
            loop, own, _ = (run(steps) for run in runs.values())
            assert np.abs(loop - own).max() < 1e-2, (optimizer, n)  # Adam magnifies rounding
            row = {"optimizer": optimizer, "n": n, "threads": threads}
            cases += [({"method": name} | row, partial(run, steps), steps) for name, run in runs.items()]
    return timing.timed(cases, rounds, 1e3)
