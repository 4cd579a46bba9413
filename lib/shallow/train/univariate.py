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

_BINS = 4096


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
    w, b, v = (a.copy() for a in (network.W[:, 0], network.b, network.v))
    neurons = np.argsort(w < 0, kind="stable")  # by sign of w, so that the branch on it predicts
    parameters = np.ascontiguousarray(np.stack([w, b, v])[:, neurons])
    R = len(records)
    loss, outputs, slopes = np.empty(R), np.empty((R, n)), np.empty((R, n))
    predictions = np.empty((R, len(points)))
    snapshots = np.empty((R if keep_parameters else 0, 3, m))
    gradients = np.zeros((epochs if keep_gradients else 0, n), dtype=np.int8)
    scale = 1.0 if reduction == "sum" else 1.0 / n
    zero_epoch, bad_epoch = _descend(
        x[order], y[order], parameters, step * np.asarray(rates, dtype=float), decay * step, agop / n, scale, epochs,
        records, points, loss, outputs, slopes, predictions, snapshots, gradients,
    )  # fmt: skip
    if bad_epoch >= 0:
        raise Diverged(int(bad_epoch))
    back, unsort = np.argsort(neurons), np.argsort(order)
    w, b, v = parameters[:, back]
    return Run(
        epochs=records,
        loss=loss * scale,
        outputs=outputs[:, unsort],
        slopes=slopes[:, unsort],
        predictions=None if grid is None else predictions,
        parameters=snapshots[:, :, back] if keep_parameters else None,
        gradients=gradients[:, unsort] if keep_gradients else None,
        network=replace(network, W=w[:, None], b=b, v=v),
        zero_epoch=None if zero_epoch < 0 else int(zero_epoch),
    )


