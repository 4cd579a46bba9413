r"""Mini-batches with the GeLU $z\,\Phi(z)$ in the place of the ReLU, or Adam in that of plain descent (numba).

In single precision, and with sums and square roots that the compiler may reorder and approximate: ten times as fast as
:mod:`shallow.train.plain`, which takes the same steps.  Millions of them amplify a rounding, so the recorded networks
are those of this loop.  Both variants need the activation and its slope at every sample and neuron, where the ReLU
alone needs one bit; the arrays of B x m numbers stay in the cache up to a few thousand neurons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from shallow.nets import TwoLayer
from shallow.train.backpropagation import GUARD, MEMORY, SQUARE_MEMORY
from shallow.train.minibatch import LONGEST, Batches
from shallow.train.run import Diverged, Run, schedule

ACTIVATIONS, OPTIMISERS = ("relu", "gelu"), ("sgd", "adam")

_OPTIONS = {"fastmath": True, "error_model": "numpy", "nogil": True}
_FLOAT = np.float32
#: Taylor coefficients of exp, highest first: on |x| <= ln(2) / 2 the rest is below 2e-8.
_TAYLOR = tuple(_FLOAT(1 / factorial) for factorial in (5040, 720, 120, 24, 6, 2, 1, 1))
#: Abramowitz and Stegun 7.1.26: erfc(u) = polynomial(1 / (1 + p u)) exp(-u^2) for u >= 0, to 1.5e-7.
_ERFC = tuple(_FLOAT(c) for c in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))
_ERFC_P, _ONE, _HALF = _FLOAT(0.3275911), _FLOAT(1), _FLOAT(0.5)
_ROOT_HALF, _DENSITY = _FLOAT(0.5**0.5), _FLOAT((2 * np.pi) ** -0.5)
_LOG2_E, _LN_2 = _FLOAT(1 / np.log(2)), _FLOAT(np.log(2))
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


@numba.njit(**_OPTIONS)
def _relu(z, value, slope, powers):
    for j in range(len(z)):
        active = _ONE if z[j] > 0 else _FLOAT(0)
        value[j], slope[j] = active * z[j], active


@numba.njit(**_OPTIONS)
def _gelu(z, value, slope, powers):
    r"""$z\Phi(z)$ and $\Phi(z) + z\varphi(z)$ from one exponential, $\varphi(z) \propto e^{-z^2/2} = 2^{-k} e^r$."""
    for j in range(len(z)):
        exponent = min(_HALF * z[j] * z[j], _FLOAT(80))
        k = np.int32(exponent * _LOG2_E + _HALF)
        r = _FLOAT(k) * _LN_2 - exponent
        series = _TAYLOR[0]
        for c in _TAYLOR[1:]:
            series = series * r + c
        slope[j] = series
        powers[j] = (_BIAS - k) << _MANTISSA  # the bits of the number 2^-k
    exact = powers.view(np.float32)
    for j in range(len(z)):
        exponential = slope[j] * exact[j]
        t = _ONE / (_ONE + _ERFC_P * _ROOT_HALF * abs(z[j]))
        polynomial = _ERFC[0]
        for c in _ERFC[1:]:
            polynomial = polynomial * t + c
        tail = _HALF * polynomial * t * exponential
        below = _ONE - tail if z[j] > 0 else tail
        value[j], slope[j] = z[j] * below, below + z[j] * _DENSITY * exponential


@numba.njit(**_OPTIONS)
def _descend(p, g, rate):
    for j in range(len(p)):
        p[j] -= rate * g[j]


@numba.njit(**_OPTIONS)
def _adam(p, g, mean, square, rate, correction):
    for j in range(len(p)):
        mean[j] += _FLOAT(1 - MEMORY) * (g[j] - mean[j])
        square[j] += _FLOAT(1 - SQUARE_MEMORY) * (g[j] * g[j] - square[j])
        p[j] -= rate * mean[j] / (np.sqrt(square[j]) * correction + _FLOAT(GUARD))


def _compiled(activation: Callable[..., None], adam: bool) -> Callable[..., None]:
    @numba.njit(**_OPTIONS)
    def steps(weights, moments, x, y, index, rate, taken):
        d, m = x.shape[1], weights.shape[1]
        samples = index.shape[1]
        z, powers = np.empty(m, np.float32), np.empty(m, np.int32)
        value, slope = np.empty((samples, m), np.float32), np.empty((samples, m), np.float32)
        gradient, residual = np.empty_like(weights), np.empty(samples, np.float32)
        for t in range(len(index)):
            for b in range(samples):
                z[:] = 0
                for k in range(d):
                    input = x[index[t, b], k]
                    for j in range(m):
                        z[j] += input * weights[k, j]
                activation(z, value[b], slope[b], powers)
                output = _FLOAT(0)
                for j in range(m):
                    output += weights[d, j] * value[b, j]
                residual[b] = _FLOAT(2) / _FLOAT(samples) * (output - y[index[t, b]])
            gradient[:] = 0
            for b in range(samples):
                for k in range(d):
                    factor = residual[b] * x[index[t, b], k]
                    for j in range(m):
                        gradient[k, j] += factor * slope[b, j]
                for j in range(m):
                    gradient[d, j] += residual[b] * value[b, j]
            for k in range(d):
                for j in range(m):
                    gradient[k, j] *= weights[d, j]
            if adam:
                age = taken + t + 1
                scaled = _FLOAT(rate / (1 - MEMORY**age))
                correction = _FLOAT(1 / np.sqrt(1 - SQUARE_MEMORY**age))
                for k in range(d + 1):
                    _adam(weights[k], gradient[k], moments[0, k], moments[1, k], scaled, correction)
            else:
                for k in range(d + 1):
                    _descend(weights[k], gradient[k], _FLOAT(rate))

    return steps


_STEPS = {
    (activation, optimiser): _compiled({"relu": _relu, "gelu": _gelu}[activation], optimiser == "adam")
    for activation in ACTIVATIONS
    for optimiser in OPTIMISERS
}


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    activation: str = "relu",
    optimiser: str = "sgd",
    rate: float,
    steps: int,
    batch: int = 32,
    rng: np.random.Generator,
    records: Sequence[int],
    measure: Callable[[TwoLayer], Any],
) -> Run:
    r"""Train $\sum_j v_j\,\sigma(\langle w_j, x\rangle)$ on the mean square (no factor 1/2) of shuffled mini-batches.

    The network has no biases.  It is rounded to single precision, and what comes of it is handed back in double
    precision; a TwoLayer is only the carrier of the weights.  Adam is that of torch.optim, the batches are
    :class:`shallow.train.minibatch.Batches`, and at the steps `records` the network is measured.

    Cost: about 6 d + 10 operations per neuron and sample of a batch, and 40 more with the GeLU.
    """
    records, batches, taken = schedule(records, steps), Batches(len(x), batch, rng), 0
    weights = np.ascontiguousarray(np.column_stack([network.W, network.v]).T, np.float32)
    moments = np.zeros((2, *weights.shape), np.float32)
    advance = _STEPS[activation, optimiser]
    x, y, values = x.astype(np.float32), y.astype(np.float32), []
    for stop in [*records, steps]:
        while taken < stop:
            index = batches.take(min(LONGEST, stop - taken))
            advance(weights, moments, x, y, index, rate, taken)
            taken += len(index)
        if not np.isfinite(weights).all():
            raise Diverged(taken)
        now = TwoLayer(weights[:-1].T, np.zeros(network.width), weights[-1])
        if len(values) < len(records):
            values.append(measure(now))
    return Run(records, values, now)
