r"""Empirical spectral distributions: the eigenvalues of $W^\top W$ without rounding noise in the small ones.

Eigenvalues are the squared singular values of $W$, $h \times d$, in float64, *not* divided by $h$ or $d$; there are
$\min(h, d)$ of them, in descending order.  The Gram matrix of a float32 $W$ with a large spike has nothing but noise
below $10^{-7}$ of its largest eigenvalue; none is formed here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.sparse.linalg import svds

from shallow import checks, scaling
from shallow.display import short
from shallow.stats import stream

#: Relative error that is admitted in the smallest eigenvalue of a Gram matrix.
ACCURACY = 1e-8
#: Eigenvalues up to this share of the largest are zeros: rounding leaves about epsilon^2 = 5e-32 of it in their place.
ROUNDING = 1e-26


class Triplets(NamedTuple):
    """Singular triplets $W v_i = s_i u_i$ with descending $s$: U (h, k), s (k,), V (d, k), vectors in columns."""

    U: np.ndarray
    s: np.ndarray
    V: np.ndarray

    __repr__ = short


def as_matrix(name: str, W: np.ndarray) -> np.ndarray:
    """W as a finite float64 matrix; ValueError naming the argument otherwise."""
    checks.array(("h", "d"), **{str(name): W})
    return np.asarray(W, dtype=np.float64)


def ascending(values: np.ndarray, least: int = 1, name: str = "values") -> np.ndarray:
    """The values in ascending order, float64 (N,); ValueError unless finite, not negative and at least `least`."""
    checks.shape(("N",), **{name: values})
    checks.not_negative(**{name: values})
    if len(values) < least:
        raise ValueError(f"{name} must be at least {least} numbers, got {len(values)}")
    return np.sort(np.asarray(values, dtype=np.float64))


def positive(values: np.ndarray, least: int = 1) -> np.ndarray:
    """The values without zeros, ascending, float64 (P,): those up to `ROUNDING` times the largest are left out.

    ValueError unless the values are finite and not negative, and at least `least` are left.
    """
    values = ascending(values)
    kept = values[values > ROUNDING * values[-1]]
    if len(kept) < least:
        raise ValueError(f"values must have at least {least} positive ones, got {len(kept)} of {len(values)}")
    return kept


@np.errstate(over="ignore")
def eigenvalues(W: np.ndarray) -> np.ndarray:
    r"""Squared singular values of W (h, d), descending, shape (min(h, d),), float64.

    The relative error of $\lambda_k$ is at most 1e-8 or, where this is more, some
    $10\,\epsilon \sqrt{\lambda_1 / \lambda_k}$: what the rounding of the entries of W leaves undetermined.  Below
    `ROUNDING` times $\lambda_1$ nothing is left, and the eigenvalue is zero: a W of lower rank has as many zeros.

    The float64 Gram matrix of the shorter side gives $\lambda_k$ up to about $\sqrt{h}\,\epsilon\,\lambda_1$.  Where
    this is below `ACCURACY` times the smallest one its eigenvalues are returned; otherwise (a spike far above the
    bulk, a square or rank-deficient matrix) the singular values are computed and squared.

    Raises:
        ValueError: if W is not a finite matrix, or float64 does not hold the squares of its singular values.

    Cost: $O(h d \min(h, d))$; with 1500 x 1000 on one core 0.09 s, after a failed test another 0.24 s.
    """
    W, unit = _scaled(as_matrix("W", W))
    if W.shape[0] < W.shape[1]:
        W = W.T
    values = np.linalg.eigvalsh(W.T @ W)[::-1].copy()
    noise = np.sqrt(len(W)) * np.finfo(float).eps * values[0]
    if noise > ACCURACY * values[-1] or values[0] <= 0:
        values = np.linalg.svd(W, compute_uv=False) ** 2
        values[values <= ROUNDING * values[0]] = 0
    if unit != 1:
        _check_squares(np.sqrt(values[values > 0]) * unit)
        values = values * unit * unit
    return values


@np.errstate(over="ignore")
def resolved(W: np.ndarray) -> np.ndarray:
    r"""Eigenvalues of $W^\top W$ that its Gram matrix resolves, descending, (min(h, d),), float64; the others are zero.

    Those up to $10 \sqrt{\max(h, d)}\,\epsilon\,\lambda_1$, 1e-13 of the largest at 4096 columns, count as zeros; just
    above that the digits are lost, and half of them are right from 1e-5 on.  Weights stored in float32 are not known
    better.  :func:`eigenvalues` finds small ones too, for several times the cost where h and d are near.

    Raises:
        ValueError: as :func:`eigenvalues`.

    Cost: $O(h d \min(h, d))$; 16 s at 4096 x 4096 on one core.
    """
    W, unit = _scaled(as_matrix("W", W))
    W = W.T if W.shape[0] < W.shape[1] else W
    values = np.linalg.eigvalsh(W.T @ W)[::-1].copy()
    values[values <= 10 * np.sqrt(len(W)) * np.finfo(float).eps * values[0]] = 0
    if unit != 1 and values.any():
        _check_squares(np.sqrt(values[values > 0]) * unit)
    return values * unit * unit


def stable_rank(values: np.ndarray) -> float:
    r"""$\|W\|_F^2 / \|W\|_2^2 = \sum_k \lambda_k / \lambda_1$ from the eigenvalues of $W^\top W$, in [1, N]."""
    values = ascending(values)
    if values[-1] == 0:
        raise ValueError("values must not all be zero")
    values = np.ldexp(values, -np.frexp(values[-1])[1])  # exact, and the sum is finite
    return float(values.sum() / values[-1])


def signed_distances(shares: np.ndarray) -> tuple[float, float]:
    r"""Suprema of $F - \hat F$ and of $\hat F - F$ from the law's $F$ at the ascending values, shape (N,).

    The larger one is the two-sided Kolmogorov-Smirnov distance, in [1/2N, 1].
    """
    checks.numbers(shares=shares)
    steps = np.arange(len(shares) + 1) / len(shares)
    return float((shares - steps[:-1]).max()), float((steps[1:] - shares).max())


def best_scale(cdf: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> float:
    r"""The $c > 0$ for which the law $x \mapsto F(x / c)$ has the smallest Kolmogorov-Smirnov distance to a spectrum.

    As c grows $\sup(F - \hat F)$ falls and $\sup(\hat F - F)$ rises, both continuously, so the distance is smallest
    where they are equal: one root instead of a search, and no local minimum.

    Args:
        cdf: F, continuous on the half-line with F(0) = 0.
        values: eigenvalues in any order, shape (N,), N >= 2, none of them zero (see :func:`positive`).

    Cost: some 15 evaluations of F at all values.
    """
    values = ascending(values, least=2)
    _check_no_zeros(values)
    middle = np.log(np.median(values))

    def imbalance(log_scale: float) -> float:
        below, above = signed_distances(cdf(values / np.exp(log_scale)))
        return below - above

    low = high = middle
    while imbalance(low) < 0:
        low -= 1
    while imbalance(high) > 0:
        high += 1
    return float(np.exp(optimize.brentq(imbalance, low, high, xtol=1e-12)))


def singular_vectors(W: np.ndarray) -> Triplets:
    """All b = min(h, d) singular triplets of W (h, d), economy size.  Cost: O(h d b), twice that of s alone."""
    U, s, Vt = np.linalg.svd(as_matrix("W", W), full_matrices=False)
    _check_singular(s)
    return Triplets(U, s, Vt.T)


@np.errstate(over="ignore")
def top(W: np.ndarray, k: int = 1) -> Triplets:
    """The k largest singular triplets of W (h, d) by Lanczos iteration from a fixed random vector, to rounding error.

    Args:
        W: matrix, (h, d).
        k: number of triplets, 1 <= k <= min(h, d); where it is above a tenth of that all are computed and cut.

    A singular value that W has several times, as matrices with symmetries do, may be found fewer times than that;
    :func:`singular_vectors` finds all.

    Cost: some tens of products with W: at 1500 x 1000, k = 1 with a spike 8 ms, k = 3 without one 0.08 s.
    """
    W = as_matrix("W", W)
    short = min(W.shape)
    checks.integers(1, short, k=k)
    if 10 * k > short or not W.any():
        return Triplets(*(part[..., :k] for part in singular_vectors(W)))
    W, unit = _scaled(W)
    U, s, Vt = svds(W, k=k, v0=_start(short))
    _check_singular(s * unit)
    order = np.argsort(s)[::-1]
    return Triplets(U[:, order], s[order] * unit, Vt[order].T)


@functools.cache
def _start(size: int) -> np.ndarray:
    """A vector for Lanczos iteration that is in no null space, and no eigenvector already, of any W but by chance."""
    return stream("esd.top", size).standard_normal(size)


def _scaled(W: np.ndarray) -> tuple[np.ndarray, float]:
    """W over a power of two, and this: 1 unless squares of W leave the range of float64."""
    flat = W.ravel("K")
    if 1e-200 < flat @ flat < 1e200:  # a third of the cost of scaling.unit
        return W, 1.0
    unit = scaling.unit(W)
    return W / unit, unit


def _check_singular(s: np.ndarray) -> None:
    if not np.isfinite(s).all():
        raise ValueError(f"W must have singular values that float64 can hold, got {s[0]}")


def _check_squares(s: np.ndarray) -> None:
    """Refuses positive singular values, descending, whose squares overflow or underflow."""
    if not (s[0] < 1.3e154 and s[-1] > 1.5e-154):
        raise ValueError(f"W must have singular values in [1.5e-154, 1.3e154] for their squares, got {s[-1]} to {s[0]}")


def _check_no_zeros(values: np.ndarray) -> None:
    """Refuses ascending values with zeros, of which a law has none, and such whose median overflows."""
    zeros = int((values <= ROUNDING * values[-1]).sum())
    if zeros:
        raise ValueError(
            f"values must be positive, got {zeros} zeros among {len(values)}: "
            "leave them out, and take the shape of W without what is zero or repeated in it"
        )
    checks.within("(0, 8e307]", values=values)
