"""Descent with Adam and with the GeLU against PyTorch's own, and what is measured at the end of a run."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from experiments.simplicity_bias import adam_and_gelu, stationary, transition
from shallow.data import teachers
from shallow.nets import TwoLayer, small
from shallow.stats import stream
from shallow.train import minibatch, variants

TORCH = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
}


def problem(n: int = 80, d: int = 5, m: int = 70, scale: float = 0.4):
    sample = teachers.gaussian(stream("variants", "data", n, d), teachers.first_axis(d), n)
    return sample, small(stream("variants", "network", m, d), m, d, scale)


def by_torch(sample, network, activation, optimiser, batches, rate):
    """W and v in double precision."""
    W, v = (torch.tensor(array, requires_grad=True) for array in (network.W, network.v))
    method = TORCH[optimiser]([W, v], lr=rate)
    for batch in batches:
        method.zero_grad()
        loss = (TORCH[activation](torch.tensor(sample.x[batch]) @ W.T) @ v - torch.tensor(sample.y[batch])).square()
        loss.mean().backward()
        method.step()
    return W.detach().numpy(), v.detach().numpy()


@pytest.mark.parametrize("activation", variants.ACTIVATIONS)
@pytest.mark.parametrize("optimiser", variants.OPTIMISERS)
def test_a_hundred_steps_equal_pytorch_to_single_precision(activation, optimiser):
    sample, network = problem()
    setting = dict(activation=activation, optimiser=optimiser, rate=0.003)
    found = variants.train(*sample, network, steps=100, batch=17, rng=stream("b"), **setting).network
    W, v = by_torch(sample, network, activation, optimiser, minibatch.Batches(80, 17, stream("b")).take(100), 0.003)
    assert np.abs(W - network.W).max() > 0.02  # the weights have moved
    np.testing.assert_allclose(found.W, W, rtol=0, atol=5e-6)
    np.testing.assert_allclose(found.v, v, rtol=0, atol=5e-6)


def test_the_activation_and_its_slope_to_single_precision_on_the_whole_line():
    z = np.concatenate([np.linspace(-14, 14, 40_001), [-1e4, 1e4, 0.0]]).astype(np.float32)
    value, slope, powers = np.empty_like(z), np.empty_like(z), np.empty(len(z), np.int32)
    variants._gelu(z, value, slope, powers)
    exact = z.astype(float)
    density = np.exp(-(exact**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(value, exact * ndtr(exact), rtol=3e-7, atol=1e-6)
    np.testing.assert_allclose(slope, ndtr(exact) + exact * density, rtol=0, atol=1e-6)


def test_calls_do_not_depend_on_where_the_path_is_looked_at():
    """Adam's correction for the age of its averages goes on over the calls of the compiled core."""
    sample, network = problem()
    setting = dict(activation="gelu", optimiser="adam", rate=0.003, steps=60, batch=16)
    once = variants.train(*sample, network, rng=stream("b"), **setting).network
    often = variants.train(*sample, network, rng=stream("b"), records=[0, 7, 31, 60], **setting)
    np.testing.assert_array_equal(often.network.W, once.W)
    assert [int(step) for step in often.steps] == [0, 7, 31, 60] and len(often.values) == 4


def test_a_variant_is_measured_with_its_own_activation():
    network, x = small(stream("g"), 9, 5, 1.0), stream("x").standard_normal((30, 5))
    expected = TORCH["gelu"](torch.tensor(x @ network.W.T)).numpy() @ network.v
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


def test_the_shortened_end_is_the_beginning_of_the_run():
    found = stationary.stationary(0, 60, width=20, steps=1001, more=0)
    path = transition.run(0, 60, width=20, steps=1000)
    assert list(found.data_vars) == ["train"]
    assert float(found.train.sel(step=1000)) == float(path.train.sel(step=1000))


def test_a_fixed_mass_is_fixed():
    """The mean square of the initial weights times the width is the same at every width."""
    masses = [float(transition.at_fixed_mass(0, 30, width=m, steps=0).mass[0]) for m in (500, 4000)]
    assert masses[0] == pytest.approx(masses[1], rel=0.1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"activation": "tanh"}, "activation must be one of"),
        ({"optimiser": "rmsprop"}, "optimiser must be one of"),
        ({"rate": 0.0}, "rate must be positive"),
        ({"batch": 81}, "batch must be at most"),
    ],
)
def test_bad_options_are_named(changed, message):
    sample, network = problem()
    options = {"rate": 0.01, "steps": 5, "batch": 16, "rng": stream("b")} | changed
    with pytest.raises(ValueError, match=message):
        variants.train(*sample, network, **options)


def test_a_diverging_run_says_so():
    sample, network = problem()
    with pytest.raises(ArithmeticError, match="diverged"), np.errstate(all="ignore"):
        variants.train(*sample, network, rate=1e4, steps=200, rng=stream("b"))


def test_an_unknown_variant_is_named():
    with pytest.raises(ValueError, match="kind must be one of"):
        adam_and_gelu.variant(0, 60, "SGD")
