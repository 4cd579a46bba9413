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
from scipy.integrate import solve_ivp

from shallow import checks
from shallow.representation import short


@dataclass(frozen=True)
class LinearFlow:
    """A trajectory at T times.

    Attributes:
        times: shape (T,).
        a, W: shapes (T, m) and (T, m, D).
        beta: the target, shape (D,).
        variances: diagonal of the inputs' covariance, shape (D,).
    """

    times: np.ndarray
    a: np.ndarray
    W: np.ndarray
    beta: np.ndarray
    variances: np.ndarray

    __repr__ = short

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
    r"""The flow from (a, W) at time 0, by an explicit Runge-Kutta method of order 8 with error control.

    Args:
        a, W: initial weights, shapes (m,) and (m, D).
        beta: target, shape (D,).
        times: ascending, not negative, shape (T,).
        variances: diagonal of $\Lambda$, shape (D,); by default ones (whitened inputs).
        tolerance: error of a step relative to each weight, or to the largest initial weight where that is more;
            from 1e-13.

    Cost: O(m D) per evaluation of the velocity and a few thousand of them: 0.1 s for 50 x 10 weights.
    """
    checks.numbers(a=a, W=W, beta=beta, times=times, variances=variances)
    a, W, beta, times = (np.asarray(values, dtype=np.float64) for values in (a, W, beta, times))
    variances = np.ones(len(np.atleast_1d(beta))) if variances is None else np.asarray(variances, dtype=np.float64)
    if beta.ndim != 1 or W.ndim != 2 or a.shape != W.shape[:1] or beta.shape != W.shape[1:]:
        raise ValueError(f"a, W, beta must have shapes (m,), (m, D), (D,), got {a.shape}, {W.shape}, {beta.shape}")
    checks.finite(a=a, W=W, beta=beta)
    if variances.shape != beta.shape or not ((variances > 0) & np.isfinite(variances)).all():
        raise ValueError(f"variances must be {len(beta)} positive numbers, got {variances}")
    whole = times.ndim == 1 and times.size and np.isfinite(times).all()
    if not whole or times[0] < 0 or times[-1] == 0 or (np.diff(times) <= 0).any():
        raise ValueError(f"times must ascend from 0 or later to a positive time, got {times}")
    if not 1e-13 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in [1e-13, 1), got {tolerance}")

    def split(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return states[..., : len(a)], states[..., len(a) :].reshape(*states.shape[:-1], *W.shape)

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        output, hidden = split(state)
        g = variances * (beta - output @ hidden)
        return np.concatenate([hidden @ g, np.outer(output, g).ravel()])

    start = np.concatenate([a, W.ravel()])
    floor = tolerance * max(np.abs(start).max(), np.finfo(float).tiny)
    solution = solve_ivp(velocity, (0, times[-1]), start, method="DOP853", t_eval=times, rtol=tolerance, atol=floor)
    return LinearFlow(times, *split(solution.y.T), beta, variances)


def balanced(times: np.ndarray, strength: float, start: float) -> np.ndarray:
    r"""$c(t) = s / (1 + (s/c_0 - 1)\,e^{-2 s t})$, the solution for whitened inputs and one aligned, balanced mode.

    From $a = \sqrt{c_0}\,\hat u$ and $W = \sqrt{c_0}\,\hat u \hat\beta^\top$ with unit vectors the flow keeps this
    form: $u = c(t)\,\hat\beta$ with $\dot c = 2 c (s - c)$, and $M = c(t)\,(\hat\beta\hat\beta^\top + I)$.

    Args:
        times: shape (T,).
        strength: $s = |\beta|$.
        start: $c_0 > 0$.
    """
    checks.numbers(times=times)
    checks.positive(strength=strength, start=start)
    return strength / (1 + (strength / start - 1) * np.exp(-2 * strength * np.asarray(times, dtype=np.float64)))
