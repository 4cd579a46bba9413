r"""Ridge regression for any number of penalties: on features by Cholesky factors, on a kernel by its eigenvalues.

On features J the minimum of $|y - J w|^2 + \mu |w|^2$ is at $w = (J^\top J + \mu I)^{-1} J^\top y$.  It is $J^\top
\beta$ with $\beta = (K + \mu I)^{-1} y$ for the kernel $K = J J^\top$, the minimum of $|y - K\beta|^2 + \mu\,\beta^\top
K \beta$.  Without intercept; a penalised one is that of $K + 1$.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from shallow import checks
from shallow.kernels import empirical


def solve(gram: np.ndarray, right: np.ndarray, penalty: float) -> np.ndarray:
    r"""$(G + \mu I)^{-1} B$ for a positive semidefinite G (n, n) and B of shape (n,) or (n, T); by Cholesky, float64.

    Of G the upper triangle is read, and negative eigenvalues above -mu are taken as they are.

    Raises:
        ValueError: for shapes that do not fit, non-finite numbers, and where $G + \mu I$ is not positive definite.

    Cost: $\tfrac13 n^3$ operations whatever T is, and a copy of G; up to about ten penalties cost less than one
    eigendecomposition.
    """
    checks.array(("n", "n"), gram=gram)
    checks.array((len(gram), *np.shape(right)[1:]), right=right)
    checks.positive(penalty=penalty)
    matrix = np.array(gram, dtype=np.float64)
    matrix.flat[:: len(matrix) + 1] += penalty
    try:
        factor = linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(f"gram must be positive semidefinite, got an eigenvalue below -{penalty:g}") from None
    return linalg.cho_solve(factor, right, check_finite=False)


class Ridge:
    r"""Ridge regression on features; the Gram matrix is formed once, $Z^\top Z$ or $Z Z^\top$, whichever is smaller.

    Args:
        features: Z, shape (n, h), whose largest entry is zero or from 1e-50 to 1e50; not changed.
        labels: y, shape (n,), likewise.

    Raises:
        ValueError: for shapes that do not fit and values that are not finite or out of this range.

    Cost: n h min(n, h) operations; $\tfrac13 \min(n, h)^3$ per fit.
    """

    def __init__(self, features: np.ndarray, labels: np.ndarray):
        checks.array(("n", "h"), features=features)
        checks.array((len(features),), labels=labels)
        checks.within("[1e-50, 1e50]", **{"largest of features": float(np.abs(np.asarray(features)).max()) or 1.0})
        checks.within("[1e-50, 1e50]", **{"largest of labels": float(np.abs(np.asarray(labels)).max()) or 1.0})
        self._Z, self._y = (np.asarray(a, dtype=np.float64) for a in (features, labels))
        n, h = self._Z.shape
        self._gram = self._Z.T @ self._Z if h <= n else self._Z @ self._Z.T
        self._correlation = self._Z.T @ self._y

    def weights(self, penalty: float) -> np.ndarray:
        r"""Minimum of $\frac1n |y - Z a|^2 + \mu |a|^2$, of the *mean* square, for a penalty $\mu > 0$; shape (h,)."""
        n, h = self._Z.shape
        if h <= n:
            return solve(self._gram, self._correlation, penalty * n)
        return self._Z.T @ solve(self._gram, self._y, penalty * n)

    @property
    def alignment(self) -> float:
        r"""Kernel target alignment of $K = Z Z^\top$ and $y y^\top$, without forming either:

        .. math:: \frac{\langle K, y y^\top \rangle}{\|K\|_F\,\|y y^\top\|_F}
           = \frac{|Z^\top y|^2}{\|Z^\top Z\|_F\,|y|^2} \in [0, 1] .
        """
        denominator = np.linalg.norm(self._gram) * (self._y @ self._y)
        if not denominator > 0:
            raise ValueError("features and labels must not be zero")
        return float(self._correlation @ self._correlation / denominator)


def mean_square(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    r"""$\frac1n |y - Z a|^2$ for Z of shape (n, h), y of shape (n,) and a of shape (h,); without a factor 1/2.

    In the precision of what is given, but for the mean.
    """
    checks.shape(("n", "h"), features=features)
    checks.shape((len(features),), labels=labels)
    checks.shape((np.shape(features)[1],), weights=weights)
    checks.wide(features=features, labels=labels, weights=weights)
    features, labels, weights = (np.asarray(one) for one in (features, labels, weights))
    return float(np.mean((features @ weights - labels) ** 2, dtype=np.float64))


def weights_path(features: np.ndarray, labels: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    r"""What :meth:`Ridge.weights` is for each of the penalties $\mu > 0$ of shape (L,); shape (h, L).

    From $Z^\top Z = Q \Lambda Q^\top$, with eigenvalues that rounding made negative taken as zero:
    $Q (\Lambda + \mu n I)^{-1} Q^\top Z^\top y$.  Cost: n h^2 + 9 h^3 operations, whatever L is.
    """
    checks.array(("n", "h"), features=features)
    checks.array((len(features),), labels=labels)
    checks.array((None,), penalties=penalties)
    checks.positive(penalties=penalties)
    Z, y = (np.asarray(a, dtype=np.float64) for a in (features, labels))
    values, Q = linalg.eigh(Z.T @ Z, check_finite=False)
    shrunk = np.maximum(values, 0)[:, None] + len(Z) * np.asarray(penalties, dtype=float)
    return Q @ ((Q.T @ (Z.T @ y))[:, None] / shrunk)


class RidgePath:
    r"""Kernel ridge regression for any number of penalties, with the errors of leaving one point out.

    Args:
        kernel: K of the n points, shape (n, n), symmetric and positive semidefinite; negative eigenvalues down to
            `empirical.ROUNDING` times the largest are taken as rounding errors of zero.
        y: values, shape (n,).

    Raises:
        ValueError: for shapes that do not fit, non-finite numbers or a kernel that is not symmetric or not positive
            semidefinite.

    Cost: one eigendecomposition, about $9 n^3$ operations; O(n^2) per penalty thereafter.
    """

    def __init__(self, kernel: np.ndarray, y: np.ndarray):
        values, self._vectors = empirical.eigenbasis(kernel)
        checks.array((len(values),), y=y)
        if values[-1] < -empirical.ROUNDING * np.abs(values).max():
            raise ValueError(
                f"kernel must be positive semidefinite, got eigenvalues from {values[-1]:g} to {values[0]:g}"
            )
        self._values = np.maximum(values, 0)
        y = np.asarray(y, dtype=float)
        self._rotated = self._vectors.T @ y

    def coefficients(self, penalties: np.ndarray) -> np.ndarray:
        """beta for penalties mu > 0 of shape (R,); shape (n, R)."""
        return self._vectors @ (self._rotated[:, None] * self._shrinkage(penalties))

    def values(self, kernel: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """f at n' points from K of these with the n points of the fit, shape (n', n); shape (n', R)."""
        checks.numbers(kernel=kernel)
        return np.asarray(kernel) @ self.coefficients(penalties)

    def leave_one_out(self, penalties: np.ndarray) -> np.ndarray:
        r"""Errors $y_i - f^{(-i)}(x_i) = \beta_i / [(K + \mu I)^{-1}]_{ii}$ of fits without the point; shape (n, R)."""
        return self.coefficients(penalties) / (self._vectors**2 @ self._shrinkage(penalties))

    def _shrinkage(self, penalties: np.ndarray) -> np.ndarray:
        """Eigenvalues of the inverse of K + mu I, shape (n, R)."""
        checks.array((None,), penalties=penalties)
        checks.positive(penalties=penalties)
        penalties = np.asarray(penalties, dtype=float)
        return 1 / (self._values[:, None] + penalties)
