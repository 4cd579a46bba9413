r"""Activation patterns along great circles, and all of them in two and three dimensions.

On the circle $w = u\cos\varphi + v\sin\varphi$ the point $x_k$ enters or leaves the active set once in every half turn,
where $\cot\varphi = -\langle v, x_k\rangle / \langle u, x_k\rangle$.  Sorted by this slope, cumulative sums give
$\sum_k \mathbf 1\{\langle w, x_k\rangle > 0\}\, y_k x_k$ on all arcs of half a turn; complements give the other half.
In two dimensions one circle is everything; in three every cell has an edge on a circle orthogonal to a data point.
"""

from __future__ import annotations

import numba
import numpy as np

from shallow import alignment

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


def turn(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""The order in which points change sides on a circle, and their slopes in that order, ascending; both (n,).

    Here and below p, q are the coordinates $\langle u, x_k\rangle$ and $\langle v, x_k\rangle$ in the plane of the
    circle.  Points with p = 0 have the slope infinity: they change at the ends of the half turn only.
    """
    slopes = np.divide(q, p, out=np.full(len(p), np.inf), where=p != 0)
    order = np.argsort(slopes)
    return order, slopes[order]


def angle(slope: np.ndarray | float) -> np.ndarray | float:
    r"""The angle $\varphi \in [0, \pi]$ at which a point of that slope changes sides."""
    return np.arctan2(1.0, -slope)


def weights(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By how much the weight of a point changes: y where it enters, -y where it leaves."""
    return np.where(p > 0, -y, y)


def at_start(p: np.ndarray, q: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""$\sum_k \mathbf 1\{\cdot\}\, y_k x_k$ on the first arc, $\varphi \to 0+$; shape (d,)."""
    return (((p > 0) | ((p == 0) & (q > 0))) * y) @ x


@compiled
def sweep(changes, x, slopes, start, rest, nodes):
    r"""The largest $\|S - c\|^2$ over the arcs of a circle, S the sum of the active $y_k x_k$; cost O(n d).

    Also its arc (number of changes before it), and 0 or 1 for the first or the second half turn.

    Args:
        changes, x, slopes: weights (n,), points (n, d) and slopes (n,), in the order in which they change sides.
        start: S on the first arc, shape (d,).
        rest: at the opposite direction $S - c$ is `rest` minus its value here, shape (d,).
        nodes: values of c at equally many arcs apart, shape (at least 2, d), with linear interpolation between them;
            two equal ones make c constant.
    """
    n, d = x.shape
    stride = -(-n // (len(nodes) - 1))
    active, rest_square = start.copy(), np.sum(rest * rest)
    largest, arc, half = -1.0, 0, 0
    for j in range(n):
        if j > 0:
            if slopes[j - 1] == np.inf:
                break
            for i in range(d):
                active[i] += changes[j - 1] * x[j - 1, i]
            if slopes[j] == slopes[j - 1]:
                continue  # no arc between collinear points
        row = j // stride
        share = (j - row * stride) / stride
        here, cross = 0.0, 0.0
        for i in range(d):
            a = active[i] - nodes[row, i] - share * (nodes[row + 1, i] - nodes[row, i])
            here += a * a
            cross += rest[i] * a
        opposite = rest_square - 2.0 * cross + here
        if here > largest:
            largest, arc, half = here, j, 0
        if opposite > largest:
            largest, arc, half = opposite, j, 1
    return largest, arc, half


@compiled
def all_circles(x, y, centre):
    r"""The largest $\|S - c\|^2$ over all cells in three dimensions, c constant, shape (3,); cost $O(n^2 \log n)$."""
    largest = 0.0
    for k in range(len(x)):
        u, v = orthogonal(x[k])
        p, q = x @ u, x @ v
        p[k], q[k] = 0.0, 0.0
        slopes = np.where(p != 0.0, q / p, np.inf)
        order = np.argsort(slopes)
        labels = y.copy()
        labels[k] = 0.0
        start = (labels * ((p > 0.0) | ((p == 0.0) & (q > 0.0)))) @ x
        changes = np.where(p > 0.0, -labels, labels)
        for side in range(2):  # the point k is inactive or active all along the circle
            c = centre - side * y[k] * x[k]
            found = sweep(changes[order], x[order], slopes[order], start, labels @ x - 2.0 * c, np.vstack((c, c)))
            largest = max(largest, found[0])
    return largest


@compiled
def orthogonal(normal):
    """Two orthonormal vectors of R^3 orthogonal to a vector that is not zero."""
    n = normal / np.sqrt(np.sum(normal**2))
    axis = np.zeros(3)
    axis[np.argmin(np.abs(n))] = 1.0
    u = axis - n * np.sum(n * axis)
    u /= np.sqrt(np.sum(u**2))
    return u, np.array([n[1] * u[2] - n[2] * u[1], n[2] * u[0] - n[0] * u[2], n[0] * u[1] - n[1] * u[0]])


def patterns(x: np.ndarray) -> np.ndarray:
    r"""All activation vectors $(\mathbf 1\{\langle w, x_k\rangle > 0\})_k$ of directions w off the n hyperplanes.

    For inputs (n, d) in general position with d = 2 or 3; shape (P, n) with $P = 2 \sum_{i < d} \binom{n - 1}{i}$ by
    Cover's theorem.  Cost: $O(n^d)$ in time and memory.
    """
    x, _ = alignment.sample(x, np.zeros(len(x)))
    n, d = x.shape
    if d == 2:
        return np.unique(_on_circle(x[:, 0], x[:, 1]), axis=0)
    if d != 3:
        raise ValueError(f"x must have 2 or 3 columns, got {d}")
    seen = []
    for k in range(n):
        u, v = orthogonal(x[k])
        around = _on_circle(x @ u, x @ v)
        for side in (False, True):
            around[:, k] = side
            seen.append(np.packbits(around, axis=1))
    return np.unpackbits(np.unique(np.concatenate(seen), axis=0), axis=1, count=n).astype(bool)


def _on_circle(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The activation vectors on the 2n arcs of a circle, bool, shape (2n, n)."""
    order, _ = turn(p, q)
    place = np.empty(len(p), dtype=int)
    place[order] = np.arange(len(p))
    half = (np.arange(len(p))[:, None] > place) ^ (p > 0)
    return np.concatenate([half, ~half])
