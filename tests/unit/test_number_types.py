"""Results are in the number type of what is given: not in PyTorch's default, and never in less than a network has."""

import numpy as np
import pytest
import torch
from unit.bad_input.given import STACK, STUDENT, X, Y
from unit.bad_input.spoil import numbers

from experiments.hidden_structure import hidden_index
from experiments.localization import dominance
from shallow import deep, mlp
from shallow.data import nlgp
from shallow.kernels import layered
from shallow.stats import stream
from shallow.train import accumulated, first_layer


def seeded():
    return torch.Generator().manual_seed(0)


def image_network(make):
    return [p.detach().numpy() for p in make(stream("default"), 2, in_channels=1, width=1).parameters()]


def trained_on_images():
    x = stream("images").standard_normal((3, 1, 32, 32))
    network = deep.vgg11(stream("default"), 2, in_channels=1, width=1)
    return accumulated.train(x, np.array([0, 1, 0]), network, steps=1, micro_batch=2).loss


CALLS = {
    "published, given": lambda: hidden_index.published("given"),
    "published, correlated": lambda: hidden_index.published("correlated"),
    "default, PyTorch's generator": lambda: mlp.default([seeded()], (3, 4, 1)),
    "default, float64": lambda: mlp.default([seeded()], (3, 4, 1), dtype=np.float64),
    "default, NumPy's generator": lambda: mlp.default([np.random.default_rng(0)], (3, 4, 1)),
    "uniform": lambda: mlp.uniform(seeded(), 5, 0.5),
    "vgg11": lambda: image_network(deep.vgg11),
    "resnet18": lambda: image_network(deep.resnet18),
    "images": trained_on_images,
    "tangent kernel": lambda: layered.ntk(*STACK.network(0), X),
    "first layer": lambda: first_layer.train(X, Y, STUDENT, first_layer.Adam(), rate=0.1, steps=2, dtype=torch.float64),
    "process": lambda: nlgp.Process(10, 2.0, 1.0).sample(stream("process"), 3),
    "outcomes": lambda: dominance.outcomes_on_average(
        stream("pairs"), nlgp.Process(10, 2.0, 1.0), nlgp.Process(10, 1.0, 1.0), np.eye(10)[:2], np.ones(1), 5
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_default_type_of_pytorch_is_of_no_account(name):
    usual, found = torch.get_default_dtype(), []
    try:
        for default in (torch.float32, torch.float64):
            torch.set_default_dtype(default)
            found.append(numbers(CALLS[name]()))
    finally:
        torch.set_default_dtype(usual)
    assert len(found[0]) == len(found[1]) > 0
    for first, second in zip(*found, strict=True):
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
