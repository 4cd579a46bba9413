r"""Tangent kernels of ReLU networks of any depth with one output, layer by layer, never the Jacobian.

A network with L layers has $h_0 = x$, $z_l = W_l h_{l-1} + b_l$, $h_l = \mathrm{ReLU}(z_l)$ for $l < L$ and the output
$f = z_L$, a logit, or $p = 1 / (1 + e^{-z_L})$, a probability.  The gradient of the output in $(W_l, b_l)$ is
$\delta_l \otimes (h_{l-1}, 1)$ with the derivative $\delta_l$ in $z_l$, so that

.. math:: K(x, z) = \sum_l \bigl(\delta_l(x) \cdot \delta_l(z)\bigr) \bigl(h_{l-1}(x) \cdot h_{l-1}(z) + 1\bigr),
   \qquad \delta_{l-1} = (W_l^\top \delta_l) \odot [z_{l-1} > 0],

with $\delta_L = 1$ for the logit and $p (1 - p)$ for the probability.  Layers are numbered from 1.  A network is given
by its `weights`, L matrices (m_l, m_{l-1}) with m_L = 1, and its `biases`, L vectors (m_l,), in NumPy or PyTorch, as
by :meth:`shallow.mlp.Stack.network`.  Arrays do not say what lies between them: :func:`shallow.mlp.of_module` takes
them from a module of PyTorch and refuses other activations and missing biases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np

from shallow import checks
from shallow.extras import torch

OUTPUTS = ("logit", "probability")
Array = np.ndarray | torch.Tensor
Factors = list[tuple[torch.Tensor, torch.Tensor]]
_BLOCK = 512  # points: three blocks of float64 stay in the cache of a processor


@checks.no_module
def ntk(
    weights: Sequence[Array],
    biases: Sequence[Array],
    x: Array,
    z: Array | None = None,
    *,
    output: str = "logit",
    trainable: Collection[int] | None = None,
    dtype: torch.dtype = torch.float64,
) -> np.ndarray:
    r"""The tangent kernel $\nabla_\theta f(x) \cdot \nabla_\theta f(z)$, shape (n, n').

    Args:
        weights, biases: the network.
        x, z: inputs of shape (n, d) and (n', d), up to 1e150; z defaults to x, with an exactly symmetric kernel.
        output: the quantity f that is differentiated, one of `OUTPUTS`.
        trainable: numbers of the layers whose parameters count, all by default; a frozen layer has no part in K.
        dtype: number type of the computation, torch.float32 (relative error about 1e-6) or torch.float64.

    Raises:
        ValueError: for shapes that do not fit, non-finite numbers, unknown layers, outputs or number types.

    Source: the document's Section 2.  Cost: $\sum_l 2 n n' (m_l + m_{l-1})$ operations in matrix products, half of
    them if z is x; memory for the result, the activations of all points and a few blocks.
    """
    checks.numbers(trainable=trainable)
    left = _factors(weights, biases, x, "x", output, trainable, dtype)
    right = left if z is None else _factors(weights, biases, z, "z", output, trainable, dtype)
    shape = (len(left[0][0]), len(right[0][0]))
    out = np.empty(shape, dtype=str(dtype).removeprefix("torch."))
    scratch = torch.empty(3, min(shape[0], _BLOCK) * min(shape[1], _BLOCK), dtype=dtype)
    for rows in _slices(shape[0]):
        for columns in _slices(shape[1]):
            if z is not None or rows.start < columns.start:
                block = _block(left, right, rows, columns, scratch)
                out[rows, columns] = block
                if z is None:
                    out[columns, rows] = block.T
            elif rows == columns:
                upper = np.triu(_block(left, right, rows, columns, scratch))
                out[rows, columns] = upper + np.triu(upper, 1).T
    return out


def _slices(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


def _block(left: Factors, right: Factors, rows: slice, columns: slice, scratch: torch.Tensor) -> np.ndarray:
    """One block of the kernel, in memory that the next one overwrites."""
    shape = (rows.stop - rows.start, columns.stop - columns.start)
    total, deltas, inputs = (memory[: shape[0] * shape[1]].view(shape) for memory in scratch)
    total.zero_()
    for (delta, h), (other_delta, other_h) in zip(left, right, strict=True):
        torch.mm(delta[rows], other_delta[columns].T, out=deltas)
        torch.mm(h[rows], other_h[columns].T, out=inputs)
        total.addcmul_(deltas, inputs)
    return total.numpy()


@checks.no_module
def diagonal(weights: Sequence[Array], biases: Sequence[Array], x: Array, *, output: str = "logit") -> np.ndarray:
    r"""$K(x_i, x_i) = |\nabla_\theta f(x_i)|^2$ in float64, shape (n,); arguments of :func:`ntk`.  Cost: one pass."""
    factors = _factors(weights, biases, x, "x", output)
    return sum((delta**2).sum(dim=1) * (h**2).sum(dim=1) for delta, h in factors).numpy()


@checks.no_module
def jacobian(weights: Sequence[Array], biases: Sequence[Array], x: Array, *, output: str = "logit") -> np.ndarray:
    r"""The gradients $\nabla_\theta f(x_i)$ as rows in float64, shape (n, P), with the arguments of :func:`ntk`.

    The columns are those of W_1, row by row, then b_1, W_2, and so on: the order of PyTorch.  For what a kernel cannot
    tell, such as the standardisation of features; a kernel never needs it.  Cost and memory: O(n P).
    """
    factors = _factors(weights, biases, x, "x", output)
    parts = [(torch.einsum("no,ni->noi", delta, h[:, :-1]).flatten(1), delta) for delta, h in factors]
    return torch.cat([part for pair in parts for part in pair], dim=1).numpy()


def _factors(
    weights: Sequence[Array],
    biases: Sequence[Array],
    x: Array,
    name: str,
    output: str,
    trainable: Collection[int] | None = None,
    dtype: torch.dtype = torch.float64,
) -> Factors:
    r"""$\delta_l$, shape (n, m_l), and $(h_{l-1}, 1)$, shape (n, m_{l-1} + 1), of the trainable layers."""
    weights, biases, x = _tensors(weights, biases, x, name, dtype)
    layers = range(1, len(weights) + 1)
    trainable = layers if trainable is None else trainable
    if not trainable or not set(trainable) <= set(layers):
        raise ValueError(f"trainable must hold numbers of layers from 1 to {len(weights)}, got {list(trainable)}")
    checks.one_of(OUTPUTS, output=output)
    h = [x]
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        h.append(torch.addmm(b, h[-1], W.T).relu_())
    if output == "logit":
        delta = x.new_ones(len(x), 1)
    else:
        logit = torch.addmm(biases[-1], h[-1], weights[-1].T)
        delta = torch.sigmoid(logit) * torch.sigmoid(-logit)  # p (1 - p) without cancellation
    factors = []
    for layer in reversed(layers):
        if layer in trainable:
            factors.append((delta, torch.nn.functional.pad(h[layer - 1], (0, 1), value=1.0)))
        if layer > 1:
            delta = (delta @ weights[layer - 1]) * (h[layer - 1] > 0)
    return factors[::-1]


def _tensors(
    weights: Sequence[Array], biases: Sequence[Array], x: Array, name: str, dtype: torch.dtype
) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
    """Network and inputs as tensors of the type."""
    checks.numbers(weights=_arrays("weights", weights), biases=_arrays("biases", biases), **{name: x})
    checks.numbers(**{name: _arrays(name, [x])})
    checks.one_of((torch.float32, torch.float64), dtype=dtype)
    given = [[torch.as_tensor(array).detach() for array in arrays] for arrays in (weights, biases, [x])]
    if any(array.is_complex() for arrays in given for array in arrays):
        raise ValueError(f"weights, biases and {name} must be real, got complex numbers")
    weights, biases, (x,) = ([array.to(dtype) for array in arrays] for arrays in given)
    shapes = [tuple(W.shape) for W in weights], [tuple(b.shape) for b in biases]
    fits = (
        len(weights) == len(biases) >= 2
        and all(len(shape) == 2 for shape in shapes[0])
        and all(W[0] == following[1] for W, following in pairwise([*shapes[0], (1, 1)]))
        and [(W[0],) for W in shapes[0]] == shapes[1]
    )
    if not fits or not all(array.isfinite().all() for array in (*weights, *biases)):
        raise ValueError(
            "weights and biases must be finite, of shapes (m_l, m_(l-1)) and (m_l,) in two or more layers, the last "
            f"with one output, got {shapes[0]} and {shapes[1]}"
        )
    checks.array((None, shapes[0][0][1]), **{name: x.numpy()})
    checks.within("[-1e150, 1e150]", **{name: x.double().numpy()})  # the kernel grows with their squares
    return weights, biases, x


def _arrays(name: str, arrays: Sequence[Array]) -> list[Array]:
    """What the checks see: parameters of modules without gradients.  ValueError for what PyTorch does not take."""
    for array in arrays if isinstance(arrays, Sequence) else [arrays]:
        if not isinstance(array, np.ndarray | torch.Tensor | list | tuple):
            hint = ": a layer without biases has zeros" if array is None else ""
            raise ValueError(f"{name} must be arrays or tensors, got {type(array).__name__}{hint}")
        if isinstance(array, np.ndarray) and min(array.strides, default=0) < 0:
            raise ValueError(f"{name} must have no negative strides, got {array.strides}: see numpy.ascontiguousarray")
    return [array.detach() if isinstance(array, torch.Tensor) else array for array in arrays]
