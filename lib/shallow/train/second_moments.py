r"""The compiled core of :mod:`shallow.train.flow`: gradients, and steps of whole groups of neurons with one pattern.

A state is $z = (w, a)$, stored as a row of Z, shape (m, d + 1).  Neurons active on the same training inputs have one
vector $D$ and one step matrix $T = I + \eta \begin{pmatrix} 0 & D \\ D^\top & 0 \end{pmatrix}$.  A group p therefore
needs the product $P_p$ of its step matrices alone: its neurons are $P_p z_j(0)$, its second moment is $P_p M_p
P_p^\top$ with $M_p = \sum_j z_j(0) z_j(0)^\top$, and its output on an active point is $\langle B_p, x \rangle$ with
$B_p = \sum_j a_j w_j$, a part of that moment.  All sums run in a fixed order.
"""

from __future__ import annotations

import numba
import numpy as np

#: What rounding may take from a margin, absolute and relative.
ABSOLUTE, RELATIVE = 1e-13, 1e-9

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@compiled
def _sum(values):
    """In four interleaved parts, which do not wait for each other."""
    first = second = third = fourth = 0.0
    whole = len(values) // 4 * 4
    for j in range(0, whole, 4):
        first += values[j]
        second += values[j + 1]
        third += values[j + 2]
        fourth += values[j + 3]
    for j in range(whole, len(values)):
        first += values[j]
    return (first + second) + (third + fourth)


@compiled
def gradients(x, y, Z, keys):
    r"""Loss $\frac{1}{2n} \sum_k r_k^2$, the vectors $D_n(w_j, \theta)$ (m, d), and a signature of every pattern (m,).

    The signature is the sum (modulo $2^{64}$) of the random `keys` of the active points.  Cost: O(n m d).
    """
    n, d = x.shape
    W, a = np.ascontiguousarray(Z[:, :d].T), np.ascontiguousarray(Z[:, d])
    m = a.size
    D, signature = np.zeros((d, m)), np.zeros(m, np.uint64)
    pre, out = np.empty(m), np.empty(m)
    total = 0.0
    for k in range(n):
        pre[:] = 0.0
        for i in range(d):
            weights, coordinate = W[i], x[k, i]
            for j in range(m):
                pre[j] += weights[j] * coordinate
        for j in range(m):
            out[j] = a[j] * max(pre[j], 0.0)
        residual = y[k] - _sum(out)
        total += residual * residual
        for i in range(d):
            pulls, pull = D[i], residual * x[k, i]
            for j in range(m):
                pulls[j] += pull if pre[j] > 0.0 else 0.0
        key = keys[k]
        for j in range(m):
            signature[j] += key if pre[j] > 0.0 else np.uint64(0)
    return total / (2 * n), D.T / n, signature


@compiled
def walk(x, y, Z, patterns, keys, step, steps, patience, changed):
    r"""Take up to `steps` steps in place, one neuron at a time, until no pattern has changed in `patience` of them.

    Args:
        patterns: signatures of the patterns before the walk, shape (m,); changed.
        changed: filled with the number of neurons whose pattern after t steps is not that of the step before, (steps,).

    Returns the number of steps taken.  Cost: O(n m d) per step.
    """
    m, d = Z.shape[0], Z.shape[1] - 1
    calm = 0
    for t in range(steps):
        loss, D, signature = gradients(x, y, Z, keys)
        changed[t] = 0
        for j in range(m):
            changed[t] += signature[j] != patterns[j]
            patterns[j] = signature[j]
        calm = 0 if changed[t] else calm + 1
        if calm > patience or not np.isfinite(loss):
            return t
        for j in range(m):
            a, product = Z[j, d], 0.0
            for i in range(d):
                product += Z[j, i] * D[j, i]
                Z[j, i] += step * a * D[j, i]
            Z[j, d] += step * product
    return steps


@compiled
def states(Z, P, starts):
    """P_p z_j for the neurons starts[p] <= j < starts[p + 1] of every group; shape of Z."""
    moved = np.empty_like(Z)
    for p in range(len(P)):
        for j in range(starts[p], starts[p + 1]):
            _apply(P[p], Z[j], moved[j])
    return moved


