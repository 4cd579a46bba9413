r"""Exact full-batch gradient descent on the square loss for ReLU networks without biases, by groups of neurons.

Use it for small steps, as those of gradient flow, and any number of points and neurons.  Objective, with $f(x) = \sum_j
a_j \max(0, \langle w_j, x \rangle)$:

.. math:: L(\theta) = \frac{1}{2n} \sum_{k=1}^n (f(x_k) - y_k)^2 .

Neurons that are active on the same inputs share one step matrix, so a step costs $O(K^2 d^2)$ for K different patterns
whatever n and m are, as long as no pattern changes; :mod:`shallow.train.second_moments` says how, and how it is certain
that none does.  Where patterns keep changing, steps are taken one neuron at a time, $O(n m d)$.  Small steps follow the
flow $\dot\theta = -\nabla L(\theta)$; t steps of size $\eta$ are $\eta t$ units of its time.
Source: Boursier and Flammarion, "Simplicity bias and optimization threshold in two-layer ReLU networks", eq. (1), (4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shallow import checks
from shallow.display import short
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import second_moments
from shallow.train.run import Diverged, schedule

#: Unchanged patterns in so many successive steps make it worth to form groups; more after groups that did not last.
PATIENCE, LONGEST_PATIENCE = 2, 256


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        steps: recorded steps, shape (R,); step 0 is the initialisation.
        loss: L at the records, shape (R,).
        W: input weights at the records, shape (R, m, d).
        v: output weights at the records, shape (R, m).
        changes: steps after which some neuron was active on other training inputs than before, shape (C,).
        changed: how many neurons were, shape (C,).
        plain: how many steps were taken one neuron at a time.
        network: the trained network.
    """

    steps: np.ndarray
    loss: np.ndarray
    W: np.ndarray
    v: np.ndarray
    changes: np.ndarray
    changed: np.ndarray
    plain: int
    network: TwoLayer

    __repr__ = short


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    step: float,
    steps: int,
    records: np.ndarray | int | None = None,
) -> Run:
    r"""Train all weights by full-batch gradient descent with fixed step, exactly.

    Args:
        x, y: inputs (n, d) and labels (n,).
        network: initial network with d inputs and no biases; not changed.
        step: $\eta$.
        steps: their number.
        records: steps to record, or an interval between records; by default the first and the last.

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when the loss is not finite; noticed at the next record or change of a pattern.

    Cost: $O(n m d)$ per record and per step in which patterns change, else $O(K^2 d^2)$ per step.

    Example: a linear teacher with noise, from weights near zero.  The loss stands still, then falls in two stages.

    >>> from shallow import nets
    >>> from shallow.data import teachers
    >>> rng = np.random.default_rng(0)
    >>> sample = teachers.gaussian(rng, teachers.first_axis(5), 200)
    >>> run = train(sample.x, sample.y, nets.dominated(rng, 50, 5, 1e-3), step=0.05, steps=2000, records=500)
    >>> print(run.steps, run.loss.round(2))
    [   0  500 1000 1500 2000] [0.47 0.05 0.04 0.04 0.04]
    """
    checks.array(("n", network.W.shape[1]), x=x)
    checks.array((len(x),), y=y)
    if network.b.any():
        raise ValueError(f"network must have no biases, got {np.count_nonzero(network.b)} that are not 0")
    checks.positive(step=step)
    checks.integers(0, steps=steps)
    x, y = (np.ascontiguousarray(part, dtype=np.float64) for part in (x, y))
    records = schedule(records, steps)
    Z = np.column_stack([network.W, network.v])
    kept, losses = np.empty((len(records), *Z.shape)), np.empty(len(records))
    descent = _Descent(x, y, Z, step)
    for r, t in enumerate(records):
        descent.proceed(t)
        kept[r], losses[r] = descent.Z, descent.loss
    descent.proceed(steps)
    d = x.shape[1]
    return Run(
        steps=records,
        loss=losses,
        W=kept[:, :, :d],
        v=kept[:, :, d],
        changes=np.array(list(descent.changes), dtype=np.int64),
        changed=np.array(list(descent.changes.values()), dtype=np.int64),
        plain=descent.plain,
        network=replace(network, W=descent.Z[:, :d], v=descent.Z[:, d]),
    )


