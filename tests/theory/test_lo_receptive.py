"""Laws of receptive fields: noise levels, uniform centres, and losses at the start."""

import numpy as np
import pytest
from scipy.special import erf

from experiments.localization import populations, starting_loss
from shallow import receptive_fields as fields
from shallow import stats
from shallow.data import nlgp

PIXELS = 40


def classes(gain, normalisation="unit"):
    return [nlgp.Process(PIXELS, xi, gain, normalisation) for xi in (2.0, 1.0)]


@pytest.mark.parametrize("shape, cut", [((40,), np.inf), ((40,), 5), ((6, 5), np.inf), ((6, 5), 1.5)])
def test_localisation_of_noise(shape, cut):
    """Mean and deviation over random fields; the values without the constraint of the norm are wrong."""
    W = stats.stream("test noise level", *shape, cut).standard_normal((10_000, *shape))
    found = fields.inverse_participation_ratio(fields.low_pass(W, cut, len(shape)), len(shape))
    law = fields.noise_level(shape, cut)
    assert found.mean() == pytest.approx(law.mean, abs=4 * law.deviation / 100)
    assert found.std() == pytest.approx(law.deviation, rel=0.06)
    assert found.mean() != pytest.approx(3 / found[0].size / np.prod(shape), abs=4 * law.deviation / 100)
    assert fields.noise_level(shape, 0) == pytest.approx((1 / np.prod(shape), 0), abs=1e-8)  # constants


def test_frequencies_of_noise():
    W = stats.stream("test noise frequency").standard_normal((10_000, PIXELS))
    assert fields.mean_frequency(W).mean() == pytest.approx(PIXELS / 4, abs=0.05)
    assert fields.low_share(W, 2).mean() == pytest.approx(5 / PIXELS, abs=0.003)
    assert fields.low_share(W, 2).mean() != pytest.approx(3 / 21, abs=0.003)  # indices of rfft instead of modes


def test_uniform_centres_pass_and_clustered_ones_fail():
    rng = stats.stream("test rayleigh")
    uniform = np.array([populations.rayleigh(x, PIXELS) for x in rng.uniform(0, PIXELS, (4000, 20))])
    clustered = [populations.rayleigh(x, PIXELS) for x in rng.normal(7, PIXELS / 6, (200, 20))]
    for level in (0.01, 0.05, 0.3):
        assert (uniform < level).mean() == pytest.approx(level, abs=4 * (level / 4000) ** 0.5)
    assert np.median(clustered) < 0.01


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
@pytest.mark.parametrize("neurons", [1, 8])
@pytest.mark.parametrize("gain, normalisation", [(0.01, "unit"), (3.0, "raw"), (np.inf, "mismatched")])
def test_average_over_the_weights(activation, neurons, gain, normalisation):
    """A network drawn for every sample; twice as many neurons, or relu outputs without cross terms, are wrong."""
    rng = stats.stream("test starting loss", activation, neurons, gain)
    variance, count = 0.05, 6000
    sigma, labels = {
        "erf": (lambda h: erf(h / 2**0.5), (1, -1)),
        "relu": (lambda h: np.maximum(h, 0), (1, 0)),
    }[activation]
    errors, norms = [], []
    for process, label in zip(classes(gain, normalisation), labels):
        x = process.sample(rng, count)
        w = rng.standard_normal((count, neurons, PIXELS)) * variance**0.5
        errors.append((sigma(np.einsum("mkn,mn->mk", w, x)).mean(axis=1) - label) ** 2)
        norms.append((x**2).sum(axis=1))
    slow, error = np.mean(errors) / 2, np.hypot(*np.std(errors, axis=1)) / 4 / count**0.5
    found = starting_loss.averaged(activation, *norms, neurons=neurons, variance=variance)
    assert found.loss == pytest.approx(slow, abs=4 * error)
    assert found.error < 0.3 * error if gain < np.inf else found.error < 1e-12
    more = starting_loss.averaged(activation, *norms, neurons=2 * neurons, variance=variance)
    assert more.loss != pytest.approx(slow, abs=4 * error)
    if activation == "relu" and neurons > 1:
        cross = (1 - 1 / neurons) / (8 * np.pi) * variance * (norms[0].mean() + norms[1].mean())
        assert found.loss - cross != pytest.approx(slow, abs=4 * error)
