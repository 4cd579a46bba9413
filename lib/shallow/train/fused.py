r"""Compiled mini-batch steps for two-layer ReLU networks with few inputs: the core of :mod:`shallow.train.minibatch`.

The neurons lie in tiles that stay in the cache nearest to the processor: W has shape (T, d, S) and a (T, S) for T tiles
of S neurons.  A step goes over all tiles twice.  The first pass adds up the outputs of the batch and notes in one bit
per sample and neuron who was idle; the second turns these bits and the residuals into gradients and moves the tile
at once.  So a batch takes one byte per sample and neuron (a word for four samples), and no array of that many numbers.

What makes the loops fast is that only the one over the neurons of a tile remains, so that it becomes vector
instructions: the loops over the d coordinates and over four samples at a time are written out, and the source is made
for each d.  A masked addition (`g + c if no bit else g`) costs one instruction where a product with 0 or 1 needs two.
Two details make it one instruction in fact: the word of bits is as wide as a float32, so that both have as many lanes;
and a bit is set for the *idle*, since a test for zero is what the compiler puts into a mask without turning it round.

Every sum is in the type of the arrays and in one fixed order: gradients go through the samples of a batch, outputs
through the neurons in one partial sum per vector lane.  So a run has the same bits each time on one kind of processor;
one with other vectors rounds differently, unlike the trainer in tests/agreement/test_processors.py.

Speed: a step at m = 1000, d = 5, batch 32, float32 takes 4.5 microseconds on one core of an AMD EPYC of 2024, and 43 at
m = 10,000; a loop by hand in C++ with AVX-512 takes 3.6 and 35.  What remains, a factor of 1.2, lies in the forward
pass, whose twenty inputs the compiler keeps in memory, not in registers.  Groups of 2, 3 or 8 samples, tiles of 256 or
1024 neurons and arrays aligned to 64 bytes were tried, and were not faster.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numba
import numpy as np
from numba.extending import overload

#: Neurons in a tile, and samples that are written out: 512 neurons of five inputs take 12 kB.
TILE, GROUP = 512, 4

_OPTIONS = {"fastmath": True, "error_model": "numpy", "nogil": True}


def _source(d: int) -> str:
    """`forward`, `backward` and `move` of one tile; all loops but those over neurons and groups are written out."""

    def over(text: str, joint: str = "; ") -> str:
        return joint.join(text.format(k=k) for k in range(d))

    def four(text: str, joint: str = "; ") -> str:
        return joint.join(text.format(u=u, bit=1 << u) for u in range(GROUP))

    def samples(text: str) -> str:  # {k}, {u} -> every coordinate of four samples
        return "; ".join(text.format(k=k, u=u) for u in range(GROUP) for k in range(d))

    def pre_activations() -> str:
        return "; ".join(f"s{u} = " + " + ".join(f"w{k} * x{u}_{k}" for k in range(d)) for u in range(GROUP))

    def masked_sums() -> str:
        return samples("g{k} = g{k} + c{u}_{k} if uint32(idle & BIT{u}) == 0 else g{k}")

    return f"""
def forward(inputs, W, a, x, output, bits):
    for group in range(bits.shape[0]):
        b = {GROUP} * group
        {four("o{u} = ZERO")}
        {samples("x{u}_{k} = x[b + {u}, {k}]")}
        for j in range(a.shape[0]):
            out = a[j]
            {over("w{k} = W[{k}, j]")}
            {pre_activations()}
            {four("o{u} += out * (s{u} if s{u} > ZERO else ZERO)")}
            bits[group, j] = {four("(NONE if s{u} > ZERO else BIT{u})", " | ")}
        {four("output[b + {u}] += o{u}")}

def backward(inputs, bits, c, g):
    g[:] = ZERO
    for group in range(bits.shape[0]):
        b = {GROUP} * group
        {samples("c{u}_{k} = c[b + {u}, {k}]")}
        for j in range(bits.shape[1]):
            idle = bits[group, j]
            {over("g{k} = g[{k}, j]")}
            {masked_sums()}
            {over("g[{k}, j] = g{k}")}

def move(inputs, W, a, g):
    for j in range(a.shape[0]):
        out = a[j]
        {over("w{k} = W[{k}, j]; g{k} = g[{k}, j]")}
        a[j] = out + {over("w{k} * g{k}", " + ")}
        {over("W[{k}, j] = w{k} + out * g{k}")}
"""


@functools.cache
def _generated(d: int) -> dict[str, Callable]:
    """The functions of :func:`_source` by name."""
    names = {f"BIT{u}": np.uint32(1 << u) for u in range(GROUP)}
    names |= {"NONE": np.uint32(0), "uint32": np.uint32, "ZERO": np.float32(0)}
    exec(_source(d), names)
    return names


# For compiled code: `inputs` is a tuple of d numbers, whose type says which of them is meant.


def _forward(inputs, W, a, x, output, bits):
    raise NotImplementedError("_forward is for compiled code")


def _backward(inputs, bits, c, g):
    raise NotImplementedError("_backward is for compiled code")


def _move(inputs, W, a, g):
    raise NotImplementedError("_move is for compiled code")


@overload(_forward, jit_options=_OPTIONS)
def _(inputs, W, a, x, output, bits):
    return _generated(len(inputs))["forward"]


@overload(_backward, jit_options=_OPTIONS)
def _(inputs, bits, c, g):
    return _generated(len(inputs))["backward"]


@overload(_move, jit_options=_OPTIONS)
def _(inputs, W, a, g):
    return _generated(len(inputs))["move"]


@numba.njit(cache=True, **_OPTIONS)
def steps(inputs, W, a, x, y, index, rates):
    r"""Take ``len(rates)`` compiled steps in place, for d inputs; `inputs` is ``(0,) * d``.

    Step t is gradient descent on the mean square $\frac1B \sum_{b} (f(x_b) - y_b)^2$ of the batch ``index[t]``:

    .. math:: w_j \mathrel{+}= a_j g_j, \quad a_j \mathrel{+}= \langle w_j, g_j\rangle, \qquad
              g_j = \frac{2\eta_t}{B} \sum_b \mathbf 1\{\langle w_j, x_b\rangle > 0\}\,(y_b - f(x_b))\,x_b .

    Arrays of one floating-point type: W (T, d, S), a (T, S), x (n, d), y (n,), rates (steps,); index (steps, B) of
    integers.  Empty places of the last tile are zero, and stay so.

    Cost: 22 d + O(1) operations per neuron and sample of a step, in vectors; the very first call for a d compiles, two
    seconds.
    """
    tiles, size = a.shape
    d, samples = x.shape[1], index.shape[1]
    groups = -(-samples // GROUP)  # the last group is filled up with inputs 0, at which no neuron is active
    batch, c = np.zeros((GROUP * groups, d), W.dtype), np.zeros((GROUP * groups, d), W.dtype)
    output, g = np.empty(GROUP * groups, W.dtype), np.empty((d, size), W.dtype)
    bits = np.empty((tiles, groups, size), np.uint32)
    for t in range(len(rates)):
        output[:] = 0
        for b in range(samples):
            for k in range(d):
                batch[b, k] = x[index[t, b], k]
        for tile in range(tiles):
            _forward(inputs, W[tile], a[tile], batch, output, bits[tile])
        for b in range(samples):
            residual = 2 * rates[t] / samples * (y[index[t, b]] - output[b])
            for k in range(d):
                c[b, k] = residual * batch[b, k]
        for tile in range(tiles):
            _backward(inputs, bits[tile], c, g)
            _move(inputs, W[tile], a[tile], g)
