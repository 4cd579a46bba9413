"""Laws of the summed hinge loss: each holds, and a wrong law of the same form is seen to fail."""

import numpy as np
import pytest

from experiments.cyclic_labels import oracle, two_clusters
from shallow import nets
from shallow.data import cyclic
from shallow.train import plain, univariate


def problem(n=30, width=64, seed=0):
    sample = cyclic.sample(n, seed=seed)
    return sample.x, sample.y, nets.default(sample.rng, width)


def distance(first, second):
    return max(np.abs(getattr(first, name) - getattr(second, name)).max() for name in ("W", "b", "v"))


@pytest.fixture(scope="module")
def fitted():
    """A network with zero training loss."""
    x, y, network = problem(n=10, width=128)
    run = univariate.train(x, y, network, step=0.01, epochs=20_000)
    assert run.zero_epoch is not None
    return x, y, run.network


def by_formulas(x, y, network, *, step, epochs):
    return plain.train(x, y, network, step=step, steps=epochs, loss="hinge", reduction="sum").network


@pytest.mark.parametrize("train", [oracle.train, by_formulas])
def test_zero_loss_freezes_every_parameter(fitted, train):
    x, y, network = fitted
    assert distance(train(x, y, network, step=0.01, epochs=50), network) == 0
    violated = nets.scaled(network, np.sqrt(0.9 / (y * network.forward(x)).min()))  # one margin at 0.9
    assert distance(train(x, y, violated, step=0.01, epochs=1), violated) > 1e-4


WORLDS = [two_clusters.TwoClusters(40, 1, 2.0, 1.5, 1.8), two_clusters.TwoClusters(20, 3, 1.0, 0.6, 1.2)]


STEP = 2e-5


def descend(world):
    """Gradient descent on the outputs of the two clusters with their fixed kernel; margins of shape (epochs, 2)."""
    a, b, kept = 0.0, 0.0, []
    for _ in range(int(1.2 * world.end / STEP)):
        kept.append((a, b))
        rich, poor = world.rich * (a < 1), world.poor * (b < 1)
        a += STEP * (world.k_rich * rich - world.k_cross * poor)
        b += STEP * (world.k_poor * poor - world.k_cross * rich)
    return np.array(kept)


@pytest.mark.parametrize("world", WORLDS)
def test_two_clusters_follow_the_closed_form(world):
    margins = descend(world)
    time = STEP * np.arange(len(margins))
    tolerance = 3 * STEP * world.rich * max(world.k_rich, world.k_poor)
    assert np.abs(margins - world.margins(time)).max() < tolerance
    recovering = (time > 2 * world.turn) & (time < 0.9 * world.end)
    rate = np.polyfit(time[recovering], margins[recovering, 1], 1)[0]
    without_schur = world.poor * world.k_poor
    assert abs(rate / world.recovery_rate - 1) < 0.01 < 0.2 < abs(rate / without_schur - 1)


@pytest.mark.parametrize("world", WORLDS)
def test_the_poor_margin_turns_with_the_share_of_the_gradient(world):
    margins = descend(world)
    a, b = (margins < 1).T
    early = np.arange(len(margins)) * STEP < 0.9 * world.turn
    late = (margins[:, 0] > 0.99) & (margins[:, 1] < 0.99)
    share = [(world.poor * b[w]).sum() / (world.rich * a[w] + world.poor * b[w]).sum() for w in (early, late)]
    assert np.allclose(share, [world.share_before, world.share_after], atol=0.02)
    assert share[0] < world.turning_share < share[1]
