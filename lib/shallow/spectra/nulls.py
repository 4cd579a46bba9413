r"""What a spectrum would be without a part of the matrix: noise of its shape, and matrices that keep a part of it.

======================================  =====================================================
:func:`noise`                           the shape
:func:`shuffled`                        the entries
:func:`permuted_within_columns`         the columns, each with its entries
:func:`lengths`                         the lengths of rows and columns
:func:`balanced`                        all but the lengths of rows and columns
======================================  =====================================================

The first four ask what a part has *alone*, the last what is lost *without* it.  An exponent saturates, it hardly falls
where it is low already, so a part may have most of a fall alone and yet, taken away from the rest, little of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shallow import checks, scaling
from shallow.display import short
from shallow.spectra import esd, marchenko_pastur, tails
from shallow.stats import stream


class Null(NamedTuple):
    """What spectra of noise have of some quantity: mean, scatter (the standard deviation) over draws, and the draws."""

    mean: np.ndarray
    scatter: np.ndarray
    draws: np.ndarray

    __repr__ = short


def noise(
    h: int, d: int, of: Callable[[np.ndarray], np.ndarray] = tails.hill, *, matrices: int = 1, draws: int = 20
) -> Null:
    r"""Mean and scatter of a quantity of the spectrum of noise, h x d with independent N(0, 1) entries, from draws.

    The distance of a matrix from noise of its shape is $(x - \text{mean}) / \text{scatter}$; where the draws are
    skewed, say beside it which share of them is smaller than x.  By default of PL_Alpha_Hill, whose limit for large
    sizes is `MarchenkoPastur.hill`; it depends on neither variance nor, but for heavy tails, the law of the entries.

    >>> null, law = noise(205, 32), marchenko_pastur.MarchenkoPastur(205, 32)
    >>> round(float(null.mean), 1), round(float(null.scatter), 1), round(law.hill, 1)
    (4.3, 0.3, 4.1)

    Args:
        h, d: shape of the matrix.
        of: from eigenvalues, descending, (matrices min(h, d),), to a number or an array.
        matrices: number of matrices whose eigenvalues are taken together, as for the slices of a convolution.
        draws: number of draws, at least 2; the scatter is known to a share of $1 / \sqrt{2 (\text{draws} - 1)}$.

    Raises:
        ValueError: unless h, d and draws are integers of at least 2, and matrices of at least 1; and what `of` raises.

    Cost: that of `marchenko_pastur.spectrum` for each draw and matrix; 20 draws of 16384 x 512 in 0.15 s.
    """
    checks.integers(2, h=h, d=d, draws=draws)
    checks.integers(1, matrices=matrices)
    rng = stream("nulls.noise", h, d, matrices)
    found = []
    for _ in range(draws):
        together = np.concatenate([marchenko_pastur.spectrum(rng, h, d) for _ in range(matrices)])
        found.append(of(np.sort(together)[::-1]))
    return Null(np.mean(found, axis=0), np.std(found, axis=0, ddof=1), np.array(found))


def shuffled(W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """W (h, d) with all entries in random order, float64: a spectrum that stays is that of the law of the entries."""
    checks.generators(rng=rng)
    W = esd.as_matrix("W", W)
    return rng.permutation(W.ravel()).reshape(W.shape)


def permuted_within_columns(W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""W (h, d) with the entries of each column in random order, each column by a permutation of its own, float64.

    Every column keeps its mean, its variance and its law; what rows share over columns is gone.  A spectrum that stays
    is that of a profile of column variances, or of heavy-tailed entries.  A column whose mean is not zero keeps a part
    of rank one: subtract the means first, or multiply the rows by their signs, where these are known to matter.

    For the null within rows permute the transpose.
    """
    checks.generators(rng=rng)
    return rng.permuted(esd.as_matrix("W", W), axis=0)


def lengths(W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Noise with the lengths of the rows and columns of W (h, d), float64: nothing else of W is kept.

    Independent normal entries of variances $R_i C_j / T$, where $R_i$ and $C_j$ are the sums of squares of row i and
    column j, and $T$ that of all entries; so squared lengths have the means $R_i$ and $C_j$.  A spectrum that stays is
    what unequal rows and columns make *alone*; what is lost *without* them says :func:`balanced`.

    >>> W = np.outer([1.0, 3.0], np.ones(1000))
    >>> (np.linalg.norm(lengths(W, np.random.default_rng(0)), axis=1) / np.linalg.norm(W, axis=1)).round(2)
    array([0.98, 1.02])

    Raises:
        ValueError: if W is not a finite matrix or rng no generator.

    Cost: O(h d).
    """
    checks.generators(rng=rng)
    W = esd.as_matrix("W", W)
    found = rng.standard_normal(W.shape)
    if not W.any():
        return 0 * found
    unit = scaling.unit(W)
    squares = np.square(W / unit)
    rows, columns = squares.sum(axis=1), squares.sum(axis=0)
    return unit * np.sqrt(rows / rows.sum())[:, None] * found * np.sqrt(columns)


def balanced(W: np.ndarray, *, sweeps: int = 50) -> np.ndarray:
    r"""W (h, d) with rows and columns scaled to equal lengths, float64: $r_i W_{ij} c_j$ of the mean square of W.

    The iteration of Sinkhorn and Knopp (1967) on $W_{ij}^2$: rows and columns in turn get the root mean square entry of
    W.  A spectrum that does *not* stay was that of unequal rows or columns; one that stays may be theirs too, if
    something else makes as wide a one, see :func:`lengths`.  Rows and columns of zeros stay, and a matrix with so many
    zeros that no scaling exists is as it is after the last sweep.

    Args:
        W: matrix, (h, d).
        sweeps: at most so many, fewer where the lengths agree to 1e-9.

    Raises:
        ValueError: if W is not a finite matrix or sweeps no positive integer.

    Cost: O(h d) a sweep; some ten sweeps for a matrix without zeros.
    """
    W = esd.as_matrix("W", W)
    checks.integers(1, sweeps=sweeps)
    if not W.any():
        return W.copy()
    unit = scaling.unit(W)
    squares = np.square(W / unit)
    mean, rows, columns = squares.mean(), np.ones(len(W)), np.ones(W.shape[1])
    for _ in range(sweeps):
        columns = _inverse(rows @ squares / len(W), mean)
        lengths = rows * (squares @ columns) / W.shape[1]
        rows = _inverse(squares @ columns / W.shape[1], mean)
        if np.abs(lengths[lengths > 0] / mean - 1).max() < 1e-9:
            break
    return np.sqrt(rows)[:, None] * W * np.sqrt(columns)


def _inverse(lengths: np.ndarray, mean: float) -> np.ndarray:
    """Factors that bring positive lengths to the mean; one for zeros."""
    return np.divide(mean, lengths, out=np.ones_like(lengths), where=lengths > 0)
