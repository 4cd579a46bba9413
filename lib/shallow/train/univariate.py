r"""Exact full-batch gradient descent for two-layer ReLU networks with one input, by sorted prefix sums.

With the training inputs sorted, each neuron is active on a suffix ($w \ge 0$) or a prefix ($w < 0$) of them, so output,
slope and gradients are prefix sums: an epoch costs $O(n + m)$ instead of $O(nm)$, without approximation.  Active sets are
decided by the rounded predicate $w x_i + b > 0$ itself and equal those of a dense evaluation bit for bit.

Objective (Bowman 2025, Sections 1.1 and 2.2), with $S_i = f'(x_i)$:

.. math:: \mathcal L = \sum_i \max(0, 1 - y_i f(x_i)) + \frac{\lambda}{n} \sum_i S_i^2 .
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numba
import numpy as np

from shallow.nets import ALL, TwoLayer

_BINS = 16384  # in the range of the points
_ALL_BINS = _BINS + 5
_MARGIN = 1 / 64  # of a bin
_TINY = 2.0**-900


class Diverged(ArithmeticError):
    """Training produced a non-finite loss; `epoch` says at which epoch."""

    def __init__(self, epoch: int):
        super().__init__(f"training diverged: the loss is not finite at epoch {epoch}")
        self.epoch = epoch


@dataclass(frozen=True)
class Run:
    """One training run; training points are in the order in which they were given.

    Attributes:
        epochs: recorded epochs, shape (R,); epoch 0 is the initialisation.
        loss: hinge part of the training loss at the records, summed (averaged for the mean reduction), shape (R,).
        outputs: f at the training points at the records, shape (R, n).
        slopes: f' at the training points at the records, shape (R, n).
        predictions: f on the grid at the records, shape (R, G); None without a grid.
        parameters: W, b, v at the records, shape (R, 3, m); None unless asked for.
        gradients: dL/df at the training points before each step (sum reduction), int8, shape (epochs, n); None unless
            asked for.
        network: the trained network.
        zero_epoch: first epoch at which the hinge part is exactly zero; None if it never is.
    """

    epochs: np.ndarray
    loss: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray
    predictions: np.ndarray | None
    parameters: np.ndarray | None
    gradients: np.ndarray | None
    network: TwoLayer
    zero_epoch: int | None

    def projections(self, vectors: np.ndarray) -> np.ndarray:
        r"""$\beta_i(t) = \langle \nabla_f \mathcal L(t), \xi_i \rangle$ for vectors of shape (n, K); shape (epochs, K)."""
        if self.gradients is None:
            raise ValueError("gradients were not kept: train with keep_gradients=True")
        return self.gradients.astype(np.float64) @ vectors


def every(interval: int, epochs: int) -> np.ndarray:
    """Epochs 0, interval, 2 interval, ... up to and including `epochs`."""
    return np.unique(np.append(np.arange(0, epochs + 1, interval), epochs))


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    step: float,
    epochs: int,
    records: np.ndarray | int = 100,
    grid: np.ndarray | None = None,
    rates: tuple[float, float, float] = ALL,
    agop: float = 0.0,
    decay: float = 0.0,
    reduction: str = "sum",
    keep_parameters: bool = False,
    keep_gradients: bool = False,
) -> Run:
    r"""Train by full-batch gradient descent on the hinge loss, exactly.

    Args:
        x, y: inputs and labels, shape (n,), any order; y in {-1, 0, 1}.
        network: initial network with d = 1; not changed.
        step: $\eta$; the groups (v, W, b) move with $\eta$ times `rates` (0 freezes a group).
        epochs: number of steps.
        records: epochs to record, or an interval between records.
        grid: ascending points at which f is recorded, shape (G,).
        agop: $\lambda$, weight of the trace penalty $\lambda\,\mathrm{Tr}\,G = \frac{\lambda}{n}\sum_i f'(x_i)^2$.
        decay: $\mu$; every trained parameter is multiplied by $1 - \eta\mu$ before the step, as in PyTorch's SGD.
        reduction: "sum", or "mean" which divides the hinge part by n.
        keep_parameters, keep_gradients: fill those fields of the run.

    Returns:
        The run.  After the first epoch with zero hinge and no penalty nothing moves, so the rest is filled in at once.

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when the loss is not finite, naming the epoch.

    Cost: $O(n + m)$ per epoch, $O(m + G)$ more per record.
    """
    x, y = _check_data(x, y, network)
    records = _check_options(step, epochs, records, rates, agop, decay, reduction)
    n, m = len(x), network.width
    order = np.argsort(x, kind="stable")
    points = np.empty(0) if grid is None else _check_grid(grid)
    parameters = np.stack([network.W[:, 0], network.b, network.v])
    R = len(records)
    loss, outputs, slopes = np.empty(R), np.empty((R, n)), np.empty((R, n))
    predictions = np.empty((R, len(points)))
    snapshots = np.empty((R if keep_parameters else 0, 3, m))
    gradients = np.zeros((epochs if keep_gradients else 0, n), dtype=np.int8)
    scale = 1.0 if reduction == "sum" else 1.0 / n  # the mean with step eta is the sum with step eta / n
    zero_epoch, bad_epoch = _descend(
        x[order], y[order], parameters, step * scale * np.asarray(rates, dtype=float), decay * step * (np.asarray(rates) > 0),
        agop / (n * scale), epochs, records, points, loss, outputs, slopes, predictions, snapshots, gradients,
    )  # fmt: skip
    if bad_epoch >= 0:
        raise Diverged(int(bad_epoch))
    unsort = np.argsort(order)
    w, b, v = parameters
    return Run(
        epochs=records,
        loss=loss * scale,
        outputs=outputs[:, unsort],
        slopes=slopes[:, unsort],
        predictions=None if grid is None else predictions,
        parameters=snapshots if keep_parameters else None,
        gradients=gradients[:, unsort] if keep_gradients else None,
        network=replace(network, W=w[:, None], b=b, v=v),
        zero_epoch=None if zero_epoch < 0 else int(zero_epoch),
    )


def evaluate(network: TwoLayer, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and f' at ascending points, shape (G,) each; slope 0 at a kink's left side convention of ReLU'(0) = 0.

    Cost: O(m + G).
    """
    points = _check_grid(points)
    parameters = np.stack([network.W[:, 0], network.b, network.v])
    values, slopes = np.empty(len(points)), np.empty(len(points))
    _evaluate(parameters, points, _locator(points), values, slopes)
    return values, slopes


