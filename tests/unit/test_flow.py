"""Bad input of the full-batch trainer, each error seen once."""

import numpy as np
import pytest

from shallow import nets
from shallow.stats import stream
from shallow.train import flow
from shallow.train.run import Diverged

X, Y = np.eye(4, 3), np.ones(4)
NETWORK = nets.dominated(stream("test flow", "bad"), 5, 3, 0.1)
BIASED = nets.TwoLayer(NETWORK.W, np.ones(5), NETWORK.v)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"x": X[:, :2]}, "x must be finite, with at least one row and 3 columns"),
        ({"x": X[:0]}, "x must be finite, with at least one row"),
        ({"x": X * np.nan}, "x must be finite"),
        ({"y": Y[:3]}, "y must be a finite vector of shape"),
        ({"y": Y * np.inf}, "y must be a finite vector"),
        ({"network": BIASED}, "network must have no biases, got b with 5 entries"),
        ({"step": 0.0}, "step must be positive and finite, got 0.0"),
        ({"steps": -1}, "steps must be an integer of at least 0, got -1"),
        ({"records": 0}, "records must be a positive interval"),
        ({"records": [0, 5]}, "records must be ascending steps from 0 on that end with 10"),
        ({"records": [5, 5, 10]}, "records must be ascending steps"),
        ({"records": 1.5}, "records must be a positive interval"),
    ],
)
def test_bad_input_is_named(changed, says):
    with pytest.raises(ValueError, match=says):
        flow.train(**{"x": X, "y": Y, "network": NETWORK, "step": 0.1, "steps": 10} | changed)


@pytest.mark.parametrize("points", [4, 400])
def test_divergence_is_an_error(points):
    """With a step far too large, in plain steps and in groups."""
    x = stream("test flow", "diverged").standard_normal((points, 3))
    with pytest.raises(Diverged):
        flow.train(x, 100 * x[:, 0], NETWORK, step=5.0, steps=1000)


def test_no_steps_leave_the_network_alone():
    run = flow.train(X, Y, NETWORK, step=0.1, steps=0)
    assert np.array_equal(run.network.W, NETWORK.W) and len(run.steps) == 1 and run.plain == 0
