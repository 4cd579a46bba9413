"""Bad input to the suprema over directions, and the cells on Theorem 1."""

import numpy as np
import pytest

from experiments.simplicity_bias import circles, concentration, deviation
from shallow import stats
from shallow.data import teachers
from shallow.geometry import alignment

X, Y, CENTRE = np.array([[1.0, 2.0], [-0.5, 0.3], [0.2, -1.0]]), np.array([1.0, -2.0, 0.5]), np.array([0.5, 0.0])
LINE = np.ones((3, 1))


@pytest.mark.parametrize("function", [deviation.supremum, lambda *given: deviation.search(stats.stream("bad"), *given)])
@pytest.mark.parametrize(
    "argument, x, y, population",
    [
        ("x and y", X, Y[:2], CENTRE),
        ("x and y", X[0], Y, CENTRE),
        ("x", np.full((3, 2), np.nan), Y, CENTRE),
        ("y", X, [1.0, np.inf, 0.0], CENTRE),
        ("x", LINE, Y, CENTRE[:1]),
        ("population", X, Y, np.zeros(3)),
        ("population", X, Y, np.array([np.nan, 0.0])),
        ("population", X, Y, teachers.first_axis(3)),
    ],
    ids=str,
)
def test_bad_samples_and_populations_are_named(function, argument, x, y, population):
    with pytest.raises(ValueError, match=rf"^{argument} must"):
        function(x, y, population)


def test_dimensions_beyond_the_exact_methods_are_refused():
    x = np.eye(4)
    with pytest.raises(ValueError, match="x must have 2 columns, or 3"):
        deviation.supremum(x, np.ones(4), np.zeros(4))
    with pytest.raises(ValueError, match="x must have 2 columns, or 3"):
        deviation.supremum(x[:, :3], np.ones(4), teachers.first_axis(3))
    with pytest.raises(ValueError, match="x must have 2 or 3 columns, got 4"):
        circles.patterns(x)


@pytest.mark.parametrize("change", [{"starts": 0}, {"starts": 1.5}, {"sweeps": 0}, {"sweeps": -1}], ids=str)
def test_bad_options_of_the_search_are_named(change):
    with pytest.raises(ValueError, match=rf"^{next(iter(change))} must be an integer of at least 1"):
        deviation.search(stats.stream("bad"), X, Y, CENTRE, **change)


def test_labels_scale_the_deviation():
    for scaled in (3.0, -3.0):
        one, three = deviation.supremum(X, Y, CENTRE), deviation.supremum(X, scaled * Y, scaled * CENTRE)
        assert three == pytest.approx(3 * one, rel=1e-14)


def test_input_is_not_changed():
    x = stats.stream("unchanged").standard_normal((20, 3))
    y, before = np.ones(20), x.copy()
    deviation.supremum(x, y, np.zeros(3))
    deviation.search(stats.stream("unchanged"), x, y, np.zeros(3), starts=2, sweeps=2)
    assert np.array_equal(x, before) and (y == 1).all()


@pytest.mark.parametrize("kind, d", [("linear", 2), ("relu", 2), ("linear", 4), ("relu", 4)])
def test_cell_of_the_dimensions(kind, d):
    found = concentration.dimensions(0, d, 300, kind, starts=4, sweeps=5)
    assert 0 < found.net < found.deviation < np.sqrt(concentration.moment(concentration.teacher(kind, d)))
    assert found.identical(concentration.dimensions(0, d, 300, kind, starts=4, sweeps=5))


def test_cell_of_the_tails():
    found = concentration.tails(0, "Student 2.5", 50, draws=40)
    assert found.deviation.shape == (40,) and set(np.unique(found.above)) <= {0, 1}
    assert found.isel(draw=slice(10)).identical(concentration.tails(0, "Student 2.5", 50, draws=10))


@pytest.mark.parametrize("noise", ["Gaussian", "Student 5"])
def test_variance_of_the_noise(noise):
    draws = concentration.disturbance(stats.stream("variance of noise"), noise, 400_000)
    assert concentration.variance(noise) == pytest.approx(draws.var(), rel=0.05)


def test_unknown_teacher_is_named():
    with pytest.raises(ValueError, match="kind must be 'linear' or 'relu', got 'tanh'"):
        concentration.teacher("tanh", 2)


def test_corners_and_edges_are_the_sets_of_the_alignment_module():
    x, y = teachers.gaussian(stats.stream("corners"), teachers.first_axis(2), 15)
    x, y = np.concatenate([x, -x[:3]]), np.concatenate([y, [1.0, 2.0, 3.0]])  # some rays have two points
    corner, edge = concentration.corners(x, y)
    for k, ray in enumerate(np.concatenate([x @ [[0, 1], [-1, 0]], x @ [[0, -1], [1, 0]]])):
        products = x @ ray
        pattern = np.where(np.abs(products) < 1e-12, 0, np.sign(products))
        expected, edges = alignment.bundle(x, y, pattern)
        assert np.allclose(corner[k], expected, atol=1e-14)
        assert any(np.allclose(edge[k], one, atol=1e-14) for one in edges)