def _check_data(x: np.ndarray, y: np.ndarray, network: TwoLayer) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError(f"x must be a non-empty finite vector, got shape {x.shape}")
    if y.shape != x.shape or not np.isin(y, (-1, 0, 1)).all():
        raise ValueError(f"y must have the shape of x, {x.shape}, and values -1, 0, 1; got shape {y.shape}")
    if network.W.shape[1] != 1:
        raise ValueError(f"network must have one input, got {network.W.shape[1]}")
    return x, y


def _check_grid(grid: np.ndarray) -> np.ndarray:
    grid = np.ascontiguousarray(grid, dtype=np.float64)
    if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all() or (np.diff(grid) < 0).any():
        raise ValueError(f"grid must be a non-empty ascending finite vector, got shape {grid.shape}")
    return grid


def _check_options(step, epochs, records, rates, agop, decay, reduction) -> np.ndarray:
    if not (np.isfinite(step) and step > 0):
        raise ValueError(f"step must be positive and finite, got {step}")
    if not isinstance(epochs, int | np.integer) or epochs < 0:
        raise ValueError(f"epochs must be a non-negative integer, got {epochs!r}")
    for name, value in (("agop", agop), ("decay", decay)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be finite and not negative, got {value}")
    if len(rates) != 3 or not all(np.isfinite(r) and r >= 0 for r in rates):
        raise ValueError(f"rates must be three non-negative numbers for (v, W, b), got {rates}")
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction must be 'sum' or 'mean', got {reduction!r}")
    if np.ndim(records) == 0:
        if records < 1:
            raise ValueError(f"records must be a positive interval or a list of epochs, got {records}")
        return every(int(records), epochs)
    records = np.asarray(records, dtype=np.int64)
    if not len(records) or records[0] < 0 or records[-1] > epochs or (np.diff(records) <= 0).any():
        raise ValueError(f"records must be ascending epochs in 0..{epochs}")
    return records


# Compiled part.  Every compiled function lives in this file because numba's cache does not notice changed callees.
#
# Conventions.  x is sorted.  A neuron with w >= 0 is active on a suffix i >= j of the points, one with w < 0 on a prefix
# i < j.  Its *row* is j or n + 1 + j: rows 0..n are suffixes, rows n + 1..2n + 1 prefixes.  Tables of pairs are flat, so
# that both numbers of a row share a cache line.  Unsigned indices spare numba's test for negative ones.  Sums are taken in
# the order in which they are written; nothing allows the compiler to reorder them, so that results do not depend on the
# vector width of the processor.

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_index, _small = numba.uint64, numba.int32


@_compiled
def _locator(x):
    """Table from the bin of a kink -b/w to the row of its neuron, with the origin and the number of bins per unit length.

    The bins cover the range of x and two more bin widths on each side.  The first half of the table is for w >= 0, the
    second for w < 0, the last entry for tiny |w|.  An entry is negative, -1 - (lower bound of j), when a point lies in the
    bin or within `_MARGIN` of it: there the predicate w x + b > 0 has to be evaluated.  In all other bins its outcome is
    certain, since the rounded quotient and the rounded predicate shift a kink by no more than some 2**-52 max|x|.
    """
    n = x.size
    span = x[n - 1] - x[0] if x[n - 1] > x[0] else 1.0
    reach = max(abs(x[0]), abs(x[n - 1]))
    margin = _MARGIN if 2.0**-100 < reach < 2.0**20 * span else np.inf
    scale = _BINS / span
    origin = x[0] - 2.0 / scale
    table = np.empty(2 * _ALL_BINS + 1, dtype=np.int32)
    i = 0
    for k in range(_ALL_BINS):
        while i < n and (x[i] - origin) * scale + margin < k:
            i += 1
        certain = i == n or (x[i] - origin) * scale - margin >= k + 1
        table[k] = i if certain else -1 - i
        table[_ALL_BINS + k] = n + 1 + i if certain else -1 - i
    table[2 * _ALL_BINS] = -1
    return table, origin, scale


@_compiled
def _row(w, b, x, guess):
    """Row of one neuron by the predicate itself, starting from a guess of j."""
    n, j = x.size, guess
    suffix = w >= 0.0
    while j > 0 and (w * x[j - 1] + b > 0.0) == suffix:
        j -= 1
    while j < n and (w * x[j] + b > 0.0) != suffix:
        j += 1
    return j if suffix else n + 1 + j


@_compiled
def _locate(parameters, x, locator, bins, rows):
    """Rows of all neurons."""
    w, b = parameters[0], parameters[1]
    table, origin, scale = locator
    last = _ALL_BINS - 1.0
    for k in range(rows.size):
        position = (-b[k] / w[k] - origin) * scale
        position = position if position > 0.0 else 0.0
        position = position if position < last else last
        bin_ = _small(position) + (_small(0) if w[k] >= 0.0 else _small(_ALL_BINS))
        bins[k] = bin_ if abs(w[k]) > _TINY else _small(2 * _ALL_BINS)
    lowest = _small(0)
    for k in range(rows.size):
        row = table[_index(bins[k])]
        rows[k] = row
        lowest |= row
    if lowest < 0:
        for k in range(rows.size):
            if rows[k] < 0:
                rows[k] = _row(w[k], b[k], x, -1 - np.int64(rows[k]))


@_compiled
def _outputs(parameters, rows, x, jumps, values, slopes):
    """f and f' at the points: the linear pieces v (w x + b) of the neurons, summed over suffixes and prefixes."""
    n = x.size
    w, b, v = parameters[0], parameters[1], parameters[2]
    jumps[:] = 0.0
    for k in range(rows.size):
        at = _index(2) * _index(rows[k])
        slope, intercept = jumps[at] + v[k] * w[k], jumps[at + _index(1)] + v[k] * b[k]
        jumps[at], jumps[at + _index(1)] = slope, intercept
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


@_compiled
def _gradients(x, y, values, slopes, penalty, sums):
    """Hinge loss; for every row the sums of dL/df and of x dL/df + 2 penalty f' over its active points."""
    n = x.size
    hinge = g0 = g1 = 0.0
    for i in range(n):
        margin = 1.0 - y[i] * values[i]
        hinge += margin if not margin <= 0.0 else 0.0  # NaN goes in
        g = -y[i] if margin > 0.0 else 0.0
        g0 += g
        g1 += g * x[i] + 2.0 * penalty * slopes[i]
        sums[2 * (n + 2 + i)], sums[2 * (n + 2 + i) + 1] = g0, g1
    for i in range(n + 1):
        sums[2 * i] = g0 - sums[2 * (n + 1 + i)]
        sums[2 * i + 1] = g1 - sums[2 * (n + 1 + i) + 1]
    return hinge


@_compiled
def _step(parameters, rows, sums, pairs, steps, keep):
    """One step of gradient descent; all groups move from their old values."""
    w, b, v = parameters[0], parameters[1], parameters[2]
    for k in range(rows.size):
        at = _index(2) * _index(rows[k])
        g0, g1 = sums[at], sums[at + _index(1)]
        pairs[2 * k], pairs[2 * k + 1] = g0, g1
    step_v, step_w, step_b = steps[0], steps[1], steps[2]
    keep_v, keep_w, keep_b = keep[0], keep[1], keep[2]
    for k in range(rows.size):
        g0, g1 = pairs[2 * k], pairs[2 * k + 1]
        wk, bk, vk = w[k], b[k], v[k]
        v[k] = vk * keep_v - step_v * (wk * g1 + bk * g0)
        w[k] = wk * keep_w - step_w * vk * g1
        b[k] = bk * keep_b - step_b * vk * g0


@_compiled
def _evaluate(parameters, points, locator, values, slopes):
    m = parameters.shape[1]
    rows = np.empty(m, dtype=np.int32)
    _locate(parameters, points, locator, np.empty(m, dtype=np.int32), rows)
    _outputs(parameters, rows, points, np.empty(4 * (points.size + 1)), values, slopes)


@_compiled
def _select(parameters, chosen):
    selected = np.empty((3, chosen.size))
    for group in range(3):
        for k in range(chosen.size):
            selected[group, k] = parameters[group, chosen[k]]
    return selected


@_compiled
def _descend(
    x, y, everyone, steps, shrink, penalty, epochs,
    records, points, loss, outputs, slopes, predictions, snapshots, gradients,
):  # fmt: skip
    """Train in place; returns the first epoch of zero hinge and that of a non-finite loss, -1 for never."""
    n, m = x.size, everyone.shape[1]
    locator = _locator(x)
    point_locator = _locator(points) if points.size else locator
    f, slope, point_slopes = np.empty(n), np.empty(n), np.empty(points.size)
    jumps, sums, pairs = np.empty(4 * (n + 1)), np.zeros(4 * (n + 1)), np.empty(2 * m)
    bins, rows = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    awake, parameters = np.arange(m), everyone.copy()
    keep, decays = 1.0 - shrink, shrink.any()
    zero_epoch, r = -1, 0
    for epoch in range(epochs + 1):
        _locate(parameters, x, locator, bins, rows)
        _outputs(parameters, rows, x, jumps, f, slope)
        hinge = _gradients(x, y, f, slope, penalty, sums)
        if not np.isfinite(hinge):
            return zero_epoch, epoch
        if hinge == 0.0 and zero_epoch < 0:
            zero_epoch = epoch
        last = epoch == epochs or (hinge == 0.0 and penalty == 0.0 and not decays)
        if last or epoch == 0 or (r < records.size and records[r] == epoch):
            for k in range(awake.size):
                everyone[:, awake[k]] = parameters[:, k]
            while r < records.size and (records[r] == epoch or last):
                loss[r], outputs[r], slopes[r] = hinge, f, slope
                if points.size:
                    _evaluate(everyone, points, point_locator, predictions[r], point_slopes)
                if snapshots.size:
                    snapshots[r] = everyone
                r += 1
            if last:
                return zero_epoch, -1
            if not decays:  # a neuron that is active at no point never moves again
                alive = np.nonzero((rows != n) & (rows != n + 1))[0]
                awake, parameters, rows = awake[alive], _select(parameters, alive), rows[alive]
        if gradients.size:
            for i in range(n):
                gradients[epoch, i] = np.int8(-y[i]) if 1.0 - y[i] * f[i] > 0.0 else np.int8(0)
        _step(parameters, rows, sums, pairs, steps, keep)
    return zero_epoch, -1
