r"""What drives the first stage of training from small weights: the vectors $D_n(w)$ and their inner products $G_n(w)$.

For data $(x_k, y_k)$, k = 1..n, and a direction w,

.. math:: D_n(w) = \frac1n \sum_k \mathbf 1\{\langle w, x_k\rangle > 0\}\, y_k x_k, \qquad
          G_n(w) = \langle w, D_n(w)\rangle = \frac1n \sum_k y_k\, \sigma(\langle w, x_k\rangle),

and $\mathfrak D_n(w)$ is the set of the vectors in which the indicator may take any value of [0, 1] where
$\langle w, x_k\rangle = 0$.  Later in training the labels are replaced by the residuals $y_k - h_\theta(x_k)$.
Source: Boursier and Flammarion, "Simplicity bias and optimization threshold in two-layer ReLU networks", Section 2.3.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.nets import TwoLayer


def signs(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    r"""Activation patterns $A_n(w)_k = \mathrm{sign}\langle w, x_k\rangle$ in {-1, 0, 1}, int8.

    Args:
        x: inputs, shape (n, d).
        w: directions, shape (..., d).

    Returns:
        Shape (..., n).
    """
    x, _ = sample(x, np.zeros(len(x)))
    x, w = _directions(x, w)
    return np.sign(w @ x.T).astype(np.int8)


def vector(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    r"""$D_n(w)$, with the indicator 0 at $\langle w, x_k\rangle = 0$; w of shape (..., d), result of the same shape.

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


def bundle(x: np.ndarray, y: np.ndarray, pattern: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""The set $\mathfrak D_n(w)$ of a direction with the given pattern: a corner of it, and its edges.

    Args:
        x, y: the sample, shapes (n, d) and (n,).
        pattern: $A_n(w)$ in {-1, 0, 1}, shape (n,); a computed w on a boundary meets its zeros only up to rounding,
            which is why the pattern is asked for and not the direction.

    Returns:
        The corner D with all indicators 0 at zeros, shape (d,), and the edges $y_k x_k / n$ of the z zeros, shape
        (z, d): $\mathfrak D_n(w) = \{D + \eta^\top E : \eta \in [0, 1]^z\}$.
    """
    checks.numbers(pattern=pattern)
    x, y = sample(x, y)
    pattern = np.asarray(pattern)
    if pattern.shape != y.shape or not np.isin(pattern, (-1, 0, 1)).all():
        raise ValueError(
            f"pattern must have shape {y.shape} and values -1, 0, 1, "
            f"got {checks.given(pattern, np.isin(pattern, (-1, 0, 1)))}"
        )
    pushes = y[:, None] * x / len(y)
    return pushes[pattern > 0].sum(axis=0), pushes[pattern == 0]


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
    w = w / np.linalg.norm(w, axis=-1, keepdims=True)
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
    if beta.ndim != 1 or covariance.shape not in (beta.shape, beta.shape * 2):
        raise ValueError(f"covariance must be (d,) or (d, d) for beta (d,), got {covariance.shape} and {beta.shape}")
    return 0.5 * (covariance * beta if covariance.ndim == 1 else covariance @ beta)


def sample(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sample as float64 arrays (n, d) and (n,); ValueError where they do not fit or are not finite."""
    checks.numbers(x=x, y=y)
    x, y = np.ascontiguousarray(x, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
    if x.ndim != 2 or not x.size or y.shape != (len(x),):
        raise ValueError(f"x and y must have shapes (n, d) and (n,), not empty, got {x.shape} and {y.shape}")
    checks.finite(x=x, y=y)
    return x, y


def _directions(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    checks.numbers(w=w)
    x, w = np.asarray(x, dtype=np.float64), np.asarray(w, dtype=np.float64)
    if w.ndim == 0 or w.shape[-1] != x.shape[-1] or not np.isfinite(w).all():
        raise ValueError(f"w must be finite with {x.shape[-1]} coordinates along its last axis, got {checks.given(w)}")
    return x, w
