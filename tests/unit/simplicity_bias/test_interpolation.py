"""Networks that interpolate, and limits taken apart: cells against slow computations, planted cases, bad input."""

import numpy as np
import pytest

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.limits import anatomy, interpolation
from experiments.simplicity_bias.transition import cells as transition
from shallow import gaussian_loss, nets
from shallow.data import teachers
from shallow.stats import stream


def test_capacity_is_the_solution_of_least_norm():
    """The same network by numpy's singular value decomposition; and none where neurons are fewer than points."""
    found = interpolation.capacity(3, n=30, width=100)
    rng = stream("capacity", 3, 30, 100, 5)
    teacher = teachers.first_axis(5)
    x, y = teachers.gaussian(rng, teacher, 30)
    W = rng.standard_normal((100, 5))
    W /= np.linalg.norm(W, axis=1)[:, None]
    a = np.linalg.lstsq(np.maximum(x @ W.T, 0), y)[0]
    risk = gaussian_loss.excess_risk(nets.TwoLayer(W, np.zeros(100), a), teacher)
    assert int(found["rank"]) == 30 and float(found.train) < 1e-20
    assert float(found.excess) == pytest.approx(risk, rel=1e-6)
    without = interpolation.capacity(3, n=30, width=20)
    assert int(without["rank"]) == 20 and np.isnan(without.train) and np.isnan(without.excess)


def test_removing_neurons_and_refitting_the_main_components():
    sample = teachers.gaussian(np.random.default_rng(0), teachers.first_axis(3), 200)
    network = nets.small(np.random.default_rng(1), 50, 3, 0.3)
    nobody, all_of_them = np.zeros(50, bool), np.ones(50, bool)
    plus, minus = two_fits.fits(*sample)
    alone = anatomy.without_neurons(network, sample, all_of_them)
    fitted = np.where(sample.x[:, 0] > 0, sample.x @ plus, sample.x @ minus)
    assert np.abs(alone - (sample.y - fitted)).max() < 1e-12
    refitted = anatomy.without_neurons(network, sample, nobody)
    assert np.mean(refitted**2) < transition.train_loss(network, sample)
    assert anatomy.top_share(network, sample, nobody) == 0.0


def gain_share(x):
    """Share of the best 5 % of samples in the gain by a neuron along the second axis, labels without noise."""
    neuron = nets.TwoLayer([[0.0, 1.0]], np.zeros(1), np.array([5.0]))
    sample = teachers.Sample(x, x[:, 0] + neuron.forward(x))
    main = teachers.first_axis(2)
    network = nets.TwoLayer(np.vstack([main.W, neuron.W]), np.zeros(3), np.append(main.v, neuron.v))
    return anatomy.top_share(network, sample, np.array([False, False, True]))


def test_two_samples_that_gain_everything_have_the_whole_share():
    """A kink that only two points can see, against one that all of them see."""
    x = np.column_stack([np.tile([1.0, -1.0], 100), np.zeros(200)])
    x[0], x[2] = (1.0, 1.0), (1.0, -1.0)
    assert gain_share(x) > 0.95
    assert gain_share(np.random.default_rng(0).standard_normal((200, 2))) < 0.5
