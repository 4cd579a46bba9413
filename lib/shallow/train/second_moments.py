r"""The compiled core of :mod:`shallow.train.flow`: gradients, and steps of whole groups of neurons with one pattern.

A state is $z = (w, a)$, stored as a row of Z, shape (m, d + 1).  Neurons active on the same training inputs have one
vector $D$ and one step matrix $T = I + \eta \begin{pmatrix} 0 & D \\ D^\top & 0 \end{pmatrix}$.  A group p therefore
needs the product $P_p$ of its step matrices alone: its neurons are $P_p z_j(0)$, its second moment is $P_p M_p
P_p^\top$ with $M_p = \sum_j z_j(0) z_j(0)^\top$, and its output on an active point is $\langle B_p, x \rangle$ with
$B_p = \sum_j a_j w_j$, a part of that moment.

All sums run in a fixed order, the same on every processor.  Steps neuron by neuron take `POINTS` points and `NEURONS`
neurons at a time (:mod:`shallow.train.tiles`).  Neurons and points that fill up the last tiles are zero and change no
sum.
"""

from __future__ import annotations

import numba
import numpy as np

from shallow.train.tiles import (
    NEURONS,
    POINTS,
    add_where_active,
    aligned,
    infinities,
    load,
    nearest,
    plus_outputs,
    plus_products,
    store,
    zeros,
)

