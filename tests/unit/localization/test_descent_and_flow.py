"""The first steps of training beside the closed-form flow, at tiny size, and cells whose answer is known."""

import numpy as np

from experiments.localization import gaussian_flow, networks
from experiments.localization.beginning import descent_and_flow
from shallow.data.nlgp import circulant


def test_early_follows_the_flow_and_not_one_of_twice_the_speed():
    """Slope 1 of the biases against the coupled flow; half of it if the class prior 1/2 were forgotten."""
    early = descent_and_flow.early(0, 0.01, "square", width=30, rate=15.0, batch=4000, steps=50)
    b, flow = early.b.sel(step=50).values, early.b_flow.sel(flow="coupled", step=50).values
    assert abs(np.polyfit(flow, b, 1)[0] - 1) < 0.15 and np.corrcoef(flow, b)[0, 1] > 0.98
    pair, W = networks.pair(0.01), networks.starts([0], 30).W[0]
    covariances = [circulant(process.covariance) for process in pair]
    fast = gaussian_flow.integrate(W, np.zeros(30), *covariances, [2 * 50 * 15.0], coupled=True).b[0]
    assert abs(np.polyfit(fast, b, 1)[0] - 1) > 0.3


def test_fates_of_one_start_on_different_batches():
    """The two runs differ, but agree where the first step is clear; variances are those of the closed form."""
    fates = descent_and_flow.fates(0, 0.01, steps=100)
    one, other = fates.b.sel(step=100).values
    assert (one != other).all()
    gap = (fates.v.sel(label=-1) - fates.v.sel(label=1)).values
    clear = np.abs(gap) > np.median(np.abs(gap))
    assert all((np.sign(b) == np.sign(gap))[clear].mean() > 0.85 for b in (one, other))
    W, process = networks.starts([0]).W[0].astype(float), networks.pair(0.01)[0]
    np.testing.assert_allclose(fates.v.sel(label=1), ((W @ circulant(process.covariance)) * W).sum(1), rtol=1e-5)
