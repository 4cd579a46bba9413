r"""Compiled passes over the numbers between two matrix products: the core of :mod:`shallow.train.first_layer` (numba).

Between $Z = W X^\top$ and the gradient lie an activation, a sum over the neurons and a product with the slopes; behind
it are the moments of Adam and the step.  Each is one pass of vector instructions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numba
import numpy as np
from numba.extending import overload

from shallow.train.functions import activation
from shallow.train.vector_math import FAST, _polynomial, inlined

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
_kept = numba.njit(cache=True, **_OPTIONS)
#: Points at a time: their residuals stay in the cache nearest to the processor.
BLOCK = 2048
_REAL = {numba.float32: np.float32, numba.float64: np.float64}


@functools.cache
def softplus(real: type) -> Callable[[float], tuple[float, float]]:
    r"""Compiled z -> ($\ln(1 + e^z)$, $1/(1 + e^{-z})$) in vector instructions, to be called in loops over arrays.

    With $t = e^{-|z|} = 2^{-k} e^{-r}$ both follow from $\ln(1 + t) = 2 \operatorname{artanh}\frac{t}{2 + t}$; one
    division in all.

    Args:
        real: numpy.float32 or numpy.float64.  Relative errors are some roundings, times $|z|$ where z is negative.

    A NaN stays one.  Cost: 0.6 and 1.9 ns for both numbers.
    """
    powers, terms, area, limit = {np.float32: (7, 8, 7, 87.0), np.float64: (10, 14, 16, 708.0)}[real]
    exponential = _polynomial([(-1) ** n / math.factorial(n) for n in range(terms)], real)
    logarithm = _polynomial([2 / (2 * n + 1) for n in range(area)], real)
    halves = {f"c{bit}": real(0.5**2**bit) for bit in range(powers)} | {"one": real(1)}
    power = inlined(eval("lambda k: " + " * ".join(f"(c{n} if k & {1 << n} else one)" for n in range(powers)), halves))
    limit, per_power, ln2, zero, half, one, two = map(real, (limit, 1 / math.log(2), math.log(2), 0, 0.5, 1, 2))

    @inlined
    def softplus(z):
        size = min(abs(z), limit)
        k = np.int32(size * per_power + half)
        t = power(k) * exponential(size - real(k) * ln2)
        share = one / ((one + t) * (two + t))
        y, slope = t * (one + t) * share, (two + t) * share
        return max(z, zero) + y * logarithm(y * y), slope if z >= zero else t * slope

    return softplus


def _tanh(z):
    raise NotImplementedError("_tanh is for compiled code")


def _softplus(z):
    raise NotImplementedError("_softplus is for compiled code")


@overload(_tanh, jit_options=_OPTIONS | {"forceinline": True})
def _tanh_of(z):
    return activation("tanh", _REAL[z]).py_func


@overload(_softplus, jit_options=_OPTIONS | {"forceinline": True})
def _softplus_of(z):
    return softplus(_REAL[z]).py_func


@_kept
def residuals(hidden, scale, smooth, out, rows, y, residual):
    r"""`hidden` goes from $Z = W X^\top$ to $c\,r^\top \odot \sigma'(s Z)$ with $r = v^\top \sigma(s Z) - y$; mean r^2.

    Args:
        hidden: Z, shape (h, n).
        scale, smooth: s, and whether $\sigma$ is softplus rather than tanh.
        out, rows: v and c, shape (h,).
        y, residual: labels, and room for r, shape (n,).
    """
    total = 0.0
    for first in range(0, len(y), BLOCK):
        r = residual[first : first + BLOCK]
        for k in range(len(r)):
            r[k] = -y[first + k]
        for i in range(len(hidden)):
            z, weight = hidden[i, first : first + BLOCK], out[i]
            if smooth:
                for k in range(len(r)):
                    value, z[k] = _softplus(scale * z[k])
                    r[k] += weight * value
            else:
                for k in range(len(r)):
                    value, z[k] = _tanh(scale * z[k])
                    r[k] += weight * value
        for i in range(len(hidden)):
            z, weight = hidden[i, first : first + BLOCK], rows[i]
            for k in range(len(r)):
                z[k] *= weight * r[k]
        for k in range(len(r)):
            total += r[k] * r[k]
    return total / len(y)


@_kept
def adam(gradient, first, second, beta1, beta2, size, guard):
    r"""The gradient g becomes $\rho\,m / (\sqrt v + \epsilon)$, once the moments m and v have moved on.

    Args:
        gradient, first, second: g, m and v, shape (h, d).
        beta1, beta2: shares of the new gradient and of its square in the moments.
        size, guard: $\rho$ and $\epsilon$.
    """
    for i in range(len(gradient)):
        g, m, v = gradient[i], first[i], second[i]
        for j in range(len(g)):
            mean, square = m[j] + beta1 * (g[j] - m[j]), v[j] + beta2 * (g[j] * g[j] - v[j])
            m[j], v[j] = mean, square
            g[j] = size * mean / (np.sqrt(square) + guard)


@_kept
def move(W, direction, rate):
    """A step against a direction, in place; both of shape (h, d)."""
    for i in range(len(W)):
        for j in range(W.shape[1]):
            W[i, j] -= rate * direction[i, j]
