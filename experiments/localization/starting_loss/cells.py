r"""The loss of a network with random weights and no biases, exactly: it depends on the norm of X alone.

The network is $\hat y(x) = \frac1K \sum_k \sigma(\langle w_k, x\rangle)$, the loss
$\mathcal L = \frac12 \mathbb E(\hat y - Y)^2$ with two classes of probability 1/2.  *erf* stands for
$\sigma(h) = \mathrm{erf}(h/\sqrt2)$ with labels +1 and -1, *relu* for $\max(h, 0)$ with labels 1 and 0.  For data with
$X \overset d= -X$ an odd $\sigma$ has $\mathbb E_i\,\hat y = 0$, so that, with $\mathbb E_i$ over class i,

.. math:: 4\mathcal L = 2 + \mathbb E_1\,\hat y^2 + \mathbb E_0\,\hat y^2 \quad\text{(erf)}, \qquad
          4\mathcal L = 1 - 2\,\mathbb E_1\,\hat y + \mathbb E_1\,\hat y^2 + \mathbb E_0\,\hat y^2 \quad\text{(relu)} .

Given X, weights from $N(0, s^2 I)$ make the pre-activations independent $N(0, s^2 |X|^2)$.  On average over the weights
the loss depends therefore on the two laws of $u = s^2|X|^2$ alone,

.. math:: 4\mathcal L = 2 + \frac{2}{\pi K} \sum_i \mathbb E_i \arcsin\frac{u}{1 + u} , \qquad
          4\mathcal L = 1 - \sqrt{\tfrac2\pi}\;\mathbb E_1 \sqrt u
              + \frac12\Bigl[\frac1K + \Bigl(1 - \frac1K\Bigr)\frac1\pi\Bigr] \sum_i \mathbb E_i\,u ,

for every gain and every normalisation of the data.  Source: note on localized receptive fields, Section 3, equations
(18) to (27), where (25) is left blank and (27) unexplained.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.data.nlgp import arcsine_law
from shallow.kernels.arc_cosine import moments

ACTIVATIONS = ("erf", "relu")


def averaged(
    activation: str, first: np.ndarray, second: np.ndarray, *, neurons: int, variance: float, mean_square: float
) -> float:
    r"""The loss averaged over weights $w_k \sim N(0, s^2 I)$, exactly, for sampled norms of the data.

    What is linear in $|X|^2$ is not sampled but exact, also the tangent of the rest, which leaves a small error.

    Args:
        activation: "erf" or "relu", with their labels.
        first, second: squared norms $|X|^2$ of independent samples of the classes 1 and 0, shapes (m,) and (m',).
        neurons: K.
        variance: $s^2$ of every weight.
        mean_square: $\mathbb E |X|^2$, the number of pixels times their variance.
    """
    checks.one_of(ACTIVATIONS, activation=activation)
    checks.integers(1, neurons=neurons)
    checks.not_negative(first=first, second=second, variance=variance)
    checks.shape(("m",), first=first)
    checks.shape(("m",), second=second)
    checks.positive(mean_square=mean_square)
    squares = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    constant, terms = (2.0, _erf_terms) if activation == "erf" else (1.0, _relu_terms)
    parts = zip(
        terms(*(variance * norms for norms in squares), neurons),
        _slopes(activation, variance * mean_square, neurons),
        squares,
        strict=True,
    )
    means = [(part - slope * variance * (norms - mean_square)).mean() for part, slope, norms in parts]
    return float(constant + sum(means)) / 4


def of_network(activation: str, W: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    r"""The loss of given weights without biases under Gaussian data, in closed form.

    With $c_{kl} = w_k^\top \Sigma_i w_l$, $\mathbb E_i\,\hat y^2$ is the mean over k and l of
    $\frac2\pi \arcsin\bigl(c_{kl}/\sqrt{(1 + c_{kk})(1 + c_{ll})}\bigr)$, or of the arc-cosine kernel; and
    $\mathbb E_1\,\hat y$ of relu is the mean of $\sqrt{c_{kk}/(2\pi)}$.

    Args:
        W: weights, shape (K, n).
        first, second: covariances of the classes 1 and 0, shape (n, n).

    Cost: O(K n^2 + K^2 n).
    """
    checks.one_of(ACTIVATIONS, activation=activation)
    checks.array(("K", "n"), W=W)
    checks.array((np.shape(W)[1],) * 2, first=first, second=second)
    W, first, second = (np.asarray(values, dtype=np.float64) for values in (W, first, second))
    products = [W @ covariance @ W.T for covariance in (first, second)]
    variances = [np.maximum(np.diagonal(product), 0) for product in products]
    pairs = [(v[:, None], c, v) for v, c in zip(variances, products)]
    if activation == "erf":
        return float(2 + sum(arcsine_law(c, v, u, 0.5**0.5, 0.5**0.5).mean() for v, c, u in pairs)) / 4
    linear = np.sqrt(variances[0] / (2 * np.pi)).mean()
    return float(1 - 2 * linear + sum(moments(*pair).product.mean() for pair in pairs)) / 4


def _erf_terms(first: np.ndarray, second: np.ndarray, neurons: int) -> list[np.ndarray]:
    return [2 / np.pi / neurons * np.arcsin(u / (1 + u)) for u in (first, second)]


def _relu_terms(first: np.ndarray, second: np.ndarray, neurons: int) -> list[np.ndarray]:
    square = (1 / neurons + (1 - 1 / neurons) / np.pi) / 2  # E relu-output squared, over u
    return [square * first - np.sqrt(2 / np.pi * first), square * second]


def _slopes(activation: str, u: float, neurons: int) -> tuple[float, float]:
    """Derivatives of the two terms at u, by the squared norm times the variance of the weights."""
    if activation == "erf":
        slope = 2 / np.pi / neurons / ((1 + u) * np.sqrt(1 + 2 * u))
        return slope, slope
    square = (1 / neurons + (1 - 1 / neurons) / np.pi) / 2
    return square - 1 / np.sqrt(2 * np.pi * u), square
