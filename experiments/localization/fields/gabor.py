r"""Least-squares fits of bumps and Gabor functions to receptive fields on a ring.

With $\delta$ the shortest displacement from a free centre, in pixels, and $\kappa = 2\pi k/n$,

.. math:: f(x) = c\,\cos(\kappa \delta)\; e^{-\delta^2/a^2} + b .

A *bump* has k = 0.  The carrier of a *gabor* stays below the Nyquist frequency n/2, beyond which it would only stand
for a lower one.  For a small width the carrier is not identified, and then a Gabor function and a bump cannot be told
apart: compare their $R^2$, not their carriers.

Each field is fitted from several starts by the Levenberg-Marquardt method (MINPACK, by scipy): from no carrier, and
from the strongest modes of the field, with the width and the centre that correlate best with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, exp, pi, sin

import numba
import numpy as np
from scipy.optimize import leastsq

from shallow import checks
from shallow.display import short
from shallow.receptive_fields import checked

MODELS = ("bump", "gabor")
#: Carriers tried: none, and the strongest modes of the field.
STARTS = 8
#: Widths tried at the start, as shares of the ring; in pixels at least 0.7.
_WIDTHS = np.geomspace(0.02, 0.7, 10)
_NARROW, _WIDE = 0.1, 1e3  # limits of the width: in pixels, and in lengths of the ring


@dataclass(frozen=True)
class Fit:
    """The best fits of one model to fields (..., n); all arrays have shape (...), and NaN for a constant field."""

    pixels: int  # n
    centre: np.ndarray  # in pixels, in [0, n)
    carrier: np.ndarray  # k in cycles per ring, not negative
    width: np.ndarray  # a in pixels
    amplitude: np.ndarray  # c, of either sign
    offset: np.ndarray  # b
    r2: np.ndarray  # share of the variance over the pixels that is explained

    __repr__ = short

    def curve(self) -> np.ndarray:
        """The fitted functions at the pixels, shape (..., n)."""
        n, parameters = self.pixels, (self.centre, self.carrier, self.width, self.amplitude, self.offset)
        centre, carrier, width, amplitude, offset = (values[..., None] for values in parameters)
        delta = _wrapped(np.arange(n) - centre, n)
        return amplitude * np.cos(delta * (2 * np.pi * carrier / n)) * np.exp(-(delta**2) / width**2) + offset


def fit(W: np.ndarray, model: str = "gabor") -> Fit:
    r"""The best fit over several starts to each field, shape (..., n) with at least 8 pixels.

    Args:
        model: "bump" or "gabor".

    Cost: about 1 ms per field and start for 40 pixels, after a compilation of a second.
    """
    W, _ = checked(W)
    checks.one_of(MODELS, model=model)
    n = W.shape[-1]
    if n < 8:
        raise ValueError(f"W must have at least 8 pixels, got {n}")
    grid = _Grid.of(n)
    found = np.array([_best(field, grid, model) for field in W.reshape(-1, n)]).reshape(*W.shape[:-1], 6)
    return Fit(n, *np.moveaxis(found, -1, 0))


@dataclass(frozen=True)
class _Grid:
    """What the fits to all fields of n pixels share."""

    delta: np.ndarray  # displacements from the origin (n,)
    modes: np.ndarray  # wave numbers 1, 2, ... as angles per pixel
    widths: np.ndarray  # tried at the start (A,)
    envelopes: np.ndarray  # with these widths (A, n)
    limits: np.ndarray  # of the logarithm of the width

    @classmethod
    def of(cls, n: int) -> _Grid:
        delta = _wrapped(np.arange(n), n)
        widths = np.maximum(_WIDTHS * n, 0.7)
        modes = 2 * np.pi * delta[1 : n // 2 + 1] / n
        return cls(delta, modes, widths, np.exp(-(delta**2) / widths[:, None] ** 2), np.log([_NARROW, _WIDE * n]))

    def correlate(self, transform: np.ndarray, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the pixels with functions (A, n) moved to every place, shape (A, n), and their norms (A, 1).

        Both are of the functions less their means; a function that vanishes gets a norm of infinity.
        """
        functions = functions - functions.mean(axis=1, keepdims=True)
        sums = np.fft.ifft(transform * np.fft.fft(functions).conj()).real
        norms = (functions**2).sum(axis=1, keepdims=True)
        return sums, np.where(norms > 1e-9, norms, np.inf)

    def place(self, transform: np.ndarray, kappa: float) -> np.ndarray:
        r"""Start with a carrier $\kappa$: the width and the pixel for which the functions with it explain most.

        With a carrier the odd function may take part; its share then moves the centre.
        """
        wave = self.delta * kappa
        even_sums, even_norms = self.correlate(transform, self.envelopes * np.cos(wave))
        odd_sums, odd_norms = self.correlate(transform, self.envelopes * np.sin(wave))
        odd = kappa != 0
        explained = even_sums**2 / even_norms + odd * odd_sums**2 / odd_norms
        width, pixel = np.unravel_index(explained.argmax(), explained.shape)
        along = even_sums[width, pixel] / even_norms[width, 0]
        across = odd * odd_sums[width, pixel] / odd_norms[width, 0]
        phase, place = -np.arctan2(across, along), float(pixel)
        turns = np.round(phase / np.pi)
        amplitude = np.hypot(along, across) * (-1) ** turns
        if odd:
            place -= (phase - np.pi * turns) * kappa / (kappa * kappa)
        offset = -amplitude * (self.envelopes[width] * np.cos(wave)).mean()
        return np.array([place, kappa, np.log(self.widths[width]), amplitude, offset])


