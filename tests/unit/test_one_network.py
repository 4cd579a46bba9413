"""The network of "What five documents share": its kernel against Jacobians, start, marks and clock."""

import numpy as np
import pytest
import torch
import xarray as xr

from experiments import one_network
from experiments.cyclic_labels.oracle import tensors
from shallow import nets
from shallow.stats import stream
from shallow.train import plain

TORCH = {"relu": torch.relu, "gelu": torch.nn.functional.gelu}
RNG = stream("test one network")
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal(7)
NETWORK = nets.TwoLayer(RNG.standard_normal((5, 3)), RNG.standard_normal(5), RNG.standard_normal(5))


def output(parameters, x, activation):
    W, b, v = parameters
    return TORCH[activation](torch.tensor(x) @ W.T + b) @ v


@pytest.mark.parametrize("activation", TORCH)
def test_kernel_is_the_product_of_jacobians(activation):
    z = RNG.standard_normal((4, 3))

    def jacobian(x):
        parameters = tensors(NETWORK)
        rows = (torch.autograd.grad(f, parameters, retain_graph=True) for f in output(parameters, x, activation))
        return np.array([np.concatenate([g.ravel().numpy() for g in row]) for row in rows])

    found = one_network.ntk(NETWORK, X, z, activation=activation)
    assert np.allclose(found, jacobian(X) @ jacobian(z).T, rtol=1e-12)
    assert np.allclose(one_network.ntk(NETWORK, X, activation=activation), jacobian(X) @ jacobian(X).T, rtol=1e-12)


def test_initial_scale_multiplies_all_weights():
    one, small = (one_network.initial(stream("test one network", "start"), 200, 30, scale) for scale in (1.0, 0.01))
    assert np.allclose(small.W, 0.01 * one.W) and np.allclose(small.v, 0.01 * one.v) and not small.b.any()
    assert abs(np.linalg.norm(one.W, axis=1).mean() - 1) < 0.05 and abs(np.linalg.norm(one.v) - 1) < 0.2


def test_targets_share_points_and_labels_are_standardised():
    one, even = one_network.draw(3), one_network.draw(3, "even")
    assert np.array_equal(one.x, even.x) and not np.allclose(one.y, even.y)
    assert abs(one.y.mean()) < 1e-12 and abs(one.y.std() - 1) < 1e-12
    mixed = one_network.labelled(3, "shuffled")
    assert sorted(mixed.y) == sorted(one.y) and not np.array_equal(mixed.y, one.y)


def test_passing_interpolates():
    times = np.array([0.0, 1.0, 3.0])
    assert one_network.passing(times, np.array([0.0, 0.2, 0.6]), 0.5) == pytest.approx(2.5)
    assert one_network.passing(times, np.array([0.7, 0.2, 0.6]), 0.5) == 0
    assert one_network.passing(times, np.array([0.0, 0.2, 0.4]), 0.5) == np.inf


def test_marks_of_a_planted_run():
    values = {"matrix": [0, 0.5, 1], "remaining": [0.4, 0.3, 0], "neurons": [0, 0, 1], "loss": [1, 0.95, 0.85]}
    runs = xr.Dataset(
        {name: (("seed", "time"), [row]) for name, row in values.items()}, {"seed": [0], "time": [0.0, 1.0, 2.0]}
    )
    found = {name: times[0] for name, times in one_network.marks(runs).items()}
    assert found == pytest.approx({"matrix": 1, "kernel": 1 + 1 / 3, "neurons": 1.5, "loss": 1.5})
    assert one_network.marks(runs.assign(remaining=0.1 * runs.remaining))["kernel"] == np.inf


def test_the_first_push_is_the_gradient():
    network = nets.TwoLayer(NETWORK.W, np.zeros(5), NETWORK.v)
    push, gradient = one_network.first_push(network, X, Y), plain.gradient(X, Y, network)[0].W
    assert np.allclose(push, -gradient, rtol=1e-10)


def test_the_clock_delays_the_loss_alone():
    one, small = (one_network.clock(0, scale) for scale in (0.01, 0.001))
    assert one["matrix"] == small["matrix"] < one["neurons"] == small["neurons"] < one["loss"] < small["loss"]


def test_the_mean_cosine_is_that_of_normal_variables():
    z = 1.7 * stream("test one network", "cosine").standard_normal(200_000)
    assert one_network.mean_cosine(1.7) == pytest.approx(np.mean(np.abs(z) / np.hypot(1, z)), abs=3e-3)
