"""Extremal vectors: the circle, the faces and the closed form against all sign vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_errors import scores

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import infinite_sample
from shallow import alignment, stats
from shallow.data import teachers


def rows(found):
    """The vectors with their kinds and zeros as a sorted list."""
    return sorted(map(tuple, np.round(np.column_stack([found.vectors, found.kinds, found.zeros]), 9) + 0.0))


def draw(d, n, seed, noise=0.5):
    return teachers.gaussian(stats.stream("extremal", d, n, seed), teachers.first_axis(d), n, noise)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 7), seed=st.integers(0, 10**6), noise=st.sampled_from([0.01, 0.5, 20.0]))
def test_the_circle_finds_what_all_sign_vectors_find(n, seed, noise):
    sample = draw(2, n, seed, noise)
    assert rows(extremal.circle(*sample)) == rows(extremal.brute_force(*sample))


@settings(max_examples=25, deadline=None)
@given(n=st.integers(3, 7), seed=st.integers(0, 10**6))
def test_the_faces_in_three_dimensions_find_what_all_sign_vectors_find(n, seed):
    sample = draw(3, n, seed)
    assert rows(extremal.faces(*sample)) == rows(extremal.brute_force(*sample))


@pytest.mark.parametrize("n", [2, 12, 60])
def test_circle_and_faces_agree_for_more_points(n):
    for seed in range(5):
        sample = draw(2, n, seed)
        assert rows(extremal.circle(*sample)) == rows(extremal.faces(*sample))


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_population_vector_against_an_average_of_samples(d):
    teacher, w = teachers.relu(stats.stream("teacher", d), 3, d), stats.stream("w", d).standard_normal((4, d))
    values = [alignment.vector(*teachers.gaussian(stats.stream("D", d, k), teacher, 5000, 0.1), w) for k in range(40)]
    assert np.abs(scores(values, alignment.population(teacher, w))).max() < 5


def test_the_population_vector_of_a_linear_teacher_does_not_turn():
    beta, w = np.array([1.0, -2.0, 0.3]), stats.stream("w").standard_normal((100, 3))
    w[:2] = beta, -beta  # parallel directions are where rounding is worst
    expected = alignment.population_linear(np.ones(3), beta)
    assert np.allclose(alignment.population(teachers.linear(beta), w), expected, atol=1e-14)
    assert np.allclose(alignment.population_linear(np.eye(3), beta), expected)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_the_root_search_finds_every_sign_change_of_a_fine_grid_and_newton_the_same(k):
    angles = np.linspace(0, 2 * np.pi, 20_001) + 1e-5
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    for seed in range(5):
        teacher = teachers.relu(stats.stream("roots", k, seed), k, 2)
        D = alignment.population(teacher, w)
        field = D[:, 1] * w[:, 0] - D[:, 0] * w[:, 1]
        found = infinite_sample.on_circle(teacher)
        starts = stats.stream("starts", k, seed).standard_normal((500, 2))
        again = infinite_sample.newton(teacher, starts)
        assert len(found) == (field[1:] * field[:-1] < 0).sum() == len(again)
        assert np.allclose(sorted(map(tuple, found.directions.round(4))), sorted(map(tuple, again.directions.round(4))))