class _Descent:
    """Where a run is: states Z after t steps, their loss and patterns, and the changes of patterns so far."""

    def __init__(self, x: np.ndarray, y: np.ndarray, Z: np.ndarray, step: float):
        self.x, self.y, self.Z, self.step = x, y, Z, step
        keys = stream("signatures of patterns").integers(2**64, size=len(x), dtype=np.uint64)
        self.packed = second_moments.packed(x, y, keys)
        self.groups, self.formed, self.patience = None, 0, PATIENCE
        self.t, self.plain, self.patterns = 0, 0, np.zeros(len(Z), dtype=np.uint64)
        self.changes: dict[int, int] = {}
        self._walk(0)
        self.changes.clear()

    def proceed(self, until: int) -> None:
        """Go on to step `until`: one neuron at a time until patterns are calm, then by groups until one changes."""
        while self.t < until:
            if self.groups:
                taken = self.groups.descend(until - self.t)
                if taken:
                    self.Z = self.groups.states()
                    self.t += taken
                    if self.t == until and not self._walk(0):
                        return
                    lasted = self.t - self.formed
                    self.patience = PATIENCE if lasted > self.patience else min(2 * self.patience, LONGEST_PATIENCE)
                self.groups = None
            self._walk(until - self.t)
            if self.t < until:
                self.groups = _Groups.of(self.x, self.y, self.packed[0], self.Z, self.patterns, self.step)
                self.formed = self.t

    def _walk(self, most: int) -> int:
        """Up to so many steps one by one, the loss and the patterns there; returns how many had changed before."""
        changed = np.zeros(most + 1, dtype=np.int64)
        taken, self.loss = second_moments.walk(
            *self.packed, len(self.x), self.Z, self.patterns, self.step, most, self.patience, changed
        )
        some = np.flatnonzero(changed[: taken + 1])
        self.changes |= dict(zip((self.t + some).tolist(), changed[some].tolist(), strict=True))
        self.t, self.plain = self.t + taken, self.plain + taken
        if not np.isfinite(self.loss):
            raise Diverged(self.t)
        return changed[0]


class _Groups:
    """Neurons gathered by pattern, and the accumulated step matrix of every group."""

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, X: np.ndarray, Z: np.ndarray, patterns: np.ndarray, step: float):
        """The groups at the states Z; None where there are so many that a step would cost more than without them."""
        gathered = second_moments.gathered(patterns)
        (n, d), m, K = x.shape, len(Z), len(gathered[1]) - 1
        return cls(x, y, X, Z, *gathered, step) if K**2 * d <= n * m else None

    def __init__(self, x, y, X, Z, order, starts, columns, begins, step):
        (n, d), K = x.shape, len(starts) - 1
        features, sides = second_moments.features(x, x @ Z[order[starts[:-1]], :d].T > 0)
        S, h = features.T @ features / n, y @ features / n
        ordered = Z[order]
        M = np.stack([ordered[i:j].T @ ordered[i:j] for i, j in zip(starts, starts[1:])])
        self.columns, self.shape = columns, Z.shape
        self.given = X, sides, np.ascontiguousarray(S.T), h, M, np.ascontiguousarray(Z[columns].T), begins
        self.P = np.zeros((K, d + 1, d + 1)) + np.eye(d + 1)
        allowed = np.full(K, -1.0)  # nothing unseen
        self.moving = self.P, np.zeros((d, len(columns))), np.zeros(len(columns)), np.zeros(K), allowed, step

    def descend(self, steps: int) -> int:
        """Take up to `steps` steps; returns their number, which is smaller when a pattern has changed."""
        return second_moments.descend(*self.given, *self.moving, steps)

    def states(self) -> np.ndarray:
        """States of all neurons, in their own order, shape (m, d + 1)."""
        *_, Z, begins = self.given
        moved = np.empty(self.shape)
        moved[self.columns] = second_moments.states(Z, self.P, begins).T
        return moved
