r"""Numbers beside the proofs: each function evaluates both sides of a statement on the chapter's page of proofs.

$u_i = 1 + v_i$ with $v_i = w^\top\Sigma_i w$, the variance of a filter's response to class i, and $b$ is its bias.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import fft, integrate, linalg, special

from experiments.localization import dominance, networks, reductions
from shallow import checks, committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

_sigma = committee.ACTIVATIONS["erf"]

# Heavy tails.


def variance_beyond(gain: float, z: float) -> float:
    r"""Share of the variance of a pixel of the heavy-tailed twin that lies in values with $|Z| > z$.

    Of $\mathbb E\,\mathrm{erfi}(\gamma Z)^2$, $\gamma = g/\sqrt{1 + 4g^2}$; $\mathrm{erfi}(x)$ is $2/\sqrt\pi\,e^{x^2}$
    times Dawson's function.
    """
    checks.not_negative(gain=gain, z=z)
    gamma = gain / (1 + 4 * gain**2) ** 0.5

    def density(x: float) -> float:
        return special.dawsn(gamma * x) ** 2 * np.exp((2 * gamma**2 - 0.5) * x**2)

    return float(integrate.quad(density, z, np.inf)[0] / integrate.quad(density, 0, np.inf)[0])


# Averages over the ring.


def canonical_correlation(xi: float, places: int, lag: int) -> float:
    """Largest canonical correlation of two windows of the latent process on a long line, `lag` places apart."""
    window = np.arange(places)[:, None] - np.arange(places)
    root = linalg.cholesky(np.exp(-((window / xi) ** 2)), lower=True)
    half = linalg.solve_triangular(root, np.exp(-(((window - lag) / xi) ** 2)), lower=True)
    return float(np.linalg.norm(linalg.solve_triangular(root, half.T, lower=True), 2))


def canonical_bound(xi: float, places: int, lag: int) -> float:
    r"""$m\,e^{-(\ell - m + 1)^2/\xi^2} / c_\xi$ with $c_\xi = \sum_d (-1)^d e^{-d^2/\xi^2}$, for a lag $\ell \ge m$."""
    d = np.arange(1, 20 * int(np.ceil(xi)))
    smallest = 1 + 2 * np.sum((-1.0) ** d * np.exp(-((d / xi) ** 2)))
    return float(places * np.exp(-(((lag - places + 1) / xi) ** 2)) / smallest)


def average_variance(n: int, gain: float, samples: int = 4000) -> float:
    r"""n times the variance of the ring average of $\sigma(|h| - 2)$, for a bump of width 2 and the slow class."""
    x = networks.pair(gain, n)[0].sample(stream("proofs", "average", n, gain), samples)
    h = fft.irfft(fft.rfft(x, axis=1) * fft.rfft(np.exp(-((nlgp.ring_distance(n) / 2) ** 2))).conj(), n, axis=1)
    return float(n * _sigma(np.abs(h) - 2).mean(axis=1).var())


# Sign data and a filter that sees its two neighbours a little.


def agreeing(process: Process) -> np.ndarray:
    """Probabilities (3,) that both, one, or none of the neighbours of a place have its sign, for sign data."""
    near, far = np.arcsin(process.kernel[1:3])
    both, none = 0.25 + (2 * near + far) / (2 * np.pi), 0.25 + (far - 2 * near) / (2 * np.pi)
    return np.array([both, 1 - both - none, none])


def side_value(first: np.ndarray, second: np.ndarray) -> float:
    r"""(9) of the filter $(\epsilon, 1, \epsilon)$ on sign data, for every $0 < \epsilon < 1$.

    Args:
        first, second: what `agreeing` gives for the two classes.
    """
    wins = first[0] * second[1:].sum() + first[1] * second[2]
    losses = second[0] * first[1:].sum() + second[1] * first[2]
    return float(0.5 + (wins - losses) / 2)


def side_moments(share: np.ndarray, epsilon: float) -> tuple[float, float]:
    """Variance and excess kurtosis of its response, from `agreeing`."""
    squares = (1 + np.array([2, 0, -2]) * epsilon) ** 2
    return float(share @ squares), float(share @ squares**2 / (share @ squares) ** 2 - 3)


def closed_bumps(runs: xr.Dataset) -> xr.DataArray:
    """(9) of bumps by the closure, from their variance ratios and kurtoses in a record, means at one gain."""
    ratio = runs.gabor_ratio.sel(carrier=0)
    moments = zip(ratio.values, *runs.kurtosis.values, strict=True)
    return ratio.copy(data=[reductions.saturated_dominance(*map(float, one)) for one in moments])


# One neuron and its bias, Gaussian data.


def reversal(v1: np.ndarray, v0: np.ndarray) -> np.ndarray:
    r"""The bias at which its drift reverses, $b_* = \sqrt{u_1 u_0 \ln(u_1/u_0)/(u_1 - u_0)}$.

    It is $\sqrt u$ for equal $v_i$, and where the densities of $N(0, u_1)$ and $N(0, u_0)$ cross.

    Args:
        v1, v0: variances of the response under the two classes, not negative; arrays that broadcast.
    """
    checks.not_negative(v1=v1, v0=v0)
    first, second = np.broadcast_arrays(1.0 + np.asarray(v1), 1.0 + np.asarray(v0))
    apart = first / second - 1
    near = np.abs(apart) < 1e-6
    return np.sqrt(first * np.where(near, 1 - apart / 2, np.log1p(apart) / np.where(near, 1, apart)))


def gain_of(ratio: np.ndarray) -> np.ndarray:
    r"""What a neuron can take from the absolute loss, $\max_b \frac12(\mathbb E_1 - \mathbb E_0)\sigma(h + b)$.

    A function of $r = u_1/u_0$ alone: $\frac12[\sigma(\sqrt{r\ln r/(r - 1)}) - \sigma(\sqrt{\ln r/(r - 1)})]$ for
    $r > 1$, and the same at $1/r$.
    """
    r = np.maximum(ratio, 1 / np.asarray(ratio, dtype=np.float64))
    place = np.log(r) / np.where(r > 1, r - 1, 1)
    return (_sigma(np.sqrt(r * place)) - _sigma(np.sqrt(place))) / 2


def gap_formula(W: np.ndarray, b: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    r"""Velocity of $v_1 - v_0$: $-b\,w^\top\Delta(\frac{m_1}{u_1}\Sigma_1 - \frac{m_0}{u_0}\Sigma_0)w$.

    $\Delta = \Sigma_1 - \Sigma_0$ and $m_i = u_i^{-1/2} e^{-b^2/(2u_i)}$, for fields (K, n), biases (K,) and the
    covariances of the classes.
    """
    parts = []
    for one in (first, second):
        u = 1 + np.einsum("kn,kn->k", W @ one, W)
        parts.append(u**-1.5 * np.exp(-(b**2) / (2 * u)) * np.einsum("kn,kn->k", W @ (first - second), W @ one))
    return -b * (parts[0] - parts[1])


class Resting(NamedTuple):
    """Neurons of trained networks against what their own fields say of their biases, each (..., K)."""

    predicted: np.ndarray  # minus the sign of v1 - v0, times the reversal
    sided: np.ndarray  # whether the bias has that sign
    inside: np.ndarray  # whether it is smaller than the reversal
    feeds: np.ndarray  # whether the weights drive v1 - v0 away from zero, in the flow of the absolute loss


def resting(W: np.ndarray, b: np.ndarray, gain: float) -> Resting:
    """Fields (..., K, n) and biases (..., K); the covariances are those of X at a gain."""
    first, second = (nlgp.circulant(process.covariance) for process in networks.pair(gain))
    fields, biases = np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64)
    v1, v0 = (np.einsum("...kn,...kn->...k", fields @ one, fields) for one in (first, second))
    sign = np.sign(v0 - v1)
    flat = gap_formula(fields.reshape(-1, networks.N), biases.ravel(), first, second).reshape(b.shape)
    size = reversal(v1, v0)
    return Resting(sign * size, np.sign(biases) == sign, np.abs(biases) < size, flat * sign < 0)


# The expectation (33).


class Series(NamedTuple):
    r"""$\mathbb E[e^{-(h + b)^2/2} X_0]$ of a bump around place 0."""

    value: float
    gaussian: float  # the closed form, with the covariance of X
    sums: np.ndarray  # first one, two and three terms of the cumulant series


def series(gain: float, width: float, bias: float = -1.0, samples: int = 200_000) -> Series:
    """For the slow class, a bump of norm 1; cumulants and derivatives are means over the same sample."""
    x = networks.pair(gain)[0].sample(stream("proofs", "series", gain, width), samples)
    h, at = x @ dominance.gabors(networks.N, [width], [0])[0, 0], x[:, 0]
    z, bell = h + bias, _bell(h + bias)
    slopes = np.array([np.mean(p * bell) for p in (-z, 3 * z - z**3, 10 * z**3 - 15 * z - z**5)])
    v, fourth, one, three, five = (np.mean(p) for p in (h**2, h**4, at * h, at * h**3, at * h**5))
    cumulants = np.array([one, three - 3 * one * v, five - 10 * three * v - 5 * one * fourth + 30 * one * v**2])
    gaussian = -bias * (1 + v) ** -1.5 * np.exp(-(bias**2) / (2 * (1 + v))) * one
    return Series(float(np.mean(bell * at)), float(gaussian), np.cumsum(cumulants * slopes / (1, 6, 120)))


# The rest.


def refined_step(power: float, factor: int = 10, n: int = networks.N) -> float:
    r"""Relative difference of a step on a ring `factor` times finer, at the rate $\eta$/factor^power, and a coarse one.

    On every `factor`-th pixel of the same samples; one neuron.
    """
    fine = networks.pair(0.01, factor * n, tuple(factor * xi for xi in networks.LENGTHS))
    x, y = nlgp.minibatch(stream("proofs", "refinement"), *fine, 2000)
    u = np.exp(-((nlgp.ring_distance(factor * n) / (4 * factor)) ** 2))

    def step(x: np.ndarray, w: np.ndarray, rate: float) -> np.ndarray:
        z = x @ w - 1.0
        return -rate * ((_sigma(z) - y) * _bell(z)) @ x

    coarse, refined = step(x[:, ::factor], u[::factor], 1.0), step(x, u / factor, factor**-power)
    return float(np.linalg.norm(factor * refined[::factor] - coarse) / np.linalg.norm(coarse))


def _bell(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2)
