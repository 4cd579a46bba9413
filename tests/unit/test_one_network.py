"""The trainer of the page "One network, every measure" against automatic differentiation, and its kernel and marks."""

import numpy as np
import pytest
import torch

from experiments import one_network
from shallow import nets
from shallow.kernels import empirical
from shallow.stats import stream
from shallow.train.oracle import tensors

TORCH = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh}
RNG = stream("test one network")
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal(7)
NETWORK = nets.TwoLayer(RNG.standard_normal((5, 3)), RNG.standard_normal(5), RNG.standard_normal(5))


def output(parameters, x, activation):
    W, b, v = parameters
    return TORCH[activation](torch.tensor(x) @ W.T + b) @ v


@pytest.mark.parametrize("activation", TORCH)
def test_training_is_that_of_automatic_differentiation(activation):
    """Ten steps, all parameters, every record; half the mean square is what descends."""
    run = one_network.train(X, Y, NETWORK, step=0.05, records=[0, 3, 10], activation=activation)
    parameters = tensors(NETWORK)
    for t in range(11):
        loss = ((output(parameters, X, activation) - torch.tensor(Y)) ** 2).mean()
        if t in run.steps:
            k = list(run.steps).index(t)
            assert np.isclose(run.loss[k], loss.item(), rtol=1e-12)
            found = (run.networks[k].W, run.networks[k].b, run.networks[k].v)
            assert all(np.allclose(a, b.detach(), rtol=1e-11, atol=1e-13) for a, b in zip(found, parameters))
        gradients = torch.autograd.grad(loss / 2, parameters)
        parameters = tuple((p - 0.05 * g).detach().requires_grad_() for p, g in zip(parameters, gradients))
    assert run.finished and np.allclose(
        one_network.forward(X, NETWORK, activation), output(tensors(NETWORK), X, activation).detach()
    )


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


def test_relu_kernel_is_that_of_the_other_module():
    assert np.allclose(one_network.ntk(NETWORK, X), empirical.ntk(NETWORK, X), rtol=1e-12)


def test_divergence_ends_the_run_with_what_was_recorded():
    run = one_network.train(X, Y, NETWORK, step=50.0, records=range(30))
    assert not run.finished and 1 <= len(run.networks) == len(run.loss) == len(run.steps) < 30
    assert (run.loss < one_network.LARGEST).all()


def test_initial_scale_multiplies_all_weights():
    one, small = (one_network.initial(stream("test one network", "start"), 200, 30, scale) for scale in (1.0, 0.01))
    assert np.allclose(small.W, 0.01 * one.W) and np.allclose(small.v, 0.01 * one.v) and not small.b.any()
    assert abs(np.linalg.norm(one.W, axis=1).mean() - 1) < 0.05 and abs(np.linalg.norm(one.v) - 1) < 0.2


def test_passing_interpolates():
    times = np.array([0.0, 1.0, 3.0])
    assert one_network.passing(times, np.array([0.0, 0.2, 0.6]), 0.5) == pytest.approx(2.5)
    assert one_network.passing(times, np.array([0.7, 0.2, 0.6]), 0.5) == 0
    assert one_network.passing(times, np.array([0.0, 0.2, 0.4]), 0.5) == np.inf


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"step": 0.0}, "step must be positive and finite, got 0.0"),
        ({"records": [3, 3]}, "records must be ascending steps"),
        ({"activation": "sine"}, "activation must be one of relu, gelu, tanh, got 'sine'"),
        ({"x": X[:, :2]}, "x must have shape"),
    ],
)
def test_bad_input_is_named(changed, says):
    with pytest.raises(ValueError, match=says):
        one_network.train(**{"x": X, "y": Y, "network": NETWORK, "step": 0.1, "records": [0, 2]} | changed)


def test_bad_scale_is_named():
    with pytest.raises(ValueError, match="scale must be positive and finite, got -1"):
        one_network.initial(stream("test one network", "bad"), 4, 3, -1)
