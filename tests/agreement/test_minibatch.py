"""The fused mini-batch trainer against automatic differentiation, one batch at a time in float64."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shallow.data import teachers
from shallow.nets import TwoLayer, small
from shallow.stats import stream
from shallow.train import minibatch


def problem(n: int, d: int, m: int, scale: float = 0.5):
    """A sample and an initial network; weights of order one, so that patterns change often."""
    sample = teachers.gaussian(stream("test", "data", n, d), teachers.first_axis(d), n)
    return sample, small(stream("test", "network", m, d), m, d, scale)


def by_autograd(sample, network: TwoLayer, batches: np.ndarray, rates) -> tuple[np.ndarray, np.ndarray]:
    """W and v after one step of gradient descent on the mean square of every batch."""
    W, v = (torch.tensor(array, requires_grad=True) for array in (network.W, network.v))
    for batch, rate in zip(batches, rates, strict=True):
        x, y = torch.tensor(sample.x[batch]), torch.tensor(sample.y[batch])
        loss = (torch.relu(x @ W.T) @ v - y).square().mean()
        gradients = torch.autograd.grad(loss, (W, v))
        with torch.no_grad():
            for parameter, gradient in zip((W, v), gradients, strict=True):
                parameter -= rate * gradient
    return W.detach().numpy(), v.detach().numpy()


@settings(max_examples=15, deadline=None)
@given(n=st.integers(1, 60), d=st.sampled_from([1, 2, 5]), m=st.integers(1, 40), data=st.data())
def test_fifty_steps_equal_autograd_in_double_precision(n, d, m, data):
    """Also for batches that do not fill a group of samples, and widths that do not fill a vector."""
    size = data.draw(st.integers(1, n))
    sample, network = problem(n, d, m)
    run = minibatch.train(*sample, network, rate=0.005, steps=50, batch=size, rng=stream("b"), dtype=np.float64)
    batches = minibatch.Batches(n, size, stream("b")).take(50)
    W, v = by_autograd(sample, network, batches, [0.005] * 50)
    np.testing.assert_allclose(run.network.W, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.network.v, v, rtol=0, atol=1e-12)


def test_a_neuron_whose_kink_is_at_a_point_does_not_see_it():
    x, y, network = np.array([[1.0, 1.0], [-2.0, 1.0]]), np.ones(2), TwoLayer([[1.0, -1.0]], [0.0], [1.0])
    for dtype in (np.float32, np.float64):
        run = minibatch.train(x, y, network, rate=0.1, steps=3, batch=2, rng=stream("b"), dtype=dtype)
        assert (run.network.W == network.W).all() and (run.network.v == network.v).all()


def test_several_tiles_and_single_precision_equal_autograd_to_rounding():
    """In single precision a neuron that a sample's hyperplane touches may be switched otherwise: hence two bounds."""
    sample, network = problem(100, 5, 1300, scale=0.05)
    batches = minibatch.Batches(100, 100, stream("b")).take(50)
    W, v = by_autograd(sample, network, batches, [0.01] * 50)
    assert np.abs(W - network.W).max() > 1e-2  # the weights have moved
    for dtype, most, all_of_them in ((np.float64, 1e-14, 1e-14), (np.float32, 2e-7, 1e-5)):
        run = minibatch.train(*sample, network, rate=0.01, steps=50, batch=100, rng=stream("b"), dtype=dtype)
        error = np.append(np.abs(run.network.W - W), np.abs(run.network.v - v))
        assert np.quantile(error, 0.99) < most
        assert error.max() < all_of_them


def test_the_rate_decays_in_steps():
    sample, network = problem(40, 2, 8)
    options = {"rate": 0.05, "steps": 30, "batch": 8, "dtype": np.float64}
    run = minibatch.train(*sample, network, decay=0.5, every=10, rng=stream("b"), **options)
    batches = minibatch.Batches(40, 8, stream("b")).take(30)
    W, _ = by_autograd(sample, network, batches, [0.05] * 10 + [0.025] * 10 + [0.0125] * 10)
    np.testing.assert_allclose(run.network.W, W, rtol=0, atol=1e-12)
    constant = minibatch.train(*sample, network, rng=stream("b"), **options)
    assert np.abs(constant.network.W - W).max() > 1e-4


def test_batches_run_through_whole_epochs_however_they_are_taken():
    """Each epoch holds every sample once; many short calls give the same stream as one long one."""
    whole = minibatch.Batches(10, 4, stream("epochs")).take(15)
    epochs = whole.reshape(-1, 10)
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs.tolist())
    assert not np.array_equal(epochs[0], epochs[1])
    parts = minibatch.Batches(10, 4, stream("epochs"))
    np.testing.assert_array_equal(np.concatenate([parts.take(k) for k in (1, 4, 3, 7)]), whole)
