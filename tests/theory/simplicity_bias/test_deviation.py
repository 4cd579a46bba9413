"""Laws behind Theorem 1: counting of patterns, signed sums, Lemma 1, the rate in n; each with a law that fails."""

from math import comb

import numpy as np
import pytest
from standard_errors import scores

from experiments.simplicity_bias.concentration import cells as concentration
from experiments.simplicity_bias.concentration import circles, deviation
from shallow import stats
from shallow.data import teachers

CENTRE = np.array([0.5, 0.0])


@pytest.mark.parametrize("d", [2, 3])
def test_number_of_patterns_is_covers(d):
    rng = stats.stream("test cover", d)
    for n in (1, 2, 3, 5, 12):
        found = len(circles.patterns(rng.standard_normal((n, d))))
        assert found == 2 * sum(comb(n - 1, i) for i in range(d))
        if n > 3:
            assert found != 2 * sum(comb(n, i) for i in range(d))


def slope(noise, sizes=(100, 1000, 10_000), draws=60):
    means = []
    for n in sizes:
        rng = stats.stream("test slope", str(noise), n)
        x = rng.standard_normal((draws, n, 2))
        y = x[:, :, 0] + (0.3 * rng.standard_normal((draws, n)) if noise is None else rng.standard_t(noise, (draws, n)))
        means.append(np.mean([deviation.supremum(x[i], y[i], CENTRE) for i in range(draws)]))
    return np.polyfit(np.log(sizes), np.log(means), 1)[0]


def test_deviation_falls_like_the_root_of_n():
    """Labels without a second moment break the law, as they break the theorem's bound."""
    assert slope(None) == pytest.approx(-0.5, abs=0.05)
    assert slope(1.3) > -0.4


@pytest.mark.parametrize("kind, d", [("linear", 2), ("linear", 7), ("relu", 5)])
def test_closed_form_of_the_second_moment(kind, d):
    """Against a Monte-Carlo mean; without the factor d + 2 of the fourth moment of the radius it fails."""
    drawn = concentration.teacher(kind, d)
    x, y = teachers.gaussian(stats.stream("test moment", kind, d), drawn, 400_000)
    values = y**2 * np.sum(x**2, axis=1)
    exact = concentration.moment(drawn)
    assert abs(scores(values, exact)) < 4 < 10 < abs(scores(values, exact * d / (d + 2)))
