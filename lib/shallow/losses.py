r"""Losses as functions of label y and output f: value, derivative in f, and the convention at a kink, in one table.

All are per sample; a trainer sums them (`reduction="sum"`) or averages them.  The labels of hinge and bce are -1 and 1;
with the label 0 the hinge is 1 whatever the output, without a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class Loss:
    r"""A loss $\ell(y, f)$.

    Attributes:
        value: (y, f) -> $\ell$, elementwise.
        derivative: (y, f) -> $\partial\ell/\partial f$, elementwise, with the convention below.
        convention: what the derivative is where $\ell$ has a kink.
    """

    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray, np.ndarray], np.ndarray]
    convention: str


LOSSES = {
    "hinge": Loss(
        lambda y, f: np.maximum(0.0, 1.0 - y * f),
        lambda y, f: np.where(1.0 - y * f > 0, -y, 0.0),
        "0 at y f = 1, as relu(1 - y f) has in PyTorch; clamp(min=0) would give -y",
    ),
    "square": Loss(lambda y, f: 0.5 * (f - y) ** 2, lambda y, f: f - y, "smooth"),
    "absolute": Loss(lambda y, f: np.abs(f - y), lambda y, f: np.sign(f - y), "0 at f = y"),
    "bce": Loss(
        lambda y, f: np.logaddexp(0.0, -y * f),
        lambda y, f: -y * expit(-y * f),
        "smooth; labels -1 and +1, f is the logit",
    ),
}
