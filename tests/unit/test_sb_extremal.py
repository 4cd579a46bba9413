"""Alignment, extremal vectors and solutions of condition (6): bad input."""

import numpy as np
import pytest

from experiments.simplicity_bias import directions, infinite_sample
from shallow import stats
from shallow.data import teachers
from shallow.geometry import alignment, extremal
from shallow.nets import TwoLayer

X, Y = stats.stream("bad input").standard_normal((6, 2)), np.array([1.0, -2.0, 3.0, 1.5, -0.5, 2.5])
BIASED = TwoLayer(np.eye(2), np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: alignment.vector(X, Y[:3], X[0]), "x and y"),
        (lambda: alignment.vector(X, np.where(Y > 3, Y, np.nan), X[0]), "y must be finite"),
        (lambda: alignment.function(X * np.inf, Y, X[0]), "x must be finite"),
        (lambda: alignment.signs(X, np.ones(3)), "w must"),
        (lambda: alignment.bundle(X, Y, np.full(6, 2)), "pattern"),
        (lambda: alignment.bundle(X, Y, np.ones(5)), "pattern"),
        (lambda: alignment.population(BIASED, X), "biases"),
        (lambda: alignment.population(teachers.first_axis(2), np.ones(3)), "w must"),
        (lambda: alignment.population_linear(np.ones(3), np.ones(2)), "covariance"),
        (lambda: extremal.circle(np.ones((3, 3)), np.ones(3)), "two columns"),
        (lambda: extremal.circle(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2)), "parallel"),
        (lambda: extremal.circle(np.array([[0.0, 2.0], [0.0, -4.0]]), np.ones(2)), "parallel"),
        (lambda: extremal.circle(X, np.zeros(6)), "zero"),
        (lambda: extremal.circle(X * 0, Y), "zero"),
        (lambda: extremal.faces(X[:1], Y[:1]), "rows"),
        (lambda: extremal.faces(np.ones((300, 4)), np.ones(300)), "faces"),
        (lambda: extremal.brute_force(np.ones((30, 4)), np.ones(30)), "rows"),
        (lambda: extremal.orthogonal(X, Y), "orthogonal"),
        (lambda: extremal.orthogonal(np.eye(21), np.ones(21)), "20 rows"),
        (lambda: extremal.orthogonal_count(0, 0), "counts"),
        (lambda: infinite_sample.on_circle(teachers.first_axis(3)), "2 inputs"),
        (lambda: infinite_sample.on_circle(BIASED), "biases"),
        (lambda: infinite_sample.on_circle(TwoLayer(np.eye(2), np.zeros(2), np.zeros(2))), "zero"),
        (lambda: infinite_sample.newton(teachers.first_axis(2), np.zeros((2, 2))), "starts"),
        (lambda: infinite_sample.newton(teachers.first_axis(2), np.ones((2, 3))), "starts"),
    ],
)
def test_bad_input_is_refused_by_name(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_a_teacher_that_cancels_itself_is_refused():
    """Six equally spaced units of alternating sign add up to zero: every w is a solution."""
    angles = np.arange(6) * np.pi / 3
    hexagon = TwoLayer(np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(6), (-1.0) ** np.arange(6))
    with pytest.raises(ValueError, match="whole arc"):
        infinite_sample.on_circle(hexagon)


def test_linkage_groups_what_is_close():
    angles = np.array([0.0, 0.04, 0.08, 1.0, 2.0, 2.01])
    found = directions.grouped(np.column_stack([np.cos(angles), np.sin(angles)]), 0.05)
    assert found.tolist() == [3, 2, 1]


def test_neurons_are_clustered_and_small_at_the_end_of_early_alignment():
    found = directions.aligned(0, 100, "dominated", m=200)
    assert found.clusters.sel(time="aligned", angle=0.05) < 10 < found.clusters.sel(time="start", angle=0.05)
    assert found.growth <= 1e-6**-0.5 and found.output < 1e-5