def evaluate(network: TwoLayer, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and f' at ascending points, shape (G,) each; slope 0 at a kink's left side convention of ReLU'(0) = 0.

    Cost: O(m log G + G).
    """
    points = _check_grid(points)
    parameters = np.stack([network.W[:, 0], network.b, network.v])
    values, slopes = np.empty(len(points)), np.empty(len(points))
    _evaluate(parameters, points, _bins(points), np.empty((2, len(points) + 1)), values, slopes)
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


@numba.njit(cache=True, nogil=True)
def _bins(x):
    """For each of `_BINS` equal bins of [x_0, x_end], the first point right of its left edge; one more bin outside each end."""
    table = np.empty(_BINS + 3, dtype=np.int64)
    low, span = x[0], x[-1] - x[0]
    i = 0
    table[0] = 0
    for k in range(_BINS + 1):
        edge = low + span * k / _BINS
        while i < len(x) and x[i] < edge:
            i += 1
        table[k + 1] = i
    table[_BINS + 2] = len(x)
    return table


@numba.njit(cache=True, nogil=True, inline="always")
def _breakpoint(w, b, x, table, low, bins_per_unit):
    """First index of the active suffix (w >= 0), or the end of the active prefix (w < 0)."""
    n = len(x)
    guess = 0
    if w != 0.0:
        bin_ = (-b / w - low) * bins_per_unit
        if bin_ > -1.0:
            guess = table[int(min(bin_, _BINS + 0.5)) + 1] if bin_ >= 0.0 else 0
    if w >= 0.0:
        while guess > 0 and w * x[guess - 1] + b > 0.0:
            guess -= 1
        while guess < n and not (w * x[guess] + b > 0.0):
            guess += 1
    else:
        while guess > 0 and not (w * x[guess - 1] + b > 0.0):
            guess -= 1
        while guess < n and w * x[guess] + b > 0.0:
            guess += 1
    return guess


@numba.njit(cache=True, nogil=True)
def _scale(x):
    span = x[-1] - x[0]
    return _BINS / span if span > 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def _forward(parameters, x, table, jumps, breaks, values, slopes):
    """f and f' at sorted x; leaves the breakpoint of every neuron in `breaks`."""
    w, b, v = parameters[0], parameters[1], parameters[2]
    low, bins_per_unit = x[0], _scale(x)
    jumps[:] = 0.0
    slope = intercept = 0.0
    for k in range(w.size):
        j = _breakpoint(w[k], b[k], x, table, low, bins_per_unit)
        breaks[k] = j
        ds, dc = v[k] * w[k], v[k] * b[k]
        if w[k] >= 0.0:
            jumps[0, j] += ds
            jumps[1, j] += dc
        else:
            slope += ds
            intercept += dc
            jumps[0, j] -= ds
            jumps[1, j] -= dc
    for i in range(x.size):
        slope += jumps[0, i]
        intercept += jumps[1, i]
        values[i] = slope * x[i] + intercept
        slopes[i] = slope


@numba.njit(cache=True, nogil=True)
def _evaluate(parameters, x, table, jumps, values, slopes):
    _forward(parameters, x, table, jumps, np.empty(parameters.shape[1], dtype=np.int64), values, slopes)


@numba.njit(cache=True, nogil=True)
def _descend(
    x, y, parameters, steps, shrink, penalty, scale, epochs,
    records, points, loss, outputs, slopes, predictions, snapshots, gradients,
):  # fmt: skip
    """Train in place; returns the first epoch of zero hinge and that of a non-finite loss, -1 for never."""
    n, m = x.size, parameters.shape[1]
    w, b, v = parameters[0], parameters[1], parameters[2]
    table, jumps, breaks = _bins(x), np.empty((2, n + 1)), np.empty(m, dtype=np.int64)
    f, slope, g = np.empty(n), np.empty(n), np.empty(n)
    sums = np.zeros((2, n + 1))
    if points.size:
        point_table, point_jumps, point_slopes = _bins(points), np.empty((2, points.size + 1)), np.empty(points.size)
    still = penalty == 0.0 and shrink == 0.0
    keep = [1.0 - shrink if steps[group] > 0 else 1.0 for group in range(3)]
    zero_epoch, r = -1, 0
    for epoch in range(epochs + 1):
        _forward(parameters, x, table, jumps, breaks, f, slope)
        hinge = 0.0
        for i in range(n):
            margin = 1.0 - y[i] * f[i]
            active = margin > 0.0
            g[i] = -y[i] * scale if active else 0.0
            hinge += margin if not margin <= 0.0 else 0.0  # NaN goes in
            sums[0, i + 1] = sums[0, i] + g[i]
            sums[1, i + 1] = sums[1, i] + (g[i] * x[i] + 2.0 * penalty * slope[i])
        if not np.isfinite(hinge):
            return zero_epoch, epoch
        if hinge == 0.0 and zero_epoch < 0:
            zero_epoch = epoch
        while r < records.size and (records[r] == epoch or (hinge == 0.0 and still)):
            loss[r], outputs[r], slopes[r] = hinge, f, slope
            if points.size:
                _evaluate(parameters, points, point_table, point_jumps, predictions[r], point_slopes)
            if snapshots.size:
                snapshots[r] = parameters
            r += 1
        if epoch == epochs or (hinge == 0.0 and still):
            return zero_epoch, -1
        if gradients.size:
            for i in range(n):
                gradients[epoch, i] = 0 if g[i] == 0.0 else (1 if g[i] > 0.0 else -1)
        for k in range(m):
            j = breaks[k]
            if w[k] >= 0.0:
                g0, g1 = sums[0, n] - sums[0, j], sums[1, n] - sums[1, j]
            else:
                g0, g1 = sums[0, j], sums[1, j]
            wk, bk, vk = w[k], b[k], v[k]
            v[k] = vk * keep[0] - steps[0] * (wk * g1 + bk * g0)
            w[k] = wk * keep[1] - steps[1] * vk * g1
            b[k] = bk * keep[2] - steps[2] * vk * g0
    return zero_epoch, -1
