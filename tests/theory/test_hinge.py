"""Laws of the summed hinge loss: each holds, and a wrong law of the same form is seen to fail."""

import numpy as np
import pytest

from experiments.cyclic_labels import oracle
from shallow import nets
from shallow.data import cyclic
from shallow.train import plain, univariate


def problem(n=30, width=64, seed=0):
    sample = cyclic.sample(n, seed=seed)
    return sample.x, sample.y, nets.default(sample.rng, width)


def distance(first, second):
    return max(np.abs(getattr(first, name) - getattr(second, name)).max() for name in ("W", "b", "v"))


@pytest.fixture(scope="module")
def fitted():
    """A network with zero training loss."""
    x, y, network = problem(n=10, width=128)
    run = univariate.train(x, y, network, step=0.01, epochs=20_000)
    assert run.zero_epoch is not None
    return x, y, run.network


def by_formulas(x, y, network, *, step, epochs):
    return plain.train(x, y, network, step=step, steps=epochs, loss="hinge", reduction="sum").network


@pytest.mark.parametrize("train", [oracle.train, by_formulas])
def test_zero_loss_freezes_every_parameter(fitted, train):
    x, y, network = fitted
    assert distance(train(x, y, network, step=0.01, epochs=50), network) == 0
    violated = nets.scaled(network, np.sqrt(0.9 / (y * network.forward(x)).min()))  # one margin at 0.9
    assert distance(train(x, y, violated, step=0.01, epochs=1), violated) > 1e-4
