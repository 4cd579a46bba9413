r"""What drives the first stage of training from small weights: the vectors $D_n(w)$ and their inner products $G_n(w)$.

For data $(x_k, y_k)$, k = 1..n, and a direction w,

.. math:: D_n(w) = \frac1n \sum_k \mathbf 1\{\langle w, x_k\rangle > 0\}\, y_k x_k, \qquad
          G_n(w) = \langle w, D_n(w)\rangle = \frac1n \sum_k y_k\, \sigma(\langle w, x_k\rangle),

with the indicator 0 where $\langle w, x_k\rangle = 0$.  Later in training the labels are replaced by the residuals
$y_k - h_\theta(x_k)$.
Source: Boursier and Flammarion, "Simplicity bias and optimization threshold in two-layer ReLU networks", Section 2.3.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.nets import TwoLayer


def vector(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    r"""$D_n(w)$ for w of shape (..., d), of the same shape.

    Cost: O(n d) per direction.
    """
    x, y = sample(x, y)
    x, w = _directions(x, w)
    return ((w @ x.T > 0) * y) @ x / len(y)


def function(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    r"""$G_n(w) = \langle w, D_n(w)\rangle$, homogeneous of degree one (eq. 5); w of shape (..., d), result (...)."""
    x, y = sample(x, y)
    x, w = _directions(x, w)
    return np.maximum(w @ x.T, 0.0) @ y / len(y)


def population(teacher: TwoLayer, w: np.ndarray) -> np.ndarray:
    r"""$D(w) = \mathbb E[\mathbf 1\{\langle w, x\rangle > 0\}\, y\, x]$ for $x \sim N(0, I_d)$ and a two-layer teacher.

    Each unit $a\,\sigma(\langle v, x\rangle)$ at the angle t from w adds
    $\frac{a}{2\pi} [(\pi - t)\, v + \|v\| \sin t\; w / \|w\|]$; centred noise adds nothing.

    Args:
        teacher: k units without biases; a linear teacher is two of them.
        w: directions, shape (..., d), not zero.

    Cost: O(k d) per direction.
    """
    v, w = _directions(teacher.W, w)
    if teacher.b.any():
        raise ValueError("teacher must have no biases")
    w = np.ldexp(w, -np.frexp(np.abs(w).max(axis=-1, keepdims=True))[1])  # exact: no square leaves the range
    w /= np.linalg.norm(w, axis=-1, keepdims=True)
    sizes = np.linalg.norm(v, axis=1)
    units = v / np.where(sizes, sizes, 1.0)[:, None]
    # Half angles keep the digits that arccos loses for parallel vectors.
    apart, together = (np.linalg.norm(w[..., None, :] + sign * units, axis=-1) for sign in (-1, 1))
    angle = 2 * np.arctan2(apart, together)
    along = (teacher.v * sizes * np.sin(angle)).sum(axis=-1, keepdims=True)
    return ((teacher.v * (np.pi - angle)) @ v + along * w) / (2 * np.pi)


def population_linear(covariance: np.ndarray, beta: np.ndarray) -> np.ndarray:
    r"""$D(w) = \tfrac12 \Sigma \beta^*$, the same for every w: symmetric inputs and a linear teacher; shape (d,).

    Args:
        covariance: $\Sigma = \mathbb E xx^\top$, shape (d, d), or its diagonal, shape (d,).
        beta: $\beta^*$, shape (d,).
    """
    checks.numbers(covariance=covariance, beta=beta)
    covariance, beta = np.asarray(covariance, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    checks.shape(("d",), beta=beta)
    checks.shape((len(beta),) * (1 if covariance.ndim == 1 else 2), covariance=covariance)
    return 0.5 * (covariance * beta if covariance.ndim == 1 else covariance @ beta)


def sample(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sample as float64 arrays (n, d) and (n,); ValueError where they do not fit or are not finite."""
    checks.array(("n", "d"), x=x)
    checks.array((len(x),), y=y)
    return np.ascontiguousarray(x, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)


def _directions(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    checks.array((..., x.shape[-1]), w=w)
    return np.asarray(x, dtype=np.float64), np.asarray(w, dtype=np.float64)
