"""Kernels and kernel machines."""

import functools

import numpy as np
from unit.bad_input import given
from unit.bad_input.given import GRAM, LAYERS, LINE, RNG, SIGNS, VALUES, X, Y
from unit.bad_input.spoil import case

from experiments.hidden_structure import ceiling, selection, symmetry
from shallow.kernels import (
    arc_cosine,
    coordinate_descent,
    empirical,
    interior_point,
    layered,
    limits,
    linear_machines,
    machines,
    ridge,
)

FIT = functools.partial(machines.squared_hinge, tolerance=1e-6)
SPLITS = selection.folds(np.random.default_rng(0), 8, 2)
PATH = dict(penalties=[0.1, 1.0], splits=SPLITS, fit=FIT, error=selection.misclassified)
REDUCED = coordinate_descent.reduced(GRAM, 1e-6)
RIDGE = ridge.RidgePath(GRAM, Y)
MACHINE = machines.squared_hinge(GRAM, SIGNS, 1.0)
FLIPS = np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])


def bell(x):
    """A kernel on a line."""
    return np.exp(-(np.subtract.outer(x, x) ** 2))


def linear(x, z):
    """A kernel."""
    return x @ z.T + 1


CASES = [
    case(arc_cosine.moments, "first=scalar covariance=scalar second=scalar", first=np.array([1.0]),
         covariance=np.array([0.2]), second=np.array([1.5])),
    case(arc_cosine.ntk, x=X, z=X[:2], depth=2, width=5),
    case(ceiling.angular_energies, target=given.QUINTIC, deviation=0.5, dimension=4),
    case(ceiling.ceiling, "points=0", target=given.QUINTIC, deviation=0.5, dimension=4, points=3),
    case(REDUCED.coefficients, weights=np.ones(REDUCED.features.shape[1])),
    case(coordinate_descent.reduced, kernel=GRAM, tolerance=1e-6),
    case(coordinate_descent.squared_hinge, "C=1e300 tolerance=1e300", points=REDUCED, y=SIGNS, C=1.0, rng=RNG,
         passes=[1, 3], tolerance=1e-4),
    case(empirical.blocks, network=given.NETWORK, x=X, z=X[:2]),
    case(empirical.ntk, network=given.NETWORK, x=X, z=X[:2], rates=(1.0, 1.0, 0.5)),
    case(empirical.conjugate, network=given.NETWORK, x=X, z=X[:2]),
    case(empirical.alignment, first=GRAM, second=GRAM + 1),
    case(empirical.target_alignment, "y=booleans", kernel=GRAM, y=SIGNS),
    case(empirical.effective_rank, kernel=GRAM),
    case(empirical.subspace_alignment, first=np.eye(3), second=-np.eye(3)),
    case(empirical.without, kernel=GRAM, functions=np.ones((8, 1))),
    case(empirical.eigenbasis, kernel=GRAM),
    case(empirical.energy, values=VALUES[::-1]),
    case(empirical.modes_for, values=VALUES[::-1], threshold=0.95),
    case(empirical.mode_rule, values=VALUES[::-1], threshold=0.95, at_least=5),
    case(interior_point.absolute_error, "C=1e300 tolerance=1e300", kernel=GRAM, y=Y, C=1.0, tolerance=1e-4,
         max_iter=60),
    case(layered.ntk, **LAYERS, x=X, z=X[:2], output="logit", trainable=[1]),
    case(layered.diagonal, **LAYERS, x=X, output="logit"),
    case(layered.jacobian, **LAYERS, x=X, output="logit"),
    case(layered.conjugate, **LAYERS, x=X, z=X[:2]),
    case(limits.uniform(LINE).at, width=5),
    case(limits.uniform, x=LINE, z=LINE[:2]),
    case(limits.gaussian, x=LINE, z=LINE[:2]),
    case(limits.spectrum, "low=0,-1 high=0,1e300", kernel=bell, count=3, low=-0.5, high=0.5, nodes=20),
    case(limits.beam_eigenvalues, count=3),
    case(linear_machines.squared_hinge, "C=1e300 tolerance=1e300", features=X, y=SIGNS, C=1.0, rng=RNG, max_iter=1000,
         tolerance=1e-4),
    case(linear_machines.absolute_error, "C=1e300 tolerance=1e300", features=X, y=Y, C=1.0, rng=RNG, max_iter=1000,
         tolerance=1e-4),
    case(MACHINE.values, kernel=GRAM),
    case(machines.squared_hinge, "C=1e300 tolerance=1e300", kernel=GRAM, y=SIGNS, C=1.0, tolerance=1e-6,
         max_iter=300),
    case(machines.squared_hinge_path, "tolerance=1e300", kernel=GRAM, y=SIGNS, penalties=[0.1, 1.0], tolerance=1e-6,
         max_iter=300),
    case(machines.hinge, "C=1e300 tolerance=1e300 max_iter=0", kernel=GRAM, y=SIGNS, C=1.0, intercept="free",
         tolerance=1e-3, max_iter=1000),
    case(machines.epsilon_insensitive, "C=1e300 epsilon=1e300 tolerance=1e300 max_iter=0", kernel=GRAM, y=Y, C=1.0,
         epsilon=0.1, intercept="free", tolerance=1e-3, max_iter=1000),
    case(machines.relative_gap, "objective=0,-1,1e300 dual=0,-1,1e300", objective=1.0, dual=0.9),
    case(machines.checked, "C=1e300", kernel=GRAM, y=SIGNS, C=1.0, labels=True),
    case(ridge.RidgePath, kernel=GRAM, y=Y),
    case(RIDGE.coefficients, penalties=np.array([0.1, 1.0])),
    case(RIDGE.values, kernel=GRAM, penalties=np.array([0.1, 1.0])),
    case(RIDGE.leave_one_out, penalties=np.array([0.1, 1.0])),
    case(selection.misclassified, "y=booleans", values=Y, y=SIGNS),
    case(selection.mean_square, values=Y, y=X[:, 0]),
    case(selection.folds, rng=RNG, n=8, count=3),
    case(selection.path, kernel=GRAM, y=SIGNS, **PATH),
    case(selection.rbf_paths, "gammas=longer,objects", x=X, y=SIGNS, gammas=[0.5], **PATH),
    case(selection.gamma_value, "gamma=1e300", x=X, gamma=0.5),
    case(selection.best, paths={0.5: selection.path(GRAM, SIGNS, **PATH)}),
    case(selection.unit_trace, "diagonal=longer", kernel=GRAM, diagonal=np.diag(GRAM)),
    case(selection.cosine, kernel=GRAM, left=np.diag(GRAM), right=np.diag(GRAM)),
    case(symmetry.averaged, kernel=linear, flips=FLIPS),
    case(symmetry.gaussian, "x=inf z=inf gamma=1e300", x=X, z=X[:2], gamma=0.5),
    case(symmetry.invariant_share, "x=longer", kernel=linear, x=X, flips=FLIPS),
    case(symmetry.joint_defect, kernel=linear, x=X, flips=FLIPS),
]  # fmt: skip
