r"""Numbers beside the proofs: each function evaluates both sides of a statement on the chapter's page of proofs."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
from scipy.special import gammaln

from shallow import checks
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow


def left_behind(d: int, omega: float, cosine: float, draws: int = 200_000) -> tuple[float, float]:
    r"""Share of neurons with $|\cos(w, D)|$ below a value at $\|D\| t = \omega$, all components Gaussian at the start.

    For a constant D: simulated by the closed form of the linear flow, and to first order in $e^{-\omega}$.
    """
    z = stream("left behind", d).standard_normal((draws, d + 1))
    along = (z[:, 0] * np.cosh(omega)) + z[:, d] * np.sinh(omega)
    across = np.linalg.norm(z[:, 1:d], axis=1)
    share = float((np.abs(along) < cosine * np.hypot(along, across)).mean())
    ratio = cosine / sqrt(1 - cosine**2)
    mean_norm = sqrt(2) * np.exp(gammaln(d / 2) - gammaln((d - 1) / 2))
    return share, float(2 * ratio * np.exp(-omega) * mean_norm / sqrt(pi))


def extremal_vectors_in_the_plane(sigma: float, largest: int = 20) -> dict[int | str, float]:
    r"""Limit law of the number of extremal vectors for Gaussian inputs in the plane, $\|\beta^*\| = 1$; and its mean.

    The sum of two independent odd numbers N, from $q = \sqrt{1 + \rho^2} - \rho$ with $\rho = \sigma/\pi$.
    """
    checks.not_negative(sigma=sigma)
    q = sqrt(1 + (sigma / pi) ** 2) - sigma / pi
    first, again = (1 - q) * (1 + q * q) / (1 + q), 1 - 2 * q * (1 + q * q) / (1 + q) ** 2
    one = np.array([1 - first, *(first * again**k * (1 - again) for k in range(largest))])
    both = np.convolve(one, one)[: largest + 1]
    return {2 * k + 2: float(share) for k, share in enumerate(both)} | {"mean": 2 + 4 * sigma / pi}


def passages(rng: np.random.Generator, sigma: float, level: float = 20.0) -> int:
    r"""Passages of 0 by a process with drift $-\frac12$ and jumps $\xi\|x\|$ at the rate $\frac1\pi$, from a level."""
    X, count = level, 0
    while -level < X:
        before, X = X, X - 0.5 * rng.exponential(pi)
        count += before > 0 > X
        before, X = X, X + sigma * rng.standard_normal() * np.linalg.norm(rng.standard_normal(2))
        count += (before > 0) != (X > 0)
    return count


def exponential_moment(n: int, factor: float = 3 / 8) -> float:
    r"""$\mathbb E \exp(\text{factor}\, S^2 / n)$ of a sum of n random signs, exactly; at most 2 for 3/8."""
    k = np.arange(n + 1)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) - n * log(2) + factor * (n - 2 * k) ** 2 / n
    return float(np.exp(logs).sum())


def opening(a: float, residual_sign: int, step: float = 1e-3) -> tuple[float, float]:
    r"""Speed at which two neurons on the sides of one hyperplane part: by descent, and $a\, r_k \|x_k\|^2/n$."""
    rng = stream("opening")
    x, y = teachers.gaussian(rng, teachers.first_axis(3), 20)
    w = x[0][[1, 0, 2]] * [1, -1, 0]  # orthogonal to the first point
    near = np.stack([w + 1e-6 * x[0], w - 1e-6 * x[0]])
    network = TwoLayer(near, np.zeros(2), np.array([a, a]))
    y = y.copy()
    y[0] = network.forward(x)[0] + residual_sign * 0.7
    after = flow.train(x, y, network, step=step, steps=1).network
    moved = (after.W[0] - after.W[1] - near[0] + near[1]) @ x[0] / step
    return float(moved), float(a * residual_sign * 0.7 * (x[0] @ x[0]) / len(y))
