r"""Absolute error and hinge loss on a Gram matrix by an interior point, where libsvm takes too many steps.

The first minimises $\tfrac12 |w|^2 + C \sum_i |y_i - f(x_i)|$ with a penalised intercept: LinearSVR with epsilon = 0,
and :func:`shallow.kernels.machines.epsilon_insensitive`.  Its dual, with $Q = K + 1$,

.. math:: \min_{-C \le \beta \le C} \tfrac12 \beta^\top Q \beta - y^\top \beta ,

is a quadratic program with bounds alone.  So is that of the hinge loss, of LinearSVC with it and
:func:`shallow.kernels.machines.hinge`, with the bounds $0 \le y_i \beta_i \le C$.  libsvm changes two coefficients at a
time, which is fast as long as most of them end at a bound; for tangent kernels of trained networks and large C most do
not.  A primal-dual interior point needs about ten linear systems whatever C is (Mehrotra 1992).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from shallow import checks
from shallow.kernels.machines import Convergence, Machine, checked, refuse_negative, relative_gap

_TO_THE_BOUNDARY = 0.995
_SIGNS = np.array([[-1.0], [1.0]])


def absolute_error(
    kernel: np.ndarray, y: np.ndarray, C: float, *, tolerance: float = 1e-4, max_iter: int = 60
) -> Machine:
    r"""$f(x) = \sum_i \beta_i (K(x, x_i) + 1)$ of the smallest objective.

    Args:
        kernel: K of the n points, shape (n, n), symmetric and positive semidefinite.
        y: values, shape (n,).
        C: weight of the loss, positive.
        tolerance: relative duality gap at which it ends.
        max_iter: largest number of systems.

    Raises:
        ValueError: for bad input, or where the kernel turns out to have negative eigenvalues.

    Cost: $n^3/3$ operations per system, 5 to 15 systems; memory for two more matrices.
    """
    kernel, y = checked(kernel, y, C, classes=False)
    checks.positive(tolerance=tolerance)
    checks.integers(1, max_iter=max_iter)
    middle = np.zeros(len(y))
    return _minimum(kernel, y, middle, float(C), lambda f: C * np.abs(y - f).sum(), tolerance, max_iter)


def hinge(kernel: np.ndarray, y: np.ndarray, C: float, *, tolerance: float = 1e-4, max_iter: int = 60) -> Machine:
    """The classifier with hinge loss; the arguments of :func:`absolute_error`, y of -1 and 1."""
    kernel, y = checked(kernel, y, C, classes=True)
    checks.positive(tolerance=tolerance)
    checks.integers(1, max_iter=max_iter)
    return _minimum(kernel, y, C / 2 * y, C / 2, lambda f: C * np.maximum(0, 1 - y * f).sum(), tolerance, max_iter)


def _minimum(
    kernel: np.ndarray,
    y: np.ndarray,
    beta: np.ndarray,
    width: float,
    loss: Callable[[np.ndarray], float],
    tolerance: float,
    max_iter: int,
) -> Machine:
    """The machine with beta at most `width` from where it starts."""
    Q = kernel + 1
    room = np.full((2, len(y)), width)  # up to the upper and from the lower bound
    multipliers = np.full((2, len(y)), np.abs(y).mean() or 1.0)  # of both bounds; y - f is their difference in the end
    iterations, best = 0, (np.inf, np.inf, beta)
    while True:
        f = Q @ beta
        objective = beta @ f / 2 + loss(f)
        gap = relative_gap(objective, y @ beta - beta @ f / 2)
        best = min(best, (abs(gap), objective, beta), key=lambda found: found[0])
        if best[0] <= tolerance or iterations == max_iter:
            break
        newton = _Newton(Q, room, multipliers, y - f - multipliers[0] + multipliers[1])
        mean = (room * multipliers).mean()
        change, answer = newton.step(np.zeros_like(room))
        length = newton.length(change, answer)
        ahead = ((room + length * _SIGNS * change) * (multipliers + length * answer)).mean()
        change, answer = newton.step(mean * (ahead / mean) ** 3 - _SIGNS * change * answer)
        length = _TO_THE_BOUNDARY * newton.length(change, answer)
        beta, room, multipliers = beta + length * change, room + length * _SIGNS * change, multipliers + length * answer
        iterations += 1
    gap, objective, beta = best
    refuse_negative(kernel.diagonal(), beta, Q @ beta)
    return Machine(beta, float(beta.sum()), Convergence(iterations, gap > tolerance, float(objective), float(gap)))


class _Newton:
    """The linear system at one iterate, decomposed once for two right-hand sides."""

    def __init__(self, Q: np.ndarray, room: np.ndarray, multipliers: np.ndarray, residual: np.ndarray) -> None:
        self.room, self.multipliers, self.residual = room, multipliers, residual
        system = Q.copy(order="F")
        system.flat[:: len(Q) + 1] += (multipliers / room).sum(axis=0)
        try:
            self.factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise ValueError(
                "kernel must be positive semidefinite, got eigenvalues below what the bounds add"
            ) from None

    def step(self, products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Changes of beta and of the multipliers towards a stationary point with `room * multipliers = products`."""
        target = products / self.room - self.multipliers
        change = linalg.cho_solve(self.factor, self.residual - target[0] + target[1])
        return change, target - _SIGNS * self.multipliers / self.room * change

    def length(self, change: np.ndarray, answer: np.ndarray) -> float:
        """The longest step, at most 1, on which room and multipliers stay positive."""
        values, steps = (np.stack(pair) for pair in ((self.room, self.multipliers), (_SIGNS * change, answer)))
        falling = steps < 0
        return float(min(1.0, (-values[falling] / steps[falling]).min(initial=1.0)))
