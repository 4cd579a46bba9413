r"""Gradient flow of weights and biases of erf networks on Gaussian data, in closed form: why two populations arise.

The network is $\hat y(x) = \frac1K \sum_k \sigma(h_k + b_k)$, $h_k = \langle w_k, x\rangle$, with
$\sigma(x) = \mathrm{erf}(x/\sqrt2)$, labels +1 and -1 of probability 1/2, and class i is $N(0, \Sigma_i)$.  With
$v = w^\top\Sigma w$, Stein's lemma $\mathbb E[f(h) X] = \Sigma w\,\mathbb E f'(h)$ gives (31) to (34) of the note

.. math:: \mathbb E\,\frac{\partial\hat y}{\partial b} = \frac1K\sqrt{\tfrac2\pi}\,(1 + v)^{-1/2} e^{-b^2/(2(1 + v))},
          \qquad \mathbb E\,\frac{\partial\hat y}{\partial w}
          = -\frac{b}{1 + v}\,\mathbb E\,\frac{\partial\hat y}{\partial b}\;\Sigma w ,

and half the difference of the two classes, $\frac12(\mathbb E_1 - \mathbb E_0)\,\partial\hat y$, is the velocity of the
gradient flow of the absolute loss $\mathbb E|Y - \hat y|$, exactly, and of the squared loss (2) as long as the output
is small beside the labels.  The neurons do not see each other.  From b = 0 the weights rest until the bias moves, and
it becomes negative if and only if $v_1 > v_0$; then a negative bias amplifies $\Sigma_1 - \Sigma_0$ in the weights and
a positive one $\Sigma_0 - \Sigma_1$, each of which drives its bias further.

What is missing for (2), $-\frac12(\mathbb E_1 + \mathbb E_0)\,\hat y\,\partial\hat y$, couples the neurons and has a
closed form too.  With it, the flow is that of (2) for all times.
Time is the learning rate times the number of steps.  For data with gain g the covariances of X are a good
approximation for fields that spread over many correlation lengths, which have nearly normal $h_k$.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erf

from shallow import checks
from shallow.display import short
from shallow.train import ode

_DENSITY = (2 / np.pi) ** 0.5  # sigma'(0)


class Gradient(NamedTuple):
    """Something like a derivative with respect to the weights, shape (K, n), and to the biases, (K,)."""

    W: np.ndarray
    b: np.ndarray

    __repr__ = short


class Flow(NamedTuple):
    """A trajectory: weights (T, K, n) and biases (T, K)."""

    W: np.ndarray
    b: np.ndarray

    __repr__ = short


def velocity(W: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray, *, coupled: bool = False) -> Gradient:
    r"""Minus the gradient of the absolute loss or, coupled, of the squared loss (2) with its factor 1/2.

    Args:
        W, b: shapes (K, n) and (K,).
        first, second: covariances $\Sigma_1, \Sigma_0$ of the classes with label +1 and -1, shape (n, n).
        coupled: with the part of the squared loss in which the neurons see each other.
    """
    return _velocity(*_checked(W, b, first=first, second=second), coupled)


def integrate(
    W: np.ndarray,
    b: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    times: np.ndarray,
    *,
    coupled: bool = False,
    tolerance: float = 1e-8,
) -> Flow:
    """The flow from (W, b) at time 0.

    Args:
        W, b, first, second, coupled: as for :func:`velocity`.
        times, tolerance: as for :func:`shallow.train.ode.integrate`; time is the learning rate times steps.

    Cost: 0.2 s of one core for 40 neurons of 40 pixels, coupled, up to 2000 steps at the rate 20.
    """
    W, b, first, second = _checked(W, b, first=first, second=second)

    def moved(W: np.ndarray, b: np.ndarray) -> Gradient:
        return _velocity(W, b, first, second, coupled)

    return Flow(*ode.integrate(moved, (W, b), times, tolerance=tolerance))


def _velocity(W: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray, coupled: bool) -> Gradient:
    seen = [W @ covariance for covariance in (first, second)]
    plus, minus = (_mean_gradient(W, b, one) for one in seen)
    total = [(p - m) / 2 for p, m in zip(plus, minus)]
    if coupled:
        for one in seen:
            total = [part - other / 2 for part, other in zip(total, _output_gradient(W, b, one))]
    return Gradient(*total)


def _mean_gradient(W: np.ndarray, b: np.ndarray, seen: np.ndarray) -> Gradient:
    """With seen = W Sigma."""
    spread = 1 + np.einsum("kn,kn->k", W, seen)
    by_bias = _DENSITY / len(b) * np.exp(-(b**2) / (2 * spread)) / np.sqrt(spread)
    return Gradient(-(b / spread * by_bias)[:, None] * seen, by_bias)


def _output_gradient(W: np.ndarray, b: np.ndarray, seen: np.ndarray) -> Gradient:
    r"""$\mathbb E\,\hat y\,\partial\hat y = \frac12\,\partial\,\mathbb E\,\hat y^2$, with seen = W Sigma.

    Under the density of X times $e^{-(h_k + b_k)^2/2}$, $h_l + b_l$ is again normal.  With $r = w_k^\top\Sigma w_l$

    .. math:: G_{kl} = \mathbb E\bigl[e^{-(h_k + b_k)^2/2} \sigma(h_l + b_l)\bigr]
              = \frac{e^{-b_k^2/(2(1 + v_k))}}{\sqrt{1 + v_k}}\,\sigma\Bigl(\frac{m_{kl}}{d_{kl}}\Bigr), \qquad
              m_{kl} = b_l - \frac{b_k r}{1 + v_k}, \quad d_{kl}^2 = 1 + v_l - \frac{r^2}{1 + v_k},

    and by Stein's lemma for a function of two pre-activations
    $\mathbb E[\hat y\,\partial_{w_k}\hat y] = \sqrt{2/\pi}\,K^{-2} \sum_l (\partial_{b_k} G_{kl}\,\Sigma w_k
    + \partial_{b_l} G_{kl}\,\Sigma w_l)$, where for l = k the two places of $b_k$ are told apart.
    """
    products = seen @ W.T
    spread = (1 + np.diagonal(products))[:, None]
    weight = np.exp(-(b[:, None] ** 2) / (2 * spread)) / np.sqrt(spread)
    width = np.sqrt(spread.T - products**2 / spread)  # at least 1, as r^2 <= v_k v_l
    place = (b - b[:, None] * products / spread) / width
    overlap = weight * erf(place / 2**0.5)
    by_other = weight * _DENSITY * np.exp(-(place**2) / 2) / width
    by_own = -b[:, None] / spread * overlap - by_other * products / spread
    scale = _DENSITY / len(b) ** 2
    return Gradient(scale * (by_own.sum(axis=1)[:, None] * seen + by_other @ seen), scale * overlap.sum(axis=1))


def _checked(W: np.ndarray, b: np.ndarray, **covariances: np.ndarray) -> list[np.ndarray]:
    checks.array(("K", "n"), W=W)
    checks.array((len(W),), b=b)
    checks.array((np.shape(W)[1],) * 2, **covariances)
    for name, sigma in covariances.items():
        if not np.allclose(sigma, np.transpose(sigma)):
            raise ValueError(f"{name} must be symmetric")
    return [np.asarray(values, dtype=np.float64) for values in (W, b, *covariances.values())]
