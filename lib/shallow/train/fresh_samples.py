r"""Compiled descent of a committee machine on fresh samples: the core of :mod:`shallow.train.online` (numba).

A minibatch is used once, so it is never stored: it is drawn in blocks of rows that stay in the cache, and a block goes
through normal numbers, correlations, nonlinearity, neurons, residuals and gradients before the next one is drawn.  What
is not a matrix product is a loop of vector instructions (:mod:`shallow.train.vector_math`).
With rows x of a batch of B samples, residuals $\ell'(\hat y)$ and read-out $\rho$,

.. math:: p_{ki} = \frac{\rho}{B}\,\sigma'(\langle w_k, x_i\rangle + b_k)\,\ell'(\hat y_i), \qquad
          \partial_{w_k} = \sum_i p_{ki}\,x_i, \qquad \partial_{b_k} = \sum_i p_{ki} .
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
import scipy.linalg  # noqa: F401  compiled code calls its BLAS, which must be loaded before it can be limited

from shallow.data.nlgp import Process, arcsine_law
from shallow.train.vector_math import FAST, GROUP, compiled, erf_of, erfi_of, fill_normals

#: Pixels in a block: about 250 rows of 40, or 25 of 400.
BLOCK = 10_000
#: Nonlinearities, as numbers for compiled code: s z, s erf(g z), s erfi(g z) and s sign(z).
LINEAR, ERF, ERFI, SIGN = 0, 1, 2, 3
#: Activations and losses; compiled code takes their numbers in this order.
ACTIVATIONS, LOSSES = ("relu", "erf"), ("square", "absolute")
ROOT_TWO = 2**0.5
_kept = numba.njit(nogil=True, error_model="numpy", fastmath=FAST, cache=True)


class Recipe(NamedTuple):
    """A process for compiled code: roots of its latent covariance by axis, and its nonlinearity.

    Attributes:
        across: R of the first axis of a torus, shape (r1, n1); of shape (1, 1) for a ring.
        along: R of the last axis, shape (r2, n2); a latent sample is ``across.T @ white @ along``.
        kind, gain, scale: which nonlinearity, g and s.
    """

    across: np.ndarray
    along: np.ndarray
    kind: int
    gain: float
    scale: float


def recipe(process: Process, real: type) -> Recipe:
    """What the compiled loops need to know of a process, in numbers of type `real`."""
    across, along = process.roots if len(process.shape) == 2 else (np.ones((1, 1)), process.roots[0])
    gain, kind, raw = process.gain, ERF, 1.0  # raw: variance of the nonlinearity before it is scaled
    if 0 < gain < np.inf:
        raw = float(arcsine_law(1.0, 1.0, 1.0, gain, gain))
    if process.tails == "heavy" and gain:
        kind, gain = ERFI, 1 / math.sqrt(4 + 1 / gain**2)
    elif gain in (0, np.inf):
        kind, gain = (SIGN, 1.0) if gain else (LINEAR, 1.0)
    scale = math.sqrt(process.variance / raw)
    # The cached functions are compiled for writable arrays; those of a process may be read-only.
    across, along = (np.require(root, real, ["C", "W"]) for root in (across, along))
    return Recipe(across, along, kind, float(gain), scale)


@_kept
def draw(recipe, state, white, mixed, x):
    """Independent samples in the rows of x, shape (rows, n1 n2), in its number type.

    Args:
        state: of :func:`shallow.train.vector_math.lanes`; moved on.
        white, mixed: room for rows r1 r2 numbers, rounded up to a whole `GROUP`, and for rows n1 r2.
    """
    across, along, kind, gain, scale = recipe
    real = x.dtype.type
    rows = len(x)
    r1, n1 = across.shape
    r2, n2 = along.shape
    size = rows * r1 * r2
    fill_normals(state, white[: -(-size // GROUP) * GROUP])
    if n1 == 1:
        half = white[:size].reshape(r2, rows)
    else:
        half = mixed[: r2 * rows * n1].reshape(r2 * rows, n1)
        np.dot(white[:size].reshape(r2 * rows, r1), across, half)
        half = half.reshape(r2, rows * n1)
    np.dot(half.T, along, x.reshape(rows * n1, n2))
    flat = x.reshape(x.size)
    rate, size_of, root_two = real(gain), real(scale), real(ROOT_TWO)
    if kind == LINEAR:
        for i in range(len(flat)):
            flat[i] *= size_of
    elif kind == ERF:
        for i in range(len(flat)):
            flat[i] = size_of * erf_of(root_two * rate * flat[i])[0]
    elif kind == ERFI:
        for i in range(len(flat)):
            flat[i] = size_of * erfi_of(rate * flat[i])
    else:
        for i in range(len(flat)):
            flat[i] = size_of * np.sign(flat[i])


@_kept
def descend(activation, loss, W, b, low, high, state, recipes, labels, size, readout, offset, rate, losses):
    """Take ``len(losses)`` steps in place and fill `losses` with the mean loss of each batch before its step.

    Args:
        activation, loss: numbers, the places of their names in `ACTIVATIONS` and `LOSSES`.
        W, b: weights (K, N) and biases (K,) of one network, float32 or float64.
        low, high: bounds of the biases, shape (K,).
        state: of :func:`shallow.train.vector_math.lanes`.
        recipes, labels: recipe and label of each class.
        size: samples of each class in a batch.
        readout, offset: output is offset + readout times the sum over the neurons.
    """
    real = W.dtype.type
    zero, one = real(0), real(1)
    width, pixels = W.shape
    rows = min(max(BLOCK // pixels, 1), size)
    white, mixed = room(recipes, rows)
    samples, pulls = np.empty(rows * pixels, W.dtype), np.empty(rows * width, W.dtype)
    output, sums = np.empty(rows, W.dtype), np.empty(width, W.dtype)
    part, gradient = np.empty_like(W), np.empty_like(W)
    share = real(readout / (2 * size))
    for t in range(len(losses)):
        gradient[:] = zero
        sums[:] = zero
        total = 0.0
        for c in range(2):
            label = real(labels[c])
            for start in range(0, size, rows):
                count = min(rows, size - start)
                x, pull = (
                    samples[: count * pixels].reshape(count, pixels),
                    pulls[: width * count].reshape(width, count),
                )
                draw(recipes[c], state, white, mixed, x)
                np.dot(W, x.T, pull)
                output[:] = zero
                for k in range(width):
                    bias, row = b[k], pull[k]
                    if activation == 0:
                        for i in range(count):
                            z = row[i] + bias
                            output[i] += z if z > zero else (zero if z <= zero else z)  # keeps NaN
                            row[i] = one if z > zero else zero
                    else:
                        for i in range(count):
                            value, slope = erf_of(row[i] + bias)
                            output[i] += value
                            row[i] = slope
                if loss == 0:
                    for i in range(count):
                        residual = real(offset) + real(readout) * output[i] - label
                        total += 0.5 * residual * residual
                        output[i] = share * residual
                else:
                    for i in range(count):
                        residual = real(offset) + real(readout) * output[i] - label
                        total += abs(residual)
                        output[i] = share * np.sign(residual)
                for k in range(width):
                    row, pulled = pull[k], zero
                    for i in range(count):
                        row[i] *= output[i]
                        pulled += row[i]
                    sums[k] += pulled
                np.dot(pull, x, part)
                gradient += part
        losses[t] = total / (2 * size)
        for k in range(width):
            b[k] = min(max(b[k] - real(rate) * sums[k], low[k]), high[k])
            for j in range(pixels):
                W[k, j] -= real(rate) * gradient[k, j]


@compiled
def room(recipes, rows):
    """Scratch arrays `white` and `mixed` of :func:`draw`, for the larger of two recipes."""
    white = mixed = 0
    for c in range(2):
        across, along = recipes[c][0], recipes[c][1]
        white = max(white, rows * across.shape[0] * along.shape[0])
        mixed = max(mixed, rows * across.shape[1] * along.shape[0])
    return np.empty(-(-white // GROUP) * GROUP, recipes[0][0].dtype), np.empty(mixed, recipes[0][0].dtype)
