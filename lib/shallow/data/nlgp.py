r"""Nonlinear Gaussian processes on a ring or a torus: $X = s\,\phi(Z)$ with a stationary Gaussian process Z.

On a ring of n points with distance $d(i, j) = \min(|i - j|, n - |i - j|)$ the latent process Z is centred with
covariance $C_{ij} = e^{-d(i,j)^2/\xi^2}$ (no factor 1/2, $\xi$ in grid units); on a torus the squared distances of the
axes add up.  The *light-tailed* process applies $\phi(z) = \mathrm{erf}(g z)$ with gain g to every pixel.  For all
$\alpha, \beta$ and centred jointly normal U, V (differentiate in the covariance, or read both sides as an orthant
probability)

.. math:: \mathbb E[\mathrm{erf}(\alpha U)\,\mathrm{erf}(\beta V)] = \frac2\pi \arcsin \frac{2\alpha\beta\,
          \mathrm{Cov}(U, V)}{\sqrt{(1 + 2\alpha^2 \mathrm{Var}\,U)(1 + 2\beta^2 \mathrm{Var}\,V)}}, \tag{A}

so that X of variance one has covariance $\arcsin(a\,C_{ij})/\arcsin a$ with $a = 2g^2/(1 + 2g^2)$: C for $g \to 0$,
and $\frac2\pi \arcsin C$ for $g = \infty$, where X is the sign of Z.

The *heavy-tailed* twin has the same latent process and the same covariance for every g.  A covariance
$\sum_m c_m^2 C_{ij}^m$ knows the Hermite coefficients $c_m$ of $\phi$ up to their signs alone, and those of erf
alternate in sign.  With all of them positive one gets $\phi(z) = \mathrm{erfi}(\gamma z)$ with
$\gamma = g/\sqrt{1 + 4g^2}$, by (A) at imaginary $\alpha, \beta$.  Its tail is $P(|X| > x) \sim x^{-2 - 1/(2g^2)}$ up
to logarithms.

Three normalisations, by the variance of X: *unit* (1), *raw* ($s = 1$) and *mismatched* (raw, divided by the standard
deviation that $\mathrm{erf}(gZ/\sqrt2)$ would have; its variance falls from 2 to 1 as g grows).
Source: note on localized receptive fields, Sections 1 and 3, and the author's public code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import fft, integrate, special

from shallow import checks
from shallow.display import short

NORMALISATIONS = ("unit", "raw", "mismatched")
TAILS = ("light", "heavy")
#: Modes below this part of the largest eigenvalue are not drawn.
CUT = 1e-10
#: A kernel whose smallest eigenvalue is below minus this part of the largest is refused.
NEGATIVE = 1e-6

_PRODUCT = 256  # up to this rank a matrix product is faster than the FFT, twice for rank 40


@dataclass(frozen=True)
class Process:
    r"""The law of one class.

    Attributes:
        shape: n, or (n1, n2) for a torus; at least 2 points on each axis.  Kept as a tuple.
        xi: $\xi > 0$, in grid units; refused where the ring is so short for it that C is not a covariance.
        gain: $g \ge 0$; 0 is the Gaussian limit and `inf` the sign (for heavy tails, $\gamma = 1/2$).
        normalisation: "unit", "raw" (not with gain 0, where X would vanish) or "mismatched".
        tails: "light" or "heavy".
    """

    shape: int | tuple[int, ...]
    xi: float
    gain: float
    normalisation: str = "unit"
    tails: str = "light"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _check_shape(self.shape))
        checks.one_of(NORMALISATIONS, normalisation=self.normalisation)
        checks.one_of(TAILS, tails=self.tails)
        checks.positive(xi=self.xi)
        if not self.gain >= 0 or (self.gain == 0 and self.normalisation == "raw"):
            raise ValueError(f"gain must not be negative, and positive for raw data, got {self.gain}")
        for n in set(self.shape):
            values = eigenvalues(_kernel(n, self.xi))
            if values.min() < -NEGATIVE * values.max():
                raise ValueError(f"xi must be small against the ring for a positive kernel, got {self.xi} at n = {n}")

    @cached_property
    def kernel(self) -> np.ndarray:
        """First row of the latent covariance C, of the process's shape."""
        rows = [_kernel(n, self.xi) for n in self.shape]
        return rows[0] if len(rows) == 1 else np.multiply.outer(*rows)

    @cached_property
    def variance(self) -> float:
        r"""Variance of every pixel of X: 1, $Z(g)^2 = \frac2\pi \arcsin a$, or $Z(g)^2/Z(g/\sqrt2)^2$."""
        if self.normalisation == "unit":
            return 1.0
        if self.normalisation == "raw":
            return _raw_variance(self.gain)
        return _raw_variance(self.gain) / _raw_variance(self.gain / 2**0.5) if self.gain else 2.0

    @cached_property
    def covariance(self) -> np.ndarray:
        r"""First row of the covariance of X, $\mathrm{Var} \cdot \arcsin(a C)/\arcsin a$, of the process's shape."""
        a = _saturation(self.gain)
        return self.variance * (np.arcsin(a * self.kernel) / np.arcsin(a) if a else self.kernel)

    @cached_property
    def spectrum(self) -> np.ndarray:
        r"""Eigenvalues $\lambda(k)$ of the covariance of X (:func:`eigenvalues`), of the process's shape."""
        return eigenvalues(self.covariance)

    @cached_property
    def excess_kurtosis(self) -> float:
        r"""$\mathbb E X^4 / (\mathbb E X^2)^2 - 3$ of a pixel; the normalisation does not matter.

        Light tails: from 0 through -6/5 at $g = 1/\sqrt2$, where X is uniform, to -2 at `inf`.  Heavy tails: positive,
        and `inf` for $g > 1/2$.  By quadrature, to about 1e-9.
        """
        g = self.gain
        if g == 0:
            return 0.0
        if self.tails == "heavy" and g > 0.5:
            return np.inf
        if g == np.inf:
            return -2.0

        def integral(function, upper: float) -> float:  # E function(Z) by symmetry
            half = integrate.quad(function, 0, upper, epsabs=0, epsrel=1e-11, limit=500)[0]
            return 2 * half / (2 * np.pi) ** 0.5

        if self.tails == "heavy":  # erfi(x) = (2/sqrt pi) exp(x^2) dawsn(x), so that nothing overflows
            rate = _imaginary_gain(g)
            fourth = integral(
                lambda z: 16 / np.pi**2 * special.dawsn(rate * z) ** 4 * np.exp((4 * rate**2 - 0.5) * z**2), np.inf
            )
        elif g < 1:
            fourth = integral(lambda z: special.erf(g * z) ** 4 * np.exp(-(z**2) / 2), 40.0)
        else:  # what is missing to 1 is narrow
            fourth = 1 - integral(lambda z: (1 - special.erf(g * z) ** 4) * np.exp(-(z**2) / 2), 7 / g)
        return fourth / _raw_variance(g) ** 2 - 3

    @property
    def crossing_rate(self) -> float:
        r"""$\frac1\pi \arccos e^{-1/\xi^2}$, the probability that neighbours differ in sign, for every gain.

        A ring has n times as many crossings on average, about $n\sqrt2/(\pi\xi)$ (Rice) for large $\xi$.
        """
        return float(np.arccos(_kernel(max(self.shape), self.xi)[1]) / np.pi)

    def density(self, x: np.ndarray) -> np.ndarray:
        r"""Density $e^{(1 - 1/(2g^2))\,\mathrm{erfinv}(x/s)^2} / (s\sqrt8\,g)$ of a pixel at $|x| < s$, its bound."""
        checks.numbers(x=x)
        s, g = self._reach(), self.gain
        y = np.asarray(x, dtype=np.float64) / s
        outside = np.abs(y) >= 1
        density = np.exp((1 - 0.5 / g**2) * special.erfinv(np.where(outside, 0, y)) ** 2) / (s * 8**0.5 * g)
        return np.where(outside, 0, density)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        r"""Distribution function of a pixel, $\Phi(\mathrm{erfinv}(x/s)/g)$."""
        checks.numbers(x=x)
        return special.ndtr(special.erfinv(np.clip(np.asarray(x, dtype=np.float64) / self._reach(), -1, 1)) / self.gain)

    def _reach(self) -> float:
        if self.tails == "heavy" or not 0 < self.gain < np.inf:
            raise ValueError(f"gain must be positive and finite, and tails 'light', for a density; got {self}")
        return (self.variance / _raw_variance(self.gain)) ** 0.5

    @cached_property
    def roots(self) -> tuple[np.ndarray, ...]:
        r"""Per axis R of shape (r, n), float64, with $R^\top R$ the kernel of that axis cut at `CUT`.

        For white g of shape (r,) or (r1, r2), $Z = g R$ or $R_1^\top g R_2$; the kernel of a torus is a product.
        """
        return tuple(_synthesis(np.eye(rank), self.xi, n) for n, rank in zip(self.shape, self._ranks))

    @cached_property
    def _ranks(self) -> tuple[int, ...]:
        return tuple(int(_kept(_kernel(n, self.xi)).sum()) for n in self.shape)

    def latent(
        self, rng: np.random.Generator, count: int, dtype=np.float64, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Independent copies of Z, shape `(count, *shape)`; one Z serves all gains, see :meth:`observed`.

        Args:
            dtype: float32 or float64, also of the normal draws.
            out: where to write, an array of that shape and type.

        Cost: a matrix product per axis, or an FFT above rank 256; half of it or more is the normal draws.
        """
        checks.generators(rng=rng)
        checks.integers(1, count=count)
        checks.one_of((np.float32, np.float64), dtype=np.dtype(dtype))
        if out is not None and (out.shape != (count, *self.shape) or out.dtype != dtype):
            raise ValueError(f"out must have shape {(count, *self.shape)} and dtype, got {out.shape} and {out.dtype}")
        z = rng.standard_normal((count, *self._ranks), dtype=dtype)
        if len(self.shape) == 2:
            z = self._coloured(z.swapaxes(1, 2), 0).swapaxes(1, 2)
        return self._coloured(z, -1, out)

    def _coloured(self, g: np.ndarray, axis: int, out: np.ndarray | None = None) -> np.ndarray:
        """The last axis of g, one number per mode of `axis`, as a process on the points of `axis`."""
        if g.shape[-1] <= _PRODUCT:
            return np.matmul(g, self.roots[axis].astype(g.dtype, copy=False), out=out)
        out = np.empty((*g.shape[:-1], self.shape[axis]), dtype=g.dtype) if out is None else out
        out[...] = _synthesis(g, self.xi, self.shape[axis])
        return out

    def observed(self, z: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        r"""$X = s\,\phi(z)$ for latent values of any shape, float32 or float64; `out` may be z itself."""
        checks.numbers(z=z)
        g, z = self.gain, np.asarray(z)
        if z.dtype not in (np.float32, np.float64):
            raise ValueError(f"z must be float32 or float64, got {z.dtype}")
        if g == 0:
            return np.multiply(z, z.dtype.type(self.variance**0.5), out=out)
        if self.tails == "heavy":
            x = np.multiply(z, z.dtype.type(_imaginary_gain(g)), out=out)
            x = special.erfi(x, out=x)
        elif g == np.inf:
            x = np.sign(z, out=out)
        else:  # torch's erf is vectorised, ten times as fast as scipy's
            from shallow.extras import torch

            x = np.multiply(z, z.dtype.type(g), out=out)
            torch.from_numpy(x).erf_()
        return np.multiply(x, z.dtype.type((self.variance / _raw_variance(g)) ** 0.5), out=x)

    def sample(
        self, rng: np.random.Generator, count: int, dtype=np.float64, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Independent copies of X, shape `(count, *shape)`, drawn in `dtype`; arguments of :meth:`latent`.

        Cost: 0.5 ms for 1000 rings of 40 points in float32, 1.7 ms for 1000 of 400 at xi = 20 (61 modes).
        """
        checks.generators(rng=rng)
        z = self.latent(rng, count, dtype, out=out)
        return self.observed(z, out=z)


class Batch(NamedTuple):
    """Inputs x of shape `(2 m, *shape)` and labels y of shape (2 m,): m of +1, then m of -1."""

    x: np.ndarray
    y: np.ndarray

    __repr__ = short


def minibatch(rng: np.random.Generator, first: Process, second: Process, per_class: int, dtype=np.float64) -> Batch:
    """Equally many independent samples of `first` (label +1) and then of `second` (label -1), float32 or float64."""
    checks.generators(rng=rng)
    if first.shape != second.shape:
        raise ValueError(f"second must have the shape of first, {first.shape}, got {second.shape}")
    checks.integers(1, per_class=per_class)
    x = np.empty((2 * per_class, *first.shape), dtype=dtype)
    first.sample(rng, per_class, dtype, out=x[:per_class])
    second.sample(rng, per_class, dtype, out=x[per_class:])
    return Batch(x, np.repeat(np.array([1, -1], dtype=dtype), per_class))


# Rings, and stationary covariances on them.


def ring_distance(n: int) -> np.ndarray:
    """Distance min(i, n - i) of every point from point 0, shape (n,)."""
    (n,) = _check_shape(n)
    return np.minimum(np.arange(n), n - np.arange(n))


def eigenvalues(row: np.ndarray) -> np.ndarray:
    r"""Eigenvalues of a circulant with first row c, $\lambda(k) = \sum_d c(d) \cos(2\pi \langle k, d/n \rangle)$.

    The row has shape (n,) or (n1, n2) and is equal at d and -d; the eigenvalues have its shape, in the FFT's order.
    With the unnormalised transform $\hat w$ and N points in all, $w^\top \Sigma w = \frac1N \sum_k \lambda(k)
    |\hat w(k)|^2$.  Rounding is about 1e-16 of the largest.
    """
    checks.numbers(row=row)
    row = np.asarray(row, dtype=np.float64)
    values = fft.fftn(row) if row.ndim in (1, 2) and row.size and np.isfinite(row).all() else None
    if values is None:
        raise ValueError(f"row must be finite, of one or two dimensions and not empty, got {checks.given(row)}")
    if np.abs(values.imag).max() > 1e-10 * np.abs(values).max():
        raise ValueError(f"row must be equal at d and -d, got eigenvalues that are not real, {values.flat[:3]}")
    return values.real


def circulant(row: np.ndarray) -> np.ndarray:
    """The matrix with entries row[i - j], shape (N, N) for N points; pixels of a torus in C order."""
    checks.numbers(row=row)
    row = np.asarray(row, dtype=np.float64)
    points = np.indices(row.shape).reshape(row.ndim, -1)
    steps = (points[:, :, None] - points[:, None, :]) % np.array(row.shape).reshape(-1, 1, 1)
    return row[tuple(steps)]


def crossings(x: np.ndarray) -> np.ndarray:
    """Number of neighbours on the last axis, the seam included, that differ in sign; shape (...,) for x (..., n)."""
    checks.numbers(x=x)
    x = np.asarray(x, dtype=np.float64)
    if np.isnan(x).any():
        raise ValueError(f"x must hold no NaN, got {checks.given(x, ~np.isnan(x))}")
    return ((x > 0) != (np.roll(x, 1, axis=-1) > 0)).sum(axis=-1)


def arcsine_law(covariance, variance_u, variance_v, alpha: float = 1.0, beta: float = 1.0) -> np.ndarray:
    r"""$\mathbb E[\mathrm{erf}(\alpha U)\,\mathrm{erf}(\beta V)]$ by (A), for arrays that broadcast."""
    checks.numbers(covariance=covariance, variance_u=variance_u, variance_v=variance_v)
    checks.within("[-1e150, 1e150]", alpha=alpha, beta=beta)
    norm = np.sqrt((1 + 2 * alpha**2 * np.asarray(variance_u)) * (1 + 2 * beta**2 * np.asarray(variance_v)))
    return 2 / np.pi * np.arcsin(2 * alpha * beta * np.asarray(covariance) / norm)


def _kernel(n: int, xi: float) -> np.ndarray:
    return np.exp(-((ring_distance(n) / xi) ** 2))


def _kept(row: np.ndarray) -> np.ndarray:
    values = eigenvalues(row)
    return values > CUT * values.max()


def _synthesis(g: np.ndarray, xi: float, n: int) -> np.ndarray:
    r"""$\sum_k \sqrt{\lambda_k/n}\,(g_k c_k + g'_k s_k)$ on the last axis: waves $\sqrt2\cos$ and $\sqrt2\sin$, k kept.

    The first coefficients of g are those of the cosines, k ascending; 0 and n/2 have no sine, and a cosine of 1 and
    +-1.
    """
    row = _kernel(n, xi)
    cosines = np.flatnonzero(_kept(row)[: n // 2 + 1])
    paired = (cosines > 0) & (2 * cosines < n)
    size = np.sqrt(n * eigenvalues(row)[cosines] / np.where(paired, 2, 1)).astype(g.dtype)
    half = np.zeros((*g.shape[:-1], n // 2 + 1), dtype=np.result_type(g.dtype, np.complex64))
    half[..., cosines] = g[..., : len(cosines)] * size
    half[..., cosines[paired]] -= 1j * (g[..., len(cosines) :] * size[paired])
    return fft.irfft(half, n)


def _saturation(gain: float) -> float:
    """a = 2 g^2 / (1 + 2 g^2)."""
    return 1 / (1 + 0.5 / gain**2) if gain else 0.0


def _raw_variance(gain: float) -> float:
    """Z(g)^2, the variance of erf(g Z)."""
    return float(2 / np.pi * np.arcsin(_saturation(gain)))


def _imaginary_gain(gain: float) -> float:
    """gamma = g / sqrt(1 + 4 g^2)."""
    return 1 / (4 + 1 / gain**2) ** 0.5


def _check_shape(shape) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(sizes) not in (1, 2) or not all(isinstance(n, int | np.integer) and n >= 2 for n in sizes):
        raise ValueError(f"shape must be n or (n1, n2) with integers of at least 2, got {shape!r}")
    return tuple(int(n) for n in sizes)
