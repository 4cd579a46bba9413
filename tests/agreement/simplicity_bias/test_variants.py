"""The fast loop with Adam and the GeLU against the plain trainer, and what is measured at the end of a run."""

import numpy as np
import pytest
import torch

from experiments.simplicity_bias.limits import stationary
from experiments.simplicity_bias.transition import adam_and_gelu, adam_and_gelu_steps
from shallow.data import teachers
from shallow.nets import TwoLayer, small
from shallow.stats import stream
from shallow.train import plain


def problem(n: int = 80, d: int = 5, m: int = 70, scale: float = 0.4):
    sample = teachers.gaussian(stream("variants", "data", n, d), teachers.first_axis(d), n)
    return sample, small(stream("variants", "network", m, d), m, d, scale)


@pytest.mark.parametrize("activation", adam_and_gelu_steps.ACTIVATIONS)
@pytest.mark.parametrize("optimiser", adam_and_gelu_steps.OPTIMISERS)
def test_steps_are_those_of_the_plain_trainer_to_single_precision(activation, optimiser):
    """The plain one halves the mean square.  Adam's correction for its age goes on where the path is looked at."""
    (sample, network), options = problem(), {"steps": 100, "batch": 17, "activation": activation}
    looks = {"records": [0, 7, 31], "measure": lambda now: now.width}
    chosen = options | {"optimiser": optimiser, "rate": 0.003, "rng": stream("b")}
    path = adam_and_gelu_steps.train(*sample, network, **chosen, **looks)
    rule = {"step": 0.003, "rule": "adam"} if optimiser == "adam" else {"step": 0.006}
    wanted = plain.train(*sample, network, rng=stream("b"), rates=(1.0, 1.0, 0.0), **rule, **options).network
    assert np.abs(wanted.W - network.W).max() > 0.02  # the weights have moved
    np.testing.assert_allclose(path.network.W, wanted.W, rtol=0, atol=5e-6)
    np.testing.assert_allclose(path.network.v, wanted.v, rtol=0, atol=5e-6)
    assert path.values == [70, 70, 70]


def test_a_variant_is_measured_with_its_own_activation():
    network, x = small(stream("g"), 9, 5, 1.0), stream("x").standard_normal((30, 5))
    expected = plain.hidden(x, network, "gelu")[0] @ network.v
    np.testing.assert_allclose(adam_and_gelu.gelu(network, x), expected, atol=1e-12)
    found = adam_and_gelu.variant(0, 60, "GeLU", width=32, steps=300, snapshots=[300])
    assert found.sizes == {"step": 1} and 0 < float(found.excess[0]) < 2


def test_gradient_and_sharpness_equal_those_of_autograd():
    sample, network = problem(n=40, m=12)

    def loss(parameters):
        W, v = parameters[: 12 * 5].reshape(12, 5), parameters[12 * 5 :]
        return (torch.relu(torch.tensor(sample.x) @ W.T) @ v - torch.tensor(sample.y)).square().mean()

    at = torch.tensor(np.append(network.W.ravel(), network.v))
    gradient = torch.autograd.functional.jacobian(loss, at)
    hessian = torch.autograd.functional.hessian(loss, at)
    assert stationary.gradient_norm(network, sample) == pytest.approx(float(gradient.norm()), rel=1e-10)
    largest = float(torch.linalg.eigvalsh(hessian)[-1])
    assert stationary.sharpness(network, sample) == pytest.approx(largest, rel=1e-3)


def test_a_corner_is_stationary_for_the_smallest_subgradient_alone():
    """One neuron on the hyperplane of a point: pulled one way if the point counts, the other way if not."""
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -2.0]]), np.array([1.0, 1.0, 1.0])
    corner = TwoLayer(np.array([[1.0, 0.0]]), np.zeros(1), np.ones(1))
    sample = teachers.Sample(x, y)
    assert stationary.gradient_norm(corner, sample) == pytest.approx(0.0)
    tilted = TwoLayer(np.array([[1.0, 1e-6]]), np.zeros(1), np.ones(1))
    assert stationary.gradient_norm(tilted, sample) > 0.5
    assert stationary.gradient_norm(tilted, sample, touching=1e-4) < 1e-5


def test_a_diverging_run_says_so():
    sample, network = problem()
    with pytest.raises(ArithmeticError, match="diverged"), np.errstate(all="ignore"):
        adam_and_gelu_steps.train(
            *sample, network, rate=1e4, steps=200, rng=stream("b"), records=[0], measure=lambda now: None
        )
