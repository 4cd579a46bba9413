"""Generators that say what a program's own generator said, where a routine of the library expects random numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class Recorded(np.random.Generator):
    """Orders of the points, epoch by epoch, and numbers that were drawn in between."""

    def __init__(self, orders: Iterable[np.ndarray], drawn: np.ndarray = ()) -> None:
        super().__init__(np.random.PCG64(0))
        self._orders, self._drawn = iter(orders), np.asarray(drawn)

    def permutation(self, n: int) -> np.ndarray:
        """The next order; it may hold a part of the n points."""
        return next(self._orders).astype(np.int64)

    def uniform(self, low: float, high: float, size: int) -> np.ndarray:
        """The next numbers that were drawn, which must lie between the bounds."""
        taken, self._drawn = np.split(self._drawn, [size])
        assert len(taken) == size and (np.abs(taken) <= high).all() and low == -high
        return taken


class Seed(np.random.Generator):
    """The seed of a solver that draws its own random numbers."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(0))
        self._seed = seed

    def integers(self, high: int) -> int:
        assert self._seed < high
        return self._seed
