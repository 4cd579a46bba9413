"""The suprema over directions, and the cells on Theorem 1."""

import numpy as np
import pytest

from experiments.simplicity_bias.concentration import cells as concentration
from experiments.simplicity_bias.concentration import deviation
from shallow import stats

X, Y, CENTRE = np.array([[1.0, 2.0], [-0.5, 0.3], [0.2, -1.0]]), np.array([1.0, -2.0, 0.5]), np.array([0.5, 0.0])


def test_labels_scale_the_deviation():
    for scaled in (3.0, -3.0):
        one, three = deviation.supremum(X, Y, CENTRE), deviation.supremum(X, scaled * Y, scaled * CENTRE)
        assert three == pytest.approx(3 * one, rel=1e-14)


@pytest.mark.parametrize("noise", ["Gaussian", "Student 5"])
def test_variance_of_the_noise(noise):
    draws = concentration.disturbance(stats.stream("variance of noise"), noise, 400_000)
    assert concentration.variance(noise) == pytest.approx(draws.var(), rel=0.05)
