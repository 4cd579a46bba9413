"""Random matrices that keep a part of a given one: what its spectrum would be if only that part were there."""

from __future__ import annotations

import numpy as np

from shallow.spectra import esd


def permuted_within_columns(W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""W (h, d) with the entries of each column in random order, each column by a permutation of its own, float64.

    Every column keeps its mean, its variance and its law; what rows share over columns is gone.  A spectrum that stays
    is that of a profile of column variances, or of heavy-tailed entries.  A column whose mean is not zero keeps a part
    of rank one: subtract the means first, or multiply the rows by their signs, where these are known to matter.

    For the null within rows permute the transpose.
    """
    return rng.permuted(esd.as_matrix("W", W), axis=0)
