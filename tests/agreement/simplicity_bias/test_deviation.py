"""Suprema over all directions against direct enumeration, and the search in more dimensions against them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.simplicity_bias.concentration import circles, deviation
from shallow import alignment, stats
from shallow.data import teachers


def between(x):
    """A direction inside every arc of the plane: between neighbours among the 2n boundary rays."""
    angles = np.arctan2(x[:, 0], -x[:, 1])
    rays = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 12))
    middles = (rays + np.append(rays[1:], rays[0] + 2 * np.pi)) / 2
    return np.stack([np.cos(middles), np.sin(middles)], axis=1)


def by_enumeration(x, y, centre):
    return np.linalg.norm(alignment.vector(x, y, between(x)) - centre, axis=1).max()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 300])
def test_supremum_in_the_plane_is_that_over_all_arcs(n):
    rng = stats.stream("test deviation", n)
    for centre in (np.array([0.5, 0.0]), np.zeros(2), rng.standard_normal(2)):
        x, y = teachers.gaussian(rng, teachers.first_axis(2), n)
        assert deviation.supremum(x, y, centre) == pytest.approx(by_enumeration(x, y, centre), rel=1e-12)


coordinate = st.integers(-3, 3)
point = st.tuples(coordinate, coordinate).filter(any)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(point, st.integers(-4, 4)), min_size=1, max_size=9), point)
def test_collinear_points_change_sides_together(drawn, centre):
    """On a grid most points share a line with another, some lie on the axes: no arc lies between such points."""
    x, y = np.array([p for p, _ in drawn], dtype=float), np.array([label for _, label in drawn], dtype=float)
    centre = np.array(centre) / 7
    assert deviation.supremum(x, y, centre) == pytest.approx(by_enumeration(x, y, centre), rel=1e-9)


def test_supremum_in_space_is_that_over_all_patterns():
    """Patterns found by brute force: beside each crossing of two planes, four cells and their opposites."""
    for seed in range(5):
        rng = stats.stream("test deviation in space", seed)
        n = 4 + seed
        x, y = teachers.gaussian(rng, teachers.first_axis(3), n)
        corners = np.array([np.cross(x[i], x[j]) for i, j in itertools.combinations(range(n), 2)])
        corners /= np.linalg.norm(corners, axis=1, keepdims=True)
        near = (corners[:, None] + 1e-6 * rng.standard_normal((300, 3))).reshape(-1, 3)
        w = np.concatenate([near, -near])
        centre = rng.standard_normal(3)
        found = np.linalg.norm(alignment.vector(x, y, w) - centre, axis=1).max()
        assert deviation.supremum(x, y, centre) == pytest.approx(found, rel=1e-12)
        assert len(np.unique(w @ x.T > 0, axis=0)) == len(circles.patterns(x))


@pytest.mark.parametrize("n", [1, 2, 5, 40, 400])
def test_supremum_around_a_curve_of_means(n):
    """Fine scans of the circle come close from below, and never exceed it; arc ends are approached from both sides."""
    for seed in range(3):
        rng = stats.stream("test curve", n, seed)
        teacher = teachers.relu(rng, 3, 2)
        x, y = teachers.gaussian(rng, teacher, n)
        angles = np.linspace(0, 2 * np.pi, 20_001)
        rays = np.arctan2(x[:, 0], -x[:, 1])
        angles = np.concatenate([angles, *(rays + half + side for half in (0, np.pi) for side in (-1e-9, 1e-9))])
        w = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        scan = np.linalg.norm(alignment.vector(x, y, w) - alignment.population(teacher, w), axis=1).max()
        exact = deviation.supremum(x, y, teacher)
        assert scan <= exact * (1 + 1e-12) and exact == pytest.approx(scan, rel=1e-6)


def test_a_maximum_inside_an_arc_is_found():
    """No labels: the deviation is |D(w)|, whose maximum over a teacher of one unit is at the unit itself."""
    teacher = teachers.TwoLayer(np.array([[np.cos(0.7), np.sin(0.7)]]), np.zeros(1), np.ones(1))
    x = np.array([[1.0, 0.0]])
    assert deviation.supremum(x, np.zeros(1), teacher) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_search_comes_close_to_the_exact_supremum_from_below(d):
    for seed in range(5):
        rng = stats.stream("test search", d, seed)
        x, y = teachers.gaussian(rng, teachers.first_axis(d), 60)
        centre = 0.5 * np.eye(d)[0]
        exact, found = deviation.supremum(x, y, centre), deviation.search(rng, x, y, centre)
        assert 0.97 * exact <= found.value <= exact * (1 + 1e-12)
        value = np.linalg.norm(alignment.vector(x, y, found.direction) - centre)
        assert found.value == pytest.approx(value, rel=1e-12)