#: What rounding may take from a margin, absolute and relative.
ABSOLUTE, RELATIVE = 1e-13, 1e-9

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@compiled
def packed(x, y, keys):
    """The data as :func:`walk` takes them: groups of `POINTS` points, in each of them one input after the other."""
    n, d = x.shape
    points = (n + POINTS - 1) // POINTS * POINTS
    X, Y, signs = aligned(points * d), aligned(points), aligned(points).view(np.uint64)
    for k in range(n):
        Y[k], signs[k] = y[k], keys[k]
        for i in range(d):
            X[(k // POINTS * d + i) * POINTS + k % POINTS] = x[k, i]
    return X, Y, signs


@compiled
def _columns(Z):
    """Input weights, one input after the other, output weights, and where in their rows the neurons are.

    Outputs are summed in four interleaved parts.  The last neurons, up to three, all belong to the first part.
    """
    m, d = Z.shape[0], Z.shape[1] - 1
    places, width = np.arange(m), (m + 3 * (m % 4) + NEURONS - 1) // NEURONS * NEURONS
    for j in range(m // 4 * 4, m):
        places[j] += 3 * (j % 4)
    W, a = aligned(d * width), aligned(width)
    for j in range(m):
        a[places[j]] = Z[j, d]
        for i in range(d):
            W[i * width + places[j]] = Z[j, i]
    return W, a, places


@compiled
def _pull(X, Y, keys, W, a, pre, sums, pulls, D, signatures):
    r"""$\sum_k r_k^2$; $\sum_k 1_{jk} r_k x_k$ and the signatures of patterns are written to D and `signatures`."""
    width, d = len(a), len(W) // len(a)
    D[:] = 0.0
    signatures[:] = 0
    total, residuals = 0.0, np.empty(POINTS)
    for k in range(0, len(Y), POINTS):
        outputs = zeros()
        for j in range(0, width, NEURONS):
            tile = zeros()
            for i in range(d):
                tile = plus_products(tile, W, i * width + j, X, k * d + i * POINTS)
            store(pre, j * POINTS, tile)
            outputs = plus_outputs(outputs, tile, a, j)
        store(sums, 0, outputs)
        for p in range(POINTS):
            residual = Y[k + p] - ((sums[4 * p] + sums[4 * p + 1]) + (sums[4 * p + 2] + sums[4 * p + 3]))
            total += residual * residual
            residuals[p] = residual
        for i in range(d):
            for p in range(POINTS):
                pulls[i * POINTS + p] = residuals[p] * X[k * d + i * POINTS + p]
        for j in range(0, width, NEURONS):
            tile = load(pre, j * POINTS)
            add_where_active(signatures, j, tile, keys, k)
            for i in range(d):
                add_where_active(D, i * width + j, tile, pulls, i * POINTS)
    return total


@compiled
def walk(X, Y, keys, n, Z, patterns, step, steps, patience, changed):
    r"""Take up to `steps` steps in place, one neuron at a time, until no pattern has changed in `patience` of them.

    The signature of a pattern is the sum (modulo $2^{64}$) of the random keys of the active points.

    Args:
        X, Y, keys: n inputs, labels and keys, :func:`packed`.
        patterns: signatures of the patterns, those last seen and then those at the end, shape (m,).
        changed: filled with the number of neurons whose pattern after t steps is not that of the step before, from
            t = 0 to the last step, (steps + 1,).

    Returns the number of steps taken and the loss $\frac{1}{2n} \sum_k r_k^2$ after them.  Cost: O(n m d) per step.
    """
    m, d = Z.shape[0], Z.shape[1] - 1
    W, a, places = _columns(Z)
    width = len(a)
    D, signatures, pre = aligned(d * width), aligned(width).view(np.uint64), aligned(width * POINTS)
    sums, pulls, products = aligned(NEURONS * POINTS), aligned(d * POINTS), aligned(width)
    before = np.zeros(width, np.uint64)
    for j in range(m):
        before[places[j]] = patterns[j]
    calm = taken = 0
    while True:
        loss = _pull(X, Y, keys, W, a, pre, sums, pulls, D, signatures) / (2 * n)
        different = 0
        for j in range(width):
            different += signatures[j] != before[j]
            before[j] = signatures[j]
        changed[taken] = different
        calm = 0 if different and taken else calm + 1
        if taken == steps or calm > patience or not np.isfinite(loss):
            break
        products[:] = 0.0
        for i in range(d):
            weights, pull = W[i * width : (i + 1) * width], D[i * width : (i + 1) * width]
            for j in range(width):
                mean = pull[j] / n
                products[j] += weights[j] * mean
                weights[j] += step * a[j] * mean
        for j in range(width):
            a[j] += step * products[j]
        taken += 1
    for j in range(m):
        patterns[j] = before[places[j]]
        Z[j, d] = a[places[j]]
        for i in range(d):
            Z[j, i] = W[i * width + places[j]]
    return taken, loss


@compiled
def gathered(patterns):
    """Neurons by pattern: their order (m,), where groups begin in it (K + 1,), and both again in whole vectors.

    In the latter, copies of a group's first neuron fill up its last vector.
    """
    order, starts, K = np.argsort(patterns, kind="mergesort"), np.zeros(len(patterns) + 1, np.int64), 0
    for j in range(len(order)):
        if j == 0 or patterns[order[j]] != patterns[order[j - 1]]:
            starts[K] = j
            K += 1
    starts[K] = len(order)
    begins = np.zeros(K + 1, np.int64)
    for p in range(K):
        begins[p + 1] = begins[p] + (starts[p + 1] - starts[p] + NEURONS - 1) // NEURONS * NEURONS
    columns = np.empty(begins[K], np.int64)
    for p in range(K):
        columns[begins[p] : begins[p + 1]] = order[starts[p]]
        columns[begins[p] : begins[p] + starts[p + 1] - starts[p]] = order[starts[p] : starts[p + 1]]
    return order, starts[: K + 1], columns, begins


@compiled
def features(x, active):
    r"""Inputs x_k in the columns of the patterns (n, K) that have them, else 0, shape (n, K d); and their sides.

    The side of x_k is $1 / \|x_k\|$, negative for a pattern without it; shape (K, n), filled up to whole tiles.
    """
    (n, d), K = x.shape, active.shape[1]
    found, sides = np.zeros((n, K * d)), np.full((K, (n + POINTS - 1) // POINTS * POINTS), -np.inf)
    for k in range(n):
        square = 0.0
        for i in range(d):
            square += x[k, i] * x[k, i]
        near = 1.0 / np.sqrt(square)
        for p in range(K):
            sides[p, k] = near if active[k, p] else -near
            if active[k, p]:
                for i in range(d):
                    found[k, p * d + i] = x[k, i]
    return found, sides


@compiled
def states(Z, P, begins):
    """P_p z_j for every group, a column each; shape of Z."""
    moved = np.empty_like(Z)
    for p in range(len(P)):
        _move(P[p], Z, moved, begins[p], begins[p + 1])
    return moved


@compiled
def _move(P, Z, moved, start, stop):
    for r in range(len(Z)):
        row = moved[r, start:stop]
        row[:] = 0.0
        for c in range(len(Z)):
            entry, column = P[r, c], Z[c, start:stop]
            for j in range(len(row)):
                row[j] += entry * column[j]


@compiled
def descend(X, sides, S, h, M, Z, begins, P, directions, margins, used, allowed, step, steps):
    r"""Take up to `steps` steps of K groups in place; returns the number taken, fewer once a pattern has changed.

    Before a step every group's pattern is certain: since the last look at its neurons its states have moved by at
    most a factor $e^{\text{used}} - 1$, because $\|T - I\| = \eta \|D\|$, and less than `allowed` keeps all of them
    off the hyperplanes of the data.

    Args:
        X, sides: inputs, see :func:`packed`, and their sides, see :func:`features`.
        S, h: $\frac1n \sum_k 1_q 1_p x_k x_k^\top$, shape (K d, K d), and $\frac1n \sum_k 1_p y_k x_k$, (K d,).
        M, Z, begins: second moments (K, d + 1, d + 1), states at the start (d + 1, m), and where groups begin.
        P: accumulated step matrices, shape (K, d + 1, d + 1); changed.
        directions, margins: unit vectors (d, m) at which each neuron was last held against the data, and its
            distance from the nearest hyperplane there; changed.
        used, allowed: see above, shape (K,); changed.

    Cost: $O(K^2 d^2)$ per step, and $O(m d^2)$ for a look at all neurons.
    """
    K, d = len(P), len(directions)
    B, D, row, moved = np.empty(K * d), np.empty(K * d), np.empty(d + 1), np.empty_like(Z)
    norms, left = np.empty_like(margins), np.empty_like(margins)
    for t in range(steps):
        for p in range(K):
            if not used[p] <= allowed[p]:  # NaN goes in
                start, stop = begins[p], begins[p + 1]
                allowed[p] = _allowance(X, sides[p], P[p], Z, moved, start, stop, directions, margins, norms, left)
                used[p] = 0.0
                if not allowed[p] >= 0.0:
                    return t
        for p in range(K):
            for c in range(d + 1):
                row[c] = 0.0
                for r in range(d + 1):
                    row[c] += P[p, d, r] * M[p, r, c]
            for i in range(d):
                B[p * d + i] = 0.0
                for c in range(d + 1):
                    B[p * d + i] += P[p, i, c] * row[c]
        D[:] = h
        for q in range(K * d):
            for p in range(K * d):
                D[p] -= S[q, p] * B[q]
        for p in range(K):
            square = 0.0
            row[:] = P[p, d]
            for i in range(d):
                pull = D[p * d + i]
                square += pull * pull
                pull *= step
                for c in range(d + 1):
                    P[p, d, c] += pull * P[p, i, c]
                    P[p, i, c] += pull * row[c]
            used[p] += step * np.sqrt(square)
    return steps


@compiled
def _allowance(X, sides, P, Z, moved, start, stop, directions, margins, norms, left):
    r"""How much the group may still use: $\min_j \ln(1 + \text{distance}_j / \|z_j\|)$, or -1 if a pattern changed.

    With $v$ the unit vector at which a neuron was held against the data and $\mu$ its margin there, the distance of
    $w$ from all hyperplanes is at least $\|w\| (\mu - \|w/\|w\| - v\|)$.  Once half of $\mu$ is gone the neuron is
    held against the data again, $O(n d)$.
    """
    d = len(directions)
    _move(P, Z, moved, start, stop)
    norms[start:stop] = 0.0
    left[start:stop] = 0.0
    for i in range(d):
        for j in range(start, stop):
            norms[j] += moved[i, j] * moved[i, j]
    for j in range(start, stop):
        norms[j] = np.sqrt(norms[j])
    for i in range(d):
        for j in range(start, stop):
            left[j] += (moved[i, j] / norms[j] - directions[i, j]) ** 2
    for j in range(start, stop):
        left[j] = margins[j] - np.sqrt(left[j])
    least = np.inf
    for j in range(start, stop):
        if not left[j] > 0.5 * margins[j]:
            first = j // NEURONS * NEURONS
            _hold(X, sides, moved, first, norms, margins)
            for l in range(first, first + NEURONS):
                if margins[l] < 0.0:
                    return -1.0
                left[l] = margins[l]
                for i in range(d):
                    directions[i, l] = moved[i, l] / norms[l]
    for j in range(start, stop):
        free = max(left[j] * (1.0 - RELATIVE) - ABSOLUTE, 0.0)
        whole = np.sqrt(norms[j] * norms[j] + moved[d, j] * moved[d, j])
        least = min(least, norms[j] / whole * free if norms[j] > 0.0 else 0.0)
    return np.log1p(least)


@compiled
def _hold(X, sides, Z, j, norms, margins):
    """Distances of the next neurons' w / |w| from the nearest hyperplanes, negative where a pattern is another one."""
    d, width = len(Z) - 1, Z.shape[1]
    least = infinities()
    for k in range(0, len(sides), POINTS):
        tile = zeros()
        for i in range(d):
            tile = plus_products(tile, Z, i * width + j, X, k * d + i * POINTS)
        least = nearest(least, tile, sides, k)
    found = np.empty((POINTS, NEURONS))
    store(found, 0, least)
    for l in range(NEURONS):
        distance = min(found[0, l], found[1, l], found[2, l], found[3, l])
        margins[j + l] = distance / norms[j + l] if distance >= 0.0 else -1.0
