r"""Linear classifiers on features by coordinate descent on the dual, for several limits of passes in one run.

LinearSVC minimises with squared hinge loss and a penalised intercept

.. math:: \tfrac12 (|w|^2 + b^2) + C \sum_i \max(0, 1 - y_i f(x_i))^2, \qquad f(x) = w \cdot \phi(x) + b .

Solved to the end it is :func:`shallow.kernels.machines.squared_hinge` on $K(x, z) = \phi(x) \cdot \phi(z)$; what is
here is for questions about machines that were *stopped* after some passes.  liblinear's solver (Hsieh, Chang, Lin,
Keerthi and Sundararajan 2008) visits the points in random order and minimises the dual in one $\alpha_i \ge 0$ at a
time.  Its path depends on the features by their Gram matrix alone: with P features of n points, such as the gradients
of a network, it is the same on the r <= min(n, P) columns Z of a pivoted Cholesky decomposition, $K \approx Z Z^\top$
(:func:`reduced`).  On these :func:`coordinate_descent` takes a fifth to an eighth of liblinear's time (5,080 points,
r = 993 and 2,835, one thread), and one run serves several limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from scipy import linalg

from shallow import checks
from shallow.display import short
from shallow.kernels import empirical
from shallow.kernels.machines import Convergence, Machine, checked, fit_quietly, relative_gap

# Sums of products may be taken in any order: four times the speed.
_compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
_FRESH = 50  # passes after which the weights are computed anew


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
    r"""LinearSVC, with its duality gap.

    Args:
        features: $\phi(x_i)$ as rows, shape (n, P).
        y: labels -1 and 1, shape (n,).
        C: weight of the loss, positive.
        rng: draws the seed of the order in which liblinear visits points.
        dual: coordinate descent on the dual; False takes Newton's method on the primal, which scikit-learn's
            ``dual="auto"`` chooses for n > P.
        max_iter: limit of passes over the points (of Newton steps in the primal).
        tolerance: liblinear's.

    The duality gap is that of the best multiple of $\alpha_i = \max(0, 1 - y_i f(x_i))$, which solves the dual at the
    minimum.

    Raises:
        ValueError: for bad input, naming the argument.

    Cost: O(n P) per pass.
    """
    checks.generators(rng=rng)
    from shallow.extras import LinearSVC

    features, y = checked(features, y, C, classes=True, name="features")
    checks.positive(tolerance=tolerance)
    checks.integers(1, max_iter=max_iter)
    solver = LinearSVC(C=C, dual=dual, max_iter=max_iter, tol=tolerance, random_state=int(rng.integers(2**31)))
    fit_quietly(solver, features, y)
    w, b = solver.coef_[0], float(solver.intercept_[0])
    slack = np.maximum(0, 1 - y * (features @ w + b))
    objective = float((w @ w + b * b) / 2 + C * slack @ slack)
    signed = slack * y
    curvature = ((features.T @ signed) ** 2).sum() + signed.sum() ** 2 + slack @ slack / (2 * C)
    dual_value = slack.sum() ** 2 / (2 * curvature) if slack.any() else 0.0
    iterations = int(np.max(solver.n_iter_))
    gap = relative_gap(objective, dual_value)
    return Machine(w, b, Convergence(iterations, iterations >= max_iter, objective, gap))


class Reduced(NamedTuple):
    r"""r features of n points with $|K - Z Z^\top| \le$ a tolerance in every entry.

    Attributes:
        features: Z, shape (n, r).
        pivots: r of the points, whose rows of Z are the lower triangle (r, r).
    """

    features: np.ndarray
    pivots: np.ndarray

    __repr__ = short

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        r"""c with $w \cdot z(x) = \sum_k c_k K(x, x_{\text{pivot } k})$ at any point x; weights w of shape (r,)."""
        checks.array(self.pivots.shape, weights=weights)
        return linalg.solve_triangular(self.features[self.pivots], weights, trans="T", lower=True)


def reduced(kernel: np.ndarray, tolerance: float) -> Reduced:
    """Pivoted Cholesky decomposition of a positive semidefinite kernel (n, n), by LAPACK.

    Args:
        tolerance: largest error of an entry, absolute; the largest entry of the diagonal bounds it from above.

    Raises ValueError for what :func:`shallow.kernels.empirical.semidefinite` refuses, a largest entry below 1e-50, or a
    tolerance that leaves no feature.
    Cost: O(n^2 r), and the memory of three kernels besides the given one.
    """
    empirical.semidefinite(kernel=kernel)
    kernel = np.asarray(kernel, dtype=np.float64)
    diagonal = kernel.diagonal()
    checks.within("[1e-50, 1e50]", **{"largest of kernel": diagonal.max()})
    if not 0 < tolerance < diagonal.max():
        raise ValueError(f"tolerance must be positive and below the diagonal of the kernel, got {tolerance}")
    # With numbers whose squares are not normal a processor takes a hundred times as long.
    kernel = np.where(np.abs(kernel) < 1e-100, 0.0, kernel)
    factor, order, rank, _ = linalg.lapack.dpstrf(np.asfortranarray(kernel), tol=tolerance, lower=1, overwrite_a=1)
    order = order - 1
    features = np.empty((len(kernel), rank))
    features[order] = np.tril(factor)[:, :rank]
    rest = (diagonal - (features**2).sum(axis=1)).min()
    if rest < -empirical.ROUNDING * diagonal.max():
        raise ValueError(f"kernel must be positive semidefinite, got {rest:g} on the diagonal of what is left of it")
    return Reduced(features, order[:rank])


def coordinate_descent(
    points: Reduced,
    y: np.ndarray,
    C: float,
    rng: np.random.Generator,
    *,
    passes: Sequence[int],
    tolerance: float = 1e-4,
) -> list[Machine]:
    r"""The machine of ``LinearSVC(dual=True, max_iter=p, tol=tolerance)`` for several limits p of one run.

    Args:
        points: the n points of the fit.
        y: labels -1 and 1, shape (n,).
        C: weight of the loss, positive.
        rng: draws the order of every pass.
        passes: ascending limits.
        tolerance: spread of the projected gradients at which it ends.

    Returns:
        Machines on the *pivots*: ``values`` takes K of points with ``points.pivots``, shape (n', r).  The duality gap
        is that of the iterate.

    Raises:
        ValueError: for bad input, naming the argument.

    Cost: O(n r) per pass; points with $\alpha_i = 0$ and a gradient that keeps them there are left out.
    """
    checks.generators(rng=rng)
    checks.numbers(points=points, passes=passes)
    checks.positive(tolerance=tolerance)
    limits = list(passes)
    whole = limits and all(isinstance(limit, int | np.integer) for limit in limits)
    if not whole or limits[0] < 1 or limits != sorted(set(limits)):
        raise ValueError(f"passes must be ascending positive integers, got {passes}")
    _, y = checked(points.features, y, C, classes=True, name="features")
    z = points.features.astype(np.float32)
    shift = 1 / (2 * C)
    curvature = (points.features**2).sum(axis=1) + 1 + shift
    alpha, w = np.zeros(len(y)), np.zeros(z.shape[1] + 1, np.float32)  # the last weight is the intercept
    active, top, done, found = np.arange(len(y)), np.inf, 0, []
    while len(found) < len(limits):
        if done % _FRESH == 0:  # single precision halves the time of a pass, and its errors must not add up
            w[:] = _weights(points, alpha * y)
        order = rng.permutation(active)
        kept, highest, lowest = _pass(z, y, curvature, shift, order, top, alpha, w)
        done += 1
        ended = highest - lowest <= tolerance
        finished = ended and len(active) == len(y)
        active = np.arange(len(y)) if ended else order[kept]
        top = highest if highest > 0 and not ended else np.inf
        while len(found) < len(limits) and (finished or done == limits[len(found)]):
            found.append(_machine(points, y, C, alpha, done, not finished))
    return found


@_compiled
def _pass(z, y, curvature, shift, order, top, alpha, w):
    """One pass in the given order; which points stay, and the largest and smallest projected gradient."""
    kept, highest, lowest, r = np.ones(len(order), np.bool_), -np.inf, np.inf, z.shape[1]
    for k in range(len(order)):
        i = order[k]
        product = w[r]
        for j in range(r):
            product += w[j] * z[i, j]
        gradient = y[i] * product - 1 + alpha[i] * shift
        projected = gradient
        if alpha[i] == 0:
            if gradient > top:
                kept[k] = False
                continue
            projected = min(gradient, 0.0)
        highest, lowest = max(highest, projected), min(lowest, projected)
        if abs(projected) > 1e-12:
            before = alpha[i]
            alpha[i] = max(before - gradient / curvature[i], 0.0)
            step = np.float32((alpha[i] - before) * y[i])
            for j in range(r):
                w[j] += step * z[i, j]
            w[r] += step
    return kept, highest, lowest


def _weights(points: Reduced, beta: np.ndarray) -> np.ndarray:
    return np.append(points.features.T @ beta, beta.sum())


def _machine(points: Reduced, y: np.ndarray, C: float, alpha: np.ndarray, done: int, stopped: bool) -> Machine:
    w = _weights(points, alpha * y)
    slack = np.maximum(0, 1 - y * (points.features @ w[:-1] + w[-1]))
    objective = w @ w / 2 + C * slack @ slack
    dual = alpha.sum() - w @ w / 2 - alpha @ alpha / (4 * C)
    ended = Convergence(done, stopped, float(objective), relative_gap(objective, dual))
    return Machine(points.coefficients(w[:-1]), float(w[-1]), ended)
