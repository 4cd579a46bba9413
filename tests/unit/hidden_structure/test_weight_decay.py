"""Weight decay under AdaDelta: the law of its growth, and what is measured of layers before and after a batch."""

import numpy as np
import pytest

from experiments.hidden_structure.degrees import weight_decay


@pytest.mark.parametrize("decay", [4.0, 10.0, 100.0])
def test_weights_alternate_and_grow_by_the_law(decay):
    start = np.random.default_rng(0).uniform(-0.1, 0.1, 200)
    w, flips = weight_decay.alone(start, 5000, decay)
    assert flips > 0.99
    assert np.sqrt(np.mean(w**2)) == pytest.approx(float(weight_decay.law(20, decay)), rel=0.03)


def test_weights_vanish_below_a_decay_of_two():
    w, _ = weight_decay.alone(np.full(10, 0.1), 5000, 1.5)
    assert np.abs(w).max() < 1e-3 and np.isnan(weight_decay.law(20, 1.5))


def test_growth_is_relative_to_the_uniform_start():
    uniform = np.random.default_rng(0).uniform(-0.1, 0.1, 100_000)
    assert weight_decay.growth(20, 10) == pytest.approx(
        weight_decay.law(20, 10) / np.sqrt(np.mean(uniform**2)), rel=0.01
    )


def test_signs_lie_on_the_lattice():
    rng = np.random.default_rng(0)
    first = 0.01 * rng.choice([-1, 1], (64, 100))
    found = weight_decay.signs(np.stack([first, -first]))
    assert found["lattice"] == 1 and found["flips"] == 1 and found["size"] == pytest.approx(0.01)
    plain = weight_decay.signs(np.stack([rng.standard_normal((2000, 100))] * 2))
    assert plain["lattice"] == pytest.approx(0.2, abs=0.04) and plain["flips"] == 0


def test_layers_after_an_epoch_and_a_batch():
    """Degree 12, weight decay 10: after two epochs nearly all weights flip with every batch."""
    pairs = weight_decay.one_batch_later(12, (0, 2))
    assert pairs.shape == (2, 2, 128, 100)
    before, after = map(weight_decay.signs, pairs)
    assert before["flips"] < 0.1 and after["flips"] > 0.9
    assert after["size"] == pytest.approx(float(weight_decay.law(2, 10)), rel=0.12)