def _best(field: np.ndarray, grid: _Grid, model: str) -> np.ndarray:
    """(centre, carrier, width, amplitude, offset, R^2) of one field; NaN for a constant."""
    n, mean, deviation = len(field), field.mean(), field.std()
    if not deviation > 1e-12 * np.abs(field).max():
        return np.full(6, np.nan)
    target = (field - mean) / deviation
    error, (centre, kappa, log_width, amplitude, offset) = _search(target, grid, model)
    width, carrier = np.exp(np.clip(log_width, *grid.limits)), abs(_reflected(kappa)[0]) * n / (2 * np.pi)
    return np.array([centre % n % n, carrier, width, amplitude * deviation, offset * deviation + mean, 1 - error])


def _search(target: np.ndarray, grid: _Grid, model: str) -> tuple[float, np.ndarray]:
    """The best fit to a field of mean 0 and variance 1; a Gabor function starts also from the best bump."""
    transform = np.fft.fft(target)
    best = _descend(grid.place(transform, 0.0), target, grid, "bump")
    if model == "bump":
        return best
    strongest = np.argsort(-np.abs(transform[1 : len(grid.modes) + 1]), kind="stable")[: STARTS - 1]
    starts = [best[1], *(grid.place(transform, kappa) for kappa in grid.modes[strongest])]
    return min([best, *(_descend(start, target, grid, "gabor") for start in starts)], key=lambda fit: fit[0])


def _descend(start: np.ndarray, target: np.ndarray, grid: _Grid, model: str) -> tuple[float, np.ndarray]:
    """Mean squared error for a target of variance 1, and parameters, where the Levenberg-Marquardt method ends."""
    free = np.array([0, 2, 3, 4] if model == "bump" else [0, 1, 2, 3, 4])

    def evaluated(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        whole = start.copy()
        whole[free] = values
        return _evaluate(whole, len(target), grid.limits)

    with np.errstate(over="ignore", invalid="ignore"):  # in the covariance of parameters that are not identified
        found, *_ = leastsq(
            lambda values: evaluated(values)[0] - target,
            start[free],
            Dfun=lambda values: evaluated(values)[1][:, free],
            full_output=True,
            maxfev=200,
        )
    whole = start.copy()
    whole[free] = found
    return float(np.mean((evaluated(found)[0] - target) ** 2)), whole


_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def _evaluate(parameters, n, limits):
    """The function at the pixels, (n,), and its derivatives, (n, 5).

    The parameters are the centre, the carrier as an angle per pixel, the logarithm of the width, the amplitude and the
    offset.  The carrier is reflected into [-pi, pi], and the width stays within its limits.
    """
    centre, carrier, log_width, amplitude, offset = parameters
    inside = limits[0] < log_width < limits[1]
    inverse_square = exp(-2.0 * min(max(log_width, limits[0]), limits[1]))
    kappa, slope = _reflected(carrier)
    values, derivatives = np.empty(n), np.empty((n, 5))
    for x in range(n):
        delta = x - centre
        delta -= n * np.round(delta / n)
        square = delta * delta * inverse_square
        envelope = exp(-square)
        even, odd = cos(delta * kappa) * envelope, sin(delta * kappa) * envelope
        values[x] = amplitude * even + offset
        derivatives[x, 0] = amplitude * (odd * kappa + 2.0 * even * delta * inverse_square)
        derivatives[x, 1] = -amplitude * odd * delta * slope
        derivatives[x, 2] = 2.0 * amplitude * even * square if inside else 0.0
        derivatives[x, 3] = even
        derivatives[x, 4] = 1.0
    return values, derivatives


@_compiled
def _reflected(angle):
    """The angle reflected into [-pi, pi] at both ends, and the slope of the reflection."""
    turned = (angle + pi) % (4.0 * pi)
    return (turned - pi, 1.0) if turned <= 2.0 * pi else (3.0 * pi - turned, -1.0)


def _wrapped(delta: np.ndarray, n: int) -> np.ndarray:
    return delta - n * np.round(delta / n)
