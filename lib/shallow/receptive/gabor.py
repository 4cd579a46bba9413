r"""Least-squares fits of bumps and Gabor functions to receptive fields on a ring or a torus.

With $\delta$ the shortest displacement from a free centre, in pixels, and $\kappa_j = 2\pi k_j/n_j$,

.. math:: f(x) = c\,\cos(\kappa \cdot \delta + \varphi)\; e^{-|\delta|^2/a^2} + b .

The models are nested: a *bump* has k = 0 and $\varphi$ = 0, a *gabor* has $\varphi$ = 0 and is even around its centre,
a *phased* Gabor function has all parameters.  The carrier stays below the Nyquist frequency n/2, beyond which it would
only stand for a lower one with another phase.  For a small width the carrier is not identified, and then a Gabor
function and a bump cannot be told apart: compare their $R^2$, not their carriers.

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
from shallow.receptive.fields import checked, opposite
from shallow.representation import short

MODELS = ("bump", "gabor", "phased")
STARTS = 8
#: Widths tried at the start, as shares of the shortest axis; in pixels at least 0.7.
_WIDTHS = np.geomspace(0.02, 0.7, 10)
_NARROW, _WIDE = 0.1, 1e3  # limits of the width: in pixels, and in lengths of the longest axis


@dataclass(frozen=True)
class Fit:
    r"""The best fits of one model, to fields of shape (..., n) or (..., n1, n2).

    Attributes:
        shape: of one field.
        centre: in pixels, in [0, n); shape (..., d).
        carrier: k in cycles per ring, with a first nonzero component that is positive; shape (..., d).
        width: a in pixels, shape (...).
        phase: $\varphi$ in $(-\pi/2, \pi/2]$, shape (...).
        amplitude, offset: c (of either sign) and b, shape (...).
        r2: share of the variance over the pixels that is explained, shape (...); NaN for a constant field, whose other
            parameters are NaN as well.
    """

    shape: tuple[int, ...]
    centre: np.ndarray
    carrier: np.ndarray
    width: np.ndarray
    phase: np.ndarray
    amplitude: np.ndarray
    offset: np.ndarray
    r2: np.ndarray

    __repr__ = short

    @property
    def frequency(self) -> np.ndarray:
        """|k| in cycles per ring, shape (...)."""
        return np.linalg.norm(self.carrier, axis=-1)

    def curve(self) -> np.ndarray:
        """The fitted functions at the pixels, shape (..., n) or (..., n1, n2)."""
        points, d = _points(self.shape), len(self.shape)
        sizes = np.array(self.shape)
        delta = _wrapped(points - self.centre[..., None, :], sizes)
        angle = np.einsum("...nd,...d->...n", delta, 2 * np.pi * self.carrier / sizes) + self.phase[..., None]
        envelope = np.exp(-(delta**2).sum(axis=-1) / self.width[..., None] ** 2)
        values = self.amplitude[..., None] * np.cos(angle) * envelope + self.offset[..., None]
        return values.reshape(*values.shape[:-1], *self.shape) if d > 1 else values


def fit(W: np.ndarray, model: str = "gabor", *, dimension: int = 1, starts: int = STARTS) -> Fit:
    r"""The best fit over several starts to each field.

    Args:
        W: fields, shape (..., n), or with `dimension=2` (..., n1, n2); at least 8 or 10 pixels.
        model: "bump", "gabor" or "phased".
        starts: carriers tried: none, and the strongest modes of the field.  A bump has one start, and a phased Gabor
            function starts also from the best even one, so that $R^2$ never falls from one model to the next.

    Raises:
        ValueError: for an unknown model, too few pixels or starts, or fields as refused by
            :func:`shallow.receptive.fields.checked`.

    Cost: about 1 ms per field and start for 40 pixels, after a compilation of a second.
    """
    W, _ = checked(W, dimension)
    shape = W.shape[W.ndim - dimension :]
    least = 2 * dimension + 6
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {model!r}")
    checks.integers(1, starts=starts)
    if np.prod(shape) < least:
        raise ValueError(f"W must have at least {least} pixels, got {shape}")
    grid = _Grid.of(shape)
    found = np.array([_best(field, grid, model, starts) for field in W.reshape(-1, *shape)])
    found = found.reshape(*W.shape[: W.ndim - dimension], 2 * dimension + 5)  # also of an empty population
    rest = np.moveaxis(found[..., 2 * dimension :], -1, 0)
    return Fit(shape, found[..., :dimension], found[..., dimension : 2 * dimension], *rest)


@dataclass(frozen=True)
class _Grid:
    """What the fits to all fields of one shape share; N pixels, in d dimensions.

    Attributes:
        shape: of a field.
        sizes: the same as floats, shape (d,).
        points: coordinates of the pixels, shape (N, d).
        delta: displacements from the origin, shape (N, d).
        modes: wave vectors as angles per pixel, one of each pair k, -k and not 0, shape (M, d).
        chosen: their places in a flattened Fourier transform, shape (M,).
        widths, envelopes: tried at the start, shapes (A,) and (A, N).
        limits: of the logarithm of the width.
    """

    shape: tuple[int, ...]
    sizes: np.ndarray
    points: np.ndarray
    delta: np.ndarray
    modes: np.ndarray
    chosen: np.ndarray
    widths: np.ndarray
    envelopes: np.ndarray
    limits: np.ndarray

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> _Grid:
        sizes, points = np.array(shape, dtype=float), _points(shape)
        delta = _wrapped(points, sizes)
        index = np.arange(len(points))
        chosen = index[(index <= opposite(shape)) & (index > 0)]
        widths = np.maximum(_WIDTHS * min(shape), 0.7)
        envelopes = np.exp(-(delta**2).sum(axis=1) / widths[:, None] ** 2)
        limits = np.log([_NARROW, _WIDE * max(shape)])
        modes = 2 * np.pi * delta[chosen] / sizes  # wave numbers and displacements are the same integers
        return cls(shape, sizes, points, delta, modes, chosen, widths, envelopes, limits)

    def correlate(self, transform: np.ndarray, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the pixels with functions (A, N) moved to every place, shape (A, N), and their norms (A, 1).

        Both are of the functions less their means; a function that vanishes gets a norm of infinity.
        """
        functions = functions - functions.mean(axis=1, keepdims=True)
        axes = tuple(range(1, 1 + len(self.shape)))
        products = transform * np.fft.fftn(functions.reshape(-1, *self.shape), axes=axes).conj()
        sums = np.fft.ifftn(products, axes=axes).real.reshape(functions.shape)
        norms = (functions**2).sum(axis=1, keepdims=True)
        return sums, np.where(norms > 1e-9, norms, np.inf)


