r"""Where the squared loss lets a bias rest, and what the output constant has to do with it.

With $f_k = \sigma'(h_k + b_k)$, class means $m_i = \mathbb E_i f_k$ and $\bar y_i = \mathbb E_i\hat y$, the loss (2)
rests in $b_k$ if and only if

.. math:: m_1\,(1 - \bar y_1) = m_0\,(1 + \bar y_0)\,(1 + \epsilon_k), \qquad
          \epsilon_k = \frac{\mathrm{Cov}_1(\hat y, f_k) + \mathrm{Cov}_0(\hat y, f_k)}{m_0\,(1 + \bar y_0)},

and for Gaussian responses, whose densities cross at $b_*$, with $u_i$ the variance of $h_k$ in class i plus 1,

.. math:: (b_k/b_*)^2 = 1 + 2\,\ln\Bigl[\frac{1 + \bar y_0}{1 - \bar y_1}\,(1 + \epsilon_k)\Bigr]
          \Big/ \ln\frac{u_1}{u_0} .

A trained constant rests where $\mathbb E\hat y = 0$ and makes the fraction 1.
Source: ours; it answers what the chapter's proposition on the best bias leaves open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shallow import checks
from shallow.data.nlgp import Process, circulant
from shallow.train.whole_committee import ACTIVATIONS, Machine


class Rest(NamedTuple):
    """Of every neuron, shape (K,): its bias over that of a rest point, and why they differ.

    Attributes:
        crossing: |b| over $b_*$.
        gaussian: what the mean outputs predict for it, with Gaussian responses and without the covariance; NaN where
            the formula has no real root.
        sampled: |b| over the bias at which $m_1(1 - \\bar y_1) = m_0(1 + \\bar y_0)$ with the $m_i$ of the sample; NaN
            where there is none within a factor of two.
        error: $\\epsilon_k$.
        bound: $\\epsilon_k$ with every covariance replaced by the product of the two standard deviations.
        unrest: logarithm of the left-hand side over the right-hand side of the identity, 0 at rest.
    """

    crossing: np.ndarray
    gaussian: np.ndarray
    sampled: np.ndarray
    error: np.ndarray
    bound: np.ndarray
    unrest: np.ndarray


def crossings(W: np.ndarray, pair: tuple[Process, Process]) -> tuple[np.ndarray, np.ndarray]:
    r"""$b_* > 0$ and $\ln(u_1/u_0)$ of fields (K, N), from the covariances of the classes; shape (K,) each."""
    checks.array(("K", "N"), W=W)
    W = np.asarray(W, dtype=np.float64)
    first, second = (1 + np.einsum("kn,nm,km->k", W, circulant(one.covariance), W) for one in pair)
    ratio = np.log(first / second)
    return np.sqrt(ratio / (1 / second - 1 / first)), ratio


def mean_field(ratio: np.ndarray, first: float, second: float, error: np.ndarray | float = 0.0) -> np.ndarray:
    r"""$|b|/b_*$ of Gaussian responses with $\ln(u_1/u_0)$ = ratio, mean outputs $\bar y_1, \bar y_0$; NaN if none."""
    square = 1 + 2 * log_ratio((1 + second) * (1 + error), np.asarray(1 - first)) / ratio
    return np.sqrt(np.where(square >= 0, square, np.nan))


def resting(machine: Machine, pair: tuple[Process, Process], first: np.ndarray, second: np.ndarray) -> Rest:
    """The rest points of an erf network on samples (n, N) of the two classes.

    Cost: 60 K n exponentials, half a second for forty neurons and 10,000 samples of each class.
    """
    classes = [np.asarray(x, np.float32) for x in (first, second)]
    slope = ACTIVATIONS[machine.activation][1]
    responses = [x @ machine.W.T for x in classes]
    outputs = [machine.forward(x).astype(np.float64) for x in classes]
    slopes = [slope(h + machine.b).astype(np.float64) for h in responses]
    means, (up, down) = [f.mean(axis=0) for f in slopes], [y.mean() for y in outputs]
    floor = means[1] * (1 + down)
    covariance = sum(((y - y.mean()) @ f) / len(y) for y, f in zip(outputs, slopes))
    bound = sum(y.std() * f.std(axis=0) for y, f in zip(outputs, slopes))
    star, ratio = crossings(machine.W, pair)

    def surplus(b: np.ndarray) -> np.ndarray:
        up_there, down_there = (slope(h + b).mean(axis=0) for h in responses)
        return log_ratio(up_there * (1 - up), down_there * (1 + down)) * np.sign(ratio)

    return Rest(
        np.abs(machine.b) / star,
        mean_field(ratio, up, down),
        np.abs(machine.b) / np.abs(root(surplus, machine.b)),
        covariance / floor,
        bound / floor,
        log_ratio(means[0] * (1 - up), floor + covariance),
    )


def log_ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Logarithm of a ratio, NaN where it is not positive: outputs of a trained read-out exceed the labels."""
    ratio = np.asarray(above / below)
    return np.log(np.where(ratio > 0, ratio, np.nan))


def root(surplus, b: np.ndarray, halvings: int = 20) -> np.ndarray:
    """Where a function of biases (K,) that grows with their modulus is zero between b/2 and 2 b; NaN if it is not."""
    low, high = b / 2, 2 * b
    inside = (surplus(low) < 0) & (surplus(high) > 0)
    for _ in range(halvings):
        middle = (low + high) / 2
        above = surplus(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(inside, (low + high) / 2, np.nan)
