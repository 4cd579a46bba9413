r"""Exact full-batch gradient descent for two-layer ReLU networks with one input, by sorted prefix sums.

With the training inputs sorted, each neuron is active on a suffix ($w \ge 0$) or a prefix ($w < 0$) of them, so
output, slope and gradients are prefix sums: an epoch costs $O(n + m)$ instead of $O(nm)$, without approximation.
Active sets are those of the rounded predicate $w x_i + b > 0$, the same as in a dense evaluation, bit for bit.

Objective (Bowman 2025, Sections 1.1 and 2.2), with $S_i = f'(x_i)$:

.. math:: \mathcal L = \sum_i \max(0, 1 - y_i f(x_i)) + \frac{\lambda}{n} \sum_i S_i^2 .
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from shallow import checks
from shallow.nets import ALL, TwoLayer
from shallow.representation import short
from shallow.train import prefix_sums


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

    __repr__ = short

    def projections(self, vectors: np.ndarray) -> np.ndarray:
        r"""$\beta_i(t) = \langle \nabla_f \mathcal L(t), \xi_i \rangle$ for vectors (n, K); shape (epochs, K)."""
        checks.numbers(vectors=vectors)
        if self.gradients is None:
            raise ValueError("gradients were not kept: train with keep_gradients=True")
        if np.ndim(vectors) != 2 or len(vectors) != self.gradients.shape[1] or not np.isfinite(vectors).all():
            raise ValueError(
                f"vectors must be finite of shape ({self.gradients.shape[1]}, K), got {checks.given(vectors)}"
            )
        return self.gradients.astype(np.float64) @ vectors


def every(interval: int, epochs: int) -> np.ndarray:
    """Epochs 0, interval, 2 interval, ... up to and including `epochs`."""
    checks.integers(1, interval=interval)
    checks.integers(0, epochs=epochs)
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
        x, y: inputs and labels, shape (n,), any order; y in {-1, 0, 1}, and no truth values.  A point with label 0
            carries no gradient: its hinge is 1 whatever f is.
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
    points = np.empty(0) if grid is None else _check_points("grid", grid)
    parameters = np.stack([network.W[:, 0], network.b, network.v])
    R = len(records)
    loss, outputs, slopes = np.empty(R), np.empty((R, n)), np.empty((R, n))
    predictions = np.empty((R, len(points)))
    snapshots = np.empty((R if keep_parameters else 0, 3, m))
    gradients = np.zeros((epochs if keep_gradients else 0, n), dtype=np.int8)
    rates = np.asarray(rates, dtype=float)
    divisor = 1 if reduction == "sum" else n  # the mean with step eta is the sum with step eta / n
    zero_epoch, bad_epoch = prefix_sums.descend(
        x[order], y[order], parameters, step / divisor * rates, 1.0 - step * decay * (rates > 0), agop / n * divisor,
        epochs, records, points, loss, outputs, slopes, predictions, snapshots, gradients,
    )  # fmt: skip
    if bad_epoch >= 0:
        raise Diverged(int(bad_epoch))
    unsort = np.argsort(order)
    w, b, v = parameters
    return Run(
        epochs=records,
        loss=loss / divisor,
        outputs=outputs[:, unsort],
        slopes=slopes[:, unsort],
        predictions=None if grid is None else predictions,
        parameters=snapshots if keep_parameters else None,
        gradients=gradients[:, unsort] if keep_gradients else None,
        network=replace(network, W=w[:, None], b=b, v=v),
        zero_epoch=None if zero_epoch < 0 else int(zero_epoch),
    )


def train_many(
    problems: Iterable[tuple[np.ndarray, np.ndarray, TwoLayer]], *, jobs: int = 2, errors: str = "return", **options
) -> list[Run | Diverged]:
    """Train one network per problem (x, y, network) with the options of :func:`train`, `jobs` at a time in threads.

    Args:
        errors: "return" puts the exception of a diverged run in its place of the list, "raise" raises it.

    Cost: threads run in parallel, since the compiled core holds no lock.
    """
    if errors not in ("return", "raise"):
        raise ValueError(f"errors must be 'return' or 'raise', got {errors!r}")
    checks.integers(1, jobs=jobs)

    def attempt(problem: tuple[np.ndarray, np.ndarray, TwoLayer]) -> Run | Diverged:
        try:
            return train(*problem, **options)
        except Diverged as failure:
            if errors == "raise":
                raise
            return failure

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(attempt, problems))


def evaluate(network: TwoLayer, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and f' at ascending points, shape (G,) each; at a kink f' is taken with ReLU'(0) = 0.

    Cost: O(m + G).
    """
    if network.W.shape[1] != 1:
        raise ValueError(f"network must have one input, got {network.W.shape[1]}")
    points = _check_points("points", points)
    parameters = np.stack([network.W[:, 0], network.b, network.v])
    values, slopes = np.empty(len(points)), np.empty(len(points))
    prefix_sums.evaluate(parameters, points, prefix_sums.locator(points), values, slopes)
    return values, slopes


def _check_data(x: np.ndarray, y: np.ndarray, network: TwoLayer) -> tuple[np.ndarray, np.ndarray]:
    checks.numbers(x=x, y=y)
    checks.labels(y=y)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError(f"x must be a non-empty finite vector, got {checks.given(x)}")
    if y.shape != x.shape or not np.isin(y, (-1, 0, 1)).all():
        raise ValueError(
            f"y must have the shape of x, {x.shape}, and values -1, 0, 1; got {checks.given(y, np.isin(y, (-1, 0, 1)))}"
        )
    if network.W.shape[1] != 1:
        raise ValueError(f"network must have one input, got {network.W.shape[1]}")
    return x, y


def _check_points(name: str, points: np.ndarray) -> np.ndarray:
    checks.numbers(**{name: points})
    points = np.ascontiguousarray(points, dtype=np.float64)
    if points.ndim != 1 or not len(points) or not np.isfinite(points).all() or (np.diff(points) < 0).any():
        raise ValueError(
            f"{name} must be a non-empty ascending finite vector, "
            f"got {checks.given(points, np.isfinite(points) & (np.diff(points, prepend=-np.inf) >= 0))}"
        )
    return points


def _check_options(step, epochs, records, rates, agop, decay, reduction) -> np.ndarray:
    checks.numbers(records=records, rates=rates)
    checks.positive(step=step)
    checks.integers(0, epochs=epochs)
    for name, value in (("agop", agop), ("decay", decay)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be finite and not negative, got {value}")
    if len(rates) != 3 or not all(np.isfinite(r) and r >= 0 for r in rates):
        raise ValueError(f"rates must be three non-negative numbers for (v, W, b), got {rates}")
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction must be 'sum' or 'mean', got {reduction!r}")
    given = np.asarray(records)
    whole = np.issubdtype(given.dtype, np.integer)
    if given.ndim == 0:
        if not whole or given < 1:
            raise ValueError(f"records must be a positive interval or a list of epochs, got {records}")
        return every(int(given), epochs)
    if not (whole and given.size) or given[0] < 0 or given[-1] > epochs or (np.diff(given) <= 0).any():
        raise ValueError(f"records must be ascending epochs in 0..{epochs}, got {records}")
    return given.astype(np.int64)
