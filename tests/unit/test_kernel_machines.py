"""Every kernel of a deep network and every kernel machine refuses bad input with a message that names the argument."""

import numpy as np
import pytest
import torch

from experiments.hidden_structure import selection
from shallow.kernels import arc_cosine, layered, linear_machines, machines, ridge

WEIGHTS, BIASES = [np.ones((3, 2)), np.ones((4, 3)), np.ones((1, 4))], [np.ones(3), np.ones(4), np.ones(1)]
X, KERNEL, LABELS = np.ones((5, 2)), np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
SPLITS = [(np.array([0, 1, 2]), np.array([3]))]


def network(weights=WEIGHTS, biases=BIASES):
    return lambda: layered.ntk(weights, biases, X)


NETWORKS = {
    "weights and biases, one layer": network(WEIGHTS[2:], BIASES[2:]),
    "weights and biases, two outputs": network(WEIGHTS[:2], BIASES[:2]),
    "weights and biases, that do not chain": network([WEIGHTS[0], WEIGHTS[2]], [BIASES[0], BIASES[2]]),
    "weights and biases, one bias short": network(biases=BIASES[:2]),
    "weights and biases, a bias of another shape": network(biases=[np.ones(2), *BIASES[1:]]),
    "weights and biases, NaN": network([WEIGHTS[0] * np.nan, *WEIGHTS[1:]]),
    "weights and biases, vectors": network([np.ones(2), *WEIGHTS[1:]]),
    "x": lambda: layered.ntk(WEIGHTS, BIASES, np.ones((5, 3))),
    "x, a vector": lambda: layered.conjugate(WEIGHTS, BIASES, np.ones(2)),
    "x, infinite": lambda: layered.diagonal(WEIGHTS, BIASES, X * np.inf),
    "z": lambda: layered.ntk(WEIGHTS, BIASES, X, np.ones((5, 1))),
    "z, of the conjugate kernel": lambda: layered.conjugate(WEIGHTS, BIASES, X, np.ones((5, 1))),
    "output": lambda: layered.ntk(WEIGHTS, BIASES, X, output="class"),
    "trainable": lambda: layered.ntk(WEIGHTS, BIASES, X, trainable=[0, 1]),
    "trainable, none": lambda: layered.ntk(WEIGHTS, BIASES, X, trainable=[]),
    "dtype": lambda: layered.ntk(WEIGHTS, BIASES, X, dtype=torch.float16),
    "out": lambda: layered.ntk(WEIGHTS, BIASES, X, out=np.empty((5, 4))),
}
LIMITS = {
    "x": lambda: arc_cosine.ntk(np.ones(3), depth=1, width=5),
    "z": lambda: arc_cosine.ntk(X, X * np.nan, depth=1, width=5),
    "z, of other columns": lambda: arc_cosine.ntk(X, np.ones((5, 3)), depth=1, width=5),
    "depth": lambda: arc_cosine.ntk(X, depth=0, width=5),
    "width": lambda: arc_cosine.ntk(X, depth=1, width=0.5),
}
MACHINES = {
    "kernel": lambda: machines.squared_hinge(np.ones((4, 3)), LABELS, 1.0),
    "kernel, NaN": lambda: machines.hinge(KERNEL * np.nan, LABELS, 1.0),
    "kernel, negative": lambda: machines.squared_hinge(-2 * KERNEL, LABELS, 1e3),
    "y": lambda: machines.epsilon_insensitive(KERNEL, LABELS[:3], 1.0),
    "y, of three classes": lambda: machines.hinge(KERNEL, np.array([0, 1, -1, 1]), 1.0),
    "y, of one class": lambda: machines.squared_hinge(KERNEL, np.ones(4), 1.0),
    "C": lambda: machines.squared_hinge(KERNEL, LABELS, 0.0),
    "tolerance": lambda: machines.squared_hinge(KERNEL, LABELS, 1.0, tolerance=0.0),
    "penalties": lambda: machines.squared_hinge_path(KERNEL, LABELS, [1.0, 0.1]),
    "penalties, not finite": lambda: machines.squared_hinge_path(KERNEL, LABELS, [1.0, np.nan]),
    "penalties, of a path": lambda: machines.squared_hinge_path(KERNEL, LABELS, []),
    "max_iter": lambda: machines.squared_hinge(KERNEL, LABELS, 1.0, max_iter=0),
    "epsilon": lambda: machines.epsilon_insensitive(KERNEL, LABELS, 1.0, epsilon=-0.1),
    "intercept": lambda: machines.hinge(KERNEL, LABELS, 1.0, intercept="none"),
    "features": lambda: linear_machines.squared_hinge(np.ones(4), LABELS, 1.0, np.random.default_rng()),
    "y, of a linear machine": lambda: linear_machines.absolute_error(X, LABELS, 1.0, np.random.default_rng()),
    "y, of one class on features": lambda: linear_machines.squared_hinge(X, np.ones(5), 1.0, np.random.default_rng()),
    "C, of a linear machine": lambda: linear_machines.absolute_error(X[:4], LABELS, np.inf, np.random.default_rng()),
}
CHOICES = {
    "kernel": lambda: ridge.RidgePath(np.triu(np.ones((4, 4))), LABELS),
    "y": lambda: ridge.RidgePath(KERNEL, LABELS[:2]),
    "penalties": lambda: ridge.RidgePath(KERNEL, LABELS).coefficients(np.array([1.0, 0.0])),
    "penalties, a number": lambda: ridge.RidgePath(KERNEL, LABELS).leave_one_out(1.0),
    "count": lambda: selection.folds(np.random.default_rng(), 4, 5),
    "kernel, not of all points": lambda: path(kernel=np.eye(3)),
    "penalties and splits": lambda: path(penalties=[]),
    "gamma": lambda: selection.gamma_value(X, "wide"),
    "gamma, negative": lambda: selection.gamma_value(X, -1.0),
    "diagonal": lambda: selection.unit_trace(KERNEL, np.zeros(4)),
    "left": lambda: selection.cosine(KERNEL, -np.ones(4), np.ones(4)),
    "right": lambda: selection.cosine(KERNEL, np.ones(4), np.ones((4, 1))),
    "kernel, of other points": lambda: selection.cosine(KERNEL, np.ones(4), np.ones(3)),
}


def path(kernel=KERNEL, penalties=(1.0,)):
    return selection.path(kernel, LABELS, penalties, SPLITS, fit=machines.squared_hinge, error=selection.misclassified)


@pytest.mark.parametrize(
    ("case", "call"), [(case, call) for table in (NETWORKS, LIMITS, MACHINES, CHOICES) for case, call in table.items()]
)
def test_bad_input_names_the_argument(case, call):
    with pytest.raises(ValueError, match="^" + case.partition(",")[0]):
        call()


def test_the_same_calls_with_good_input_go_through():
    assert layered.ntk(WEIGHTS, BIASES, X).shape == (5, 5)
    assert arc_cosine.ntk(X, depth=1, width=5).shape == (5, 5)
    assert path().errors.shape == (1, 1)
    assert selection.cosine(KERNEL, np.ones(4), np.ones(4)).shape == (4, 4)


def test_a_path_prefers_the_first_of_equal_errors_and_counts_zero_as_the_negative_class():
    assert path(penalties=[1.0, 2.0]).best == 1.0
    assert selection.misclassified(np.zeros(4), LABELS) == 0.5
    assert selection.mean_square(np.zeros(4), LABELS) == 1.0
