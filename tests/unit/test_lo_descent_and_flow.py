"""The first steps of training beside the closed-form flow, at tiny size, and cells whose answer is known."""

import numpy as np
import pytest

from experiments.localization import descent_and_flow, gaussian_flow, networks
from shallow.data.nlgp import circulant


@pytest.fixture(scope="module")
def early():
    return descent_and_flow.early(0, 0.01, "square", width=30, rate=15.0, batch=4000, steps=50)


@pytest.fixture(scope="module")
def fates():
    return descent_and_flow.fates(0, 0.01, steps=100)


def test_early_follows_the_flow_and_not_one_of_twice_the_speed(early):
    """Slope 1 of the biases against the coupled flow; half of it if the class prior 1/2 were forgotten."""
    b, flow = early.b.sel(step=50).values, early.b_flow.sel(flow="coupled", step=50).values
    assert abs(np.polyfit(flow, b, 1)[0] - 1) < 0.15 and np.corrcoef(flow, b)[0, 1] > 0.98
    pair, W = networks.pair(0.01), networks.starts([0], 30).W[0]
    covariances = [circulant(process.covariance) for process in pair]
    fast = gaussian_flow.integrate(W, np.zeros(30), *covariances, [2 * 50 * 15.0], coupled=True).b[0]
    assert abs(np.polyfit(fast, b, 1)[0] - 1) > 0.3


def test_early_starts_from_nothing(early):
    """Biases and their flow are 0 at step 0, and the fields are the same."""
    first = early.sel(step=0)
    assert not first.b.any() and not first.b_flow.any()
    np.testing.assert_allclose(first.low_flow, np.broadcast_to(first.low, (2, 30)), rtol=1e-6)
    assert early.step.values.tolist() == [0, 10, 25, 50]


def test_fates_of_one_start_on_different_batches(fates):
    """The two runs differ, but agree where the first step is clear; variances are those of the closed form."""
    assert dict(fates.sizes) == {"label": 2, "neuron": 40, "run": 2, "step": 2, "flow": 2}
    one, other = fates.b.sel(step=100).values
    assert (one != other).all()
    gap = (fates.v.sel(label=-1) - fates.v.sel(label=1)).values
    clear = np.abs(gap) > np.median(np.abs(gap))
    assert all((np.sign(b) == np.sign(gap))[clear].mean() > 0.85 for b in (one, other))
    W, process = networks.starts([0]).W[0].astype(float), networks.pair(0.01)[0]
    np.testing.assert_allclose(fates.v.sel(label=1), ((W @ circulant(process.covariance)) * W).sum(1), rtol=1e-5)
