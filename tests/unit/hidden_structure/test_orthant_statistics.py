"""Statistics of the rules on orthants: by hand, on planted samples, and the dip against a linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from experiments.hidden_structure.orthants import orthant_statistics as statistics
from shallow.stats import stream

FIVE = np.array([0.985, 0.53, 0.885, 0.89, 0.855])


def smallest_deviation(values):
    """The dip as a linear program for each mode: minimise d over values of F at the points, with a jump at the mode."""
    x, n = np.sort(values), len(values)
    return min(_program(x, n, mode) for mode in range(n))


def _program(x, n, mode):
    rows, bounds = [], []
    above, d = n, n + 1  # after F at the points, its limit from the left at the mode: there from above, and d

    def at_most(bound, **terms):
        row = np.zeros(n + 2)
        for name, factor in terms.items():
            row[int(name[1:])] += factor
        rows.append(row)
        bounds.append(bound)

    for k in range(n):
        at_most(k / n, **{f"_{k}": 1, f"_{d}": -1})
        at_most(-(k + 1) / n, **{f"_{above if k == mode else k}": -1, f"_{d}": -1})
    at_most(0, **{f"_{mode}": 1, f"_{above}": -1})
    sides = [(list(range(mode + 1)), x[: mode + 1], 1), ([above, *range(mode + 1, n)], x[mode:], -1)]
    for names, points, sign in sides:
        for a, b in zip(names, names[1:]):
            at_most(0, **{f"_{a}": 1, f"_{b}": -1})
        for i in range(len(names) - 2):
            first, second = np.diff(points[i : i + 3])
            a, b, c = (f"_{name}" for name in names[i : i + 3])
            at_most(0, **{a: -sign * second, b: sign * (first + second), c: -sign * first})
    return linprog(np.eye(n + 2)[d], np.array(rows), bounds, bounds=[(0, 1)] * (n + 2)).fun


@pytest.mark.parametrize("n", [4, 7, 10])
@pytest.mark.parametrize("shape", ["even", "skewed", "two modes", "three modes"])
def test_dip_is_the_smallest_deviation(n, shape):
    rng = stream("test", "dip", n, shape)
    groups = {"two modes": 2, "three modes": 3}.get(shape, 1)
    values = rng.random(n) ** (3 if shape == "skewed" else 1) * 0.3 + np.arange(n) % groups
    assert statistics.dip(values) == pytest.approx(smallest_deviation(values), abs=1e-8)


def test_two_modes_are_told_from_one():
    rng = stream("test", "modes")
    one = np.round(rng.normal(0.7, 0.1, 36), 2)
    two = np.round(np.r_[rng.normal(0.5, 0.01, 18), rng.normal(0.9, 0.05, 18)], 2)
    p = [statistics.dip_test(v, grain=0.01, name="test", resamples=200)[1] for v in (one, two)]
    assert p[0] > 0.2 and p[1] < 0.02


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
    assert narrow.high < 0.2
    assert wide.estimate == wide.low == 1
    with pytest.raises(ValueError, match="half_widths"):
        statistics.median_coverage(runs, np.ones(2), name="test")


def test_falls_of_a_profile():
    np.testing.assert_allclose(statistics.falls(np.array([[0, 1, 0.5, 0.7, 0.2], [0, 0, 1, 1, 2]])), [1, 0])


def test_shares_of_planted_variances():
    rng = stream("test", "two factors")
    rows, columns = rng.normal(size=(40, 1)) * 2, rng.normal(size=(1, 40))
    shares = statistics.variance_shares(rows + columns + rng.normal(size=(40, 40)), name="test")
    assert sum(share.estimate for share in shares.values()) == pytest.approx(1)
    for part, truth in (("rows", 4 / 6), ("columns", 1 / 6), ("rest", 1 / 6)):
        assert shares[part].estimate == pytest.approx(truth, abs=0.15) and shares[part].contains(truth)
    alone = statistics.variance_shares(np.tile(np.arange(3.0), (4, 1)), name="test")
    assert alone["columns"].estimate == 1 and alone["rows"].estimate == alone["rest"].estimate == 0
