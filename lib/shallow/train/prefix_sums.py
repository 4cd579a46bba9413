r"""The compiled core of :mod:`shallow.train.univariate`: an epoch of exact gradient descent in $O(n + m)$.

The points are sorted, $x_0 \le \dots \le x_{n-1}$, so a neuron with $w \ge 0$ is active on a suffix $i \ge j$ of
them and one with $w < 0$ on a prefix $i < j$.  Its *row* is $j$ or $n + 1 + j$: rows 0..n are the suffixes, rows
n + 1..2n + 1 the prefixes.  An epoch finds the row of every neuron, adds its linear piece $v(wx + b)$ to the jumps of
its row, sums the jumps along the points (`outputs`), sums the output gradients over every row (`gradients`), and
moves every neuron by the sums of its row (`step`).

Tables of pairs are flat: entries 2 row and 2 row + 1 share a cache line.  Unsigned indices spare numba's test for
negative ones, with which loops do not vectorise.  Sums are taken in the order in which they are written, neurons as
given, points from left to right or from right to left.  No option lets the compiler reorder or fuse operations, so
results do not depend on the processor.  All compiled functions live in this one file because numba's cache does not
notice a changed callee elsewhere.
"""

from __future__ import annotations

import numba
import numpy as np

BINS = 16384  # over the range of the points
ALL_BINS = BINS + 5  # with two more at the left, three at the right
MARGIN = 1 / 64  # of a bin
TINY = 2.0**-900

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
small, index = numba.int32, numba.uint64


@compiled
def locator(x):
    """Table from the bin of a kink -b/w to the row of its neuron, origin of the bins, and bins per unit length.

    The first half of the table is for w >= 0, the second for w < 0, the last entry for tiny `abs(w)`.  An entry is
    negative, -1 - (lower bound of j), when a point lies in the bin or within `MARGIN` of it: there the predicate
    w x + b > 0 has to be evaluated.  In all other bins its outcome is certain: the rounded quotient and the rounded
    predicate shift a kink by no more than some `2**-52 max(abs(x))`, the margin is at least `2**-40 max(abs(x))`.
    """
    n = x.size
    span = x[n - 1] - x[0] if x[n - 1] > x[0] else 1.0
    reach = max(abs(x[0]), abs(x[n - 1]))
    margin = MARGIN if 2.0**-100 < reach < 2.0**20 * span else np.inf
    scale = BINS / span
    origin = x[0] - 2.0 / scale
    table = np.empty(2 * ALL_BINS + 1, dtype=np.int32)
    i = 0
    for k in range(ALL_BINS):
        while i < n and (x[i] - origin) * scale + margin < k:
            i += 1
        certain = i == n or (x[i] - origin) * scale - margin >= k + 1
        table[k] = i if certain else -1 - i
        table[ALL_BINS + k] = n + 1 + i if certain else -1 - i
    table[2 * ALL_BINS] = -1
    return table, origin, scale


@compiled
def bin_of(w, b, origin, scale):
    """Entry of the locator's table for one neuron."""
    position = (-b / w - origin) * scale
    position = position if position > 0.0 else 0.0  # also for NaN
    position = position if position < ALL_BINS - 1.0 else ALL_BINS - 1.0
    entry = small(position) + (small(0) if w >= 0.0 else small(ALL_BINS))
    return entry if abs(w) > TINY else small(2 * ALL_BINS)


@compiled
def row_of(w, b, x, j):
    """Row of one neuron by the predicate itself, searched upwards from a lower bound of j."""
    suffix = w >= 0.0
    while j < x.size and (w * x[j] + b > 0.0) != suffix:
        j += 1
    return j if suffix else x.size + 1 + j


@compiled
def outputs(parameters, x, table, bins, rows, jumps, values, slopes):
    """f and f' at the points, and the rows of all neurons from their bins."""
    n = x.size
    w, b, v = parameters[0], parameters[1], parameters[2]
    jumps[:] = 0.0
    for k in range(rows.size):
        row = table[index(bins[k])]
        if row < 0:
            row = small(row_of(w[k], b[k], x, -1 - np.int64(row)))
        rows[k] = row
        at = index(2) * index(row)
        slope, intercept = jumps[at] + v[k] * w[k], jumps[at + index(1)] + v[k] * b[k]
        jumps[at], jumps[at + index(1)] = slope, intercept
    slope = intercept = 0.0
    for i in range(n - 1, -1, -1):
        slope += jumps[2 * (n + 2 + i)]
        intercept += jumps[2 * (n + 2 + i) + 1]
        slopes[i], values[i] = slope, intercept
    slope = intercept = 0.0
    for i in range(n):
        slope += jumps[2 * i]
        intercept += jumps[2 * i + 1]
        total = slopes[i] + slope
        slopes[i], values[i] = total, total * x[i] + (values[i] + intercept)


@compiled
def hinge_loss(y, values):
    """Summed hinge loss."""
    total = 0.0
    for i in range(y.size):
        total += max(1.0 - y[i] * values[i], 0.0)
    return total


