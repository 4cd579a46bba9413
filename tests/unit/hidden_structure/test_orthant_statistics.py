"""Statistics of the rules on orthants: by hand, on planted samples, and the dip against a linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from experiments.hidden_structure.orthants import orthant_statistics as statistics
from shallow import stats

FIVE = np.array([0.985, 0.53, 0.885, 0.89, 0.855])


def smallest_deviation(values):
    """The dip as a linear program for each mode: minimise d over values of F at the points, with a jump at the mode."""
    x, n = np.sort(values), len(values)
    return min(_program(x, n, mode) for mode in range(n))


def _program(x, n, mode):
    *F, right, d = np.eye(n + 2)  # F at the points, to the right of the jump at the mode, and its distance
    left, right = np.array(F[: mode + 1]), np.array([right, *F[mode + 1 :]])
    rows = [*(F - d), *(-np.concatenate([left[:-1], right]) - d), left[-1] - right[0]]
    bounds = [*(np.arange(n) / n), *(-np.arange(1, n + 1) / n)]
    for side, points, sign in ((left, x[: mode + 1], 1), (right, x[mode:], -1)):  # rising; convex, then concave
        gaps = np.diff(points)[:, None]
        bend = (gaps[:-1] + gaps[1:]) * side[1:-1] - gaps[1:] * side[:-2] - gaps[:-1] * side[2:]
        rows += [*(side[:-1] - side[1:]), *(sign * bend)]
    bounds += [0] * (len(rows) - len(bounds))
    return linprog(d, rows, bounds, bounds=[(0, 1)] * (n + 2)).fun


@pytest.mark.parametrize("n", [4, 7, 10])
@pytest.mark.parametrize("shape", ["even", "skewed", "two modes", "three modes"])
def test_dip_is_the_smallest_deviation(n, shape):
    rng = stats.stream("test", "dip", n, shape)
    groups = {"two modes": 2, "three modes": 3}.get(shape, 1)
    values = rng.random(n) ** (3 if shape == "skewed" else 1) * 0.3 + np.arange(n) % groups
    assert statistics.dip(values) == pytest.approx(smallest_deviation(values), abs=1e-8)


def test_two_modes_are_told_from_one():
    rng = stats.stream("test", "modes")
    one = np.round(rng.normal(0.7, 0.1, 36), 2)
    two = np.round(np.r_[rng.normal(0.5, 0.01, 18), rng.normal(0.9, 0.05, 18)], 2)
    p = [statistics.dip_test(v, grain=0.01, name="test", resamples=200)[1] for v in (one, two)]
    assert p[0] > 0.2 and p[1] < 0.02
    assert statistics.dip_test([0.1, 0.9], grain=0.01, name="test") == (0.25, 1)  # of two values every dip is 1/4


def test_the_rule_of_five_runs():
    """Its reach is 2.776 sd sqrt(2/5) = 0.306 for the author's own five runs."""
    reach = 2.7764 * FIVE.std(ddof=1) * 0.4**0.5
    assert statistics.agrees(FIVE, FIVE.mean() + 0.99 * reach)
    assert not statistics.agrees(FIVE, FIVE.mean() - 1.01 * reach)
    assert statistics.agrees([0.5, 0.5], 0.519) and not statistics.agrees([0.5, 0.5], 0.521)


def test_median_coverage_of_entries():
    runs = np.linspace(-1, 1, 20)[:, None] * np.array([1.0, 1.0, 1e-6])
    narrow = statistics.median_coverage(runs, np.array([1e-6, 1e-6, 1e-6]), name="test")
    wide = statistics.median_coverage(runs, np.array([2.0, 2.0, 1e-9]), name="test")
    assert narrow.high < 0.2 and wide.estimate == wide.low == 1


def test_falls_of_a_profile():
    np.testing.assert_allclose(statistics.falls(np.array([[0, 1, 0.5, 0.7, 0.2], [0, 0, 1, 1, 2]])), [1, 0])


def test_shares_of_planted_variances():
    rng = stats.stream("test", "two factors")
    rows, columns = rng.normal(size=(40, 1)) * 2, rng.normal(size=(1, 40))
    shares = statistics.variance_shares(rows + columns + rng.normal(size=(40, 40)), name="test")
    assert sum(share.estimate for share in shares.values()) == pytest.approx(1)
    for part, truth in (("rows", 4 / 6), ("columns", 1 / 6), ("rest", 1 / 6)):
        assert shares[part].estimate == pytest.approx(truth, abs=0.15) and shares[part].contains(truth)
    alone = statistics.variance_shares(np.tile(np.arange(3.0), (4, 1)), name="test")
    assert alone["columns"].estimate == 1 and alone["rows"].estimate == alone["rest"].estimate == 0
