"""The standard networks of "Localization", their scores, and their arrangements, on planted cases and in miniature."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.localization import networks, scores
from experiments.localization.populations import arrangements
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