def _best(field: np.ndarray, grid: _Grid, model: str, starts: int) -> np.ndarray:
    """(centre, carrier, width, phase, amplitude, offset, R^2) of one field; NaN for a constant."""
    d, mean, deviation = field.ndim, field.mean(), field.std()
    if not deviation > 1e-12 * np.abs(field).max():
        return np.full(2 * d + 5, np.nan)
    target = (field - mean) / deviation
    error, found = _search(target, grid, model, starts)
    kappa = np.array([_reflected(angle)[0] for angle in found[d : 2 * d]])
    phase, log_width, amplitude, offset = found[2 * d :]
    if (kappa[kappa != 0][:1] < 0).any():
        kappa, phase = -kappa, -phase
    turns = np.ceil(phase / np.pi - 0.5)
    width = np.exp(np.clip(log_width, *grid.limits))
    scaled = [phase - np.pi * turns, amplitude * (-1) ** turns * deviation, offset * deviation + mean]
    place, carrier = found[:d] % grid.sizes % grid.sizes, kappa * grid.sizes / (2 * np.pi)
    return np.concatenate([place, carrier, [width], scaled, [1 - error]])


def _search(target: np.ndarray, grid: _Grid, model: str, starts: int) -> tuple[float, np.ndarray]:
    """The best fit to a field of mean 0 and variance 1; a model starts also from the best fit of the one inside it."""
    transform = np.fft.fftn(target)
    strongest = np.argsort(-np.abs(transform.ravel()[grid.chosen]), kind="stable")[: starts - 1]
    best = _descend(_place(transform, grid, np.zeros(target.ndim), odd=False), target.ravel(), grid, "bump")
    for stage in MODELS[1 : MODELS.index(model) + 1]:
        places = [_place(transform, grid, kappa, odd=True, move=stage == "gabor") for kappa in grid.modes[strongest]]
        found = [_descend(start, target.ravel(), grid, stage) for start in (best[1], *places)]
        best = min([best, *found], key=lambda fit: fit[0])
    return best


