"""What all trainers share: the steps at which they look at a network, what they return, and how they fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallow import checks
from shallow.display import short


class Diverged(ArithmeticError):
    """Training produced a loss or a parameter that is not finite; `epoch` says at which epoch, or step."""

    def __init__(self, epoch: int):
        super().__init__(f"training diverged: the loss is not finite at epoch {epoch}")
        self.epoch = epoch


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        steps: the recorded steps, shape (R,); step 0 is the initialisation.
        values: what was measured there, a list of length R; the networks themselves unless a measure was given.
        network: the trained network.
        loss: as the trainer says, None where it does not compute the loss.
    """

    steps: np.ndarray
    values: list[Any]
    network: Any
    loss: np.ndarray | None = None

    __repr__ = short


def every(interval: int, last: int) -> np.ndarray:
    """Steps 0, interval, 2 interval, ... up to and including `last`."""
    checks.integers(1, interval=interval)
    checks.integers(0, last=last)
    return np.unique(np.append(np.arange(0, last + 1, interval), last))


def log_spaced(last: int, per_decade: int = 5) -> np.ndarray:
    """Steps 0, 1, ..., `last` in equal ratios as far as whole numbers allow, `per_decade` of them to a factor 10."""
    checks.integers(0, last=last)
    checks.integers(1, per_decade=per_decade)
    if last == 0:
        return np.zeros(1, np.int64)
    count = int(np.ceil(np.log10(last) * per_decade)) + 1
    return np.unique(np.append(0, np.round(np.geomspace(1, last, count)).astype(np.int64)))


def schedule(records: Sequence[int] | np.ndarray | int | None, last: int) -> np.ndarray:
    """The recorded ones of the steps 0..last: those given, ascending, or every so many, or the first and the last."""
    checks.numbers(records=records)
    checks.integers(0, last=last)
    if records is None:
        return np.unique([0, last])
    given = np.asarray(records)
    whole = given.size and np.issubdtype(given.dtype, np.integer)
    if whole and given.ndim == 0 and given > 0:
        return every(int(given), last)
    if not whole or given.ndim != 1 or given[0] < 0 or given[-1] > last or (np.diff(given) <= 0).any():
        raise ValueError(f"records must be an interval or ascending steps in 0..{last}, got {records}")
    return given.astype(np.int64)


def for_each(count: int, **values: float | np.ndarray) -> np.ndarray:
    """One number for each of `count` networks, float64, from one for all of them or as many."""
    checks.finite(**values)
    ((name, given),) = values.items()
    if np.shape(given) not in ((), (count,)):
        raise ValueError(f"{name} must be one number or {count}, got {checks.given(given)}")
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (count,))


def check_generators(rngs: Sequence[np.random.Generator], count: int) -> None:
    """ValueError unless every one of `count` networks has a generator of its own."""
    checks.generators(rngs=rngs)
    if len(rngs) != count or len({id(rng) for rng in rngs}) < count:
        raise ValueError(f"rngs must hold {count} generators of their own, one per network, got {len(rngs)}")
