r"""Is the diagonal of an overlap matrix heavy-tailed?  Against squared Gaussian overlaps, the law by chance.

For independent random vectors of length p an overlap is about $\chi^2_1 / p$ (:mod:`.overlaps`), which
spans decades by itself: the logarithm of $\chi^2_1$ has standard deviation 2.2 and excess kurtosis 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from shallow.spectra import tail_laws, tails

CHANCE_KURTOSIS = 4.0  # excess kurtosis of ln chi^2_1: polygamma(3, 1/2) / polygamma(1, 1/2)^2


@dataclass(frozen=True)
class ScaledChiSquare:
    r"""$\chi^2_1$ in units of `scale`, cut below and normalised on $x \ge x_\min$."""

    xmin: float
    scale: float

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the density at x >= xmin, any shape."""
        law = stats.chi2(1, scale=self.scale)
        return law.logpdf(x) - law.logsf(self.xmin)

    @classmethod
    def fit(cls, values: np.ndarray, xmin: float) -> ScaledChiSquare:
        """The scale of largest likelihood for the values from xmin on, between a thousandth and 1000 of their mean."""
        tail = values[values >= xmin]
        centre = np.log(tail.mean())

        def loss(log_scale: float) -> float:
            return -cls(xmin, np.exp(log_scale)).log_density(tail).sum()

        found = optimize.minimize_scalar(loss, bounds=(centre - 7, centre + 7), method="bounded")
        return cls(float(xmin), float(np.exp(found.x)))


class DiagonalTail(NamedTuple):
    """A power law above the cut of smallest distance against a scaled chi-square there, and the kurtosis of the logs.

    Attributes:
        alpha: exponent of the density.
        size: number of values above the cut.
        favours: 1 if the power law is better at p < 0.01 by Vuong's test, -1 if the chi-square is, 0 if neither.
        p: two-sided p-value of the test.
        kurtosis: excess kurtosis of the logarithms, `CHANCE_KURTOSIS` by chance.
    """

    alpha: float
    size: int
    favours: int
    p: float
    kurtosis: float


def diagonal_tail(diagonal: np.ndarray, *, least: int = 50) -> DiagonalTail:
    """The tail of the diagonal entries of an overlap matrix, shape (b,), of which at least `least` are in the tail.

    Cost: one fit of a power law, 2 ms at b = 1000.
    """
    values = np.asarray(diagonal, dtype=float)
    values = values[values > 0]
    fit = tails.power_law(values, least=least)
    found = tail_laws.vuong(fit.law, ScaledChiSquare.fit(values, fit.xmin), values)
    return DiagonalTail(fit.alpha, fit.size, found.favours(0.01), found.p, float(stats.kurtosis(np.log(values))))