def _place(transform: np.ndarray, grid: _Grid, kappa: np.ndarray, *, odd: bool, move: bool = False) -> np.ndarray:
    r"""The width and the pixel for which the functions with carrier $\kappa$ explain most of a field.

    Args:
        transform: Fourier transform of the field.
        odd: also the odd function with this carrier, which sets the phase.
        move: turn the phase into a shift of the centre.
    """
    wave = grid.delta @ kappa
    even_sums, even_norms = grid.correlate(transform, grid.envelopes * np.cos(wave))
    odd_sums, odd_norms = grid.correlate(transform, grid.envelopes * np.sin(wave))
    explained = even_sums**2 / even_norms + odd * odd_sums**2 / odd_norms
    width, pixel = np.unravel_index(explained.argmax(), explained.shape)
    along = even_sums[width, pixel] / even_norms[width, 0]
    across = odd * odd_sums[width, pixel] / odd_norms[width, 0]
    amplitude, phase, place = np.hypot(along, across), -np.arctan2(across, along), grid.points[pixel]
    if move:
        turns = np.round(phase / np.pi)
        place, amplitude = place - (phase - np.pi * turns) * kappa / (kappa @ kappa), amplitude * (-1) ** turns
        phase = 0.0
    offset = -amplitude * (grid.envelopes[width] * np.cos(wave + phase)).mean()
    return np.concatenate([place, kappa, [phase, np.log(grid.widths[width]), amplitude, offset]])


def _descend(start: np.ndarray, target: np.ndarray, grid: _Grid, model: str) -> tuple[float, np.ndarray]:
    """Mean squared error for a target of variance 1, and parameters, where the Levenberg-Marquardt method ends."""
    d = len(grid.shape)
    fixed = {"bump": range(d, 2 * d + 1), "gabor": [2 * d], "phased": []}[model]
    free = np.delete(np.arange(len(start)), fixed)

    def evaluated(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        whole = start.copy()
        whole[free] = values
        return _evaluate(whole, grid.points, grid.sizes, grid.limits)

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
def _evaluate(parameters, points, sizes, limits):
    """The function at the pixels, (N,), and its derivatives, (N, 2d + 4).

    The parameters are the centre and the carrier, as angles per pixel, then the phase, the logarithm of the width, the
    amplitude and the offset.  Carriers are reflected into [-pi, pi], and the width stays within its limits.
    """
    pixels, d = points.shape
    phase, log_width, amplitude, offset = parameters[2 * d :]
    inside = limits[0] < log_width < limits[1]
    inverse_square = exp(-2.0 * min(max(log_width, limits[0]), limits[1]))
    values, derivatives = np.empty(pixels), np.empty((pixels, 2 * d + 4))
    for x in range(pixels):
        square, angle = 0.0, phase
        for axis in range(d):
            delta = points[x, axis] - parameters[axis]
            delta -= sizes[axis] * np.round(delta / sizes[axis])
            square += delta * delta * inverse_square
            angle += delta * _reflected(parameters[d + axis])[0]
            derivatives[x, axis] = delta
        envelope = exp(-square)
        even, odd = cos(angle) * envelope, sin(angle) * envelope
        values[x] = amplitude * even + offset
        for axis in range(d):
            delta = derivatives[x, axis]
            kappa, slope = _reflected(parameters[d + axis])
            derivatives[x, axis] = amplitude * (odd * kappa + 2.0 * even * delta * inverse_square)
            derivatives[x, d + axis] = -amplitude * odd * delta * slope
        derivatives[x, 2 * d] = -amplitude * odd
        derivatives[x, 2 * d + 1] = 2.0 * amplitude * even * square if inside else 0.0
        derivatives[x, 2 * d + 2] = even
        derivatives[x, 2 * d + 3] = 1.0
    return values, derivatives


@_compiled
def _reflected(angle):
    """The angle reflected into [-pi, pi] at both ends, and the slope of the reflection."""
    turned = (angle + pi) % (4.0 * pi)
    return (turned - pi, 1.0) if turned <= 2.0 * pi else (3.0 * pi - turned, -1.0)


def _points(shape: tuple[int, ...]) -> np.ndarray:
    """Coordinates of the pixels, shape (N, d)."""
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, len(shape)).astype(float)


def _wrapped(delta: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    return delta - sizes * np.round(delta / sizes)
