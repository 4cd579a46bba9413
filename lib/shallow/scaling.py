"""Homogeneous quantities at any scale: a power of two is taken out where squares would leave the range of float64."""

from __future__ import annotations

import numpy as np


def unit(*arrays: np.ndarray) -> float:
    """The power of two by which to divide arrays, exactly, so that the largest entry is in [1, 2).

    1 where no fourth power leaves the range anyway, so that ordinary results keep their bits, and for zeros.  Cost: two
    passes over the arrays.
    """
    largest = max(float(max(array.max(), -array.min())) for array in arrays)
    exponent = int(np.frexp(largest)[1]) - 1
    return float(np.ldexp(1.0, exponent)) if abs(exponent) > 200 else 1.0
