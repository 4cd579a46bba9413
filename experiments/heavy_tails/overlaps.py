r"""Overlaps $O_{ij} = (u_i \cdot u'_j)^2$ of the singular vectors of two matrices, and their level by chance.

For two independent random orthonormal sets in $\mathbb R^p$ an entry is about $\chi^2_1 / p$: its mean is $1/p$, and
the largest of $b^2$ entries lies near $2 \ln(b^2) / p$.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shallow.representation import short
from shallow.spectra.esd import as_matrix, singular_vectors


@dataclass(frozen=True)
class Overlap:
    """Squared inner products of two sets of orthonormal vectors.

    Attributes:
        matrix: O, shape (b, b'), entries in [0, 1].
        length: length p of the vectors.
    """

    matrix: np.ndarray
    length: int

    __repr__ = short

    @property
    def mean_level(self) -> float:
        """Mean entry of random vectors, 1/p."""
        return 1 / self.length

    @property
    def maximum_level(self) -> float:
        r"""Where the largest of the entries lies for random vectors, $2 \ln(b b') / p$."""
        return float(2 * np.log(self.matrix.size) / self.length)

    @cached_property
    def maximum(self) -> float:
        """Largest entry."""
        return float(self.matrix.max())

    @property
    def random(self) -> bool:
        """Criterion RANDOM: the largest entry is at most 1.5 times its level by chance."""
        return self.maximum <= 1.5 * self.maximum_level

    @property
    def outlier(self) -> bool:
        """Criterion OUTLIER: the largest entry is at least 5 times its level by chance."""
        return self.maximum >= 5 * self.maximum_level

    def diagonal_blocks(self, ends: tuple[int, ...] = (10, 50, 200, 1000)) -> np.ndarray:
        """Mean of the diagonal over the indices 1..ends[0], ends[0]+1..ends[1], ..., shape (len(ends),)."""
        diagonal = np.diagonal(self.matrix)
        edges = np.array([0, *ends])
        if edges.dtype.kind != "i" or len(edges) == 1 or (np.diff(edges) <= 0).any() or edges[-1] > len(diagonal):
            raise ValueError(f"ends must ascend from 1 to at most {len(diagonal)}, got {ends}")
        return np.add.reduceat(diagonal[: edges[-1]], edges[:-1]) / np.diff(edges)


def overlap(first: np.ndarray, second: np.ndarray) -> Overlap:
    r"""$O = (U^\top U')^2$ entrywise for orthonormal columns U (p, b), U' (p, b').  Cost: O(p b b').

    Raises:
        ValueError: unless both have orthonormal columns of one length.
    """
    for name, vectors in (("first", first), ("second", second)):
        norms = np.linalg.norm(as_matrix(name, vectors), axis=0)
        if np.abs(norms - 1).max() > 1e-6:
            raise ValueError(f"{name} must have columns of norm one, got norms {norms.min():.3g} to {norms.max():.3g}")
    if len(first) != len(second):
        raise ValueError(f"first and second must have vectors of one length, got {len(first)} and {len(second)}")
    return Overlap((np.asarray(first, dtype=float).T @ np.asarray(second, dtype=float)) ** 2, len(first))


def overlaps(W: np.ndarray, M: np.ndarray) -> tuple[Overlap, Overlap]:
    """Overlaps of the left and of the right singular vectors of W and M, both (h, d), in descending order of s.

    Cost: two full economy decompositions, 0.5 s each at 1500 x 1000 on one core.
    """
    W, M = as_matrix("W", W), as_matrix("M", M)
    if W.shape != M.shape:
        raise ValueError(f"W and M must have one shape, got {W.shape} and {M.shape}")
    left, right = singular_vectors(W), singular_vectors(M)
    return overlap(left.U, right.U), overlap(left.V, right.V)
