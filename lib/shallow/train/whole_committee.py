r"""Online descent of a committee machine that may learn its output too: read-out and constant, each at its own rate.

.. math:: \hat y(x) = c + \frac1K \sum_{k=1}^K a_k\,\sigma(\langle w_k, x\rangle + b_k), \qquad
          \mathcal L = \tfrac12\,\mathbb E\,(\hat y - Y)^2 .

Use it where weights and biases have different rates, where the activation is logistic, or where c or a is trained;
:mod:`shallow.train.online` does the rest faster.  A generator gives the batches that it gives there, so that runs of
the two are paired; with a = 1, c = 0 and one rate they agree to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import scipy.linalg  # noqa: F401  compiled code calls its BLAS, which must be loaded before it can be limited
from scipy.special import erf, expit

from shallow import checks
from shallow.display import short
from shallow.extras import threadpool_limits
from shallow.train import fresh_samples
from shallow.train.online import Pair
from shallow.train.vector_math import FAST, erf_of, lanes

#: Activations with their slopes, without hurry; compiled code takes their numbers in this order.
ACTIVATIONS = {
    "erf": (lambda z: erf(z / 2**0.5), lambda z: (2 / np.pi) ** 0.5 * np.exp(-(z**2) / 2)),
    "logistic": (expit, lambda z: expit(z) * expit(-z)),
}
_kept = numba.njit(nogil=True, error_model="numpy", fastmath=FAST, cache=True)


@dataclass(frozen=True)
class Machine:
    """One committee machine.

    Attributes:
        W, b: weights (K, N) and biases (K,), float32 or float64.
        a: read-out (K,); neurons with a = 0 do not take part, and stay where they begin if a is not trained.
        c: constant in the output.
        activation: "erf" or "logistic".
    """

    W: np.ndarray
    b: np.ndarray
    a: np.ndarray
    c: float = 0.0
    activation: str = "erf"

    __repr__ = short

    def __post_init__(self) -> None:
        checks.numbers(W=self.W, b=self.b, a=self.a, c=self.c)
        dtype = np.float32 if getattr(self.W, "dtype", None) == np.float32 else np.float64
        for name in ("W", "b", "a"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        checks.shape(("K", "N"), W=self.W)
        checks.shape(self.W.shape[:1], b=self.b, a=self.a)
        if np.shape(self.c) or self.c is None:
            raise ValueError(f"c must be a number, got {self.c!r}")
        checks.one_of(ACTIVATIONS, activation=self.activation)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Outputs (n,) at inputs (n, N), in the number type of W."""
        checks.array(("n", self.W.shape[1]), x=x)
        value = ACTIVATIONS[self.activation][0](np.asarray(x, self.W.dtype) @ self.W.T + self.b)
        return (self.c + value @ (self.a / len(self.a))).astype(self.W.dtype)


class Rates(NamedTuple):
    """Learning rates of weights, biases, read-out and constant; 0 leaves a group as it is."""

    W: float
    b: float
    a: float = 0.0
    c: float = 0.0


def train(
    machine: Machine,
    processes: Pair,
    *,
    rng: np.random.Generator,
    rates: Rates,
    steps: Sequence[int],
    batch: int = 1000,
    labels: tuple[float, float] = (1.0, -1.0),
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> list[Machine]:
    r"""The machine after each of some ascending steps.

    Args:
        machine: where to begin; not changed.
        processes: the classes (first, second).
        rng: asked once, for the seeds of a generator in the compiled loops.
        rates: of the gradient of each group: $w_k \leftarrow w_k - \eta_W\,\partial_{w_k}\mathcal L$ and so on.
        batch: samples of a batch, an even number; half of them of each class.
        labels: of the first and of the second class.
        bounds: lowest and highest value of the biases, which are put back into this interval after every step.

    Raises:
        ValueError: for impossible input, naming the argument.

    Cost: 0.5 ms of one processor for a step with K = N = 40 and 1000 samples, 3 ms with N = 400.
    """
    sizes = [process.shape for process in processes]
    if sizes != [machine.W.shape[1:]] * 2:
        raise ValueError(f"processes must be two rings with {machine.W.shape[1]} pixels, got shapes {sizes}")
    checks.finite(W=machine.W, b=machine.b, a=machine.a, c=machine.c)
    checks.generators(rng=rng)
    checks.array((4,), rates=rates)
    checks.not_negative(rates=rates)
    rates = Rates(*map(float, rates))
    checks.array((2,), labels=labels)
    checks.array(("S",), steps=steps)
    given = np.asarray(steps)
    if given.dtype.kind not in "iu" or given[0] < 0 or (np.diff(given.astype(int)) <= 0).any():
        raise ValueError(f"steps must be ascending integers from 0 on, got {steps}")
    checks.integers(2, batch=batch)
    if batch % 2:
        raise ValueError(f"batch must be even, got {batch}")
    checks.numbers(bounds=bounds)
    checks.shape((2,), bounds=bounds)
    if not bounds[0] <= bounds[1]:
        raise ValueError(f"bounds must be a lower and an upper bound, got {bounds}")
    real, kind = machine.W.dtype.type, list(ACTIVATIONS).index(machine.activation)
    recipes = tuple(fresh_samples.recipe(process, real) for process in processes)
    x, y = np.empty((batch, machine.W.shape[1]), real), np.repeat(np.array(labels, real), batch // 2)
    state, now, found = lanes(rng), machine, []
    with threadpool_limits(1, user_api="blas"):
        for step in range(int(given[-1]) + 1):
            if step in given:
                found.append(now)
            _fill(recipes, state, max(fresh_samples.BLOCK // x.shape[1], 1), x)
            now = _moved(now, kind, x, y, rates, bounds)
    return found


def _moved(now: Machine, kind: int, x: np.ndarray, y: np.ndarray, rates: Rates, bounds) -> Machine:
    """One step down the gradient of a batch."""
    real = now.W.dtype.type
    share = now.a / real(len(now.a))
    value = now.W @ x.T + now.b[:, None]
    slope = np.empty_like(value)
    _neurons(kind, value.ravel(), slope.ravel())
    pull = (real(now.c) + share @ value - y) / real(len(y))
    slope *= pull
    slope *= share[:, None]
    return Machine(
        W=now.W - real(rates.W) * (slope @ x),
        b=np.clip(now.b - real(rates.b) * slope.sum(axis=1), *map(real, bounds)),
        a=now.a - real(rates.a / len(now.a)) * (value @ pull) if rates.a else now.a,
        c=now.c - rates.c * float(pull.sum()),
        activation=now.activation,
    )


@_kept
def _fill(recipes, state, rows, x):
    """Fresh samples of both classes in the halves of x, in the blocks of :func:`.fresh_samples.descend`."""
    size = len(x) // 2
    rows = min(rows, size)
    white, mixed = fresh_samples.room(recipes, rows)
    for c in range(2):
        for start in range(0, size, rows):
            first = c * size + start
            fresh_samples.draw(recipes[c], state, white, mixed, x[first : first + min(rows, size - start)])


@_kept
def _neurons(kind, value, slope):
    """Activation of pre-activations in place, and its slope."""
    one = value.dtype.type(1)
    for i in range(len(value)):
        if kind == 0:
            value[i], slope[i] = erf_of(value[i])
        else:
            value[i] = one / (one + np.exp(-value[i]))
            slope[i] = value[i] * (one - value[i])