@compiled
def _apply(P, z, out):
    for r in range(len(z)):
        out[r] = 0.0
        for c in range(len(z)):
            out[r] += P[r, c] * z[c]


@compiled
def descend(x, norms, active, S, h, M, Z, starts, P, directions, margins, used, allowed, step, steps):
    r"""Take up to `steps` steps of K groups in place; returns the number taken, fewer once a pattern has changed.

    Before a step every group's pattern is certain: since the last look at its neurons its states have moved by at
    most a factor $e^{\text{used}} - 1$, because $\|T - I\| = \eta \|D\|$, and less than `allowed` keeps all of them
    off the hyperplanes of the data.

    Args:
        x, norms: inputs (n, d) and their norms (n,).
        active: patterns of the groups, shape (K, n).
        S, h: $\frac1n \sum_k 1_p 1_q x_k x_k^\top$, shape (K, d, K, d), and $\frac1n \sum_k 1_p y_k x_k$, (K, d).
        M, Z, starts: second moments (K, d + 1, d + 1), states at the start, and where each group's neurons begin.
        P: accumulated step matrices, shape (K, d + 1, d + 1); changed.
        directions, margins: unit vectors (m, d) at which each neuron was last held against the data, and its
            distance from the nearest hyperplane there; changed.
        used, allowed: see above, shape (K,); changed.

    Cost: $O(K^2 d^2)$ per step, and $O(m d^2)$ for a look at all neurons.
    """
    K, d = h.shape
    B, row = np.empty((K, d)), np.empty(d + 1)
    for t in range(steps):
        for p in range(K):
            if not used[p] <= allowed[p]:  # NaN goes in
                allowed[p] = _allowance(x, norms, active[p], Z, P[p], starts[p], starts[p + 1], directions, margins)
                used[p] = 0.0
                if not allowed[p] >= 0.0:
                    return t
        for p in range(K):
            for c in range(d + 1):
                row[c] = 0.0
                for r in range(d + 1):
                    row[c] += P[p, d, r] * M[p, r, c]
            for i in range(d):
                B[p, i] = 0.0
                for c in range(d + 1):
                    B[p, i] += P[p, i, c] * row[c]
        for p in range(K):
            square = 0.0
            row[:] = P[p, d]
            for i in range(d):
                D = h[p, i]
                for q in range(K):
                    for k in range(d):
                        D -= S[p, i, q, k] * B[q, k]
                square += D * D
                D *= step
                for c in range(d + 1):
                    P[p, d, c] += D * P[p, i, c]
                    P[p, i, c] += D * row[c]
            used[p] += step * np.sqrt(square)
    return steps


@compiled
def _allowance(x, norms, active, Z, P, start, stop, directions, margins):
    r"""How much the group may still use: $\min_j \ln(1 + \text{distance}_j / \|z_j\|)$, or -1 if a pattern changed.

    With $v$ the unit vector at which a neuron was held against the data and $\mu$ its margin there, the distance of
    $w$ from all hyperplanes is at least $\|w\| (\mu - \|w/\|w\| - v\|)$.  Once half of $\mu$ is gone the neuron is
    held against the data again, $O(n d)$.
    """
    n, d = x.shape
    z, least = np.empty(d + 1), np.inf
    for j in range(start, stop):
        _apply(P, Z[j], z)
        square = 0.0
        for i in range(d):
            square += z[i] * z[i]
        norm, whole = np.sqrt(square), np.sqrt(square + z[d] * z[d])
        chord = 0.0
        for i in range(d):
            chord += (z[i] / norm - directions[j, i]) ** 2
        margin = margins[j] - np.sqrt(chord)
        if not margin > 0.5 * margins[j]:
            margin = np.inf
            for k in range(n):
                pre = 0.0
                for i in range(d):
                    pre += z[i] * x[k, i]
                if (pre > 0.0) != active[k]:
                    return -1.0
                if norms[k] > 0.0:
                    margin = min(margin, abs(pre) / (norms[k] * norm))
            margins[j], directions[j] = margin, z[:d] / norm
        room = max(margin * (1.0 - RELATIVE) - ABSOLUTE, 0.0)
        least = min(least, np.log1p(norm / whole * room) if norm > 0.0 else 0.0)
    return least
