r"""Hidden weights and a hidden direction: cosines, and the first push of training.

For inputs $x \sim N(0, \Sigma)$ whose label is $q(v)$ with $v = e \cdot x$, the vector

.. math:: D(w, b) = \mathbb E\bigl[\mathbf 1\{w \cdot x + b > 0\}\, q(v)\, x\bigr]

drives a neuron as long as the network's output is negligible: the gradient of the loss is $-a_j D(w_j, b_j)$, where q
is the target for half the squared loss and its sign for the absolute loss; an output that is nearly a constant is
subtracted from the target.  By Stein's lemma $D = \Sigma\,(A\,e + B\,w)$.  Let $c_k$ be the Hermite coefficients of
q, $\rho$ the correlation of v with $w \cdot x$, and $\tau$, $\omega$ their standard deviations; then

.. math:: A = \frac1\tau \sum_{k \ge 1} \sqrt k\, c_k\, \rho^{k-1} \gamma_{k-1}(b/\omega), \qquad
          B = \frac{\varphi(b/\omega)}\omega \sum_{k \ge 0} c_k\, \rho^k h_k(-b/\omega) ,

where $\gamma_k(\beta) = \mathbb E[h_k(z) \mathbf 1\{z > -\beta\}]$, that is $\Phi(\beta)$ for k = 0 and
$\varphi(\beta) h_{k-1}(-\beta)/\sqrt k$ else.  In many dimensions $\rho$ is small, and $A \approx c_1
\Phi(\beta)/\tau$ is of one sign for all neurons; where $c_1 = 0$, as for an even target, A is of order $\rho$.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from experiments.hidden_structure import hidden_index
from shallow import checks
from shallow.display import short


def cosines(W: np.ndarray, direction: np.ndarray, least: float = 0.0) -> np.ndarray:
    r"""$|\cos(w_j, e)|$ for weights of shape (..., D) and a direction (D,), not zero; shape (...).

    Weights of norm `least` or less have no meaningful direction, and get NaN; those of norm 0 always do.
    """
    checks.numbers(W=W, direction=direction)
    W, direction = np.asarray(W, dtype=np.float64), np.asarray(direction, dtype=np.float64)
    length = np.linalg.norm(direction)
    if direction.ndim != 1 or W.ndim < 1 or W.shape[-1] != len(direction) or not (np.isfinite(length) and length > 0):
        raise ValueError(f"direction must be a vector for weights {W.shape}, not zero, got {checks.given(direction)}")
    checks.not_negative(least=least)
    norms = np.linalg.norm(W, axis=-1)
    along = np.abs(W @ direction) / length
    return np.minimum(np.divide(along, norms, out=np.full(norms.shape, np.nan), where=norms > least), 1.0)


def aligned(cosine: np.ndarray, threshold: float = 0.5) -> np.ndarray:
    """Share of units with a cosine of at least the threshold among those that have one, if any, over the last axis."""
    checks.numbers(cosine=cosine)
    checks.within("(0, 1]", threshold=threshold)
    cosine = np.asarray(cosine, dtype=np.float64)
    if cosine.ndim < 1 or (np.abs(cosine) > 1).any():
        raise ValueError(
            "cosine must be numbers in [-1, 1], or NaN, of shape (..., m), "
            f"got {checks.given(cosine, ~(np.abs(cosine) > 1))}"
        )
    known = np.isfinite(cosine).sum(axis=-1)
    reached = (np.nan_to_num(cosine) >= threshold).sum(axis=-1)
    return np.divide(reached, known, out=np.full(np.shape(known), np.nan), where=known > 0)


class Push(NamedTuple):
    r"""$D(w_j, b_j)$, shape (m, D), and its counterpart for the biases, $\mathbb E[\mathbf 1\{h_j > 0\}\,q]$, (m,)."""

    weights: np.ndarray
    biases: np.ndarray

    __repr__ = short


def push(W: np.ndarray, b: np.ndarray, coefficients: np.ndarray, direction: np.ndarray, covariance: np.ndarray) -> Push:
    r"""The push of the formula above, in closed form, for weights (m, D), not zero, and biases (m,).

    Args:
        coefficients: $c_k$ of q(v) for $v \sim N(0, \tau^2)$ with $\tau^2 = e^\top \Sigma e$, of :mod:`.hidden_index`;
            the sum is exact for a polynomial and of error $|\rho|^K$ for K of a sign.
        direction: e, shape (D,); ones for $v = \sum_j x_j$.
        covariance: $\Sigma$, shape (D, D), or its diagonal (D,).
    """
    checks.numbers(W=W, b=b, coefficients=coefficients, direction=direction, covariance=covariance)
    W, b, c, e, sigma = (np.asarray(values, dtype=np.float64) for values in (W, b, coefficients, direction, covariance))
    checks.array((None, None), W=W)
    checks.shape(W.shape[:1], b=b)
    checks.shape(("K",), coefficients=c)
    checks.array(W.shape[1:], direction=e)
    checks.array(e.shape * (1 if sigma.ndim == 1 else 2), covariance=sigma)
    sigma = np.diag(sigma) if sigma.ndim == 1 else sigma
    seen = W @ sigma
    tau, omega = np.sqrt(e @ sigma @ e), np.sqrt(np.einsum("md,md->m", seen, W))
    if not (omega > 0).all() or not tau > 0:
        raise ValueError("W and direction must have no rows without variance under the covariance")
    rho, beta, k = seen @ e / (omega * tau), b / omega, np.arange(len(c))[:, None]
    functions, density = hidden_index.hermite(-beta, len(c)), np.exp(-(beta**2) / 2) / (2 * np.pi) ** 0.5
    powers = rho**k
    gamma = np.concatenate([special.ndtr(beta)[None], density * functions[:-1] / k[1:] ** 0.5])
    along = (k[1:] ** 0.5 * c[1:, None] * powers[:-1] * gamma[:-1]).sum(axis=0) / tau
    across = density / omega * (c @ (powers * functions))
    return Push(along[:, None] * (sigma @ e) + across[:, None] * seen, c @ (powers * gamma))