@compiled
def gradients(x, y, values, slopes, penalty, terms, sums):
    """For every row the sums of dL/df and of x dL/df + 2 penalty f' over its points.

    Returns the number of points within the margin and that of non-finite outputs.
    """
    n = x.size
    first, second = terms[0], terms[1]
    within = failed = 0
    for i in range(n):
        active = 1.0 - y[i] * values[i] > 0.0
        within += active
        failed += not abs(values[i]) < np.inf
        g = -y[i] if active else 0.0
        first[i], second[i] = g, g * x[i] + 2.0 * penalty * slopes[i]
    suffix, prefix = sums[: 2 * (n + 1)], sums[2 * (n + 1) :]
    g0 = g1 = 0.0
    for i in range(n):
        g0 += first[i]
        g1 += second[i]
        prefix[2 * i + 2], prefix[2 * i + 3] = g0, g1
    for i in range(n + 1):
        suffix[2 * i], suffix[2 * i + 1] = g0 - prefix[2 * i], g1 - prefix[2 * i + 1]
    return within, failed


@compiled
def step(parameters, rows, sums, pairs, rates, keep, origin, scale, bins):
    """One step of gradient descent, all groups from their old values; then the bins of the new kinks."""
    w, b, v = parameters[0], parameters[1], parameters[2]
    for k in range(rows.size):
        at = index(2) * index(rows[k])
        g0, g1 = sums[at], sums[at + index(1)]
        pairs[2 * k], pairs[2 * k + 1] = g0, g1
    rate_v, rate_w, rate_b = rates[0], rates[1], rates[2]
    keep_v, keep_w, keep_b = keep[0], keep[1], keep[2]
    for k in range(rows.size):
        g0, g1 = pairs[2 * k], pairs[2 * k + 1]
        wk, bk, vk = w[k], b[k], v[k]
        v[k] = vk * keep_v - rate_v * (wk * g1 + bk * g0)
        wk = wk * keep_w - rate_w * vk * g1
        bk = bk * keep_b - rate_b * vk * g0
        w[k], b[k], bins[k] = wk, bk, bin_of(wk, bk, origin, scale)


@compiled
def evaluate(parameters, x, found, values, slopes):
    """f and f' at sorted points with their locator."""
    m = parameters.shape[1]
    bins, rows = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    table, origin, scale = found
    for k in range(m):
        bins[k] = bin_of(parameters[0, k], parameters[1, k], origin, scale)
    outputs(parameters, x, table, bins, rows, np.empty(4 * (x.size + 1)), values, slopes)


@compiled
def columns(parameters, chosen):
    """The parameters of the chosen neurons."""
    selected = np.empty((3, chosen.size))
    for k in range(chosen.size):
        selected[:, k] = parameters[:, chosen[k]]
    return selected


@compiled
def descend(
    x, y, network, rates, keep, penalty, epochs, records, grid, loss, values, slopes, predictions, snapshots, signs
):
    """Train `network`, rows (w, b, v), in place and fill the records.

    Returns the first epoch with zero hinge loss and the first one with a non-finite output, -1 for never.  Neurons that
    are active at no point do not move any more (without decay) and leave the working set; this changes no sum.
    """
    n, m = x.size, network.shape[1]
    table, origin, scale = locator(x)
    grid_locator = locator(grid) if grid.size else (table, origin, scale)
    f, slope, grid_slopes = np.empty(n), np.empty(n), np.empty(grid.size)
    jumps, sums, terms, pairs = np.empty(4 * (n + 1)), np.zeros(4 * (n + 1)), np.empty((2, n)), np.empty(2 * m)
    bins, rows = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    awake, parameters = np.arange(m), network.copy()
    decays = (keep != 1.0).any()
    for k in range(m):
        bins[k] = bin_of(parameters[0, k], parameters[1, k], origin, scale)
    zero_epoch, r = -1, 0
    for epoch in range(epochs + 1):
        outputs(parameters, x, table, bins, rows, jumps, f, slope)
        within, failed = gradients(x, y, f, slope, penalty, terms, sums)
        if failed:
            return zero_epoch, epoch
        if within == 0 and zero_epoch < 0:
            zero_epoch = epoch
        last = epoch == epochs or (within == 0 and penalty == 0.0 and not decays)  # from here nothing moves
        if last or epoch == 0 or (r < records.size and records[r] == epoch):
            for k in range(awake.size):
                network[:, awake[k]] = parameters[:, k]
            while r < records.size and (records[r] == epoch or last):
                loss[r], values[r], slopes[r] = hinge_loss(y, f), f, slope
                if grid.size:
                    evaluate(network, grid, grid_locator, predictions[r], grid_slopes)
                if snapshots.size:
                    snapshots[r] = network
                r += 1
            if last:
                break
            if not decays:
                alive = np.nonzero((rows != n) & (rows != n + 1))[0]
                awake, parameters, rows = awake[alive], columns(parameters, alive), rows[alive]
        if signs.size:
            for i in range(n):
                signs[epoch, i] = np.int8(-y[i]) if 1.0 - y[i] * f[i] > 0.0 else np.int8(0)
        step(parameters, rows, sums, pairs, rates, keep, origin, scale, bins)
    return zero_epoch, -1
