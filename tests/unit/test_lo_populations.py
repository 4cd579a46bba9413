"""The standard networks of "Localization", their scores, and their arrangements, on planted cases and in miniature."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.localization import arrangements, networks, scores
from experiments.localization.populations import population
from experiments.localization.scores import Points


def _points(rng, m=400):
    y = np.repeat([1.0, -1.0], m // 2).astype(np.float32)
    x = rng.standard_normal((m, 8)).astype(np.float32)
    return Points(x, y, x, y)


@pytest.mark.parametrize("seed", range(5))
def test_threshold_is_right_more_often_than_any_other(seed):
    """Against trying every value, where the labels agree with the outputs and where they do not."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 60)
    output = y * (seed - 2) / 4 + rng.standard_normal(60)
    best = max(np.mean((output > cut) == (y > 0)) for cut in [*output, output.min() - 1])
    assert np.mean((output > scores.threshold(output, y)) == (y > 0)) == best


def test_scores_of_planted_outputs():
    """The labels, the labels moved by a constant, nothing, and noise."""
    rng = np.random.default_rng(0)
    given = _points(rng)
    outputs = np.stack([given.y, given.y + 3, 0 * given.y, rng.standard_normal(400)]).astype(np.float32)
    found = scores.scores(outputs, outputs, given)
    assert np.allclose(found["loss"][:3], [0, 4.5, 0.5])
    assert np.allclose(found["loss_refitted"][:3], [0, 0, 0.5], atol=1e-6)
    assert np.allclose(found["accuracy"][:3], [1, 0.5, 0.5])
    assert np.allclose(found["accuracy_refitted"][:2], 1)
    assert np.allclose(found["area"][:3], [1, 1, 0.5]) and abs(found["area"][3] - 0.5) < 0.15
    one = ((outputs[3] - given.y) ** 2 / 2).std(ddof=1) / 20
    assert found["loss_covariance"][3, 3] == pytest.approx(one**2, rel=1e-4)
    assert np.allclose(found["loss_covariance"][0], 0)  # a loss without spread


def test_network_learns_and_divides():
    """After 400 steps it is far better than chance, and biases of both signs are there; at step 0 neither."""
    found = networks.network(0, 3.0, steps=[0, 400])
    assert found.accuracy.sel(step=400) > 0.75 and abs(found.accuracy.sel(step=0) - 0.5) < 0.05
    assert set(population(found.b.sel(step=400))) == {-1, 1} and not found.b.sel(step=0).any()
    again = networks.train([0], [3.0], steps=400, records=[400])
    assert np.array_equal(found.W.sel(step=400), again.last.W[0])


def test_arrangements_start_and_stay_where_they_should():
    """Bounds hold after training, free biases cross 0, and the first arrangement is the standard network."""
    found = arrangements.arranged(0, 3.0, steps=[0, 60])
    b = found.b.sel(step=60).to_series().unstack("neuron")
    assert (b.loc["plus only"] >= 0).all() and (b.loc["minus only, offset"] <= 0).all()
    assert (b.loc["clamped 10"][:10] >= 0).all() and (b.loc["clamped 10"][10:] <= 0).all()
    assert (b.loc["clamped 10"] < 0).any() and (b.loc["clamped 10"] > 0).any()
    assert (b.loc["free"] < 0).any() and (b.loc["free"] > 0).any()
    alone = networks.network(0, 3.0, steps=[60]).isel(step=0)
    assert np.array_equal(found.b.sel(step=60, network="free"), alone.b)
    assert float(found.loss.sel(step=60, network="free")) == pytest.approx(float(alone.loss), rel=1e-5)
    start = found.sel(step=0)
    assert (start.b.sel(network="begun 36") > 0).sum() == 36 and (start.b.sel(network="begun at -2") == -2).all()
    assert float(start.mean_output.sel(network="plus only, offset")) == pytest.approx(-0.5, abs=0.05)


def test_pruned_parts_add_up():
    """The outputs of the two populations add up to the network's, so do their means; at the start there are none."""
    found = arrangements.arranged(1, 3.0, steps=[0, 60])
    start, end = found.pruned_mean_output.values
    whole = float(found.mean_output.sel(step=60, network="free"))
    assert end.sum() == pytest.approx(whole, abs=1e-3) and end[1] > 0 > end[0]
    assert not start.any() and np.allclose(found.pruned_loss.sel(step=0), 0.5)


def test_shares_scale_with_the_width():
    cases = arrangements.arrangements(100)
    assert [np.isinf(cases[f"clamped {count}"].high).sum() for count in (4, 20)] == [10, 50]


def test_other_data_have_their_shapes():
    """Rings with light and with heavy tails begin alike and part; a torus has rows and columns."""
    light, heavy = (networks.network(0, 3.0, steps=[0, 20], tails=tails).W.values for tails in ("light", "heavy"))
    assert np.array_equal(light[0], heavy[0]) and not np.allclose(light[1], heavy[1])
    torus = networks.network(0, 3.0, steps=[5], shape=[10, 10])
    assert torus.W.shape == (1, 40, 10, 10) and not torus.diverged
