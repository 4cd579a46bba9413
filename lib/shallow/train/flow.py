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
        self.t = self.plain = 0
        self.changes: dict[int, int] = {}
        self.keys = stream("signatures of patterns").integers(2**64, size=len(x), dtype=np.uint64)
        self.groups, self.formed, self.patience = None, 0, PATIENCE
        self.loss, self.patterns = self._look()

    def _look(self) -> tuple[float, np.ndarray]:
        loss, _, patterns = second_moments.gradients(self.x, self.y, self.Z, self.keys)
        if not np.isfinite(loss):
            raise Diverged(self.t)
        return loss, patterns

    def proceed(self, until: int) -> None:
        """Go on to step `until`: one neuron at a time until patterns are calm, then by groups until one changes."""
        while self.t < until:
            taken = self.groups.descend(until - self.t) if self.groups else 0
            if taken:
                self.Z = self.groups.states()
                self.t += taken
            else:
                self.groups = None
                self._walk(until - self.t)
            before = self.patterns
            self.loss, self.patterns = self._look()
            changed = np.count_nonzero(self.patterns != before)
            if changed:
                self.changes[self.t] = changed
                if self.groups:  # did they last?
                    lasted = self.t - self.formed
                    self.patience = PATIENCE if lasted > self.patience else min(2 * self.patience, LONGEST_PATIENCE)
                    self.groups = None
            elif self.groups is None and self.t < until:
                self.groups, self.formed = _Groups.of(self.x, self.y, self.Z, self.patterns, self.step), self.t

    def _walk(self, most: int) -> None:
        changed = np.zeros(most, dtype=np.int64)
        taken = second_moments.walk(
            self.x, self.y, self.Z, self.patterns, self.keys, self.step, most, self.patience, changed
        )
        self.changes |= {self.t + i: changed[i] for i in np.flatnonzero(changed)}
        self.t, self.plain = self.t + taken, self.plain + taken


class _Groups:
    """Neurons gathered by pattern, and the accumulated step matrix of every group."""

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, Z: np.ndarray, patterns: np.ndarray, step: float) -> _Groups | None:
        """The groups at the states Z; None where there are so many that a step would cost more than without them."""
        _, first, labels = np.unique(patterns, return_index=True, return_inverse=True)
        (n, d), m = x.shape, len(Z)
        return cls(x, y, Z, first, labels, step) if len(first) ** 2 * d <= n * m else None

    def __init__(self, x: np.ndarray, y: np.ndarray, Z: np.ndarray, first: np.ndarray, labels: np.ndarray, step: float):
        n, d = x.shape
        K, m = len(first), len(Z)
        active = x @ Z[first, :d].T > 0
        features = np.where(active[:, :, None], x[:, None], 0.0).reshape(n, K * d)
        self.order = np.argsort(labels, kind="stable")
        Z = Z[self.order]
        starts = np.searchsorted(labels[self.order], np.arange(K + 1))
        self.given = (
            x,
            np.linalg.norm(x, axis=1),
            np.ascontiguousarray(active.T),
            (features.T @ features / n).reshape(K, d, K, d),
            (y @ features / n).reshape(K, d),
            np.stack([part.T @ part for part in np.split(Z, starts[1:-1])]),
            Z,
            starts,
        )
        self.P = np.tile(np.eye(d + 1), (K, 1, 1))
        margins = np.zeros((m, d)), np.zeros(m), np.zeros(K), np.full(K, -1.0)  # nothing is allowed unseen
        self.moving = self.P, *margins, step

    def descend(self, steps: int) -> int:
        """Take up to `steps` steps; returns their number, which is smaller when a pattern has changed."""
        return second_moments.descend(*self.given, *self.moving, steps)

    def states(self) -> np.ndarray:
        """States of all neurons, in their own order, shape (m, d + 1)."""
        *_, Z, starts = self.given
        moved = np.empty_like(Z)
        moved[self.order] = second_moments.states(Z, self.P, starts)
        return moved
