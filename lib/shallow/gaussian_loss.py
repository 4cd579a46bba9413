r"""Exact distance of two ReLU networks without biases under Gaussian inputs: no test set, no sampling error.

For $x \sim N(0, I_d)$ the difference of two networks is one network with neurons $(w_j, a_j)$.  With
$\sigma(t) = (t + |t|)/2$ its odd and even parts are orthogonal, so that with $s = \sum_j a_j w_j$, $b_j = a_j\|w_j\|$

.. math:: \mathbb E\Big[\sum_j a_j \sigma(\langle w_j, x\rangle)\Big]^2
          = \tfrac14 \|s\|^2 + \tfrac14 \sum_{ij} b_i b_j F(c_{ij}), \qquad c_{ij} = |\cos\angle(w_i, w_j)|,

where $F(c) = \frac2\pi (\sqrt{1 - c^2} + c \arcsin c)$ is $\mathbb E|\langle u, x\rangle\langle v, x\rangle|$ of unit
vectors.  The linear part, in which large terms cancel, is thus summed over neurons and not over pairs.

With $z = (1 - c)/2 = \sin^2(t/2)$, $t = \arccos c$, one has $F = c + \frac2\pi (\sin t - t \cos t)$ and
$\sin t - t\cos t = z^{3/2} P(z)$, P analytic up to $z = 1$ while $z \le 1/2$: a short polynomial, one square root and
no branch for all angles, which compilers vectorise.
"""

from __future__ import annotations

from math import sqrt

import numba
import numpy as np
from numpy.polynomial import chebyshev

from shallow.nets import TwoLayer

_TILE = 512  # neurons at a time; their directions and cosines stay in the first cache
_DEGREE = 18  # the Chebyshev coefficients of P fall like (3 + sqrt 8)^-k; more terms only add rounding


def _series(z: np.ndarray) -> np.ndarray:
    r"""P(z) for z in [0, 1/2] by its Taylor series, every term of which is positive.

    $\frac{d}{dr}(\sin t - t\cos t) = 8 r \arcsin r$ at $r = \sin(t/2)$, and $\arcsin r = \sum_k c_k r^{2k + 1}$.
    """
    k = np.arange(1, 64)
    c = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k)) / (2 * k + 1)])
    return np.polynomial.polynomial.polyval(z, 8 * c / (2 * np.arange(64) + 3))


#: Coefficients of (2/pi) P in powers of y = 4z - 1 in [-1, 1].
_POLYNOMIAL = chebyshev.cheb2poly(chebyshev.chebinterpolate(lambda y: 2 / np.pi * _series((y + 1) / 4), _DEGREE))
_compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})


def excess_risk(network: TwoLayer, teacher: TwoLayer) -> float:
    r"""$\mathbb E\,(h(x) - h^*(x))^2$ for $x \sim N(0, I_d)$: the test loss without the variance of the label noise.

    Args:
        network, teacher: without biases, of any widths m and k, with the same number d of inputs; neurons may be zero.

    Returns:
        The excess risk of the mean square loss, without the factor 1/2; symmetric in its arguments.  The rounding
        error is about 1e-16 $(\sum_j |a_j|\|w_j\|)^2$, the sum over the neurons of both.

    Raises:
        ValueError: for a bias that is not zero, or different numbers of inputs.

    Cost: $(m + k)^2 / 2$ pairs at about 5 ns each for d = 5, on one core; no array of their size.
    """
    if network.W.shape[1] != teacher.W.shape[1]:
        raise ValueError(f"teacher must have {network.W.shape[1]} inputs as network, got {teacher.W.shape[1]}")
    for name, one in (("network", network), ("teacher", teacher)):
        if one.b.any():
            raise ValueError(f"{name} must have no biases, got values up to {np.abs(one.b).max()}")
    W, a = np.concatenate([network.W, teacher.W]), np.concatenate([network.v, -teacher.v])
    norms = np.linalg.norm(W, axis=1)
    directions = np.divide(W, norms[:, None], out=np.zeros_like(W), where=norms[:, None] > 0)
    even = _even(np.ascontiguousarray(directions.T), a * norms)
    return max(0.25 * float(np.sum((a @ W) ** 2) + even), 0.0)


@_compiled
def _mean_product(c):
    """F(c) for c in [0, 1]; relative error below 5e-15, 1e-16 for most c."""
    z = 0.5 - 0.5 * c
    z = z if z > 0.0 else 0.0  # c may exceed 1 by rounding
    y, polynomial = 4.0 * z - 1.0, 0.0
    for k in range(_DEGREE, -1, -1):  # over a constant array: unrolled
        polynomial = polynomial * y + _POLYNOMIAL[k]
    return c + z * sqrt(z) * polynomial


@_compiled
def _even(directions, b):
    r"""$\sum_{ij} b_i b_j F(c_{ij})$ for unit directions (d, m) as columns and b of shape (m,), every pair once."""
    d, m = directions.shape
    cosine = np.empty(_TILE)
    off_diagonal = 0.0
    for start in range(0, m, _TILE):
        stop = min(start + _TILE, m)
        tile, weights = directions[:, start:stop].copy(), b[start:stop].copy()
        for i in range(stop):
            first = max(0, i + 1 - start)  # pairs i < j
            cosine[:] = 0.0
            for k in range(d):
                u = directions[k, i]
                for j in range(first, stop - start):
                    cosine[j] += u * tile[k, j]
            row = 0.0
            for j in range(first, stop - start):
                row += weights[j] * _mean_product(abs(cosine[j]))
            off_diagonal += b[i] * row
    return 2.0 * off_diagonal + np.sum(b * b)
