r"""Stacks of committee machines, two-layer networks whose output is the mean of their neurons, and their start.

.. math:: \hat y(x) = \frac1K \sum_{k=1}^K \sigma(\langle w_k, x\rangle + b_k), \qquad
          \sigma(z) = \mathrm{erf}(z/\sqrt2) \ \text{or}\ \max(z, 0).

The read-out 1/K is fixed.  R networks of equal shape are one array of weights and one of biases.
Source: note on localized receptive fields, equation (1); the pixels of a torus are taken in C order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import erf

from shallow import checks
from shallow.display import short

#: Activations; those of :mod:`shallow.train.online`, without hurry.
ACTIVATIONS = {"erf": lambda z: erf(z / z.dtype.type(2**0.5)), "relu": lambda z: np.maximum(z, 0)}


@dataclass(frozen=True)
class Committee:
    r"""R committee machines.  `len(stack)` is R; `stack[rows]` are some of them, repeated if asked for.

    Parameters may be NaN or infinite: those of a diverged network are.

    Attributes:
        W: receptive fields $w_k$, shape (R, K, N) for N pixels, float32 or float64.
        b: biases, shape (R, K), taken to the number type of W.
        activation: "erf" or "relu".
        readout: the factor of the sum over the neurons; 1/K by default, and that of the whole network after pruning.

    Raises:
        ValueError: when shapes do not fit, naming the argument.
    """

    W: np.ndarray
    b: np.ndarray
    activation: str = "erf"
    readout: float | None = None

    __repr__ = short

    def __post_init__(self) -> None:
        checks.numbers(W=self.W, b=self.b)
        dtype = np.float32 if getattr(self.W, "dtype", None) == np.float32 else np.float64
        for name in ("W", "b"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        checks.shape(("R", "K", "N"), W=self.W)
        checks.shape(self.W.shape[:2], b=self.b)
        checks.one_of(ACTIVATIONS, activation=self.activation)
        if self.readout is None:
            object.__setattr__(self, "readout", 1 / self.width)
        checks.positive(readout=self.readout)

    def __len__(self) -> int:
        return len(self.W)

    def __getitem__(self, rows: Sequence[int] | np.ndarray | slice) -> Committee:
        return replace(self, W=self.W[rows], b=self.b[rows])

    @property
    def width(self) -> int:
        """Number of neurons K of each network."""
        return self.W.shape[1]

    @property
    def pixels(self) -> int:
        """Number of inputs N."""
        return self.W.shape[2]

    def pruned(self, neurons: Sequence[int] | np.ndarray) -> Committee:
        """The networks with the given neurons alone, by number or by a mask (K,); the read-out stays as it is."""
        checks.numbers(neurons=neurons)
        try:
            chosen = np.arange(self.width)[np.asarray(neurons)]
        except IndexError as error:
            raise ValueError(f"neurons must be numbers of neurons or a mask, got {neurons}: {error}") from None
        return replace(self, W=self.W[:, chosen], b=self.b[:, chosen])

    def forward(self, x: np.ndarray) -> np.ndarray:
        r"""$\hat y$ at inputs for all networks, shape (n, N), or for each its own, (R, n, N); shape (R, n).

        In the number type of the parameters.  Cost: 2 R n K N operations, and R n K activations.
        """
        checks.numbers(x=x)
        x = np.asarray(x, dtype=self.W.dtype)
        if x.ndim not in (2, 3) or x.shape[-1] != self.pixels or (x.ndim == 3 and len(x) != len(self)):
            raise ValueError(f"x must have shape (n, {self.pixels}) or ({len(self)}, n, {self.pixels}), got {x.shape}")
        inputs = x if x.ndim == 3 else [x] * len(self)
        activate = ACTIVATIONS[self.activation]
        sums = [activate(points @ W.T + b).sum(axis=1) for points, W, b in zip(inputs, self.W, self.b)]
        return np.stack(sums) * self.W.dtype.type(self.readout)


def start(
    rngs: Sequence[np.random.Generator],
    width: int,
    pixels: int,
    *,
    activation: str = "erf",
    variance: float | None = None,
    dtype: type = np.float32,
) -> Committee:
    r"""One network for each generator: $w_k \sim N(0, s^2 I)$ and $b_k = 0$.

    Args:
        width, pixels: K and N.
        variance: $s^2$; by default $2/(N + K)$ (Glorot and Bengio).
        dtype: float32 or float64; drawn in float64, so that both start from the same numbers.

    Raises:
        ValueError: for impossible sizes, variances and number types, and without generators.
    """
    checks.generators(rngs=rngs)
    checks.integers(1, width=width, pixels=pixels)
    variance = 2 / (pixels + width) if variance is None else variance
    checks.not_negative(variance=variance)
    checks.one_of((np.float32, np.float64), dtype=dtype)
    if not len(rngs):
        raise ValueError("rngs must hold a generator for each network, got none")
    W = variance**0.5 * np.stack([rng.standard_normal((width, pixels)) for rng in rngs])
    return Committee(W.astype(dtype), np.zeros(W.shape[:2], dtype), activation)
