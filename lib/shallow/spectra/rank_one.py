r"""When a rank-one update leaves the bulk: the transition of Baik, Ben Arous and Péché for $W_0 + \theta\,u v^\top$.

$W_0$, $h \times d$, has independent entries of variance $s$, and the unit vectors $u$, $v$ are independent of it.
With $t = \theta / \sqrt s$, above $t = (hd)^{1/4}$ the largest eigenvalue of $W^\top W$ and the overlaps of its left
and right singular vectors with $u$ and $v$ are, in the limit of large $h$ and $d$,

.. math:: \lambda_1 = s \frac{(t^2 + h)(t^2 + d)}{t^2}, \qquad (u \cdot u_1)^2 = \frac{t^4 - hd}{t^2 (t^2 + h)}, \qquad
   (v \cdot v_1)^2 = \frac{t^4 - hd}{t^2 (t^2 + d)} ;

below it $\lambda_1$ stays at the edge $s(\sqrt h + \sqrt d)^2$ and the overlaps vanish (Benaych-Georges and
Nadakuditi 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shallow import checks
from shallow.display import short
from shallow.spectra.marchenko_pastur import MarchenkoPastur


class Spike(NamedTuple):
    """Predicted largest eigenvalue of $W^T W$ and squared overlaps of its left and right vectors with u and v."""

    eigenvalue: np.ndarray
    left: np.ndarray
    right: np.ndarray

    __repr__ = short


def threshold(h: int, d: int, variance: float = 1.0) -> float:
    r"""Norm $\theta = \sqrt s\,(hd)^{1/4}$ above which the update leaves the bulk; 35.0 at 1500 x 1000."""
    law = MarchenkoPastur(h, d, variance)
    return float(np.sqrt(law.variance) * (float(law.h) * law.d) ** 0.25)


def spike(theta: np.ndarray, h: int, d: int, variance: float = 1.0) -> Spike:
    """Prediction for norms theta of any shape; arrays of that shape.

    Raises:
        ValueError: if a norm is negative or above 1e150, or 1e75 standard deviations of an entry, or for an impossible
            h, d or variance.
    """
    checks.within("[0, 1e150]", theta=theta)
    theta, edge = np.asarray(theta, dtype=float), threshold(h, d, variance)
    checks.within("[0, 1e75]", **{"theta over the root of the variance": theta / np.sqrt(variance)})
    out, area = theta > edge, float(h) * d
    square = np.where(out, theta**2 / variance, np.sqrt(area))  # at the threshold the formulas give the edge and zero
    excess = square**2 - area
    return Spike(
        variance * (square + h) * (square + d) / square,
        np.where(out, excess / (square * (square + h)), 0.0),
        np.where(out, excess / (square * (square + d)), 0.0),
    )


def strength(eigenvalue: np.ndarray, h: int, d: int, variance: float = 1.0) -> np.ndarray:
    r"""Norm $\theta$ of the update that puts $\lambda_1$ at the given place: inverse of :func:`spike`, any shape.

    NaN below the edge of the bulk, where $\lambda_1$ does not tell the norm.  ValueError if a place is negative, or
    above 1e150 variances.
    """
    checks.not_negative(eigenvalue=eigenvalue)
    eigenvalue = np.asarray(eigenvalue, dtype=float)
    law = MarchenkoPastur(h, d, variance)
    with np.errstate(over="ignore"):
        checks.within("[0, 1e150]", **{"eigenvalue over variance": eigenvalue / variance})
    middle = (eigenvalue / variance - h - d) / 2
    inside = eigenvalue < law.edges[1] * (1 - 1e-15)
    square = middle + np.sqrt(np.maximum(middle**2 - float(h) * d, 0))
    return np.sqrt(variance * np.where(inside, np.nan, square))
