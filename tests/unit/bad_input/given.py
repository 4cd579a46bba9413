"""Small arguments that are fine, shared by the tables of cases."""

import numpy as np
import torch
from numpy.polynomial import Polynomial

from experiments.hidden_structure import shells
from shallow import committee, mlp, nets
from shallow.data import nlgp, single_index, teachers
from shallow.spectra.marchenko_pastur import MarchenkoPastur

RNG = np.random.default_rng(0)  # copied for every call
X = np.random.default_rng(1).standard_normal((8, 3))
Y = X @ [1.0, -1.0, 0.5]
LINE = np.linspace(-0.45, 0.45, 8)
SIGNS = np.where(np.arange(8) % 2, 1.0, -1.0)
CLASSES = np.arange(8) % 2
GRAM = X @ X.T + np.diag(np.arange(1, 9) / 8)
VALUES = np.sort(np.random.default_rng(2).pareto(2.0, 60)) + 0.1
UNIT = np.array([0.6, 0.8, 0.0])
FIELDS = np.random.default_rng(3).standard_normal((4, 10))
BIASES = np.array([0.5, -0.5, 1.0, -2.0])

QUINTIC = Polynomial([0.0, 1.0, 0.5, -1.0, 0.0, 0.2])
LAW = MarchenkoPastur(90, 60)
RING, SHORT = nlgp.Process(10, 2.0, 1.0), nlgp.Process(10, 1.0, 1.0)
TEACHER = single_index.random_teacher(np.random.default_rng(4), 3)
SAMPLE = single_index.sample(TEACHER, 8, noise=0.1, inputs=np.random.default_rng(5), errors=np.random.default_rng(6))
POINTS = shells.sample(np.random.default_rng(7), np.array([2, 2, 2, 2]))

NETWORK = nets.small(np.random.default_rng(8), 4, 3, 0.5)
PLANE = nets.small(np.random.default_rng(9), 4, 2, 0.5)
BIASED = nets.default(np.random.default_rng(10), 4)
LINEAR = teachers.linear(np.array([1.0, -1.0, 0.5]))
STUDENT = nets.ntk(np.random.default_rng(11), 5, 3)
SINGLE = nets.Student(STUDENT.W.astype(np.float32), STUDENT.a, STUDENT.scale)
SOFTPLUS = nets.SoftplusStudent(SINGLE.W, SINGLE.a, SINGLE.scale)
STACK = mlp.default([np.random.default_rng(12), np.random.default_rng(13)], (3, 4, 1))
LAYERS = dict(zip(("weights", "biases"), STACK.network(0)))
COMMITTEE = committee.start([np.random.default_rng(14)], 4, 10)
IMAGES = np.random.default_rng(15).integers(0, 256, (6, 8, 8, 1), dtype=np.uint8)


def tiny() -> torch.nn.Module:
    """A classifier of images (n, 1, 2, 2) into three classes."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3))
