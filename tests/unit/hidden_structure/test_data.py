"""Data of the chapter on hidden structure: the published draws, and what the other draws have in common."""

import numpy as np
import pytest

from experiments.hidden_structure import hidden_index, shells
from shallow import stats

RNG = stats.stream("test data of hidden structure")
POINTS = shells.sample(RNG, np.array([2, 3, 0, 1]))


def test_sizes_are_those_of_the_document():
    task = shells.draw("sizes")
    assert (len(task.train), len(task.validation), len(task.test)) == (20_320, 5_080, 25_600)
    assert len(task.empty) == 1 and not np.isin(task.empty, task.train.orthant).any()
    joined = np.concatenate([task.train.orthant, task.validation.orthant])
    assert (np.delete(np.bincount(joined, minlength=128), task.empty) == 200).all()
    assert (np.bincount(task.test.orthant * 2 + task.test.label) == 100).all()
    assert 0.49 < task.train.label.mean() < 0.51 and task.train.label.mean() != 0.5


def test_points_lie_on_their_shell_and_in_their_orthant():
    points = shells.sample(RNG, np.full(32, 5))
    centres = 4 * shells.signs(points.orthant, 5)
    assert np.abs(np.linalg.norm(points.x - centres, axis=1) - 1 - points.label).max() < 1e-12
    assert (shells.index(points.x) == points.orthant).all() and np.abs(points.x).min() >= 2
    assert np.abs(shells.radius(points.x) - 1 - points.label).max() < 1e-12


def test_directions_are_uniform_on_the_sphere():
    """E u u' = I/3; angles drawn uniformly instead would put 1/2 on the axis of a polar angle."""
    points = shells.sample(RNG, np.full(8, 4000))
    u = (points.x - 4 * shells.signs(points.orthant, 3)) / (1 + points.label)[:, None]
    assert np.abs(u.T @ u / len(u) - np.eye(3) / 3).max() < 0.01 and np.abs(u.mean(axis=0)).max() < 0.01


def test_orthants_are_numbered_by_their_signs():
    assert shells.signs(40).tolist() == [-1, 1, -1, 1, -1, -1, -1]
    assert (shells.index(shells.signs(np.arange(128))) == np.arange(128)).all()
    assert shells.compared(40) == (40, 8, 0)
    assert shells.compared(0, 2) == (0, 1, 3)
    near = shells.signs(shells.neighbours(99))
    assert near.shape == (7, 7) and (near @ shells.signs(99) == 5).all()


def test_counts_are_nested():
    """More points in an orthant leave the first ones, emptying one leaves the others, and neither the test set."""
    few, many = shells.all_but(3, per_class=4, dimension=3), shells.all_but([3, 5], per_class=9, dimension=3)
    few[3] = 1
    one, two = (shells.sample(stats.stream("nested"), counts) for counts in (few, many))
    for k in (0, 7):
        assert np.isin(one[one.orthant == k].x, two[two.orthant == k].x).all()
    assert np.bincount(one.orthant).tolist() == [8, 8, 8, 2, 8, 8, 8, 8] and 5 not in two.orthant
    assert (shells.draw(1, few).test.x == shells.draw(1, many).test.x).all()
    assert not (shells.draw(1, few).test.x == shells.draw(2, few).test.x).any()
    assert (shells.draw(1, few).empty == []).all() and shells.draw(1, many).empty.tolist() == [3, 5]


def test_reflections_move_the_orthant_and_nothing_else():
    points = shells.profile(RNG, directions=20)
    assert points.shape == (21, 20, 7) and np.allclose(shells.radius(points), shells.PROFILE[:, None])
    moved = shells.reflected(points, 40)
    assert (shells.index(moved) == 40).all() and (np.abs(moved) == np.abs(points)).all()
    around = shells.reflected(points[:, :7], shells.neighbours(40))
    assert (shells.index(around) == shells.neighbours(40)).all()


def test_means_by_orthant():
    values = np.arange(len(POINTS), dtype=float)
    found = shells.by_orthant(values, POINTS)
    assert found[[0, 1, 3]].tolist() == [1.5, 6.5, 10.5] and np.isnan(found[2])


@pytest.mark.parametrize(
    "case, scale", [("independent", 0.0473104864), ("correlated", 0.0047323615), ("given", 0.46333059)]
)
def test_run_zero_is_the_published_draw(case, scale):
    """The scales are those of the author's logs; another run has another."""
    data = hidden_index.draw(case, 0)
    assert data.scale == pytest.approx(scale, rel=1e-6)
    other = hidden_index.draw(case, 1)
    assert other.scale != pytest.approx(scale, rel=1e-3)
    for found in (data, other):
        assert np.abs(found.v).max() == pytest.approx(2, abs=1e-12) and np.allclose(found.x.sum(axis=1), found.v)
        parts = found.train, found.validation, found.test
        assert list(map(len, parts)) == [8000, 1000, 1000]
        assert (np.sort(np.concatenate(parts)) == np.arange(10_000)).all()


def test_covariances():
    """Along the hidden direction 1 or 101 times the variance across it, and nearly the same law of v."""
    for case, ratio, spread in (("independent", 1, 0.08), ("correlated", 101, 8)):
        data = hidden_index.draw(case, 0)
        across = data.x[:, 0] - data.x[:, 1]
        assert data.v.var() / 100 / (across.var() / 2) == pytest.approx(ratio, abs=spread)
        assert data.v.std() == pytest.approx(0.474, abs=0.01)
    given = hidden_index.draw("given", 0)
    assert given.x.shape == (10_000, 1) and given.v.std() == pytest.approx(0.463, abs=0.01)


def test_any_direction_may_be_hidden():
    x, v, scale = hidden_index.gaussian(RNG, 4000, direction=np.eye(25)[0])
    assert np.allclose(v, 5 * x[:, 0]) and np.abs(v).max() == pytest.approx(2)
    assert x[:, 1:].std() == pytest.approx(scale, rel=0.02)
    u = np.array([0.6, 0.8])
    x, v, scale = hidden_index.gaussian(RNG, 40_000, correlated=True, direction=u)
    assert np.allclose(v, 2**0.5 * x @ u)
    assert np.cov(x.T) / scale**2 == pytest.approx(np.eye(2) + 2 * np.outer(u, u), abs=0.08)


def test_polynomials_have_the_named_roots():
    v = np.linspace(-2, 2, 201)
    for degree in (2, 3, 9, 20):
        roots = np.linspace(-2, 2, degree)
        assert np.abs(hidden_index.polynomial(degree)(v) - np.prod(v[:, None] - roots, axis=1)).max() < 1e-9
    assert hidden_index.polynomial(6, 0.3)(0.3 + v) == pytest.approx(hidden_index.polynomial(6)(v), abs=1e-10)
