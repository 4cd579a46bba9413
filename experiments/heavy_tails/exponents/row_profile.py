r"""A Marchenko-Pastur law widened by unequal rows: the null for a spectrum that is broad but has no power law.

$W_{ij} = \sqrt{s_i}\,X_{ij}$ with independent entries of unit variance in $X$, and $h \ge d$.  For large sizes the
trace $g(z) = \mathrm{tr}(W^\top W - z)^{-1}$ is the root in the upper half-plane of (Silverstein and Bai 1995)

.. math:: g = d \Big/ \Big( {-z} + \sum_i \frac{s_i}{1 + s_i g} \Big), \qquad
   \rho(x) = \frac{1}{\pi d} \,\mathrm{Im}\, g(x + i0) .

Equal $s_i$ give the law of :mod:`shallow.spectra.marchenko_pastur`.
"""

from __future__ import annotations

from functools import cached_property

import numba
import numpy as np
from scipy import integrate, optimize, special

from shallow import checks
from shallow.spectra.esd import ascending, best_scale, signed_distances

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_LEVELS = 128  # different variances at most: more are averaged in groups of neighbours
_STEP = 0.02  # of the logarithm of x
_HEIGHT = 1e-4  # imaginary part of z over x


class RowProfile:
    r"""The law of the eigenvalues of $W^\top W$ for given variances of the rows.

    Args:
        variances: s, shape (h,), any order, positive; measured ones are $\|w_i\|^2 / d$.
        d: number of columns, 1 <= d <= h.

    Cost: 0.01 to 0.1 s at the first use, 0.1 ms a later one.
    """

    def __init__(self, variances: np.ndarray, d: int):
        checks.array(("h",), variances=variances)
        checks.positive(variances=variances)
        checks.integers(1, len(variances), d=d)
        variances = np.sort(np.asarray(variances, dtype=np.float64))
        groups = np.array_split(variances, min(_LEVELS, len(variances)))
        self.levels = np.array([group.mean() for group in groups])
        self.counts = np.array([len(group) for group in groups])
        self.d = int(d)

    @classmethod
    def log_normal(cls, h: int, d: int, spread: float) -> RowProfile:
        """Variances at the quantiles of a log-normal law: the logarithm has mean 0 and standard deviation `spread`."""
        checks.within("[0, 100]", spread=spread)
        checks.integers(1, h=h)
        return cls(np.exp(spread * special.ndtri((np.arange(h) + 0.5) / h)), d)

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """Share of the law at or below eigenvalues of any shape, to about 1e-3."""
        checks.numbers(values=values)
        values = np.asarray(values, dtype=float)
        logs = np.log(np.maximum(values, np.finfo(float).tiny))
        return np.interp(logs, *self._table, left=0.0, right=1.0)

    def distance(self, values: np.ndarray) -> float:
        """Two-sided Kolmogorov-Smirnov distance of a spectrum to this law."""
        return max(signed_distances(self.cdf(ascending(values))))

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of x and the distribution function there."""
        h, d = self.counts.sum(), self.d
        high = self.levels[-1] * (np.sqrt(h) + np.sqrt(d)) ** 2
        low = max(self.levels[0] * (np.sqrt(h) - np.sqrt(d)) ** 2, 1e-9 * high)
        logs = np.arange(np.log(low) - 0.1, np.log(high) + 0.1, _STEP)
        x = np.exp(logs)
        trace = _trace(x, _HEIGHT, self.levels, self.counts, self.d)
        share = integrate.cumulative_trapezoid(trace.imag * x, logs, initial=0)
        return logs, share / share[-1]


@compiled
def _trace(x, height, levels, counts, d):
    """g(x + i height x), shape (G,), by Newton's method, coming down from far above the axis, where g is about -d/z."""
    result = np.empty(x.size, dtype=np.complex128)
    for k in range(x.size):
        g = -d / (x[k] * (1 + 10j))
        above = 10.0
        while above > height:
            above = max(0.25 * above, height)
            z = x[k] * (1 + 1j * above)
            for _ in range(30):
                total, slope = -z, -z
                for s, count in zip(levels, counts):
                    part = s / (1 + s * g)
                    total += count * part
                    slope += count * part * (1 - g * part)
                step = (g * total - d) / slope
                g = g - step
                g = complex(g.real, abs(g.imag))
                if abs(step) < 1e-9 * abs(g):
                    break
        result[k] = g
    return result


def fit_log_normal(values: np.ndarray, h: int, d: int) -> tuple[float, float]:
    r"""Spread of a log-normal profile whose law, at its best scale, is nearest to a spectrum, and that distance.

    No eigenvalue may be zero.  Returns the standard deviation of $\ln s_i$ (0: all rows alike),
    in [0, 4], and the Kolmogorov-Smirnov distance.  Cost: some 20 laws, 1 s.
    """
    values = ascending(values, least=2)

    def distance(spread: float) -> float:
        law = RowProfile.log_normal(h, d, spread)
        return law.distance(values / best_scale(law.cdf, values))

    found = optimize.minimize_scalar(distance, bounds=(0, 4), method="bounded", options={"xatol": 1e-3})
    return float(found.x), float(found.fun)
