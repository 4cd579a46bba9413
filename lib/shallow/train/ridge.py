r"""The ridge read-out of a student, and how well its features and weights are aligned with the teacher.

On n hold-out points with features Z (n, h) the output weights are (Kothapalli et al., eq. 6, with $\mu = \lambda/h$)

.. math:: \hat a = \arg\min_a \tfrac1n |y - Z a|^2 + \mu |a|^2 = (Z^\top Z + \mu n I)^{-1} Z^\top y .

Everything after the features is in float64 and by Cholesky factors.  The document's code inverts in float32, which in
its base setting moves its losses in the seventh digit at initialisation and in the fifth after large steps; its n x n
sums for the kernel target alignment, also in float32, move that in the fourth digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from shallow import checks
from shallow.data.single_index import Sample
from shallow.nets import Student
from shallow.representation import short


class Ridge:
    r"""Ridge regression without intercept on fixed features, for any number of penalties.

    The Gram matrix is formed once, $Z^\top Z$ or $Z Z^\top$, whichever is smaller.  A fit then takes one Cholesky
    factorisation, so that up to about ten penalties cost less than one eigendecomposition.

    Args:
        features: Z, shape (n, h); not changed.
        labels: y, shape (n,).

    Raises:
        ValueError: for shapes that do not fit or values that are not finite.

    Cost: n h min(n, h) operations; $\tfrac13 \min(n, h)^3$ per fit.
    """

    def __init__(self, features: np.ndarray, labels: np.ndarray):
        checks.numbers(features=features, labels=labels)
        self._Z, self._y = (np.asarray(a, dtype=np.float64) for a in (features, labels))
        if self._Z.ndim != 2 or not self._Z.size or not np.isfinite(self._Z).all():
            raise ValueError(f"features must be a finite matrix that is not empty, got {checks.given(self._Z)}")
        if self._y.shape != (len(self._Z),) or not np.isfinite(self._y).all():
            raise ValueError(f"labels must be finite of shape ({len(self._Z)},), got {checks.given(self._y)}")
        n, h = self._Z.shape
        self._gram = self._Z.T @ self._Z if h <= n else self._Z @ self._Z.T
        self._correlation = self._Z.T @ self._y

    def weights(self, penalty: float) -> np.ndarray:
        r"""$\hat a$, shape (h,), for the penalty $\mu > 0$ of the mean squared error; the document's is $\lambda/h$."""
        checks.positive(penalty=penalty)
        n, h = self._Z.shape
        matrix = self._gram.copy()
        matrix.flat[:: len(matrix) + 1] += penalty * n
        factor = linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
        if h <= n:
            return linalg.cho_solve(factor, self._correlation, check_finite=False)
        return self._Z.T @ linalg.cho_solve(factor, self._y, check_finite=False)

    @property
    def alignment(self) -> float:
        r"""Kernel target alignment of $K = Z Z^\top$ and $y y^\top$ (eq. 7), without forming either:

        .. math:: \frac{\langle K, y y^\top \rangle}{\|K\|_F\,\|y y^\top\|_F}
           = \frac{|Z^\top y|^2}{\|Z^\top Z\|_F\,|y|^2} \in [0, 1] .
        """
        denominator = np.linalg.norm(self._gram) * (self._y @ self._y)
        if not denominator > 0:
            raise ValueError("features and labels must not be zero")
        return float(self._correlation @ self._correlation / denominator)


def mean_square(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    r"""$\frac1n |y - Z a|^2$ for Z of shape (n, h), y of shape (n,) and a of shape (h,); without a factor 1/2."""
    checks.numbers(features=features, labels=labels, weights=weights)
    shapes = [np.shape(values) for values in (features, labels, weights)]
    if len(shapes[0]) != 2 or shapes[1:] != [shapes[0][:1], shapes[0][1:]]:
        raise ValueError(f"features, labels, weights must have shapes (n, h), (n,), (h,), got {shapes}")
    return float(np.mean((features @ weights - labels) ** 2, dtype=np.float64))


@dataclass(frozen=True)
class Evaluation:
    r"""A student with its read-out.

    Attributes:
        train: mean square of the ridge fit on the points it was fitted to, by penalty, shape (L,).
        test: mean square on the test points, shape (L,).
        alignment: kernel target alignment of the features with the labels of the fitted points.
    """

    train: np.ndarray
    test: np.ndarray
    alignment: float

    __repr__ = short


def evaluate(
    student: Student, probe: Sample, test: Sample, penalties: Sequence[float] = (0.01,), *, scale: float | None = None
) -> Evaluation:
    r"""Ridge losses and kernel target alignment as in the document's figures.

    Args:
        student: its first layer gives the features; its output weights are replaced.
        probe: the hold-out points, to which the read-out is fitted; "train loss" is the loss there.
        test: the test points.
        penalties: $\lambda$, each divided by the width h (eq. 6).
        scale: scale of the pre-activations, if not the student's.  The document's code applies the scale twice:
            ``scale=student.scale**2``, $\tanh(Wx/d)$ in NTK scaling.

    Cost: 2 n d h + n h min(n, h) operations; 0.2 s on one core for n = 2000, d = 1000, h = 1500.
    """
    checks.numbers(penalties=penalties)
    if not all(np.isfinite(penalty) and penalty > 0 for penalty in penalties):
        raise ValueError(f"penalties must be positive and finite, got {penalties}")
    fitted, unseen = (student.features(sample.x, scale).astype(np.float64) for sample in (probe, test))
    ridge = Ridge(fitted, probe.y)
    readouts = [ridge.weights(penalty / len(student.a)) for penalty in penalties]
    return Evaluation(
        train=np.array([mean_square(fitted, probe.y, weights) for weights in readouts]),
        test=np.array([mean_square(unseen, test.y, weights) for weights in readouts]),
        alignment=ridge.alignment,
    )


def similarity(W: np.ndarray, directions: np.ndarray) -> float:
    r"""$|v_1 \cdot \beta|$ with $v_1$ the first right singular vector of W (the document's sim, Section 3.2).

    Args:
        W: shape (h, d).
        directions: one unit vector of shape (d,), or k orthonormal rows of shape (k, d); for several the length of the
            projection of $v_1$ on their span.

    A random vector has $\sqrt{k/d}$.  Cost: h d^2 + 4/3 d^3 operations, 0.1 s on one core for d = 1000.
    """
    checks.numbers(W=W, directions=directions)
    W, directions = np.asarray(W, dtype=np.float64), np.atleast_2d(np.asarray(directions, dtype=np.float64))
    if W.ndim != 2 or not W.size or not np.isfinite(W).all():
        raise ValueError(f"W must be a finite matrix that is not empty, got {checks.given(W)}")
    d = W.shape[1]
    orthonormal = directions.ndim == 2 and np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-6)
    if directions.ndim == 2 and np.isfinite(directions).all() and not orthonormal:
        raise ValueError(f"directions must be orthonormal rows, got scalar products {directions @ directions.T}")
    if not orthonormal or directions.shape[1] != d:
        raise ValueError(f"directions must be orthonormal with {d} columns, got {checks.given(directions)}")
    (top,) = linalg.eigh(W.T @ W, subset_by_index=[d - 1, d - 1], check_finite=False)[1].T
    return float(np.linalg.norm(directions @ top))
