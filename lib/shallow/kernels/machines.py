r"""Support vector machines on a Gram matrix: linear machines on features with $K(x, z) = \phi(x) \cdot \phi(z)$.

Each minimises $\tfrac12 |w|^2 + C \sum_i \ell(y_i, f(x_i))$, and by duality $w = \sum_i \beta_i \phi(x_i)$:

=======================  ==========================================  ================================================
loss                     l(y, f)                                     dual: y . beta - beta' K beta / 2 and
=======================  ==========================================  ================================================
squared_hinge            max(0, 1 - y f)^2                           - beta' beta / (4 C),  y beta >= 0
hinge                    max(0, 1 - y f)                             0 <= y beta <= C
epsilon_insensitive      max(0, abs(y - f) - eps)                    - eps sum(abs(beta)),  abs(beta) <= C
=======================  ==========================================  ================================================

Squared hinge on K is the machine with hard margin on $K + I/(2C)$.  A *penalised* intercept is a constant feature: the
kernel is $K + 1$ and nothing else is free, as in LinearSVC and LinearSVR.  A *free* one, as in SVC and SVR, is not part
of the penalty and adds $\sum_i \beta_i = 0$ to the dual, which makes a constant added to K irrelevant: SVR on $K + 1$
is SVR on K, not LinearSVR.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from shallow import checks
from shallow.display import short
from shallow.kernels import empirical

INTERCEPTS = ("free", "penalised")
#: Iterations of libsvm for each point at which it ends by default; those that converge take up to a tenth of them.
STEPS = 10_000


@dataclass(frozen=True)
class Convergence:
    """How a solver ended.

    Attributes:
        iterations: by the solver's own count: systems that :func:`squared_hinge_path` has solved so far, pairs of
            coefficients changed by libsvm, passes over the points by liblinear.
        stopped: whether it ended because they ran out.
        objective: the minimised quantity at the solution.
        gap: relative duality gap (objective - dual) / objective, at least the relative excess of the objective over its
            minimum; NaN where the solver gives no point of the dual.
    """

    iterations: int
    stopped: bool
    objective: float
    gap: float

    __repr__ = short


@dataclass(frozen=True)
class Machine:
    r"""$f(x) = \sum_i \beta_i K(x, x_i) + b$; of a linear machine $f(x) = w \cdot \phi(x) + b$.

    Attributes:
        coefficients: beta, shape (n,); of a linear machine w, one weight for each feature.
        intercept: b; with a penalised intercept the sum of beta.
        convergence: how the solver ended.
    """

    coefficients: np.ndarray
    intercept: float
    convergence: Convergence

    __repr__ = short

    def values(self, kernel: np.ndarray) -> np.ndarray:
        """f at n' points from K of these with the n points of the fit, or from their features, (n', n); shape (n',)."""
        checks.numbers(kernel=kernel)
        return np.asarray(kernel) @ self.coefficients + self.intercept


def squared_hinge(
    kernel: np.ndarray, y: np.ndarray, C: float, *, tolerance: float = 1e-6, max_iter: int = 300
) -> Machine:
    """The machine of one C, at the end of :func:`squared_hinge_path` by decades from 1000 over the mean of K(x, x)."""
    kernel, y = checked(kernel, y, C, classes=True)
    checks.positive(tolerance=tolerance)
    checks.integers(1, max_iter=max_iter)
    first = 1e3 * len(y) / max(np.trace(kernel), 1e-300)
    decades = int(np.clip(np.ceil(np.log10(C / first)), 0, 20))
    return _path(kernel, y, C * 10.0 ** np.arange(-decades, 1), tolerance, max_iter)[-1]


def squared_hinge_path(
    kernel: np.ndarray, y: np.ndarray, penalties: Sequence[float], *, tolerance: float = 1e-6, max_iter: int = 300
) -> list[Machine]:
    r"""Classifiers with squared hinge loss and penalised intercept, the problem of LinearSVC, solved to rounding.

    Newton's method on the piecewise quadratic objective: with $S = \{i : y_i f(x_i) < 1\}$ it moves towards the beta
    with $(K_{SS} + 1 + I/(2C)) \beta_S = y_S$ and zeros elsewhere, exactly as far as the objective falls, and ends with
    a full step that leaves S as it was.  Each C starts from the solution of the one before, for large C the difference
    between a few systems and hundreds.

    Args:
        kernel: K of the n points, shape (n, n), symmetric and positive semidefinite.
        y: labels -1 and 1, shape (n,), both present.
        penalties: values of C, weight of the loss, positive and ascending, better not more than a decade apart.
        tolerance: relative duality gap at which it ends as well, and above which a machine counts as stopped; rounding
            leaves about 1e-16 C times the eigenvalues of K.
        max_iter: largest number of systems of the whole path.

    Raises:
        ValueError: for bad input, or where the kernel turns out to have negative eigenvalues; below -1/(2C) also those
            of rounding: compute it in float64.

    Cost: $|S|^3/3$ operations per system, a few systems for each C; $|S| r^2$ where the kernel is that of r features,
    fewer than about n/9, as on the primal problem.
    """
    checks.array(("n",), penalties=penalties)
    checks.positive(penalties=penalties, tolerance=tolerance)
    if not (np.diff(penalties) > 0).all():
        raise ValueError(f"penalties must ascend, got {list(penalties)}")
    checks.integers(1, max_iter=max_iter)
    return _path(*checked(kernel, y, penalties[0], classes=True), penalties, tolerance, max_iter)


def _path(
    kernel: np.ndarray, y: np.ndarray, penalties: Sequence[float], tolerance: float, max_iter: int
) -> list[Machine]:
    beta, slack = np.zeros(len(y)), np.ones(len(y))  # slack = 1 - y f, kept because f would lose it for large C
    gram, quick, largest = _Gram(kernel), _low_rank(kernel), kernel.diagonal().max()
    iterations, found = 0, []
    for C in penalties:
        # Features give 2 C (1 - y f) with an error of 1e-16 C: where that is not small their solution is not even near.
        for problem in (quick, gram) if quick and C * largest < 1e8 else (gram,):
            objective, gap = _ended(gram, y, C, beta, slack)
            settled = False
            while not settled and abs(gap) > tolerance and iterations < max_iter:
                inside = slack > 0
                target, slack_there = problem.newton(y, C, inside)
                change, along = target - beta, slack_there - slack
                step = _exact_step(C, -(beta * y) @ along, -(change * y) @ along, slack, along)
                beta, slack = beta + step * change, slack + step * along
                settled = step == 1 and np.array_equal(slack > 0, inside)
                objective, gap = _ended(problem, y, C, beta, slack)
                iterations += 1
            if problem is quick:
                slack = 1 - y * (kernel @ beta + beta.sum())
        ended = Convergence(iterations, abs(gap) > tolerance, objective, gap)
        refuse_negative(kernel.diagonal(), beta, y * (1 - slack))
        found.append(Machine(beta, float(beta.sum()), ended))
    return found


class _Gram:
    """The problem on the kernel K + 1."""

    def __init__(self, kernel: np.ndarray) -> None:
        self.kernel = kernel

    def square(self, beta: np.ndarray) -> float:
        """Squared norm of the machine."""
        return beta @ (self.kernel @ beta) + beta.sum() ** 2

    def newton(self, y: np.ndarray, C: float, violated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minimum if the points within the margin stay the same, and the slack there."""
        inside = np.flatnonzero(violated)
        system = self.kernel[np.ix_(inside, inside)]
        system += 1
        system.flat[:: len(inside) + 1] += 1 / (2 * C)
        try:
            factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise ValueError(
                f"kernel must be positive semidefinite, got eigenvalues below -1/(2C) for C = {C:g}: "
                "compute it in float64"
            ) from None
        solved = linalg.cho_solve(factor, y[inside], check_finite=False)
        target = np.zeros(len(y))
        target[inside] = solved
        slack = 1 - y * (self.kernel @ target + target.sum())
        slack[inside] = y[inside] * solved / (2 * C)
        return target, slack


class _Features:
    r"""The same on features Z with $Z Z^\top = K + 1$, shape (n, r)."""

    def __init__(self, features: np.ndarray) -> None:
        self.features = features

    def square(self, beta: np.ndarray) -> float:
        return float(((self.features.T @ beta) ** 2).sum())

    def newton(self, y: np.ndarray, C: float, violated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = self.features[violated]
        system = inside.T @ inside
        system.flat[:: len(system) + 1] += 1 / (2 * C)
        factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
        weights = linalg.cho_solve(factor, inside.T @ y[violated], check_finite=False)
        slack = 1 - y * (self.features @ weights)
        return np.where(violated, 2 * C * y * slack, 0.0), slack


def _low_rank(kernel: np.ndarray) -> _Features | None:
    """The problem on features where some eighth of the points spans all of them, to rounding; None where it does not.

    Cost: O(n r^2), or n^3/1500 where it was in vain.
    """
    largest, few = kernel.diagonal().max(), np.asfortranarray(kernel[::8, ::8])
    factor, order, rank, _ = linalg.lapack.dpstrf(few, tol=1e-13 * largest, lower=1)
    if not 0 < rank < 0.9 * len(few):
        return None
    pivots = 8 * (order[:rank] - 1)
    Z = linalg.solve_triangular(factor[:rank, :rank], kernel[pivots], lower=True, check_finite=False)
    if (kernel.diagonal() - (Z**2).sum(axis=0)).max() > 1e-12 * largest:
        return None
    return _Features(np.append(Z, np.ones((1, len(kernel))), axis=0).T)


def _ended(problem, y: np.ndarray, C: float, beta: np.ndarray, slack: np.ndarray) -> tuple[float, float]:
    """Objective and relative duality gap."""
    objective = float(beta @ (y * (1 - slack)) / 2 + C * (np.maximum(0, slack) ** 2).sum())
    feasible = y * np.maximum(y * beta, 0)
    norm = problem.square(feasible)
    return objective, relative_gap(objective, y @ feasible - norm / 2 - feasible @ feasible / (4 * C))


def _exact_step(C: float, cross: float, square: float, slack: np.ndarray, along: np.ndarray) -> float:
    """Where the objective is smallest on the way; its slope is piecewise linear and rises."""

    def slope(t: float) -> float:
        return cross + t * square + 2 * C * np.maximum(0, slack + t * along) @ along

    return 1.0 if slope(1.0) <= 0 or slope(0.0) >= 0 else float(optimize.brentq(slope, 0.0, 1.0))


def hinge(
    kernel: np.ndarray,
    y: np.ndarray,
    C: float,
    *,
    intercept: str = "free",
    tolerance: float = 1e-3,
    max_iter: int | None = None,
) -> Machine:
    """Classifier with hinge loss by scikit-learn's SVC; the arguments of :func:`epsilon_insensitive`, y of -1 and 1."""
    from shallow.extras import SVC

    kernel, y = checked(kernel, y, C, classes=True)
    checks.positive(tolerance=tolerance)
    max_iter = STEPS * len(y) if max_iter is None else max_iter
    checks.integers(-1, max_iter=max_iter)
    solver = SVC(kernel="precomputed", C=C, tol=tolerance, max_iter=max_iter)
    return _by_libsvm(solver, kernel, y, intercept, lambda f: np.maximum(0, 1 - y * f))


def epsilon_insensitive(
    kernel: np.ndarray,
    y: np.ndarray,
    C: float,
    *,
    epsilon: float = 0.0,
    intercept: str = "free",
    tolerance: float = 1e-3,
    max_iter: int | None = None,
) -> Machine:
    r"""Regression with a tube of half-width epsilon by scikit-learn's SVR; with epsilon = 0 the absolute error.

    Args:
        kernel: K of the n points, shape (n, n), symmetric and positive semidefinite.
        y: values, shape (n,).
        C: weight of the loss, positive.
        epsilon: half-width of the tube, not negative.
        intercept: one of `INTERCEPTS`.  libsvm's is free; a penalised one takes it twice the points: with
            $(-\phi(x_i), -y_i)$ added and C halved the free intercept is zero by symmetry.
        tolerance: largest violation of the optimality conditions at which libsvm ends.  For large C that alone says
            little: `convergence.gap` says how good the machine is.  For a penalised intercept, and epsilon = 0,
            :mod:`shallow.kernels.interior_point` ends at a gap, soon for any C.
        max_iter: limit of its iterations, by default `STEPS` for each point, -1 for none.  It is met where rounding is
            above the tolerance, by repeated points with different labels for example; `convergence.stopped` says so.

    Raises:
        ValueError: for bad input, or where the kernel turns out to have negative eigenvalues.

    Cost: O(n) per iteration, of which it takes from about n to several hundred n, more for large C.
    """
    from shallow.extras import SVR

    kernel, y = checked(kernel, y, C, classes=False)
    checks.not_negative(epsilon=epsilon)
    checks.positive(tolerance=tolerance)
    max_iter = STEPS * len(y) if max_iter is None else max_iter
    checks.integers(-1, max_iter=max_iter)
    solver = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=tolerance, max_iter=max_iter)
    return _by_libsvm(solver, kernel, y, intercept, lambda f: np.maximum(0, np.abs(y - f) - epsilon), epsilon)


def _by_libsvm(solver, kernel: np.ndarray, y: np.ndarray, intercept: str, loss, epsilon: float = 0.0) -> Machine:
    """The fit of an SVC or SVR with its duality gap."""
    checks.one_of(INTERCEPTS, intercept=intercept)
    C, n, points, targets = solver.C, len(y), kernel, y
    if intercept == "penalised":
        kernel = kernel + 1
        points, targets = np.block([[kernel, -kernel], [-kernel, kernel]]), np.concatenate([y, -y])
        solver.set_params(C=C / 2)
    fit_quietly(solver, points, targets)
    beta = np.zeros(len(targets))
    beta[solver.support_] = solver.dual_coef_[0]
    beta = beta if intercept == "free" else beta[:n] - beta[n:]
    free = float(solver.intercept_[0]) if intercept == "free" else 0.0
    f = kernel @ beta
    refuse_negative(kernel.diagonal(), beta, f)
    objective = beta @ f / 2 + C * loss(f + free).sum()
    gap = relative_gap(objective, y @ beta - beta @ f / 2 - epsilon * np.abs(beta).sum())
    ended = Convergence(int(np.sum(solver.n_iter_)), bool(solver.fit_status_), float(objective), gap)
    return Machine(beta, free if intercept == "free" else float(beta.sum()), ended)


def fit_quietly(solver, points: np.ndarray, targets: np.ndarray) -> None:
    """Fit an estimator of scikit-learn without its warning that it has not converged, which `Convergence` holds."""
    from shallow.extras import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver.fit(points, targets)


# What the solvers of the package share.


def refuse_negative(diagonal: np.ndarray, beta: np.ndarray, image: np.ndarray) -> None:
    r"""ValueError where $\beta^\top K \beta$ is negative beyond rounding.

    All have shape (n,): the diagonal of K, beta, and K beta, to which a constant feature may add.
    """
    checks.array(("n",), diagonal=diagonal, beta=beta, image=image)
    norm = np.dot(beta, image)
    if norm < -empirical.ROUNDING * np.sum(diagonal) * np.dot(beta, beta):
        raise ValueError(f"kernel must be positive semidefinite, got a machine of squared norm {norm:g}")


def relative_gap(objective: float, dual: float) -> float:
    """(objective - dual) / objective, 0 for an objective of 0."""
    return 0.0 if objective <= 0 else float((objective - dual) / objective)


def checked(
    points: np.ndarray, y: np.ndarray, C: float, *, classes: bool, name: str = "kernel"
) -> tuple[np.ndarray, np.ndarray]:
    """K (n, n), or features (n, P) by another name, and targets (n,) in float64.

    ValueError for what is no problem of a machine: with `classes`, y must hold both -1 and 1.  Numbers are out of range
    where the largest is neither zero nor from 1e-50 to 1e50: squares and products of them have to be numbers.
    """
    if name == "kernel":
        empirical.semidefinite(kernel=points)
    else:
        checks.array(("n", "P"), **{name: points})
    checks.array((len(points),), y=y)
    checks.positive(C=C)
    points, y = np.asarray(points, dtype=np.float64), np.asarray(y, dtype=np.float64)
    for one, values in ((name, points.diagonal() if name == "kernel" else points), ("y", y)):
        checks.within("[1e-50, 1e50]", **{f"largest of {one}": max(values.max(), -values.min()) or 1.0})
    if classes and not np.array_equal(np.unique(y), [-1, 1]):
        raise ValueError(f"y must hold both labels -1 and 1 and nothing else, got {np.unique(y)[:5]}")
    return points, y
