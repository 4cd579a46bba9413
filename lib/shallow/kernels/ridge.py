r"""Kernel ridge regression for all penalties from one eigendecomposition.

The minimum of $|y - K\beta|^2 + \mu\,\beta^\top K \beta$ is at $\beta = (K + \mu I)^{-1} y$, and $f(x) = \sum_i \beta_i
K(x, x_i)$; without intercept, or with a penalised one on $K + 1$.  On features with $K = J J^\top$ it is ridge
regression, $|y - J w|^2 + \mu |w|^2$.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.kernels import empirical


class RidgePath:
    r"""Fits of one set of points for any number of penalties.

    Args:
        kernel: K of the n points, shape (n, n), symmetric and positive semidefinite; negative eigenvalues are taken
            as rounding errors of zero.
        y: values, shape (n,).

    Raises:
        ValueError: for shapes that do not fit, non-finite numbers or a kernel that is not symmetric.

    Cost: one eigendecomposition, about $9 n^3$ operations; O(n^2) per penalty thereafter.
    """

    def __init__(self, kernel: np.ndarray, y: np.ndarray):
        checks.numbers(y=y)
        values, self._vectors = empirical.eigenbasis(kernel)
        self._values = np.maximum(values, 0)
        y = np.asarray(y, dtype=float)
        if y.shape != values.shape or not np.isfinite(y).all():
            raise ValueError(f"y must be finite of shape {values.shape}, got {checks.given(y)}")
        self._rotated = self._vectors.T @ y

    def coefficients(self, penalties: np.ndarray) -> np.ndarray:
        """beta for penalties mu > 0 of shape (R,); shape (n, R)."""
        return self._vectors @ (self._rotated[:, None] * self._shrinkage(penalties))

    def values(self, kernel: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """f at n' points from K of these with the n points of the fit, shape (n', n); shape (n', R)."""
        checks.numbers(kernel=kernel)
        return kernel @ self.coefficients(penalties)

    def leave_one_out(self, penalties: np.ndarray) -> np.ndarray:
        r"""Errors $y_i - f^{(-i)}(x_i) = \beta_i / [(K + \mu I)^{-1}]_{ii}$ of fits without the point; shape (n, R)."""
        return self.coefficients(penalties) / (self._vectors**2 @ self._shrinkage(penalties))

    def _shrinkage(self, penalties: np.ndarray) -> np.ndarray:
        """Eigenvalues of the inverse of K + mu I, shape (n, R)."""
        checks.numbers(penalties=penalties)
        penalties = np.asarray(penalties, dtype=float)
        if penalties.ndim != 1 or not np.isfinite(penalties).all() or not (penalties > 0).all():
            raise ValueError(f"penalties must be a vector of positive finite numbers, got {penalties}")
        return 1 / (self._values[:, None] + penalties)
