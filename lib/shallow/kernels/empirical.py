r"""Kernels of finite two-layer ReLU networks in structured form: Gram matrices by parameter group, never the Jacobian.

With $a_k(x) = [w_k \cdot x + b_k > 0]$ the tangent kernel is (Bowman 2025, eq. 5, in closed form)

.. math:: K(x,z) = \sum_k a_k(x) a_k(z) \left[(w_k \cdot x + b_k)(w_k \cdot z + b_k) + v_k^2\,(x \cdot z + 1)\right].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from shallow import checks, scaling
from shallow.display import short
from shallow.nets import ALL, TwoLayer

#: What counts as rounding in a kernel: negative eigenvalues and differences from its transpose, in units of its largest
#: eigenvalue or entry.  Kernels in single precision have up to 1e-6, those in double precision 1e-15.
ROUNDING = 1e-5
_CHUNK = 4096  # neurons at a time, so that activations stay small
_TILE = 128  # rows and columns of a kernel that stay in the cache together with their transposes


class Blocks(NamedTuple):
    """The tangent kernel by parameter group, each of shape (n, n'): from v, from W and from b."""

    output: np.ndarray
    weights: np.ndarray
    biases: np.ndarray

    __repr__ = short


@checks.no_module
def blocks(network: TwoLayer, x: np.ndarray, z: np.ndarray | None = None) -> Blocks:
    r"""The three summands of $K = J(x) J(z)^\top$, from the output weights, the input weights and the biases.

    Args:
        network: two-layer ReLU network with m neurons and d inputs.
        x, z: inputs of shape (n,) or (n, d), up to 1e150; z defaults to x.

    Cost: O(n n' m) multiplications in matrix products and O((n + n') chunk) memory; for one input
    O((n + n') m + n n').
    """
    x = _inputs("x", x, network)
    z = x if z is None else _inputs("z", z, network)
    if x.shape[1] == 1:
        return _blocks_on_a_line(network, x[:, 0], z[:, 0])
    output, gates = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
    for start in range(0, network.width, _CHUNK):
        part = slice(start, start + _CHUNK)
        left = x @ network.W[part].T + network.b[part]
        right = left if z is x else z @ network.W[part].T + network.b[part]
        output += np.maximum(left, 0) @ np.maximum(right, 0).T
        gates += ((left > 0) * network.v[part] ** 2) @ (right > 0).astype(float).T
    return Blocks(output, gates * (x @ z.T), gates)


def _inputs(name: str, x: np.ndarray, network: TwoLayer) -> np.ndarray:
    """Inputs (n, d) in float64; a vector is a column."""
    checks.numbers(**{name: x})
    x = np.asarray(x, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    checks.array((None, network.W.shape[1]), **{name: x})
    checks.within("[-1e150, 1e150]", **{name: x})  # the kernel grows with their squares
    return x


def _blocks_on_a_line(network: TwoLayer, x: np.ndarray, z: np.ndarray) -> Blocks:
    """The blocks for one input: a neuron is active on a ray, hence at two points if it is at the outer one.

    Sums of w^2, w b, b^2 and v^2 over the neurons active at a point, kept apart by the sign of w, give every entry.
    """
    points, place = np.unique(np.concatenate([x, z]), return_inverse=True)
    left, right = np.split(place, [len(x)])
    w, b, rank = network.W[:, 0], network.b, np.arange(len(points))
    moments = np.stack([w * w, w * b, b * b, network.v**2])
    count = _active_points(w, b, points)
    rays = ((w >= 0, len(points) - rank, np.minimum), (w < 0, 1 + rank, np.maximum))  # to the right, to the left
    sums = np.zeros((4, len(x), len(z)))
    for chosen, needed, outer in rays:
        by_count = [np.bincount(count[chosen], row[chosen], len(points) + 1) for row in moments]
        at_least = np.cumsum(np.array(by_count)[:, ::-1], axis=1)[:, ::-1]
        sums += at_least[:, needed][:, outer.outer(left, right)]
    square, cross, constant, gates = sums
    output = square * np.multiply.outer(x, z) + cross * np.add.outer(x, z) + constant
    return Blocks(output, gates * np.multiply.outer(x, z), gates)


def _active_points(w: np.ndarray, b: np.ndarray, points: np.ndarray) -> np.ndarray:
    """At how many of the points each neuron is active, by the same rounded predicate as everywhere; shape (m,)."""
    starts = range(0, len(w), _CHUNK)
    parts = [np.multiply.outer(points, w[s : s + _CHUNK]) + b[s : s + _CHUNK] > 0 for s in starts]
    return np.concatenate([part.sum(axis=0) for part in parts])


@checks.no_module
def ntk(
    network: TwoLayer, x: np.ndarray, z: np.ndarray | None = None, rates: tuple[float, float, float] = ALL
) -> np.ndarray:
    r"""Tangent kernel $\sum_g r_g J_g(x) J_g(z)^\top$ with the rates r of the groups (v, W, b); shape (n, n').

    With all rates 1 it is the plain kernel; with ``nets.ANTISYMMETRIC`` the kernel of the antisymmetric network from
    its folded form.
    """
    checks.array((3,), rates=rates)
    checks.not_negative(rates=rates)
    return sum(rate * block for rate, block in zip(rates, blocks(network, x, z), strict=True))


@checks.no_module
def conjugate(network: TwoLayer, x: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
    r"""Conjugate kernel $\sum_k \mathrm{ReLU}(w_k x + b_k)\,\mathrm{ReLU}(w_k z + b_k)$, the part of v, (n, n')."""
    return blocks(network, x, z).output


def semidefinite(**kernels: np.ndarray) -> None:
    """Kernels of shape (n, n) by name, as in :mod:`shallow.checks`: refuses what is visibly not positive semidefinite.

    That is what differs from its transpose, or has a larger entry than all of its diagonal, or a negative one there, by
    more than `ROUNDING` of the largest.  Negative eigenvalues that do not show are refused by those who compute them.

    Cost: O(n^2), 5 ms for 2,000 points.
    """
    checks.array(("n", "n"), **kernels)
    for name, kernel in kernels.items():
        kernel = np.asarray(kernel, dtype=float)
        difference, largest, diagonal = 0.0, 0.0, kernel.diagonal()
        tiles = [slice(start, start + _TILE) for start in range(0, len(kernel), _TILE)]
        for one, other in ((one, other) for i, one in enumerate(tiles) for other in tiles[: i + 1]):
            tile, mirrored = kernel[one, other], kernel[other, one].T
            difference = max(difference, np.abs(tile - mirrored).max())
            largest = max(largest, tile.max(), -tile.min())
        if difference > ROUNDING * largest:
            raise ValueError(f"{name} must be symmetric, got differences of {difference:g}")
        if min(diagonal.min(), diagonal.max() - largest) < -ROUNDING * largest:
            raise ValueError(
                f"{name} must be positive semidefinite, got entries up to {largest:g} "
                f"and a diagonal from {diagonal.min():g} to {diagonal.max():g}"
            )


def alignment(first: np.ndarray, second: np.ndarray) -> float:
    r"""Cosine $\langle K, K' \rangle / (\|K\| \|K'\|)$ of two kernel matrices of the same shape, in [-1, 1]."""
    checks.array((...,), first=first)
    checks.array(np.shape(first), second=second)
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not (first.any() and second.any()):
        raise ValueError("first and second must not be zero")
    units = scaling.unit(first), scaling.unit(second)
    if units != (1, 1):
        return alignment(first / units[0], second / units[1])
    norms = np.linalg.norm(first) * np.linalg.norm(second)
    return float((first * second).sum() / norms)


def target_alignment(kernel: np.ndarray, y: np.ndarray) -> float:
    r"""Centred alignment $\langle HKH, yy^\top\rangle / (\|HKH\| \|Hy\|^2)$ with $H = I - 11^\top/n$; K (n, n), y (n,).

    For a positive semidefinite kernel in [0, 1]; 1 where the centred kernel has the rank-one form of the labels.
    """
    semidefinite(kernel=kernel)
    checks.array((len(kernel),), y=y)
    kernel, y = np.asarray(kernel, dtype=float), np.asarray(y, dtype=float)
    units = scaling.unit(kernel), scaling.unit(y)
    if units != (1, 1):
        return target_alignment(kernel / units[0], y / units[1])
    centred, labels = without(kernel, np.ones((len(y), 1))), y - y.mean()
    for whole, left in ((kernel, centred), (y, labels)):
        if not np.linalg.norm(left) > 1e-12 * np.linalg.norm(whole):
            raise ValueError("kernel and y must not be constant")
    return float(labels @ centred @ labels / (np.linalg.norm(centred) * (labels @ labels)))


def effective_rank(kernel: np.ndarray) -> float:
    r"""Participation ratio $(\mathrm{tr} K)^2 / \|K\|_F^2$ of the eigenvalues of K (n, n), from 1 to n.

    Raises ValueError for a kernel of zeros and what :func:`semidefinite` refuses.
    """
    semidefinite(kernel=kernel)
    kernel = np.asarray(kernel, dtype=float)
    kernel = kernel / scaling.unit(kernel)
    if not kernel.any():
        raise ValueError("kernel must not be zero")
    return float(np.trace(kernel) ** 2 / np.sum(kernel**2))


def subspace_alignment(first: np.ndarray, second: np.ndarray) -> float:
    r"""Mean squared cosine $\|U^\top V\|_F^2 / k$ of the spans of orthonormal columns U, V of shape (n, k), in [0, 1].

    Two random subspaces have k/n on average.
    """
    checks.array(("n", "k"), first=first, second=second)
    checks.orthonormal(first=first, second=second)
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return float(((first.T @ second) ** 2).sum() / first.shape[1])


def without(kernel: np.ndarray, functions: np.ndarray) -> np.ndarray:
    r"""What K is beyond the span of the columns of `functions`, (n, k): $P K P$ with P projecting orthogonally."""
    checks.array(("n", "n"), kernel=kernel)
    checks.array((len(kernel), "k"), functions=functions)
    kernel, functions = np.asarray(kernel, dtype=float), np.asarray(functions, dtype=float)
    independent = np.linalg.matrix_rank(functions) == functions.shape[1]
    basis = np.linalg.qr(functions)[0] if independent else linalg.orth(functions)
    rows = kernel - basis @ (basis.T @ kernel)
    return rows - (rows @ basis) @ basis.T


def eigenbasis(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Eigenvalues (n,) in descending order and orthonormal eigenvectors as columns (n, n) of a symmetric kernel.

    The sign of each vector is fixed so that its first entry that is not negligible is positive.  Cost: O(n^3).
    """
    checks.array(("n", "n"), kernel=kernel)
    kernel = np.asarray(kernel, dtype=float)
    if np.abs(kernel - kernel.T).max() > 1e-10 * np.abs(kernel).max():
        raise ValueError(f"kernel must be symmetric, got differences of {np.abs(kernel - kernel.T).max()}")
    values, vectors = np.linalg.eigh(kernel)
    values, vectors = values[::-1].copy(), vectors[:, ::-1]
    first = np.argmax(np.abs(vectors) > 1e-6, axis=0)
    return values, vectors * np.sign(vectors[first, np.arange(len(vectors))])


def modes_for(values: np.ndarray, threshold: float = 0.95) -> int:
    r"""Smallest k with $\sum_{i \le k} \lambda_i \ge$ threshold $\cdot \sum_i \lambda_i$, of descending values (n,).

    A shortfall of 1e-12 counts as reached.  Source: Bowman 2025, Section 5.
    """
    checks.array(("n",), values=values)
    checks.within("(0, 1]", threshold=threshold)
    values = np.asarray(values, dtype=float)
    if (np.diff(values) > 0).any() or values.sum() <= 0:
        fine = np.diff(values, prepend=np.inf) <= 0
        raise ValueError(f"values must descend and have a positive sum, got {checks.given(values, fine)}")
    return int(np.argmax(np.cumsum(values) / values.sum() >= threshold - 1e-12)) + 1
