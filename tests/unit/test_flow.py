"""The trainer by groups of neurons where its steps are too large."""

import pytest

from shallow import nets
from shallow.stats import stream
from shallow.train import flow
from shallow.train.run import Diverged

NETWORK = nets.dominated(stream("test flow", "bad"), 5, 3, 0.1)


@pytest.mark.parametrize("points", [4, 400])
def test_divergence_is_an_error(points):
    """With a step far too large, in plain steps and in groups."""
    x = stream("test flow", "diverged").standard_normal((points, 3))
    with pytest.raises(Diverged):
        flow.train(x, 100 * x[:, 0], NETWORK, step=5.0, steps=1000)
