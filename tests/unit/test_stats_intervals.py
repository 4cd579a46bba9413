"""Intervals of shares, differences and ratios against published numbers, scipy's, and formulas written out by hand."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from shallow import stats

RNG = np.random.default_rng(0)
SMALL, LARGE = RNG.normal(0.0, 1.0, 7), RNG.normal(0.5, 3.0, 12)


def flags(true: int, count: int) -> np.ndarray:
    return np.arange(count) < true


def bounds(interval: stats.Interval) -> tuple[float, float]:
    return interval.low, interval.high


def by_scipy(first: np.ndarray, second: np.ndarray, *, equal_var: bool = False) -> tuple[float, float]:
    return tuple(scipy_stats.ttest_ind(first, second, equal_var=equal_var).confidence_interval(0.95))


# Newcombe (1998), "Interval estimation for the difference between independent proportions", Table II, method 10.
PUBLISHED = {
    (56, 70, 48, 80): (0.0524, 0.3339),
    (9, 10, 3, 10): (0.1705, 0.8090),
    (6, 7, 2, 7): (0.0582, 0.8062),
    (5, 56, 0, 29): (-0.0381, 0.1926),
    (0, 10, 0, 20): (-0.1611, 0.2775),
    (0, 10, 0, 10): (-0.2775, 0.2775),
    (10, 10, 0, 20): (0.6791, 1.0000),
    (10, 10, 0, 10): (0.6075, 1.0000),
}


@pytest.mark.parametrize(("counts", "published"), PUBLISHED.items())
def test_newcombe_is_the_published_table(counts, published):
    first, second = flags(*counts[:2]), flags(*counts[2:])
    found = stats.newcombe(first, second)
    assert found.estimate == pytest.approx(first.mean() - second.mean(), abs=1e-15)
    assert bounds(found) == pytest.approx(published, abs=6e-5)


@pytest.mark.parametrize(("k", "n"), [(7, 24), (0, 24), (24, 24), (12, 24)])
def test_share_is_wilsons_formula_for_flags_of_any_shape(k, n):
    z = scipy_stats.norm.ppf(0.975)
    centre = (k + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * (k * (n - k) / n + z**2 / 4) ** 0.5
    assert stats.wilson(k, n) == stats.wilson(flags(k, n)) == stats.share(flags(k, n))
    for shape in ((24,), (4, 6), (2, 3, 4)):
        found = stats.share(flags(k, n).reshape(shape))
        assert (found.estimate, *bounds(found)) == pytest.approx((k / n, centre - half, centre + half), abs=1e-12)


def test_welch_is_scipys_without_equal_variances():
    found = stats.welch(SMALL, LARGE)
    assert found.estimate == pytest.approx(SMALL.mean() - LARGE.mean(), rel=1e-14)
    assert bounds(found) == pytest.approx(by_scipy(SMALL, LARGE), rel=1e-12)
    assert bounds(found) != pytest.approx(by_scipy(SMALL, LARGE, equal_var=True), rel=1e-2)  # the twin that must fail


def test_welch_of_a_sample_without_spread_is_students_of_the_other():
    found, other = stats.welch(np.ones(5), LARGE), stats.student(1 - LARGE)
    assert (found.estimate, *bounds(found)) == pytest.approx((other.estimate, *bounds(other)), rel=1e-12)
    assert stats.welch(np.ones(5), np.zeros(3)) == stats.Interval(1.0, 1.0, 1.0)


def test_a_rank_correlation_of_one_is_taken_half_a_step_lower():
    """Four pairs have correlations 0.2 apart; artanh of 0.9 and 0.6 is ln 19 / 2 and ln 2."""
    one, other = np.log(19) / 2, np.log(2)
    reach = scipy_stats.norm.ppf(0.975) * (one - other) / 3**0.5  # the deviation of the three draws
    for sign in (1, -1):
        draws = sign * np.array([0.6, 1.0, 1.0])
        for estimate, ends in ((1.0, (np.tanh(one - reach), 1.0)), (0.6, np.tanh([other - reach, other + reach]))):
            found = stats.Interval.of_correlation(sign * estimate, draws, pairs=4)
            assert sorted(sign * end for end in bounds(found)) == pytest.approx(sorted(ends), rel=1e-12)


def test_geometric_is_the_formula_by_hand():
    """Logarithms of 1, 2 and 4 have mean and standard deviation ln 2, and t a closed form for two degrees."""
    found, t = stats.geometric([1.0, 2.0, 4.0]), 0.95 / (2 * 0.975 * 0.025) ** 0.5
    factor = 2 ** (t / 3**0.5)
    assert (found.estimate, *bounds(found)) == pytest.approx((2.0, 2 / factor, 2 * factor), rel=1e-12)
    assert found.estimate != pytest.approx(7 / 3, rel=0.1)  # the arithmetic mean
