r"""The training of one network of an ensemble: epochs, layers that are frozen or redrawn, early stopping, records.

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Appendix A, and its public code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shallow import checks
from shallow.mlp import Stack, uniform
from shallow.representation import short
from shallow.train import backpropagation


class Mode(NamedTuple):
    """A schedule: layers frozen in the warm-up and after it, and whether the output layer is redrawn in between.

    Layer 0 is the first one, layer -1 the output.
    """

    warming: tuple[int, ...] = ()
    afterwards: tuple[int, ...] = (0,)
    redraw: bool = False


MODES = {
    "regular": Mode(afterwards=()),
    "stop-first": Mode(),
    "first-last": Mode(warming=(-1,)),
    "reinit": Mode(redraw=True),
}


class Run(NamedTuple):
    """What came of one network; parameters (P,), and losses of shape (2, total), in training and in validation."""

    last: np.ndarray
    best: np.ndarray
    epochs: int
    best_epoch: int
    losses: np.ndarray
    diverged: bool
    values: list[Any]

    __repr__ = short


@dataclass(frozen=True)
class Task:
    """The checked arguments of :func:`train`, and the training of one network."""

    networks: Stack
    data: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray] | None
    rngs: Sequence[np.random.Generator]
    loss: int
    optimiser: int
    rates: np.ndarray
    decays: np.ndarray
    mode: Mode
    warmup: int
    epochs: int
    batch: int
    patience: int | None
    min_delta: float
    records: np.ndarray
    measure: Callable[[Stack], Any] | None

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs)
        check_integer("warmup", self.warmup, least=0)
        check_integer("batch", self.batch, most=self.data[0].shape[-2])
        if self.patience is not None:
            check_integer("patience", self.patience)
            if self.validation is None:
                raise ValueError("validation must be given where patience is, got None")
        if not (np.isfinite(self.min_delta) and self.min_delta >= 0):
            raise ValueError(f"min_delta must be finite and not negative, got {self.min_delta}")
        if len(self.rngs) != len(self.networks):
            raise ValueError(f"rngs must hold {len(self.networks)} generators, one per network, got {len(self.rngs)}")
        if len({id(rng) for rng in self.rngs}) < len(self.rngs):
            raise ValueError("rngs must be generators of their own, got one of them twice")
        if not np.isfinite(self.networks.parameters).all():
            raise ValueError(f"networks must have finite parameters, got {checks.given(self.networks.parameters)}")
        records, last = self.records, self.warmup + self.epochs
        whole = records.ndim == 1 and np.issubdtype(records.dtype, np.integer)
        if not whole or (records < 0).any() or (records > last).any() or (np.diff(records) <= 0).any():
            raise ValueError(f"records must be ascending epochs in 0..{last}, got {records}")

    def run(self, r: int) -> Run:
        """Train network r until it has no patience left, diverges or has seen all epochs."""
        state = _State(self.networks, r)
        (x, y), rng = _of(self.data, r), self.rngs[r]
        losses, values = np.full((2, self.warmup + self.epochs), np.nan), []
        best, best_epoch, best_loss, diverged = state.theta.copy(), 0, np.inf, False
        self._record(0, state, values)
        for t in range(1, losses.shape[1] + 1):
            if t == self.warmup + 1 and self.mode.redraw:
                state.redraw_output(rng)
            frozen = self.mode.warming if t <= self.warmup else self.mode.afterwards
            steps = (rng.permutation(len(x)), self.batch, self.loss, self.optimiser, self.rates[r], self.decays[r])
            losses[0, t - 1] = state.epoch(frozen, x, y, *steps)
            if self.validation is not None:
                losses[1, t - 1] = state.mean_loss(*_of(self.validation, r), self.loss)
            self._record(t, state, values)
            seen = losses[: 1 if self.validation is None else 2, t - 1]
            diverged = not (np.isfinite(seen).all() and np.isfinite(state.theta).all())
            if diverged:
                break
            if t > self.warmup:
                if self.validation is None or best_loss - losses[1, t - 1] >= self.min_delta:
                    best, best_epoch, best_loss = state.theta.copy(), t, losses[1, t - 1]
                elif self.patience is not None and t - best_epoch >= self.patience:
                    break
        return Run(state.theta, best, t, best_epoch, losses, diverged, values)

    def _record(self, t: int, state: _State, values: list[Any]) -> None:
        if t in self.records:
            now = Stack(state.theta[None].copy(), self.networks.widths)
            values.append(now if self.measure is None else self.measure(now))


class _State:
    """A network in training, and what its optimiser remembers."""

    def __init__(self, networks: Stack, r: int) -> None:
        self.theta, self.widths = networks.parameters[r].copy(), np.array(networks.widths)
        self.moments = np.zeros((2, len(self.theta)), self.theta.dtype)
        self.ages = np.zeros(len(self.widths) - 1, np.int64)

    def epoch(self, frozen: tuple[int, ...], x: np.ndarray, y: np.ndarray, *steps: Any) -> float:
        trained = np.ones(len(self.ages), np.bool_)
        trained[list(frozen)] = False
        return backpropagation.epoch(self.theta, self.moments, self.ages, trained, self.widths, x, y, *steps)

    def mean_loss(self, x: np.ndarray, y: np.ndarray, loss: int) -> float:
        return backpropagation.mean_loss(self.theta, self.widths, x, y, loss)

    def redraw_output(self, rng: np.random.Generator) -> None:
        width = int(self.widths[-2])
        for part in (self.theta[-1 - width : -1], self.theta[-1:]):
            part[:] = uniform(rng, len(part), width**-0.5)


def _of(data: tuple[np.ndarray, np.ndarray], r: int) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and labels of network r."""
    x, y = data
    return x if x.ndim == 2 else x[r], y if y.ndim == 1 else y[r]


def check_integer(name: str, value: int, least: int = 1, most: int | None = None) -> None:
    if not isinstance(value, int | np.integer) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" and at most {most}"
        raise ValueError(f"{name} must be an integer of at least {least}{upto}, got {value!r}")
