"""Networks on orthant shells: cells at tiny size, and networks whose folding is known."""

import numpy as np
import pytest

from experiments.hidden_structure import shells
from experiments.hidden_structure.orthants import cells as orthants
from experiments.hidden_structure.orthants import orthant_sweeps as sweeps
from shallow.mlp import stacked

SHORT = {"epochs": 10}


@pytest.fixture(scope="module")
def task():
    return shells.draw(0)


def folded():
    """|x|, then its distances from 4 coordinate by coordinate, and their sum: all of it the same in every orthant."""
    eye, both = np.eye(7), np.vstack([np.eye(7), -np.eye(7)])
    absolute = np.hstack([eye, eye])
    weights = [both, np.vstack([absolute, -absolute]), np.ones((1, 14))]
    return stacked([(weights, [np.zeros(14), np.repeat([-4.0, 4.0], 7), np.array([-3.1])])])


def unfolded():
    """Features that are the coordinates themselves, moved to positive numbers."""
    return stacked([([np.eye(7), np.ones((1, 7))], [np.full(7, 10.0), np.array([-70.0])])])


def test_which_orthants_are_empty():
    found = {
        "author": orthants.author(0, 2, **SHORT),
        "neighbours": sweeps.fewer_neighbours(0, 7, "neighbours", **SHORT),
        "around": sweeps.emptied_around(0, 1, 8, "two planes", **SHORT),
        "others": sweeps.emptied_around(0, 1, 8, "others", **SHORT),
        "many_empty": sweeps.many_empty(0, 64, refilled=True, **SHORT),
        "sparse": sweeps.sparse(0, 1, 5, width=8, **SHORT),
        "crossed": sweeps.crossed(2, 1, 1, **SHORT),
    }
    populated = {name: np.flatnonzero(~cell.populated).tolist() for name, cell in found.items()}
    first = shells.empty_orthant(0)
    assert populated["author"] == [first] == shells.draw(0).empty.tolist()
    assert populated["neighbours"] == sorted([first, *shells.neighbours(first)])
    second = {k for near in shells.neighbours(first) for k in shells.neighbours(int(near))}
    assert set(populated["around"]) == second | {*shells.neighbours(first)} and len(populated["around"]) == 29
    assert len(populated["others"]) == 29 and set(populated["others"]) & set(populated["around"]) == {first}
    assert len(populated["many_empty"]) == 64 and first in populated["many_empty"]
    assert populated["sparse"] == [] and populated["crossed"] == [sweeps.EMPTY[2]]
    assert found["crossed"].empty.values == pytest.approx(found["crossed"].accuracy[:, sweeps.EMPTY[2]].values)


def test_a_network_that_folds_by_construction(task):
    found = orthants.measures(folded(), task, shells.empty_orthant(0))
    assert float(found.quotient) < 1e-12 and float(found.correlation) == pytest.approx(1)
    assert float(found.empty) > 0.95 and float(found.worst) > 0.9
    assert float(found.match.min()) > 0.9 and float(found.spread) < 0.05
    profiles = orthants.profiles(folded(), shells.empty_orthant(0), 0)
    np.testing.assert_allclose(profiles, profiles[[0, 0, 0]])
    assert (np.diff(profiles[0]) > 0).all()
    assert orthants.isotonic(folded(), np.arange(128), 0) > 0.8


def test_a_network_that_does_not_fold(task):
    found = orthants.measures(unfolded(), task, shells.empty_orthant(0))
    assert float(found.quotient) > 2 and float(found.match[0]) < 0.1
    assert float(found.empty) == pytest.approx(0.5, abs=0.1)
    assert orthants.isotonic(unfolded(), np.arange(128), 0) < 0.2


def test_constant_networks_have_no_correlation(task):
    constant = stacked([([np.zeros((3, 7)), np.zeros((1, 3))], [np.zeros(3), np.ones(1)])])
    found = orthants.measures(constant, task, shells.empty_orthant(0))
    assert np.isnan(found.correlation) and np.isnan(found.quotient)
    assert np.isnan(orthants.isotonic(constant, np.arange(128), 0))
    assert found.empty == 0.5 and found.ones == 1


def test_a_nudge_moves_one_training_point_by_its_last_bit():
    plain = orthants.author(0, 2, **SHORT)
    same, moved = (sweeps.nudged(0, 2, nudge, **SHORT) for nudge in (0, 1))
    assert same.equals(plain)
    first = [float(cell.training.sel(epoch=1)) for cell in (plain, moved)]
    assert first[0] != first[1] == pytest.approx(first[0], rel=1e-5)
    with pytest.raises(ValueError, match="nudge"):
        sweeps.nudged(0, 2, -1, **SHORT)


def test_the_two_ways_to_stop_train_alike():
    document, points = orthants.author(0, 2, **SHORT), sweeps.by_points(0, 2, **SHORT)
    assert document.training.equals(points.training)
    assert not document.validation.equals(points.validation)
    assert document.accuracy.equals(points.accuracy)
