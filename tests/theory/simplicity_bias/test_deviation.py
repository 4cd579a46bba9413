"""Laws behind Theorem 1: counting of patterns, the second moment; each with a law that fails."""

from math import comb

import numpy as np
import pytest
from standard_errors import scores

from experiments.simplicity_bias.concentration import cells as concentration
from experiments.simplicity_bias.concentration import circles
from shallow import stats
from shallow.data import teachers


@pytest.mark.parametrize("d", [2, 3])
def test_number_of_patterns_is_covers(d):
    rng = stats.stream("test cover", d)
    for n in (1, 2, 3, 5, 12):
        found = len(circles.patterns(rng.standard_normal((n, d))))
        assert found == 2 * sum(comb(n - 1, i) for i in range(d))
        if n > 3:
            assert found != 2 * sum(comb(n, i) for i in range(d))


@pytest.mark.parametrize("kind, d", [("linear", 2), ("linear", 7), ("relu", 5)])
def test_closed_form_of_the_second_moment(kind, d):
    """Against a Monte-Carlo mean; without the factor d + 2 of the fourth moment of the radius it fails."""
    drawn = concentration.teacher(kind, d)
    x, y = teachers.gaussian(stats.stream("test moment", kind, d), drawn, 400_000)
    values = y**2 * np.sum(x**2, axis=1)
    exact = concentration.moment(drawn)
    assert abs(scores(values, exact)) < 4 < 10 < abs(scores(values, exact * d / (d + 2)))
