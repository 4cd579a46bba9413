"""Measures of receptive fields and the theory of their beginnings: small cases by hand."""

import numpy as np
import pytest

from experiments.localization.fields import gabor
from experiments.localization.populations import cells as populations
from shallow import receptive_fields as fields

EYE = np.eye(4)
RING = np.arange(40)


def cosine(k, n=40):
    return np.cos(2 * np.pi * k * np.arange(n) / n)


def test_localisation_of_the_standard_fields():
    found = fields.inverse_participation_ratio([np.ones(40), cosine(3), EYE.ravel().repeat(3)[:40], np.eye(40)[7]])
    assert found[[0, 1, 3]] == pytest.approx([1 / 40, 1.5 / 40, 1])
    bump = np.exp(-(np.minimum(RING, 40 - RING) ** 2) / 3**2)
    assert fields.inverse_participation_ratio(1e200 * bump) == pytest.approx(1 / (3 * np.pi**0.5), rel=1e-3)
    torus = np.outer(cosine(1, 8), cosine(1, 6))
    assert fields.inverse_participation_ratio(torus, 2) == pytest.approx(1.5**2 / 48)


def test_centre_is_on_the_ring():
    """A bump across the seam, an oscillation without a place, and the two axes of a torus."""
    bump = np.roll(np.exp(-(np.minimum(RING, 40 - RING) ** 2) / 9), -1)
    found = fields.centre(np.stack([bump, -3 * np.roll(bump, 12), cosine(7), np.eye(40)[0]]))
    assert found.position == pytest.approx([39, 11, np.nan, 0], nan_ok=True)
    assert found.concentration[2:] == pytest.approx([0, 1], abs=1e-12)
    torus = np.zeros((8, 6))
    torus[7, 2] = torus[1, 2] = 1.0
    assert fields.centre(torus, 2).position == pytest.approx([0, 2], abs=1e-12)


def test_peaks_and_windows():
    W = np.array([[0, -3.0, 2, 0], [1, 1, 1, -1], [0, 0, 0, 0]])
    assert fields.peak_sign(W) == pytest.approx([-1, 1, np.nan], nan_ok=True)
    assert fields.window_share(W, 2) == pytest.approx([1, 0.5, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    "measure",
    [
        fields.inverse_participation_ratio,
        fields.mean_frequency,
        lambda W: fields.low_share(W, 1),
        lambda W: fields.centre(W).position,
        lambda W: gabor.fit(W).r2,
        lambda W: populations.match(W).similarity[:, 0],
    ],
)
def test_a_field_of_zeros_has_no_shape(measure):
    found = measure(np.stack([cosine(3) + RING, np.zeros(40)]))
    assert np.isfinite(found[0]) and np.isnan(found[1])


def test_populations_by_hand():
    b = np.array([[0.5, -0.2, 1e-4, 3.0], [-1.0, -2.0, -0.5, 0.0]])
    assert populations.population(b).tolist() == [[1, -1, 0, 1], [-1, -1, -1, 0]]
    found = populations.balance(b)
    assert found.share == pytest.approx([0.5, 0])
    assert populations.balance(b, 0.3).minus.tolist() == [0, 3]
    W = np.stack([np.eye(4)[3], np.eye(4)[2], np.ones(4), np.eye(4)[1]])
    assert populations.order(W, [-1.0, -1.0, -1.0, -2.0]).tolist() == [3, 1, 0, 2]
    assert populations.order(W, [-1.0, 1.0, -1.0, 1.0]).tolist() == [0, 2, 3, 1]


def test_gaps_by_hand():
    assert populations.largest_gap([0.0, 10, 20, 35], 40) == 15 and populations.largest_gap([39.0, 1], 40) == 38
    assert populations.largest_gap([], 40) == 40 == populations.largest_gap([3.0], 40)


def test_a_constant_has_no_fit_and_an_oscillation_a_wide_one():
    found = gabor.fit(np.stack([np.full(40, 2.0), 3 * cosine(7) + 2]))
    assert np.isnan(found.r2[0]) and np.isnan(found.curve()[0]).all()
    assert found.r2[1] == pytest.approx(1) and found.carrier[1] == pytest.approx(7) and found.width[1] > 400
    assert np.abs(found.amplitude[1]) == pytest.approx(3) and found.offset[1] == pytest.approx(2)
