r"""Error function, hyperbolic tangent and normal random numbers in the arithmetic of vector instructions (numba).

Compiled loops that call the C library take one number at a time.  Written with the four operations and a square root
alone, the same functions take 8 or 16 at a time.  A function of $s = x^2/2$ that is smooth in $[0, \infty)$ is a
polynomial of moderate degree in $t = (s - c)/(s + c)$ where it has not yet decayed:

.. math:: \mathrm{erf}(x/\sqrt2) = x\,P(t), \qquad e^{-x^2/2} = Q(t), \qquad |x| \le L,

with one division for both, and x is clipped at L, where erf has saturated.  The polynomials interpolate at Chebyshev
points; they are computed when they are first needed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numba
import numpy as np
from numba.extending import overload
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import erf

#: What the compiler may assume; infinities and NaN are kept as such.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
_INLINED = _OPTIONS | {"forceinline": True}  # a call would end a vector
compiled = numba.njit(**_OPTIONS)
inlined = numba.njit(**_INLINED)

#: Independent generators that fill an array side by side; normal numbers come in groups of twice as many.
LANES = 256
GROUP = 2 * LANES


class _Format(NamedTuple):
    """A floating-point type: its bits, and how far the expansions have to go for errors at the level of rounding."""

    integer: type
    fraction: int
    bias: int
    limit: float
    centre: float
    degree: int
    logarithm: int
    circle: int


_FORMATS = {
    np.float32: _Format(np.int32, 23, 127, limit=5.5, centre=8.0, degree=12, logarithm=5, circle=6),
    np.float64: _Format(np.int64, 52, 1023, limit=8.5, centre=16.0, degree=25, logarithm=11, circle=10),
}


@functools.cache
def erf_and_slope(real: type) -> Callable[[float], tuple[float, float]]:
    r"""Compiled x -> ($\mathrm{erf}(x/\sqrt2)$, $\sqrt{2/\pi}\,e^{-x^2/2}$), to be called in loops over arrays.

    Args:
        real: numpy.float32 or numpy.float64.  Absolute errors are below 1e-6 and 2e-14.

    A NaN stays one.  Cost: 0.6 and 2.5 ns for both numbers.
    """
    form = _FORMATS[real]
    largest = form.limit**2 / 2

    def shape(s: np.ndarray) -> np.ndarray:
        x = np.sqrt(np.maximum(2 * s, 1e-12))
        return erf(x / 2**0.5) / x

    def slope(s: np.ndarray) -> np.ndarray:
        return math.sqrt(2 / math.pi) * np.exp(-s)

    def interpolate(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[float], float]:
        domain = [-1, (largest - form.centre) / (largest + form.centre)]
        series = Chebyshev.interpolate(lambda t: function(form.centre * (1 + t) / (1 - t)), form.degree, domain)
        return _polynomial(series.convert(kind=Polynomial).coef, real)

    value_of, slope_of = interpolate(shape), interpolate(slope)
    limit, centre, half = real(form.limit), real(form.centre), real(0.5)

    @inlined
    def erf_and_slope(x):
        x = min(max(x, -limit), limit)
        s = half * x * x
        t = (s - centre) / (s + centre)
        return x * value_of(t), slope_of(t)

    return erf_and_slope


@functools.cache
def tanh(real: type) -> Callable[[float], float]:
    r"""Compiled tanh, to be called in loops over arrays.

    Lambert's continued fraction at $y = x/4$ or $x/2$, as a quotient $p/q$ of polynomials,

    .. math:: \tanh y = \cfrac{y}{1 + \cfrac{y^2}{3 + \cfrac{y^2}{5 + \cdots}}} ,

    and $\tanh 2y = 2pq / (p^2 + q^2)$, which no rounding error grows by; one division in all.

    Args:
        real: numpy.float32 or numpy.float64.  Relative errors are below 4e-7 and 1.5e-15.

    A NaN stays one.  Cost: 0.2 and 0.5 ns, a tenth of what the C library takes.
    """
    doublings, terms, limit = {np.float32: (1, 10, 9.5), np.float64: (2, 16, 20.0)}[real]
    above, below = Polynomial([1.0]), Polynomial([2.0 * terms - 1])
    for k in reversed(range(1, terms)):
        above, below = below, (2 * k - 1) * below + Polynomial([0, 1]) * above
    above, below = (_polynomial(part.coef / below.coef[0], real) for part in (above, below))
    limit, part = real(limit), real(2.0**-doublings)

    @inlined
    def tanh(x):
        y = part * min(max(x, -limit), limit)
        s = y * y
        p, q = y * above(s), below(s)
        for _ in range(doublings):
            p, q = (p + p) * q, p * p + q * q
        return p / q

    return tanh


@functools.cache
def erfi(real: type) -> Callable[[float], float]:
    r"""Compiled x -> $\mathrm{erfi}(x) = \frac2{\sqrt\pi} \sum_k \frac{x^{2k+1}}{k!\,(2k+1)}$ for $|x| \le 3.5$.

    All terms have one sign: the relative error is some roundings.
    """
    series = _polynomial([2 / math.sqrt(math.pi) / math.factorial(k) / (2 * k + 1) for k in range(60)], real)

    @inlined
    def erfi(x):
        return x * series(x * x)

    return erfi


def lanes(rng: np.random.Generator) -> np.ndarray:
    """State of :data:`LANES` independent xoshiro256++ generators, seeded by `rng`; uint64, shape (4, LANES)."""
    return rng.integers(0, 2**64, (4, LANES), dtype=np.uint64)


@compiled
def words(state, out):
    """One number of 64 bits from each generator of a state, shape (LANES,); the state moves on.

    Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", xoshiro256++.
    """
    a, b, c, d = state[0], state[1], state[2], state[3]
    left, far, high = np.uint64(23), np.uint64(45), np.uint64(17)
    for i in range(LANES):
        total = a[i] + d[i]
        out[i] = ((total << left) | (total >> (np.uint64(64) - left))) + a[i]
        shifted = b[i] << high
        third, fourth = c[i] ^ a[i], d[i] ^ b[i]
        b[i], a[i] = b[i] ^ third, a[i] ^ fourth
        c[i] = third ^ shifted
        d[i] = (fourth << far) | (fourth >> (np.uint64(64) - far))


@functools.cache
def normals(real: type) -> Callable[[np.ndarray, np.ndarray], None]:
    r"""Compiled ``normals(state, out)``, which fills `out` with independent numbers from N(0, 1), by Box and Muller.

    A word of 64 bits makes two of them: $\sqrt{-2 \ln u}\,(\cos 2\pi v, \sin 2\pi v)$ with u and v of 32 bits each, so
    that none is beyond 6.8 (probability 1e-11).  Both types give the same numbers, but for rounding.

    Args:
        state: as from :func:`lanes`; moved on.
        out: type `real`, its length a multiple of `GROUP`.

    Cost: 0.8 and 1.3 ns a number, a tenth and a quarter of what NumPy's generators take.
    """
    form = _FORMATS[real]
    integer, shift, bias = form.integer, form.integer(form.fraction), form.integer(form.bias)
    one = form.integer(form.bias << form.fraction)  # the bits of 1.0
    fraction = form.integer((1 << form.fraction) - 1)
    area = _polynomial([2 / (2 * k + 1) for k in range(form.logarithm)], real)  # 2 artanh(y) / y in y^2
    cosine = _polynomial([(-1) ** k / math.factorial(2 * k) for k in range(form.circle)], real)
    sine = _polynomial([(-1) ** k / math.factorial(2 * k + 1) for k in range(form.circle)], real)
    zero, half, minus_two, root = real(0), real(0.5), real(-2), real(2**0.5)
    ln2, cell, eighth = real(math.log(2)), real(2.0**-32), real(math.pi / 4)
    turn = real(math.pi / 2 * 2.0**-30)
    upper, angle, swap, flip = np.uint64(32), np.uint64(2**30 - 1), np.uint64(2**30), np.uint64(2**31)

    @compiled
    def normals(state, out):
        drawn, u, power = np.empty(LANES, np.uint64), np.empty(LANES, real), np.empty(LANES, real)
        bits = u.view(integer)
        for start in range(0, len(out), GROUP):
            first, second = out[start : start + LANES], out[start + LANES : start + GROUP]
            words(state, drawn)
            for i in range(LANES):
                u[i] = (real(drawn[i] >> upper) + half) * cell
            for i in range(LANES):  # u = 2^power m with 1 <= m < 2, by its bits
                power[i] = real((bits[i] >> shift) - bias)
                bits[i] = (bits[i] & fraction) | one
            for i in range(LANES):
                y = (u[i] - root) / (u[i] + root)
                radius = np.sqrt(max(minus_two * ((power[i] + half) * ln2 + y * area(y * y)), zero))
                # An angle within an eighth of a turn of 0, then mirrored at the diagonal or not, and at 0 or not.
                x = real(drawn[i] & angle) * turn - eighth
                c, s = cosine(x * x), x * sine(x * x)
                radius = -radius if drawn[i] & flip else radius
                swapped = drawn[i] & swap
                first[i] = radius * (s if swapped else c)
                second[i] = radius * (c if swapped else s)

    return normals


def _polynomial(coefficients: Sequence[float], real: type) -> Callable[[float], float]:
    """Compiled t -> sum of coefficients[k] t^k by Horner's rule, written out: a loop in it would end a vector."""
    text = f"c{len(coefficients) - 1}"
    for k in reversed(range(len(coefficients) - 1)):
        text = f"({text}) * t + c{k}"
    constants = {f"c{k}": real(c) for k, c in enumerate(coefficients)}
    return inlined(eval(f"lambda t: {text}", constants))


# The same by the number type of their arguments, for compiled code of either type that numba keeps on disk.

_REAL = {numba.float32: np.float32, numba.float64: np.float64}


def erf_of(x: float) -> tuple[float, float]:
    """:func:`erf_and_slope` of the type of x; for compiled code only."""
    raise NotImplementedError("erf_of is for compiled code")


def erfi_of(x: float) -> float:
    """:func:`erfi` of the type of x; for compiled code only."""
    raise NotImplementedError("erfi_of is for compiled code")


def fill_normals(state: np.ndarray, out: np.ndarray) -> None:
    """:func:`normals` of the type of `out`; for compiled code only."""
    raise NotImplementedError("fill_normals is for compiled code")


@overload(erf_of, jit_options=_INLINED)
def _erf_of(x):
    return erf_and_slope(_REAL[x]).py_func


@overload(erfi_of, jit_options=_INLINED)
def _erfi_of(x):
    return erfi(_REAL[x]).py_func


@overload(fill_normals, jit_options=_OPTIONS)
def _fill_normals(state, out):
    return normals(_REAL[out.dtype]).py_func
