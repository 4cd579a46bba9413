r"""Exact full-batch gradient descent for two-layer ReLU networks with one input, by sorted prefix sums.

Use it for one input, the hinge loss and many epochs.  With the training inputs sorted, each neuron is active on a
suffix ($w \ge 0$) or a prefix ($w < 0$) of them, so output, slope and gradients are prefix sums: an epoch costs $O(n +
m)$ instead of $O(nm)$, without approximation.  Active sets are those of the rounded predicate $w x_i + b > 0$, the same
as in a dense evaluation, bit for bit.

Objective (Bowman 2025, Sections 1.1 and 2.2), with $S_i = f'(x_i)$:

.. math:: \mathcal L = \sum_i \max(0, 1 - y_i f(x_i)) + \frac{\lambda}{n} \sum_i S_i^2 .
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shallow import checks
from shallow.display import short
from shallow.nets import ALL, TwoLayer
from shallow.train import prefix_sums
from shallow.train.run import Diverged, schedule


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
        if self.gradients is None:
            raise ValueError("gradients were not kept: train with keep_gradients=True")
        checks.array((self.gradients.shape[1], None), vectors=vectors)
        return self.gradients.astype(np.float64) @ vectors


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

    Cost: $O(n + m)$ per epoch, $O(m + G)$ more per record; in threads runs are parallel.

    Example: 50 points of a square wave, 128 neurons, until nothing moves any more.

    >>> from shallow import nets
    >>> from shallow.data import cyclic
    >>> sample = cyclic.sample(50, seed=0)
    >>> run = train(sample.x, sample.y, nets.default(sample.rng, 128), step=0.01, epochs=20_000)
    >>> print(run.loss[[0, -1]].round(1), (run.outputs[-1] * sample.y).min().round(2))
    [49.5  0. ] 1.0
    """
    checks.array(("n",), x=x)
    checks.array((len(x),), y=y)
    checks.labels(y=y)
    checks.positive(step=step)
    checks.integers(0, epochs=epochs)
    checks.array((3,), rates=rates)
    checks.not_negative(rates=rates, agop=agop, decay=decay)
    checks.one_of(("sum", "mean"), reduction=reduction)
    x, y, parameters = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64), _parameters(network)
    records, points = schedule(records, epochs), np.empty(0) if grid is None else _ascending(grid=grid)
    n, m = len(x), network.width
    order = np.argsort(x, kind="stable")
    R = len(records)
    loss, outputs, slopes = np.empty(R), np.empty((R, n)), np.empty((R, n))
    predictions = np.empty((R, len(points)))
    snapshots = np.empty((R if keep_parameters else 0, 3, m))
    gradients = np.zeros((epochs if keep_gradients else 0, n), dtype=np.int8)
    rates = np.asarray(rates, dtype=float)
    divisor = 1 if reduction == "sum" else n  # the mean with step eta is the sum with step eta / n
    zero_epoch, bad_epoch = prefix_sums.descend(
        x[order],
        y[order],
        parameters,
        step / divisor * rates,
        1.0 - step * decay * (rates > 0),
        agop / n * divisor,
        epochs,
        records,
        points,
        loss,
        outputs,
        slopes,
        predictions,
        snapshots,
        gradients,
    )
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


def evaluate(network: TwoLayer, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and f' at ascending points, shape (G,) each; at a kink f' is taken with ReLU'(0) = 0.

    Cost: O(m + G).
    """
    points, parameters = _ascending(points=points), _parameters(network)
    values, slopes = np.empty(len(points)), np.empty(len(points))
    prefix_sums.evaluate(parameters, points, prefix_sums.locator(points), values, slopes)
    return values, slopes


def _parameters(network: TwoLayer) -> np.ndarray:
    """Rows w, b, v."""
    if network.W.shape[1] != 1:
        raise ValueError(f"network must have one input, got {network.W.shape[1]}")
    return np.stack([network.W[:, 0], network.b, network.v])


def _ascending(**arrays: np.ndarray) -> np.ndarray:
    checks.array(("n",), **arrays)
    ((name, points),) = arrays.items()
    points = np.ascontiguousarray(points, dtype=np.float64)
    if (np.diff(points) < 0).any():
        raise ValueError(f"{name} must ascend, got {checks.given(points, np.diff(points, prepend=-np.inf) >= 0)}")
    return points
