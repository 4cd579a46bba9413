r"""Loss and gradient flow of weights and biases for Gaussian data, in closed form: why two populations arise.

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
closed form too (:func:`output_gradient`), as the loss itself (:func:`loss`).  With it, the flow is that of (2) for all
times.
Time is the learning rate times the number of steps.  For data with gain g the covariances of X are a good
approximation for fields that spread over many correlation lengths, which have nearly normal $h_k$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf, ndtr, owens_t

from shallow import checks
from shallow.representation import short

_DENSITY = (2 / np.pi) ** 0.5  # sigma'(0)


class Gradient(NamedTuple):
    """Something like a derivative with respect to the weights, shape (K, n), and to the biases, (K,)."""

    W: np.ndarray
    b: np.ndarray

    __repr__ = short


@dataclass(frozen=True)
class Flow:
    """A trajectory: times (T,), weights (T, K, n) and biases (T, K)."""

    times: np.ndarray
    W: np.ndarray
    b: np.ndarray

    __repr__ = short


def first_signs(W: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    r"""The sign that each bias takes from 0, $\operatorname{sgn}(v_0 - v_1)$, for weights (K, n); shape (K,).

    Args:
        first, second: covariances $\Sigma_1, \Sigma_0$ of the classes with label +1 and -1, shape (n, n).
    """
    W, _, first, second = _checked(W, np.zeros(len(np.atleast_1d(W))), first=first, second=second)
    return np.sign(np.einsum("kn,nm,km->k", W, second - first, W))


def mean_gradient(W: np.ndarray, b: np.ndarray, covariance: np.ndarray) -> Gradient:
    r"""$\mathbb E\,\partial\hat y$ under $N(0, \Sigma)$: the formulas above.

    Args:
        W, b: shapes (K, n) and (K,).
        covariance: $\Sigma$, shape (n, n).

    Cost: O(K n^2).
    """
    W, b, covariance = _checked(W, b, covariance=covariance)
    return _mean_gradient(W, b, W @ covariance)


def output_gradient(W: np.ndarray, b: np.ndarray, covariance: np.ndarray) -> Gradient:
    r"""$\mathbb E\,\hat y\,\partial\hat y = \frac12\,\partial\,\mathbb E\,\hat y^2$ under $N(0, \Sigma)$.

    Under the density of X times $e^{-(h_k + b_k)^2/2}$, $h_l + b_l$ is again normal.  With $r = w_k^\top\Sigma w_l$

    .. math:: G_{kl} = \mathbb E\bigl[e^{-(h_k + b_k)^2/2} \sigma(h_l + b_l)\bigr]
              = \frac{e^{-b_k^2/(2(1 + v_k))}}{\sqrt{1 + v_k}}\,\sigma\Bigl(\frac{m_{kl}}{d_{kl}}\Bigr), \qquad
              m_{kl} = b_l - \frac{b_k r}{1 + v_k}, \quad d_{kl}^2 = 1 + v_l - \frac{r^2}{1 + v_k},

    and by Stein's lemma for a function of two pre-activations
    $\mathbb E[\hat y\,\partial_{w_k}\hat y] = \sqrt{2/\pi}\,K^{-2} \sum_l (\partial_{b_k} G_{kl}\,\Sigma w_k
    + \partial_{b_l} G_{kl}\,\Sigma w_l)$, where for l = k the two places of $b_k$ are told apart.

    Args:
        W, b: shapes (K, n) and (K,).
        covariance: $\Sigma$, shape (n, n).

    Cost: O(K n^2 + K^2 n).
    """
    W, b, covariance = _checked(W, b, covariance=covariance)
    return _output_gradient(W, b, W @ covariance)


def loss(W: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    r"""The squared loss (2), $\frac14 \sum_i \mathbb E_i(\hat y - Y_i)^2$, with no test set.

    $\sigma(h + b)$ is the mean of $\operatorname{sgn}(h + b + z)$ over $z \sim N(0, 1)$, so that with
    $\beta = b/\sqrt{1 + v}$ and the normal distribution functions $\Phi$, and $\Phi_2$ of two variables

    .. math:: \mathbb E\,\sigma(h_k + b_k) = 2\Phi(\beta_k) - 1, \qquad \mathbb E[\sigma(h_k + b_k)\,\sigma(h_l + b_l)]
              = 4\Phi_2(\beta_k, \beta_l; \rho_{kl}) - 2\Phi(\beta_k) - 2\Phi(\beta_l) + 1

    with $\rho_{kl} = w_k^\top\Sigma w_l/\sqrt{(1 + v_k)(1 + v_l)}$.

    Args:
        W, b, first, second: as for :func:`velocity`.

    Cost: O(K n^2 + K^2 n), with four of Owen's functions for each pair of neurons.
    """
    W, b, first, second = _checked(W, b, first=first, second=second)
    total = 0.0
    for label, covariance in ((1, first), (-1, second)):
        products = W @ covariance @ W.T
        spread = np.sqrt(1 + np.diagonal(products))
        beta = b / spread
        square = 4 * _both_below(beta, products / np.outer(spread, spread)) - 4 * ndtr(beta) + 1
        total += square.mean() - 2 * label * (2 * ndtr(beta) - 1).mean() + 1
    return float(total / 4)


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
    """The flow from (W, b) at time 0, by an explicit Runge-Kutta method of order 8 with error control.

    Args:
        W, b, first, second, coupled: as for :func:`velocity`.
        times: learning rate times steps, ascending and not negative, shape (T,).
        tolerance: error of a step relative to each number, or to the largest initial weight where that is more.

    Cost: 0.2 s of one core for 40 neurons of 40 pixels, coupled, up to 2000 steps at the rate 20.
    """
    checks.numbers(times=times)
    W, b, first, second = _checked(W, b, first=first, second=second)
    times = np.asarray(times, dtype=np.float64)
    whole = times.ndim == 1 and times.size and np.isfinite(times).all()
    if not whole or times[0] < 0 or times[-1] == 0 or (np.diff(times) <= 0).any():
        raise ValueError(f"times must ascend from 0 or later to a positive time, got {times}")
    if not 1e-13 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in [1e-13, 1), got {tolerance}")

    def split(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return states[..., : W.size].reshape(*states.shape[:-1], *W.shape), states[..., W.size :]

    def moved(_: float, state: np.ndarray) -> np.ndarray:
        by_weights, by_biases = _velocity(*split(state), first, second, coupled)
        return np.concatenate([by_weights.ravel(), by_biases])

    start = np.concatenate([W.ravel(), b])
    floor = tolerance * max(np.abs(start).max(), np.finfo(float).tiny)
    solution = solve_ivp(moved, (0, times[-1]), start, method="DOP853", t_eval=times, rtol=tolerance, atol=floor)
    return Flow(times, *split(solution.y.T))


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


def _both_below(beta: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """P(U < beta_k, V < beta_l) for normal pairs with correlations rho (K, K) below 1, by Owen's function T.

    Owen (1956), equation 2.1.  A bound of 0 becomes a tiny positive one, which has the right limit.
    """
    beta = np.where(beta == 0, 1e-200, beta)
    h, k = beta[:, None], beta[None, :]
    root = np.sqrt((1 - rho) * (1 + rho))
    parts = owens_t(h, (k / h - rho) / root) + owens_t(k, (h / k - rho) / root)
    return (ndtr(h) + ndtr(k)) / 2 - parts - (h * k < 0) / 2


def _checked(W: np.ndarray, b: np.ndarray, **covariances: np.ndarray) -> tuple[np.ndarray, ...]:
    checks.numbers(W=W, b=b, **covariances)
    W, b = np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if W.ndim != 2 or b.shape != W.shape[:1] or not W.size or not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError(
            f"W and b must be finite of shapes (K, n) and (K,), got {checks.given(W)} and {checks.given(b)}"
        )
    found = []
    for name, given in covariances.items():
        sigma = np.asarray(given, dtype=np.float64)
        if sigma.shape != 2 * W.shape[1:] or not np.isfinite(sigma).all():
            raise ValueError(f"{name} must be finite of shape {2 * W.shape[1:]}, got {checks.given(sigma)}")
        if not np.allclose(sigma, sigma.T):
            raise ValueError(f"{name} must be symmetric, got {checks.given(sigma, np.isclose(sigma, sigma.T))}")
        found.append(sigma)
    return W, b, *found
