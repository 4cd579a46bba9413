"""Accumulated gradients against one backward pass, and Adam against its formulas."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from shallow import deep, stats
from shallow.train import accumulated
from shallow.train.run import Diverged

IMAGES, CLASSES = 13, 3


def draw(batch_norm: bool = False):
    """A narrow ResNet18 and a set of random images of 8 x 8."""
    rng = stats.stream("accumulated", "network")
    network = deep.resnet18(rng, CLASSES, in_channels=2, width=2, batch_norm=batch_norm).double()
    x = torch.from_numpy(rng.normal(size=(IMAGES, 2, 8, 8)))
    return network, x, torch.from_numpy(rng.integers(0, CLASSES, IMAGES))


def gradients(network) -> torch.Tensor:
    return torch.cat([p.grad.ravel() for p in network.parameters()])


def parameters(network) -> torch.Tensor:
    return torch.cat([p.detach().ravel() for p in network.parameters()])


def backward(network, *pieces) -> tuple[float, torch.Tensor]:
    """The mean loss of all pieces and its gradient, in one graph."""
    network.zero_grad()
    total = sum(functional.cross_entropy(network(x), y, reduction="sum") for x, y in pieces)
    loss = total / sum(len(y) for _, y in pieces)
    loss.backward()
    return loss.item(), gradients(network)


@settings(max_examples=15, deadline=None)
@given(micro_batch=st.integers(1, 2 * IMAGES))
def test_accumulated_gradient_is_the_full_one(micro_batch):
    network, x, y = draw()
    loss, expected = backward(network, (x, y))
    for _ in range(2):  # the second call starts from zero again
        found = accumulated.gradient(network, x, y, micro_batch=micro_batch)
        assert abs(found - loss) < 1e-14 * loss
        assert (gradients(network) - expected).abs().max() < 1e-13 * expected.abs().max()
    assert abs(accumulated.loss(network, x, y, micro_batch=micro_batch) - loss) < 1e-14 * loss


def test_batch_normalisation_acts_within_each_micro_batch():
    network, x, y = draw(batch_norm=True)
    whole_loss, whole = backward(network, (x, y))
    assert accumulated.gradient(network, x, y, micro_batch=IMAGES) == pytest.approx(whole_loss, rel=1e-14)
    assert (gradients(network) - whole).abs().max() < 1e-12 * whole.abs().max()
    cuts = np.cumsum([0, 5, 4, 4])  # three micro-batches of at most five, as equal as possible
    pieces = [(x[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
    loss, expected = backward(network, *pieces)
    assert accumulated.gradient(network, x, y, micro_batch=5) == pytest.approx(loss, rel=1e-14)
    assert (gradients(network) - expected).abs().max() < 1e-12 * expected.abs().max()
    assert (expected - whole).abs().max() > 1e-2 * whole.abs().max()  # another function than with the full batch


@pytest.mark.parametrize("micro_batch", [1, 4, 5, 13, 50])
def test_no_batch_is_larger_than_allowed(micro_batch):
    network, x, y = draw()
    seen = []
    network.register_forward_pre_hook(lambda _, batch: seen.append(len(batch[0])))
    accumulated.gradient(network, x, y, micro_batch=micro_batch)
    assert sum(seen) == IMAGES and max(seen) <= micro_batch and max(seen) - min(seen) <= 1
    assert len(seen) == int(np.ceil(IMAGES / micro_batch))


def test_steps_are_those_of_adam():
    """m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g^2, both over 1 - beta^t, step 0.01 m / (sqrt(v) + eps) by default."""
    network, x, y = draw()
    run = accumulated.train(x.numpy(), y.numpy(), network, steps=4, micro_batch=4)
    theta, m, v, losses = parameters(network), 0.0, 0.0, []
    for t in range(1, 5):
        torch.nn.utils.vector_to_parameters(theta, network.parameters())
        loss, g = backward(network, (x, y))
        losses.append(loss)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        theta = theta - 0.01 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    torch.nn.utils.vector_to_parameters(theta, network.parameters())
    losses.append(backward(network, (x, y))[0])
    assert (parameters(run.network) - theta).abs().max() < 1e-8
    assert np.abs(run.loss - losses).max() < 1e-8
    assert abs(losses[-1] - losses[0]) > 1e-2


def test_measures_are_taken_after_the_given_steps():
    network, x, y = draw(batch_norm=True)
    before = parameters(network).clone()
    runs = [accumulated.train(x.numpy(), y.numpy(), network, steps=t, micro_batch=5) for t in (1, 2, 3)]
    assert torch.equal(parameters(network), before)  # the initial network is not changed
    run = accumulated.train(x.numpy(), y.numpy(), network, steps=3, records=[0, 1, 3], micro_batch=5)
    expected = [network, runs[0].network, runs[2].network]
    assert run.steps.tolist() == [0, 1, 3] and len(run.values) == 3
    for found, state in zip(run.values, expected, strict=True):
        matrices = deep.weight_matrices(state)
        assert found.keys() == matrices.keys()
        assert all(np.array_equal(found[name], matrices[name]) for name in matrices)
    assert np.array_equal(run.loss, runs[2].loss)


def test_divergence_is_told_with_its_step():
    network, x, y = draw()
    with pytest.raises(Diverged) as caught:
        accumulated.train(x.numpy(), y.numpy(), network, step=1e30, steps=10)
    assert caught.value.epoch >= 1


def test_networks_with_buffers_and_images_of_whole_numbers_are_refused():
    network, x, y = draw()
    running = torch.nn.Sequential(torch.nn.BatchNorm2d(2), torch.nn.Flatten(), torch.nn.Linear(128, 3))
    for name, images, model in (("network", x, running), ("x", x.to(int), network)):
        with pytest.raises(ValueError, match=f"^{name} must"):
            accumulated.train(images.numpy(), y.numpy(), model)
