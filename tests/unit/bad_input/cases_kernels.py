"""Kernels and kernel machines, and the differential equations of gradient flow."""

import numpy as np
from unit.bad_input import given
from unit.bad_input.given import GRAM, LAYERS, SIGNS, VALUES, X, Y
from unit.bad_input.spoil import case

from shallow.kernels import (
    arc_cosine,
    empirical,
    interior_point,
    layered,
    linear_machines,
    machines,
    modules,
    plain,
    ridge,
)
from shallow.train import ode

PATH = ridge.RidgePath(GRAM, Y)
MACHINE = machines.squared_hinge(GRAM, SIGNS, 1.0)
PENALTIES = np.array([0.1, 1.0])
PRECISE = dict(tolerance=1e-6, max_iter=300)
QUADRATIC = dict(C=1.0, intercept="free", tolerance=1e-3, max_iter=1000)
DESCENT = dict(C=1.0, rng=given.RNG, tolerance=1e-4)
SQUARES = X[:, :2, None] * [1.0, 2.0]
REDUCED = linear_machines.reduced(GRAM, 1e-9)

CASES = [
    case(
        arc_cosine.moments,
        "first=scalar covariance=scalar second=scalar",
        first=np.array([1.0]),
        covariance=np.array([0.2]),
        second=np.array([1.5]),
    ),
    case(arc_cosine.ntk, x=X, z=X[:2], depth=2, width=5),
    case(empirical.ntk, network=given.NETWORK, x=X, z=X[:2], rates=(1.0, 1.0, 0.5)),
    *(case(kernel, network=given.NETWORK, x=X, z=X[:2]) for kernel in (empirical.blocks, empirical.conjugate)),
    case(empirical.alignment, first=GRAM, second=GRAM + 1),
    case(empirical.target_alignment, "y=booleans", kernel=GRAM, y=SIGNS),
    case(empirical.subspace_alignment, first=np.eye(3), second=-np.eye(3)),
    case(empirical.without, kernel=GRAM, functions=np.ones((8, 1))),
    *(case(of, kernel=GRAM) for of in (empirical.effective_rank, empirical.semidefinite, empirical.eigenbasis)),
    case(MACHINE.values, kernel=GRAM),
    case(empirical.modes_for, values=VALUES[::-1], threshold=0.95),
    case(plain.ntk, "x=longer", networks=given.STACK, x=X, z=X[:2]),  # axis 1 of (R, n, n')
    case(modules.of_torch, "x=longer", module=given.tiny(), x=SQUARES, z=SQUARES[:2]),  # axis 1 of (C, n, n')
    case(layered.ntk, **LAYERS, x=X, z=X[:2], output="logit", trainable=[1]),
    *(case(of, **LAYERS, x=X, output="logit") for of in (layered.diagonal, layered.jacobian)),
    case(machines.squared_hinge, "C=1e300 tolerance=1e300", kernel=GRAM, y=SIGNS, C=1.0, **PRECISE),
    case(machines.squared_hinge_path, "tolerance=1e300", kernel=GRAM, y=SIGNS, penalties=[0.1, 1.0], **PRECISE),
    case(machines.hinge, "C=1e300 tolerance=1e300 max_iter=0,-1", kernel=GRAM, y=SIGNS, **QUADRATIC),
    case(
        machines.epsilon_insensitive,
        "C=1e300 epsilon=1e300 tolerance=1e300 max_iter=0,-1",
        kernel=GRAM,
        y=Y,
        epsilon=0.1,
        **QUADRATIC,
    ),
    *(
        case(of, "C=1e300 tolerance=1e300", kernel=GRAM, y=y, C=1.0, tolerance=1e-4, max_iter=60)
        for of, y in ((interior_point.absolute_error, Y), (interior_point.hinge, SIGNS))
    ),
    case(linear_machines.squared_hinge, "C=1e300 tolerance=1e300", features=X, y=SIGNS, **DESCENT, max_iter=1000),
    case(linear_machines.reduced, kernel=GRAM, tolerance=1e-9),
    case(REDUCED.coefficients, weights=VALUES[:8]),
    case(
        linear_machines.coordinate_descent,
        "C=1e300 tolerance=1e300",
        points=REDUCED,
        y=SIGNS,
        passes=[2, 50],
        **DESCENT,
    ),
    case(machines.refuse_negative, diagonal=GRAM.diagonal(), beta=Y, image=GRAM @ Y),
    case(machines.relative_gap, "objective=0,-1,1e300 dual=0,-1,1e300", objective=1.0, dual=0.9),
    case(ode.integrate, velocity=lambda a: [-a], start=[given.UNIT], times=np.array([0.0, 0.1]), tolerance=1e-6),
    case(ridge.solve, "penalty=1e300", gram=GRAM, right=Y, penalty=0.1),
    case(ridge.Ridge, features=X, labels=Y),
    case(ridge.Ridge(X, Y).weights, "penalty=1e300", penalty=0.1),
    case(ridge.weights_path, features=X, labels=Y, penalties=PENALTIES),
    case(ridge.mean_square, features=X, labels=Y, weights=given.UNIT),
    case(ridge.RidgePath, kernel=GRAM, y=Y),
    case(PATH.coefficients, penalties=PENALTIES),
    case(PATH.values, kernel=GRAM, penalties=PENALTIES),
    case(PATH.leave_one_out, penalties=PENALTIES),
]
