r"""Gradient flow of the two-layer linear network $f(x) = a^\top W x$ towards a linear target $\beta \cdot x$.

For inputs with covariance $\Lambda$ the loss is $\frac12 (u - \beta)^\top \Lambda (u - \beta)$ with $u = W^\top a$, and

.. math:: \dot W = a\,g^\top, \qquad \dot a = W g, \qquad g = \Lambda (\beta - u) ,

which conserves $a a^\top - W W^\top$.  The tangent kernel is $x^\top M z$ with $M = W^\top W + |a|^2 I$.  From a small
initialisation and for $\Lambda = I$ the network first grows along one mode, which turns M towards $\beta$ while u is
still negligible, and then M only grows in scale: *silent alignment*.
Source: Atanasov, Bordelon and Pehlevan, "Neural networks as kernel learners: the silent alignment effect" (2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shallow.train import ode


@dataclass(frozen=True)
class LinearFlow:
    """A trajectory at T times: a (T, m), W (T, m, D); target (D,), diagonal of the inputs' covariance (D,)."""

    times: np.ndarray
    a: np.ndarray
    W: np.ndarray
    beta: np.ndarray
    variances: np.ndarray

    @property
    def predictor(self) -> np.ndarray:
        r"""$u = W^\top a$, shape (T, D)."""
        return np.einsum("tmd,tm->td", self.W, self.a)

    @property
    def loss(self) -> np.ndarray:
        """Half the mean squared error, shape (T,)."""
        return 0.5 * ((self.predictor - self.beta) ** 2 @ self.variances)

    @property
    def kernel(self) -> np.ndarray:
        r"""M of the tangent kernel $x^\top M z$, shape (T, D, D)."""
        scale = np.einsum("tm,tm->t", self.a, self.a)
        return np.einsum("tmd,tme->tde", self.W, self.W) + scale[:, None, None] * np.eye(len(self.beta))

    @property
    def alignment(self) -> np.ndarray:
        r"""$\langle K, yy^\top\rangle / (\|K\| \|y\|^2)$ over the population, shape (T,).

        With $R = \Lambda^{1/2}$ it is $y^\top R M R\,y / (\|R M R\|\,|y|^2)$ for $y = R\beta$.
        """
        root = np.sqrt(self.variances)
        seen, y = root[:, None] * self.kernel * root, root * self.beta
        return np.einsum("d,tde,e->t", y, seen, y) / (np.linalg.norm(seen, axis=(1, 2)) * (y @ y))


def integrate(
    a: np.ndarray,
    W: np.ndarray,
    beta: np.ndarray,
    times: np.ndarray,
    *,
    variances: np.ndarray | None = None,
    tolerance: float = 1e-10,
) -> LinearFlow:
    r"""The flow from weights (m,) and (m, D) at time 0; `variances`, the diagonal of $\Lambda$, are by default ones."""
    variances = np.ones(np.shape(beta)) if variances is None else variances
    a, W, beta, variances = (np.asarray(values, dtype=np.float64) for values in (a, W, beta, variances))

    def velocity(output: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g = variances * (beta - output @ hidden)
        return hidden @ g, np.outer(output, g)

    trajectory = ode.integrate(velocity, (a, W), times, tolerance=tolerance)
    return LinearFlow(np.asarray(times, dtype=np.float64), *trajectory, beta, variances)
