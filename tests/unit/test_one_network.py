"""The page "One network, every measure": its tangent kernel against automatic differentiation, start and marks."""

import numpy as np
import pytest
import torch

from experiments import one_network
from experiments.cyclic_labels.oracle import tensors
from shallow import nets
from shallow.stats import stream

TORCH = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh}
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


def test_passing_interpolates():
    times = np.array([0.0, 1.0, 3.0])
    assert one_network.passing(times, np.array([0.0, 0.2, 0.6]), 0.5) == pytest.approx(2.5)
    assert one_network.passing(times, np.array([0.7, 0.2, 0.6]), 0.5) == 0
    assert one_network.passing(times, np.array([0.0, 0.2, 0.4]), 0.5) == np.inf
