"""Groups of neurons that stay together: the propositions, each with a case in which its condition fails."""

import numpy as np

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.two_units import gathering
from shallow import nets
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow


def products(network):
    """1 - <u_i, u_j> times a_i a_j, shape (m, m)."""
    return np.outer(network.v, network.v) - network.W @ network.W.T


def one_sided(rng, n=30, d=3):
    """Inputs with a margin of 0.4 and labels of the linear teacher."""
    return teachers.labelled(rng, teachers.first_axis(d), teachers.with_margin(rng, n, d, 0.4))


def test_neurons_in_one_cone_keep_their_product_and_contract():
    rng = stream("test clusters", "contract")
    x, y = one_sided(rng)
    W = np.eye(3)[0] + 0.05 * rng.standard_normal((6, 3))
    start = TwoLayer(0.01 * W, np.zeros(6), 0.02 * np.ones(6))
    end = flow.train(x, y, start, step=1e-3, steps=12_000).network
    assert np.array_equal(start.W @ x.T > 0, end.W @ x.T > 0)
    np.testing.assert_allclose(products(end), products(start), rtol=0.02)
    assert end.v.min() > 5 * start.v.max()
    u, before = end.W / end.v[:, None], start.W / start.v[:, None]
    assert np.linalg.norm(u - u[0], axis=1).max() < np.linalg.norm(before - before[0], axis=1).max() / 3


def test_neurons_in_two_cones_do_not_keep_their_product():
    rng = stream("test clusters", "two cones")
    x, y = one_sided(rng)
    start = TwoLayer(0.01 * np.array([[1.0, 0, 0], [-1.0, 0.3, 0]]), np.zeros(2), 0.02 * np.ones(2))
    end = flow.train(x, y, start, step=1e-3, steps=5000).network
    assert abs(products(end) / products(start) - 1)[0, 1] > 0.1


def settled(seed=0, n=40, scale=1e-3, steps=1500):
    """Sample, and a network near its end, full batch, no margin."""
    rng = stream("test clusters", "settled", seed)
    sample = teachers.gaussian(rng, teachers.first_axis(3), n)
    run = flow.train(*sample, nets.dominated(rng, 12, 3, scale), step=0.05, steps=steps)
    return sample, run.network


def test_where_there_is_room_no_pattern_changes_and_two_units_come_out():
    cases = [settled(seed) for seed in range(8)]
    certain = [(sample, network) for sample, network in cases if gathering.room(network, sample) > 0]
    assert len(certain) >= 3
    for sample, network in certain:
        later = flow.train(*sample, network, step=0.05, steps=4000)
        assert not len(later.changes)
        units = gathering.resting(sample, two_fits.sums(later.network))
        np.testing.assert_allclose(later.network.forward(sample.x), units.forward(sample.x), atol=1e-6)


def test_early_in_a_run_there_is_no_room():
    sample, network = settled(steps=40)
    assert gathering.room(network, sample) < 0


def test_gaussian_hyperplanes_in_a_cap():
    x = stream("test clusters", "cap").standard_normal((400_000, 5))
    inside = np.abs(x[:, 0]) < np.sin(0.01) * np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(inside.mean() / 0.01, 1.5, rtol=0.05)
