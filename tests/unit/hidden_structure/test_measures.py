"""Measures of the chapter on hidden structure: small cases by hand."""

import numpy as np
import pytest

from experiments.hidden_structure import hidden_direction, shells
from experiments.hidden_structure.folding import cells as folding
from shallow import stats
from shallow.kernels import empirical

X, E, BOTH = np.ones((3, 2)), np.ones(2), shells.signs(np.arange(4), 2)


def test_cosines_by_hand():
    W = np.array([[3.0, 4.0], [-1.0, 0.0], [0.0, 0.0], [0.0, -1e-9]])
    assert hidden_direction.cosines(W, [2.0, 0.0]) == pytest.approx([0.6, 1, np.nan, 0], nan_ok=True)
    collapsed = hidden_direction.cosines(W, [2.0, 0.0], least=1e-6)
    assert np.isnan(collapsed[2:]).all() and hidden_direction.aligned(collapsed) == 1
    assert hidden_direction.aligned(hidden_direction.cosines(W, [2.0, 0.0]), 0.6) == pytest.approx(2 / 3)
    assert np.isnan(hidden_direction.aligned([np.nan])) and hidden_direction.aligned(np.ones((4, 3))).shape == (4,)
    assert hidden_direction.cosines(np.ones((5, 3)) * 0.1, np.ones(3)).max() <= 1  # rounding stays inside


def test_quotient_by_hand():
    features, labels = np.array([[0.0, 0.0], [0.0, 4.0]]), [0, 1]
    assert folding.quotient(features, np.stack([features + [1, 0], features - [1, 0]]), labels) == 0.25
    assert folding.quotient(features, features[None], labels) == 0
    assert np.isnan(folding.quotient(0 * features, features[None], labels))


def test_ties_go_to_the_lowest_row():
    points = np.array([[5.0], [1.0], [-1.0], [1.0]])
    assert folding.nearest([[0.0], [2.0]], points).tolist() == [1, 1]
    assert folding.match_fractions([[0.0], [2.0]], [7, 1], points, [0, 1, 0, 0]) == {1: 1.0, 7: 0.0}
    assert folding.nearest(np.ones((2, 3)), np.ones((4, 3))).tolist() == [0, 0]


def test_interval_of_five_runs_is_the_documents():
    """Half-width 1.24 standard deviations; the author's five runs of three hidden layers."""
    runs = np.array([0.985, 0.53, 0.885, 0.89, 0.855])
    found = stats.student(runs)
    assert found.estimate == pytest.approx(0.829, abs=1e-3)
    assert (found.high - found.low) / 2 == pytest.approx(2.7764 / 5**0.5 * runs.std(ddof=1), rel=1e-4)
    assert stats.student([1.0, 1.0]) == stats.Interval(1.0, 1.0, 1.0)


def test_target_alignment_and_effective_rank_by_hand():
    y = np.array([1.0, -1.0, 2.0])
    centred = y - y.mean()
    assert empirical.target_alignment(np.outer(centred, centred) + 5, y) == pytest.approx(1)
    assert empirical.target_alignment(np.eye(3), y) == pytest.approx(2**-0.5)
    assert empirical.effective_rank(np.eye(4)) == pytest.approx(4)
    assert empirical.effective_rank(np.outer(y, y)) == pytest.approx(1)
    assert empirical.effective_rank(np.diag([3.0, 1.0])) == pytest.approx(1.6)
