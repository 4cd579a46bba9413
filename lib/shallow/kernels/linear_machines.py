r"""Linear machines on explicit features by liblinear: the form in which the document's author ran them.

LinearSVC with squared hinge loss and LinearSVR with the absolute error, both with a penalised intercept, take the
gradients of a network, ``layered.jacobian``, as features, and change one coefficient of the dual after the other until
a limit of passes.  Solved to the end they are :func:`shallow.kernels.machines.squared_hinge` and
:func:`~shallow.kernels.machines.epsilon_insensitive` on $K = J J^\top$; the author's limits mostly end them earlier.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from shallow import checks
from shallow.kernels.machines import (
    Convergence,
    Machine,
    checked_targets,
    fit_quietly,
    relative_gap,
)


def squared_hinge(
    features: np.ndarray,
    y: np.ndarray,
    C: float,
    rng: np.random.Generator,
    *,
    dual: bool = True,
    max_iter: int = 1000,
    tolerance: float = 1e-4,
) -> Machine:
    r"""LinearSVC: $\tfrac12 (|w|^2 + b^2) + C \sum_i \max(0, 1 - y_i f(x_i))^2$.

    Args:
        features: $\phi(x_i)$ as rows, shape (n, P).
        y: labels -1 and 1, shape (n,).
        C: weight of the loss, positive.
        rng: draws the seed of the order in which liblinear visits points.
        dual: coordinate descent on the dual, the default when the document was written; False takes Newton's method on
            the primal, which ``dual="auto"`` now chooses for n > P.
        max_iter: limit of passes over the points (of Newton steps in the primal).
        tolerance: liblinear's.

    The duality gap is that of the best multiple of $\alpha_i = \max(0, 1 - y_i f(x_i))$, which solves the dual at the
    minimum.
    Cost: O(n P) per pass.
    """
    features, y = _checked(features, y, C, tolerance, max_iter, labels=True)
    solver = LinearSVC(C=C, dual=dual, max_iter=max_iter, tol=tolerance, random_state=_seed(rng))
    fit_quietly(solver, features, y)
    w, b = solver.coef_[0], float(solver.intercept_[0])
    slack = np.maximum(0, 1 - y * (features @ w + b))
    objective = float((w @ w + b * b) / 2 + C * slack @ slack)
    signed = slack * y
    curvature = ((features.T @ signed) ** 2).sum() + signed.sum() ** 2 + slack @ slack / (2 * C)
    dual_value = slack.sum() ** 2 / (2 * curvature) if slack.any() else 0.0
    return Machine(w, b, _ended(solver, objective, relative_gap(objective, dual_value)))


def absolute_error(
    features: np.ndarray,
    y: np.ndarray,
    C: float,
    rng: np.random.Generator,
    *,
    max_iter: int = 1000,
    tolerance: float = 1e-4,
) -> Machine:
    r"""LinearSVR with epsilon = 0: $\tfrac12 (|w|^2 + b^2) + C \sum_i |y_i - f(x_i)|$; arguments of the classifier.

    It has the dual form only, and gives no point of the dual: compare its objective with that of the kernel machine.
    """
    features, y = _checked(features, y, C, tolerance, max_iter, labels=False)
    solver = LinearSVR(C=C, max_iter=max_iter, tol=tolerance, random_state=_seed(rng))
    fit_quietly(solver, features, y)
    w, b = solver.coef_, float(solver.intercept_[0])
    objective = float((w @ w + b * b) / 2 + C * np.abs(y - features @ w - b).sum())
    return Machine(w, b, _ended(solver, objective, float("nan")))


def _ended(solver: LinearSVC | LinearSVR, objective: float, gap: float) -> Convergence:
    iterations = int(np.max(solver.n_iter_))
    return Convergence(iterations, iterations >= solver.max_iter, objective, float(gap))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _checked(
    features: np.ndarray, y: np.ndarray, C: float, tolerance: float, max_iter: int, *, labels: bool
) -> tuple[np.ndarray, np.ndarray]:
    checks.numbers(features=features, y=y)
    checks.positive(tolerance=tolerance)
    checks.integers(1, max_iter=max_iter)
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or not features.size or not np.isfinite(features).all():
        raise ValueError(f"features must be a finite matrix that is not empty, got {checks.given(features)}")
    return features, checked_targets(y, len(features), C, labels=labels)
