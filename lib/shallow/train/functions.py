r"""Activations and losses with their slopes, one number at a time: compiled code for the loops of trainers (numba).

Labels of hinge and cross-entropy are -1 and 1; with the label 0 the hinge is 1 whatever the output, without a gradient.
:mod:`shallow.train.backpropagation` has its own, on rows of a batch, as PyTorch rounds them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from shallow.train import vector_math
from shallow.train.vector_math import erf_and_slope, inlined

Scalar = Callable[..., tuple[float, float]]

#: Names; compiled code takes their numbers in this order.
ACTIVATIONS = ("relu", "gelu", "tanh", "erf")
LOSSES = ("hinge", "square", "absolute", "bce")


@functools.cache
def activation(name: str, real: type = np.float64) -> Scalar:
    r"""Compiled z -> ($\sigma(z)$, $\sigma'(z)$) in numbers of type `real`; $\mathrm{ReLU}'(0) = 0$.

    The names are those of `ACTIVATIONS`: max(z, 0), $z\,\Phi(z)$, tanh z, and $\mathrm{erf}(z/\sqrt2)$.
    """
    zero, half, one, error_function, bounded = real(0), real(0.5), real(1), erf_and_slope(real), vector_math.tanh(real)

    @inlined
    def relu(z):
        return (z, one) if z > zero else (zero if z <= zero else z, zero)  # keeps NaN

    @inlined
    def gelu(z):
        error, slope = error_function(z)
        below = half * (one + error)
        return z * below, below + half * z * slope

    @inlined
    def tanh(z):
        value = bounded(z)
        return value, one - value * value

    return {"relu": relu, "gelu": gelu, "tanh": tanh, "erf": error_function}[name]


@inlined
def _square(output, label):
    residual = output - label
    return 0.5 * residual * residual, residual


@inlined
def _absolute(output, label):
    residual = output - label
    return abs(residual), np.sign(residual)


@inlined
def _hinge(output, label):
    margin = 1.0 - label * output
    return (0.0, 0.0) if margin <= 0.0 else (margin, -label)  # no slope at the kink; keeps NaN


@inlined
def _cross_entropy(output, label):
    margin = label * output
    return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin))), -label / (1.0 + math.exp(margin))


@inlined
def compare(loss, output, label):
    """The loss of one point and its derivative in the output, 0 at a kink; "bce" takes the output as the logit.

    `loss` is a number, the place of its name in `LOSSES`.
    """
    if loss == 0:
        return _hinge(output, label)
    if loss == 1:
        return _square(output, label)
    if loss == 2:
        return _absolute(output, label)
    return _cross_entropy(output, label)
