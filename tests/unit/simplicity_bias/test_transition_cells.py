"""The transition from interpolation to least squares: its runs and thresholds; and the trainer of these runs."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias.transition import cells as transition
from shallow.data import teachers
from shallow.nets import TwoLayer, small
from shallow.stats import stream
from shallow.train import minibatch
from shallow.train.run import Diverged

SAMPLE, NETWORK = teachers.gaussian(stream("test"), teachers.first_axis(2), 20), small(stream("test"), 6, 2, 0.1)


def test_divergence_names_the_step_and_the_initial_network_is_left_alone():
    before, options = NETWORK.W.copy(), dict(steps=200, batch=4)
    with pytest.raises(Diverged, match="epoch 200"):
        minibatch.train(*SAMPLE, NETWORK, rate=100.0, rng=stream("b"), **options)
    run = minibatch.train(*SAMPLE, NETWORK, rate=0.1, rng=stream("b"), **options)
    assert np.array_equal(NETWORK.W, before) and np.abs(run.network.W - before).max() > 0
    with pytest.raises(ValueError, match="^network must"):
        minibatch.train(*SAMPLE, TwoLayer(before, NETWORK.b + 1, NETWORK.v), rate=0.1, rng=stream("b"), **options)


def test_a_line_in_log_n_is_crossed_where_it_should_be():
    n = np.array([10, 30, 100, 1000])
    assert [transition.crossing(n, np.log(n / place)) for place in (50, 200)] == pytest.approx([50, 200])
    assert np.isnan(transition.crossing([1, 2], [-1, 0])) and transition.crossing([5, 6], [1, 2]) == 5


def test_both_thresholds_of_every_seed():
    """Training losses that grow like ln n, with a factor for the seed."""
    n, factor = np.array([50, 100, 200, 400, 800]), np.array([1.0, 2.0])
    train = 0.1 * factor[:, None] * np.log(n / 50) / np.log(16)
    final = xr.Dataset({"train": (("seed", "n"), train), "ols": (("seed", "n"), np.full((2, 5), 0.1))}, {"n": n})
    found = transition.thresholds(final, noise=0.1)
    np.testing.assert_allclose(found.interpolation, 50 * 16 ** (0.1 / factor))
    np.testing.assert_allclose(found.half, 50 * 16 ** (0.5 / factor))
