"""What the trainer by groups of neurons refuses, and what it does with no steps or with records that end early."""

import numpy as np
import pytest

from shallow import nets
from shallow.stats import stream
from shallow.train import flow
from shallow.train.run import Diverged

X, Y = np.eye(4, 3), np.ones(4)
NETWORK = nets.dominated(stream("test flow", "bad"), 5, 3, 0.1)


def test_biases_are_refused():
    biased = nets.TwoLayer(NETWORK.W, np.ones(5), NETWORK.v)
    with pytest.raises(ValueError, match="^network must have no biases"):
        flow.train(X, Y, biased, step=0.1, steps=10)


@pytest.mark.parametrize("points", [4, 400])
def test_divergence_is_an_error(points):
    """With a step far too large, in plain steps and in groups."""
    x = stream("test flow", "diverged").standard_normal((points, 3))
    with pytest.raises(Diverged):
        flow.train(x, 100 * x[:, 0], NETWORK, step=5.0, steps=1000)
