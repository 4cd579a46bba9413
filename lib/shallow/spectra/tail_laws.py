r"""Laws for what lies above a cut $x_\min$, each fitted by exact maximum likelihood, and tests between them.

All densities are normalised on $x \ge x_\min$, with $t = x / x_\min$:

* power law, $p \propto t^{-\alpha}$ (Pareto; $\alpha$ is the exponent of the density, one more than the tail index);
* exponential, $p \propto e^{-\kappa t}$;
* log-normal, $\ln t$ normal with mean $\mu$ and deviation $\sigma$, cut at 0.

Each likelihood depends on the sample only through one or two means, so a fit is a root of one or two moment equations
and not a search: where `powerlaw` minimises numerically, these agree with it or are better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy import optimize, special

from shallow import checks

_LIMIT = -1e3  # of mu / sigma of a cut log-normal: beyond, it is a power law to six digits


class TailLaw(Protocol):
    """What the tests need of a law."""

    xmin: float

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the density at x >= xmin, any shape."""


@dataclass(frozen=True)
class PowerLaw:
    r"""$p(x) = \frac{\alpha - 1}{x_\min} t^{-\alpha}$ with $\alpha > 1$."""

    xmin: float
    alpha: float

    def __post_init__(self) -> None:
        checks.positive(xmin=self.xmin)
        checks.within("(1, inf)", alpha=self.alpha)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the density at x >= xmin, any shape."""
        return np.log((self.alpha - 1) / self.xmin) - self.alpha * np.log(_ratio(x, self.xmin))

    @classmethod
    def fit(cls, values: np.ndarray, xmin: float) -> PowerLaw:
        r"""$\alpha = 1 + m / \sum \ln t$ over the m values from xmin on; ValueError unless they differ."""
        return cls(float(xmin), float(1 + 1 / np.log(_tail(values, xmin) / xmin).mean()))


@dataclass(frozen=True)
class Exponential:
    r"""$p(x) = \frac{\kappa}{x_\min} e^{-\kappa (t - 1)}$; the rate per unit of x is $\kappa / x_\min$."""

    xmin: float
    kappa: float

    def __post_init__(self) -> None:
        checks.positive(xmin=self.xmin, kappa=self.kappa)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the density at x >= xmin, any shape."""
        return np.log(self.kappa / self.xmin) - self.kappa * (_ratio(x, self.xmin) - 1)

    @classmethod
    def fit(cls, values: np.ndarray, xmin: float) -> Exponential:
        """kappa = 1 / mean(t - 1) over the values from xmin on; ValueError unless they differ."""
        return cls(float(xmin), float(1 / (_tail(values, xmin) / xmin - 1).mean()))


@dataclass(frozen=True)
class LogNormal:
    r"""$p(x) = \frac1{\sigma x}\,\varphi\!\left(\frac{\ln t - \mu}{\sigma}\right) \big/ \Phi(\mu / \sigma)$.

    As $\mu \to -\infty$ with $-\mu / \sigma^2 = \alpha - 1$ it becomes the power law: the two are nested at infinity.
    """

    xmin: float
    mu: float
    sigma: float

    def __post_init__(self) -> None:
        checks.positive(xmin=self.xmin, sigma=self.sigma)
        checks.finite(mu=self.mu)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the density at x >= xmin, any shape."""
        logs = np.log(_ratio(x, self.xmin))
        # phi(z) / Phi(mu/sigma) through erfcx, which stays finite when both underflow
        height = np.log(np.sqrt(2 / np.pi) / special.erfcx(-self.mu / self.sigma / np.sqrt(2)))
        return height - np.log(self.sigma * x) - logs * (logs - 2 * self.mu) / (2 * self.sigma**2)

    @classmethod
    def fit(cls, values: np.ndarray, xmin: float) -> LogNormal | PowerLaw:
        r"""Maximum likelihood; the power law where the likelihood grows without end towards it.

        With $y = \ln t$ that is where $\overline{y^2} \ge 2 \bar y^2$ (coefficient of variation of at least one).
        Otherwise $\overline{y^2} / \bar y^2 = (1 + \xi g) / g^2$ has one root $\xi = \mu / \sigma$, where $g = \xi +
        \varphi(\xi) / \Phi(\xi)$ is the mean of a unit normal variable that is cut at zero.
        """
        logs = np.log(_tail(values, xmin) / xmin)
        mean, ratio = logs.mean(), (logs**2).mean() / logs.mean() ** 2

        def cut_mean(xi: float) -> float:
            return xi + np.sqrt(2 / np.pi) / special.erfcx(-xi / np.sqrt(2))

        def excess(xi: float) -> float:
            return (1 + xi * cut_mean(xi)) / cut_mean(xi) ** 2 - ratio

        if excess(_LIMIT) <= 0:
            return PowerLaw.fit(values, xmin)
        xi = optimize.brentq(excess, _LIMIT, 2 / np.sqrt(ratio - 1) + 2, xtol=1e-12)
        sigma = mean / cut_mean(xi)
        return cls(float(xmin), float(xi * sigma), float(sigma))


class Comparison(NamedTuple):
    """Log-likelihood ratio R of two laws, R over its standard deviation, and the two-sided p-value of R = 0."""

    ratio: float
    normalised: float
    p: float

    def favours(self, level: float = 0.05) -> int:
        """1 if the first law wins at this level, -1 if the second does, 0 if neither."""
        checks.within("(0, 1)", level=level)
        return int(np.sign(self.ratio)) if self.p < level else 0


def vuong(first: TailLaw, second: TailLaw, values: np.ndarray) -> Comparison:
    r"""Vuong's test: $R = \sum \ln p_1 / p_2$ over the values from xmin on, $p = \mathrm{erfc}(|R| / \sqrt{2 m v})$.

    v is the variance of the terms (Clauset, Shalizi and Newman 2009, Section 5).  Equal laws give R = 0 and p = 1.

    Args:
        first, second: fitted laws with the same xmin.
        values: the sample, any order; what lies below xmin is ignored.

    Raises:
        ValueError: unless both laws have one xmin with values above it.
    """
    if first.xmin != second.xmin:
        raise ValueError(f"first and second must have one xmin, got {first.xmin} and {second.xmin}")
    tail = _tail(values, first.xmin)
    terms = first.log_density(tail) - second.log_density(tail)
    ratio, deviation = float(terms.sum()), float(np.sqrt(len(terms)) * terms.std())
    if deviation <= 1e-12 * np.sqrt(len(terms)):
        return Comparison(0.0, 0.0, 1.0)
    normalised = ratio / deviation
    return Comparison(ratio, normalised, float(special.erfc(abs(normalised) / np.sqrt(2))))


def _ratio(x: np.ndarray, xmin: float) -> np.ndarray:
    checks.numbers(x=x)
    x = np.asarray(x, dtype=float)
    if not (x >= xmin).all():
        raise ValueError(f"x must be at least xmin = {xmin}, got {x.min()}")
    return x / xmin


def _tail(values: np.ndarray, xmin: float) -> np.ndarray:
    """The values from xmin on, of which at least two differ."""
    checks.array((None,), values=values)
    checks.positive(xmin=xmin)
    values = np.asarray(values, dtype=float)
    tail = values[values >= xmin]
    if not len(tail) or tail.max() == tail.min():
        raise ValueError(f"values must include at least two different ones from xmin = {xmin} on, got {len(tail)}")
    checks.within("[0, 1e300]", **{"values over xmin": float(tail.max()) / float(xmin)})
    return tail
