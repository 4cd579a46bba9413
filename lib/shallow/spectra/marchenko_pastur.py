r"""The Marchenko-Pastur law: eigenvalues of $W^\top W$ for $W$ of shape $h \times d$ with independent entries.

With variance $s$ of the entries, $n = \max(h, d)$ and $q = \min(h, d) / n$, the eigenvalues are $\lambda = s\,n\,x$
(the $\min(h, d)$ that are not zero by shape), and $x$ has the density

.. math:: \rho(x) = \frac{\sqrt{(b - x)(x - a)}}{2 \pi q x}, \qquad a, b = (1 \mp \sqrt q)^2 .

So the edges are $s(\sqrt h \mp \sqrt d)^2$.  Eigenvalues are never divided by $h$ or $d$.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import integrate, special
from scipy.linalg import eigvalsh_tridiagonal
from scipy.optimize import elementwise

from shallow import checks
from shallow.spectra.esd import ascending, best_scale, signed_distances


@dataclass(frozen=True)
class MarchenkoPastur:
    """The law for a matrix of h x d entries of the given variance.

    >>> law = MarchenkoPastur(1500, 1000)
    >>> [round(edge) for edge in law.edges]
    [51, 4949]
    >>> W = np.random.default_rng(0).standard_normal((1500, 1000))
    >>> law.distance(np.linalg.svd(W, compute_uv=False) ** 2) < 0.01  # Kolmogorov-Smirnov
    True

    Raises:
        ValueError: unless h and d are positive integers up to 2^53, and the variance is positive and finite and puts
            the upper edge between 1e-300 and 1e307.
    """

    h: int
    d: int
    variance: float = 1.0

    def __post_init__(self) -> None:
        checks.integers(1, 2**53, h=self.h, d=self.d)
        checks.positive(variance=self.variance)
        checks.within("[1e-300, 1e307]", **{"the upper edge by variance, h and d": float(self.edges[1])})

    @property
    def ratio(self) -> float:
        """q = min(h, d) / max(h, d), in (0, 1]."""
        return min(self.h, self.d) / max(self.h, self.d)

    @property
    def scale(self) -> float:
        """The mean of the law, s max(h, d)."""
        return self.variance * max(self.h, self.d)

    @property
    def edges(self) -> tuple[float, float]:
        r"""Ends of the support, $s(\sqrt h \mp \sqrt d)^2$."""
        root = np.sqrt(self.ratio)
        return float(self.scale * (1 - root) ** 2), float(self.scale * (1 + root) ** 2)

    @property
    def tracy_widom_unit(self) -> float:
        r"""Scale of the fluctuations of $\lambda_1$: $s(\sqrt h + \sqrt d)(1/\sqrt h + 1/\sqrt d)^{1/3}$.

        27 at h = 1500, d = 1000.  The Tracy-Widom law in this unit has mean -1.2 and standard deviation 1.3, so edges
        widened by five units hold all eigenvalues of a random matrix.
        """
        root_h, root_d = np.sqrt(self.h), np.sqrt(self.d)
        return float(self.variance * (root_h + root_d) * (1 / root_h + 1 / root_d) ** (1 / 3))

    def density(self, values: np.ndarray) -> np.ndarray:
        """Density at eigenvalues of any shape, zero outside the support; area one."""
        checks.numbers(values=values)
        x = np.asarray(values, dtype=float) / self.scale
        low, high = (edge / self.scale for edge in self.edges)
        outside = (x <= low) | (x >= high)
        x = np.where(outside, 1.0, x)
        square = np.maximum((high - x) * (x - low), 0)
        return np.where(outside, 0.0, np.sqrt(square) / (2 * np.pi * self.ratio * x)) / self.scale

    def cdf(self, values: np.ndarray) -> np.ndarray:
        r"""Share of the law at or below eigenvalues of any shape, in closed form.

        With $R = \sqrt{(b - x)(x - a)}$ and $\phi$ the angle of a point, which keeps its digits at the edges,

        .. math:: F = \frac12 + \frac1\pi \Bigl[\phi(R, x - 1 - q)
                                      + \frac{R / 2 - (1 - q)\,\phi(x + 1 - q, R)}{q}\Bigr] .

        Right to about $\epsilon / \sqrt q$, which is what the rounding of x leaves of its place between the edges.
        """
        checks.numbers(values=values)
        q, (low, high) = self.ratio, (edge / self.scale for edge in self.edges)
        x = np.clip(np.asarray(values, dtype=float) / self.scale, low, high)
        root = np.sqrt((high - x) * (x - low))
        hard = root / 2 - (1 - q) * np.arctan2(root, x + 1 - q)
        return np.clip(0.5 + (np.arctan2(x - 1 - q, root) + hard / q) / np.pi, 0.0, 1.0)

    def quantile(self, shares: np.ndarray) -> np.ndarray:
        """Eigenvalue below which a share of the law lies, for shares in [0, 1] of any shape.  Cost: ~12 cdf calls."""
        checks.within("[0, 1]", shares=shares)
        shares = np.asarray(shares, dtype=float)
        low, high = self.edges

        def excess(x: np.ndarray, share: np.ndarray) -> np.ndarray:  # of one sign at either edge, despite rounding
            return np.where(x <= low, -1.0, np.where(x >= high, 1.0, self.cdf(x) - share))

        ends = tuple(np.full(shares.shape, edge) for edge in (low, high))
        found = elementwise.find_root(excess, ends, args=(shares,)).x
        return np.where(shares == 0, low, np.where(shares == 1, high, found))

    def moment(self, k: int) -> float:
        r"""$E\lambda^k = (s n)^k \sum_{j<k} \frac{q^j}{j+1} \binom kj \binom{k-1}j$ for an integer $k \ge 0$.

        ValueError where it overflows or underflows.
        """
        checks.integers(0, k=k)
        if k == 0:
            return 1.0
        j = np.arange(k)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = self.ratio**j / (j + 1) * special.binom(k, j) * special.binom(k - 1, j)
            moment = np.float64(self.scale) ** k * terms.sum()
        if not np.finfo(float).tiny <= moment < np.inf:
            raise ValueError(f"k must be such that float64 holds the moment, got {k}, which gives {moment}")
        return float(moment)

    @cached_property
    def hill(self) -> float:
        r"""Population value of PL_Alpha_Hill, $1 + \frac12 / \int_{x_m}^b (1 - F(x)) \frac{dx}{x}$, $x_m$ the median.

        2.449 at h/d = 1.5 and 4.009 at 6, although the law has no tail; it depends on the ratio only.
        """
        unit = MarchenkoPastur(self.h, self.d, self.variance / self.scale)
        median = float(unit.quantile(0.5))
        area = integrate.quad(lambda x: (1 - unit.cdf(x)) / x, median, unit.edges[1], epsabs=1e-12)[0]
        return 1 + 0.5 / area

    def distance(self, values: np.ndarray, *, matrices: int = 1) -> float:
        """Two-sided Kolmogorov-Smirnov distance of a spectrum to this law, in [1/2N, 1].  Cost: O(N log N).

        ValueError for more than min(h, d) values for each of the matrices whose eigenvalues they are: those of the
        larger Gram matrix, or of another shape.
        """
        _check_number(values, self, matrices)
        return max(signed_distances(self.cdf(ascending(values))))


def fit(values: np.ndarray, h: int, d: int, *, matrices: int = 1) -> MarchenkoPastur:
    r"""The law of shape h x d whose variance minimises the Kolmogorov-Smirnov distance to a spectrum.

    Args:
        values: eigenvalues in any order, shape (N,), N >= 2, none of them zero.
        h, d: shape of the matrix, also where some of its min(h, d) eigenvalues have been deleted.
        matrices: number of matrices of that shape whose eigenvalues are taken together.

    Raises:
        ValueError: for an impossible spectrum or shape, such as more than min(h, d) values, and for zeros: a matrix of
            independent entries has none.  Those of a W of lower rank, with zero columns for example, are left out, and
            h and d are what remains of it.

    Cost: some 15 distances, 0.7 ms at N = 1000.
    """
    law = MarchenkoPastur(h, d)
    _check_number(values, law, matrices)
    return MarchenkoPastur(h, d, best_scale(law.cdf, values))


def fitted_distance(values: np.ndarray, h: int, d: int, *, matrices: int = 1) -> float:
    """Smallest distance of a spectrum to a law of shape h x d of any variance: D_MP before a spike is deleted."""
    return fit(values, h, d, matrices=matrices).distance(values, matrices=matrices)


def spectrum(rng: np.random.Generator, h: int, d: int) -> np.ndarray:
    r"""Eigenvalues of $W^\top W$ for a random h x d matrix W of independent N(0, 1) entries, descending, (min(h, d),).

    Orthogonal transformations make W bidiagonal with independent $\chi$ entries and keep its singular values (Dumitriu
    and Edelman 2002), so that no matrix is drawn.

    Raises:
        ValueError: unless h and d are integers of at least 2, and rng is a generator.

    Cost: O(min(h, d)^2), 12 ms at 1500 x 1000; the matrix itself takes 90 ms.
    """
    checks.generators(rng=rng)
    checks.integers(2, h=h, d=d)
    long, short = max(h, d), min(h, d)
    diagonal = rng.chisquare(long - np.arange(short))
    beside = rng.chisquare(np.arange(short - 1, 0, -1))
    return eigvalsh_tridiagonal(diagonal + np.append(0, beside), np.sqrt(diagonal[:-1] * beside))[::-1].copy()


def _check_number(values: np.ndarray, law: MarchenkoPastur, matrices: int) -> None:
    checks.shape(("N",), values=values)
    checks.integers(1, matrices=matrices)
    most = matrices * min(law.h, law.d)
    if len(values) > most:
        raise ValueError(
            f"values must be at most {most}, min(h, d) for a matrix of {law.h} x {law.d}, got {len(values)}"
        )
