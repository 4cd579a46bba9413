"""Laws behind Theorem 1: counting of patterns, signed sums, Lemma 1, the rate in n; each with a law that fails."""

import itertools
from math import comb

import numpy as np
import pytest

from experiments.simplicity_bias import circles, concentration, deviation
from shallow import stats
from shallow.data import teachers
from shallow.geometry import alignment

CENTRE = np.array([0.5, 0.0])


@pytest.mark.parametrize("d", [2, 3])
def test_number_of_patterns_is_covers(d):
    """And that of no other formula; points in a plane of R^3, not in general position, have only those of the plane."""
    rng = stats.stream("test cover", d)
    for n in (1, 2, 3, 5, 12):
        found = len(circles.patterns(rng.standard_normal((n, d))))
        assert found == 2 * sum(comb(n - 1, i) for i in range(d))
        if n > 3:
            assert found != 2 * sum(comb(n, i) for i in range(d))
    flat = rng.standard_normal((9, 3))
    flat[:, 2] = flat[:, 0] + flat[:, 1]
    seen = np.unique(alignment.signs(flat, rng.standard_normal((20_000, 3))), axis=0)
    assert len(seen) == 18 == 2 * sum(comb(8, i) for i in range(2))


def exponential_moment(pushes, rate):
    """E exp(rate |sum of signed pushes|^2 / sum of squares) over all signs."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(pushes))))
    squares = np.sum((signs @ pushes) ** 2, axis=1)
    return np.exp(rate * squares / np.sum(pushes**2)).mean()


def test_signed_sums_have_gaussian_tails():
    """E exp(3/8 |S|^2 / F^2) <= 2 for every family of vectors; a larger rate fails for equal pushes on a line."""
    rng = stats.stream("test signed sums")
    for d, n in itertools.product((1, 2, 5), (1, 2, 7, 13)):
        heavy = rng.standard_t(1.5, (n, d))
        assert exponential_moment(heavy, 3 / 8) <= 2
    line = np.ones((13, 1))
    assert exponential_moment(line, 3 / 8) <= 2 < exponential_moment(line, 0.45)


def largest_over_sets(x, y, centre):
    """Supremum over all rays orthogonal to a data point, points on the ray's line taken with every subset."""
    largest = 0.0
    for ray in np.concatenate([x @ [[0, 1], [-1, 0]], x @ [[0, -1], [1, 0]]]):
        products = x @ ray
        on = np.abs(products) < 1e-12 * np.linalg.norm(x, axis=1) * np.linalg.norm(ray)
        pattern = np.where(on, 0, np.sign(products))
        corner, edges = alignment.bundle(x, y, pattern)
        for eta in itertools.product((0.0, 0.5, 1.0), repeat=len(edges)):
            largest = max(largest, np.linalg.norm(corner + np.array(eta) @ edges - centre))
    return largest


def test_sets_at_the_rays_add_nothing_for_a_continuous_law():
    """Lemma 1; with every point also mirrored at the origin, which no continuous law does, they do add something."""
    larger = 0
    for seed in range(20):
        x, y = teachers.gaussian(stats.stream("test lemma", seed), teachers.first_axis(2), 30)
        exact = deviation.supremum(x, y, CENTRE)
        assert largest_over_sets(x, y, CENTRE) == pytest.approx(exact, rel=1e-10)
        noise = stats.stream("test mirrored", seed).standard_normal(30)
        x, y = np.concatenate([x, -x]), np.concatenate([y, noise - y])
        larger += largest_over_sets(x, y, CENTRE) > 1.001 * deviation.supremum(x, y, CENTRE)
    assert larger > 10


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


def test_deviation_stays_below_the_explicit_bound():
    """4 sqrt(d log n / n) sqrt(E y^2 |x|^2) for d >= 2; a constant of 1/4 would be too small."""
    for n in (5, 50, 500):
        rng = stats.stream("test bound", n)
        draws = [deviation.supremum(*teachers.gaussian(rng, teachers.first_axis(2), n), CENTRE) for _ in range(100)]
        bound = 4 * np.sqrt(2 * np.log(n) / n * concentration.moment(teachers.first_axis(2)))
        assert bound / 16 < np.mean(draws) < bound


@pytest.mark.parametrize("kind, d", [("linear", 2), ("linear", 7), ("relu", 5)])
def test_closed_form_of_the_second_moment(kind, d):
    """Against a Monte-Carlo mean; without the factor d + 2 of the fourth moment of the radius it fails."""
    drawn = concentration.teacher(kind, d)
    x, y = teachers.gaussian(stats.stream("test moment", kind, d), drawn, 400_000)
    values = y**2 * np.sum(x**2, axis=1)
    error = values.std() / np.sqrt(len(values))
    exact = concentration.moment(drawn)
    assert abs(values.mean() - exact) < 4 * error
    wrong = exact * d / (d + 2)
    assert abs(values.mean() - wrong) > 10 * error
