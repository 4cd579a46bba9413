r"""What unequal columns do to a spectrum: the law of a column profile, and columns made equal.

For independent entries of $W$, $h \times d$, with variances $s_k$ of the columns, the eigenvalues of $W^\top W$ follow
the law of Marchenko and Pastur (1967) and Silverstein (1995).  With $c = d/h$ and $H$ the distribution of $s_k$ the
companion Stieltjes transform $m(z)$ of $\lambda / h$ solves

.. math:: z = -\frac1m + c \int \frac{s\,dH(s)}{1 + s m} , \qquad \operatorname{Im} m > 0 ,

and the density of the positive eigenvalues is $\operatorname{Im} m(x + i0) / \pi$ for $x > 0$, but for its area.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize

from shallow import checks, scaling
from shallow.display import short
from shallow.spectra.esd import as_matrix, ascending, signed_distances
from shallow.spectra.tails import hill

_POINTS = 2000  # of the grid of the density
_NEAR = 1e-5  # distance of z from the real line, in units of the largest point of the grid


def equalised_columns(W: np.ndarray) -> np.ndarray:
    """W (h, d) with columns scaled to the root mean square entry of W, float64; a column of zeros stays."""
    W = as_matrix("W", W)
    unit = scaling.unit(W) if W.any() else 1.0
    lengths = np.sqrt(np.square(W / unit).mean(axis=0))
    return W * np.divide(np.sqrt(np.square(lengths).mean()), lengths, out=np.ones_like(lengths), where=lengths > 0)


@dataclass(frozen=True, eq=False)
class ProfileLaw:
    r"""The law of the eigenvalues of $W^\top W$ for independent entries of W, h x d, with variances of the columns.

    For variances of the *rows* give those of $W^\top$, whose eigenvalues are the same but for zeros, which the law
    leaves out.  Equal variances give the Marchenko-Pastur law.

    Attributes:
        h: number of rows.
        variances: of the d columns, shape (d,), positive.

    >>> law = ProfileLaw(1500, np.repeat([1.0, 4.0], 500))
    >>> W = np.random.default_rng(0).standard_normal((1500, 1000)) * np.repeat([1.0, 2.0], 500)
    >>> bool(law.distance(np.linalg.svd(W, compute_uv=False) ** 2) < 0.01)
    True
    """

    h: int
    variances: np.ndarray

    __repr__ = short

    def __post_init__(self) -> None:
        checks.integers(1, h=self.h)
        checks.shape(("d",), variances=self.variances)
        checks.positive(variances=self.variances)

    @cached_property
    def density(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (2000,), ascending from near zero to beyond the edge, and the density there, of area one.

        Newton's method along z = x + iy from large y to small; cost: 0.5 s at d = 1000.
        """
        values, share = _merged(np.asarray(self.variances, dtype=float))
        c, highest = len(self.variances) / self.h, self.edge / self.h
        x = highest * np.linspace(1e-4, 1.02, _POINTS) ** 2
        y = 4 * highest
        m = -1 / (x + 1j * y)
        while True:
            m = _newton(x + 1j * y, m, values, c * share)
            if y <= _NEAR * highest:
                break
            y /= 2
        zeros = max(1 - c, 0) / (x + 1j * y)  # of the larger Gram matrix, whose transform m is
        density = np.maximum((m + zeros).imag, 0) / np.pi
        return self.h * x, density / np.trapezoid(density, self.h * x)

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """Share of the law at or below eigenvalues of any shape."""
        checks.numbers(values=values)
        x, density = self.density
        below = np.concatenate([[0.0], np.cumsum(np.diff(x) * (density[1:] + density[:-1]) / 2)])
        return np.interp(values, x, below)

    def quantile(self, shares: np.ndarray) -> np.ndarray:
        """Eigenvalue below which a share of the law lies, for shares in [0, 1] of any shape."""
        checks.within("[0, 1]", shares=shares)
        x = self.density[0]
        below = self.cdf(x)
        rising = np.diff(below, prepend=-1.0) > 0
        return np.interp(shares, below[rising], x[rising])

    @property
    def hill(self) -> float:
        """PL_Alpha_Hill of the law, from 4000 of its quantiles."""
        return hill(self.quantile((np.arange(4000) + 0.5) / 4000))

    @cached_property
    def edge(self) -> float:
        r"""Upper end of the support: h times the smallest z(m) for real $-1 / \max s < m < 0$."""
        s = np.asarray(self.variances, dtype=float)
        s, c = s / s.max(), len(s) / self.h
        found = optimize.minimize_scalar(
            lambda m: -1 / m + c * np.mean(s / (1 + s * m)), bounds=(-1 + 1e-9, -1e-9), method="bounded"
        )
        return float(self.h * self.variances.max() * found.fun)

    def distance(self, values: np.ndarray) -> float:
        """Two-sided Kolmogorov-Smirnov distance of a spectrum to this law; nothing is fitted."""
        return max(signed_distances(self.cdf(ascending(values))))


def _merged(variances: np.ndarray, parts: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """At most `parts` values that stand for the variances, and their shares: means of equal parts of them in order."""
    ordered = np.array_split(np.sort(variances), min(parts, len(variances)))
    return np.array([part.mean() for part in ordered]), np.array([len(part) for part in ordered]) / len(variances)


def _newton(z: np.ndarray, m: np.ndarray, s: np.ndarray, weights: np.ndarray, steps: int = 30) -> np.ndarray:
    """The root m (N,) of z = -1/m + sum w s / (1 + s m) near a first guess, in the upper half-plane."""
    for _ in range(steps):
        ratio = s / (1 + np.outer(m, s))
        error, slope = -1 / m + ratio @ weights - z, 1 / m**2 - ratio**2 @ weights
        step = error / slope
        halving = np.where((m - step).imag > 0, 1.0, 0.5)
        m = m - step * halving
        m = np.where(m.imag > 0, m, m.real + 1e-12j)
        if np.abs(step).max() < 1e-10 * np.abs(m).max():
            break
    return m
