r"""Stacks of multilayer perceptrons of one shape, and their initialisations.

.. math:: h_0 = x, \qquad h_l = \mathrm{ReLU}(W_l h_{l-1} + b_l) \quad (l < L), \qquad f = W_L h_{L-1} + b_L,

with one output, a value or a logit.  R networks of equal widths are one array of parameters, network by network in the
order $W_1, b_1, \dots, W_L, b_L$ of PyTorch; weights and biases are views of it.
Source of the initialisations: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 4.1
and 5.1, and its public code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shallow import checks
from shallow.display import short

if TYPE_CHECKING:
    import torch

Network = tuple[list[np.ndarray], list[np.ndarray]]


@dataclass(frozen=True)
class Stack:
    r"""R networks of equal widths.  `len(stack)` is R; `stack[rows]` are some of them, repeated if asked for.

    Parameters may be NaN or infinite: those of a diverged network are.

    Attributes:
        parameters: shape (R, P) with $P = \sum_l (m_{l-1} + 1)\,m_l$, float32 or float64.
        widths: $(m_0, \dots, m_L)$ from inputs to the one output.

    Raises:
        ValueError: when widths are impossible, or parameters do not fit them.
    """

    parameters: np.ndarray
    widths: tuple[int, ...]

    __repr__ = short

    def __post_init__(self) -> None:
        checks.numbers(parameters=self.parameters, widths=self.widths)
        dtype = np.float32 if getattr(self.parameters, "dtype", None) == np.float32 else np.float64
        object.__setattr__(self, "parameters", np.ascontiguousarray(self.parameters, dtype=dtype))
        object.__setattr__(self, "widths", _checked_widths(self.widths))
        size = sum(m * (n + 1) for n, m in pairwise(self.widths))
        checks.shape((None, size), parameters=self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, rows: Sequence[int] | np.ndarray | slice) -> Stack:
        return Stack(self.parameters[rows], self.widths)

    @property
    def weights(self) -> list[np.ndarray]:
        r"""$W_1, \dots, W_L$, views of shape (R, m_l, m_{l-1})."""
        return [W for W, _ in self._layers()]

    @property
    def biases(self) -> list[np.ndarray]:
        r"""$b_1, \dots, b_L$, views of shape (R, m_l)."""
        return [b for _, b in self._layers()]

    def network(self, r: int) -> Network:
        """Weights, L matrices (m_l, m_{l-1}), and biases, L vectors (m_l,), of one network; views."""
        checks.integers(0, len(self) - 1, r=r)
        return [W[r] for W in self.weights], [b[r] for b in self.biases]

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f at inputs shared by all networks, shape (n, m_0), or of each its own, (R, n, m_0); shape (R, n).

        In the number type of the parameters.  Cost: 2 n P operations for each network, in matrix products.
        """
        weights, biases = self.weights[-1], self.biases[-1]
        return np.stack([h @ weights[r, 0] + biases[r] for r, h in enumerate(self._hidden(x))])

    def features(self, x: np.ndarray) -> np.ndarray:
        r"""Activations $h_{L-1}$ of the last hidden layer, shape (R, n, m_{L-1}); x as in :meth:`forward`."""
        return np.stack(list(self._hidden(x)))

    def _hidden(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """The last hidden layer of one network after the other, so that one is in memory at a time."""
        checks.numbers(x=x)
        x, inputs = np.asarray(x, dtype=self.parameters.dtype), self.widths[0]
        if x.ndim not in (2, 3) or x.shape[-1] != inputs or (x.ndim == 3 and len(x) != len(self)):
            raise ValueError(f"x must have shape (n, {inputs}) or ({len(self)}, n, {inputs}), got {x.shape}")
        for r in range(len(self)):
            hidden = x if x.ndim == 2 else x[r]
            for W, b in zip(self.weights[:-1], self.biases[:-1]):
                hidden = hidden @ W[r].T
                hidden += b[r]
                np.maximum(hidden, 0, out=hidden)
            yield hidden

    def _layers(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        for inputs, outputs in pairwise(self.widths):
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            yield self.parameters[:, start:middle].reshape(-1, outputs, inputs), self.parameters[:, middle:end]
            start = end


def stacked(networks: Sequence[Network]) -> Stack:
    """The stack of networks that are given as in :meth:`Stack.network`."""
    checks.numbers(networks=networks)
    widths = {(W[0].shape[1], *(len(layer) for layer in W)) for W, _ in networks}
    if len(widths) != 1:
        raise ValueError(f"networks must be of one shape, got widths {sorted(widths)}")
    rows = [np.concatenate([np.ravel(part) for layer in zip(W, b) for part in layer]) for W, b in networks]
    return Stack(np.stack(rows), widths.pop())


def of_module(network: torch.nn.Sequential) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of a module of PyTorch, float64, copied.

    Raises ValueError where it is not ``Sequential(Linear, ReLU, ..., Linear)`` with a bias in every Linear: kernels and
    stacks have no other activations, and take no account of a missing bias.
    """
    from shallow.extras import nn

    layers = list(network) if isinstance(network, nn.Sequential) else [network]
    kinds = [type(layer) for layer in layers]
    if len(kinds) < 3 or kinds != [nn.Linear, nn.ReLU] * (len(kinds) // 2) + [nn.Linear]:
        found = ", ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"network must be Linear layers with ReLU between them, got {found}")
    if any(layer.bias is None for layer in layers[::2]):
        raise ValueError("network must have a bias in every layer, zeros where there is none, got bias=False")
    pairs = [(layer.weight, layer.bias) for layer in layers[::2]]
    weights, biases = ([one.detach().cpu().double().numpy().copy() for one in part] for part in zip(*pairs))
    return weights, biases


def default(
    rngs: Sequence[np.random.Generator | torch.Generator], widths: Sequence[int], *, dtype: type = np.float32
) -> Stack:
    r"""PyTorch's default: all entries of $W_l$ and $b_l$ from $U(-1, 1)/\sqrt{m_{l-1}}$, drawn in forward order.

    Args:
        rngs: one generator for each network.  From ``torch.Generator().manual_seed(seed)`` come the very numbers of a
            ``torch.nn.Sequential`` that is made after ``torch.manual_seed(seed)``.
        widths: from inputs to the one output.
        dtype: float32 or float64.

    Raises:
        ValueError: for impossible widths or number types, and without generators.
    """
    checks.integers(0, **{"rngs, counted,": len(rngs) if hasattr(rngs, "__len__") else type(rngs).__name__})
    widths = _checked_widths(widths)
    checks.one_of((np.float32, np.float64), dtype=dtype)
    if not len(rngs):
        raise ValueError("rngs must hold a generator for each network, got none")
    layers = list(pairwise(widths))
    rows = [
        np.concatenate([uniform(rng, size, n**-0.5) for n, m in layers for size in (n * m, m)]).astype(dtype)
        for rng in rngs
    ]
    return Stack(np.stack(rows), widths)


def uniform(rng: np.random.Generator | torch.Generator, size: int, bound: float) -> np.ndarray:
    """Numbers from U(-bound, bound), shape (size,): float64 from NumPy, float32 from PyTorch's generator."""
    checks.integers(0, size=size)
    checks.not_negative(bound=bound)
    from shallow.extras import loaded_torch as torch

    checks.generators(torch.Generator, rng=rng)
    if isinstance(rng, torch.Generator):
        return torch.empty(size, dtype=torch.float32).uniform_(-bound, bound, generator=rng).numpy()
    return rng.uniform(-bound, bound, size)


def _checked_widths(widths: Sequence[int]) -> tuple[int, ...]:
    checks.numbers(widths=widths)
    whole = all(isinstance(m, int | np.integer) and m > 0 for m in widths)
    if len(widths) < 3 or not whole or widths[-1] != 1:
        raise ValueError(f"widths must be at least three positive integers, the last of them 1, got {tuple(widths)}")
    return tuple(int(m) for m in widths)
