r"""Numbers beside the proofs on weight decay: alternation under AdaDelta, and gradient flow.

With the decay as its only gradient AdaDelta moves each weight w by itself.  In $\hat G = G/(\lambda w)^2$, $\hat S =
\eta^2 S/(2w)^2$ and $\hat\epsilon = \epsilon/w^2$ it is a map of three variables.  The simulation with weights is
:func:`experiments.hidden_structure.degrees.weight_decay.alone`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.degrees import weight_decay
from shallow.stats import stream


class State(NamedTuple):
    r"""$\hat G$, $\hat S$, $\hat\epsilon$ before a step."""

    squares: float
    moves: float
    floor: float


def moved(state: State, decay: float = 10.0, rate: float = 1.0, keep: float = weight_decay.KEEP) -> State:
    r"""One step; without floor neither $\lambda$ nor $\eta$ occurs, and (1, 1) is fixed."""
    seen = keep * state.squares + 1 - keep
    half = ((state.moves + rate**2 * state.floor / 4) / (seen + state.floor / decay**2)) ** 0.5
    shrunk = (1 - 2 * half) ** 2  # w becomes (1 - 2 half) w
    return State(seen / shrunk, (keep * state.moves + (1 - keep) * half**2) / shrunk, state.floor / shrunk)


def multipliers(keep: float = weight_decay.KEEP, step: float = 1e-6) -> np.ndarray:
    """Eigenvalues of the derivative of :func:`moved` at (1, 1) without floor, by central differences, ascending."""

    def column(squares: float, moves: float) -> np.ndarray:
        ahead, behind = (moved(State(1 + sign * squares, 1 + sign * moves, 0.0), keep=keep) for sign in (1, -1))
        return (np.array(ahead) - behind)[:2] / (2 * step)

    return np.sort(np.linalg.eigvals(np.stack([column(step, 0), column(0, step)], axis=1)).real)


def increment(decay: float, rate: float = 1.0) -> float:
    r"""The law: $w^2/\epsilon$ gains $\frac14 (\eta^2 - 4/\lambda^2)$ a step; negative where weights shrink."""
    return (rate**2 - 4 / decay**2) / 4


class Alone(NamedTuple):
    """Weights under AdaDelta with decay alone, from an ordinary start."""

    flips: float  # share that changed its sign in the last step
    size: float  # root mean square
    growth: float  # gain of w^2 a step over the last quarter, over the law


def alone(decay: float, rate: float = 1.0, *, weights: int = 1000, steps: int = 4000) -> Alone:
    """Weights uniform on [-0.1, 0.1] with running means 0.  Cost: 0.3 s."""
    start = stream("hs", "decay alone").uniform(-0.1, 0.1, weights)
    (early, _), (late, flips) = (weight_decay.alone(start, count, decay, rate) for count in (3 * steps // 4, steps))
    gain = np.mean(late**2 - early**2) / (steps - 3 * steps // 4) / weight_decay.FLOOR
    return Alone(flips, float(np.sqrt(np.mean(late**2))), float(gain / increment(decay, rate)))


class Flow(NamedTuple):
    """Gradient descent in small steps with decay."""

    over_bound: float  # largest size of a unit over its bound, over units and steps
    left: float  # sum of the squares of the units at the end, over that at the start


def flow(decay: float, *, width: int = 16, step: float = 0.02, steps: int = 150, points: int = 400) -> Flow:
    r"""Absolute loss on degree 12, correlated inputs; $|w_j|^2 + b_j^2 + a_j^2$ against $e^{-2 (\lambda - \mu) t}$."""
    task = polynomials.problem("correlated", 12, 0)
    X, y = np.column_stack([task.x, np.ones(len(task.x))])[:points], task.y[:points]
    mu = np.linalg.eigvalsh(X.T @ X / len(X))[-1] ** 0.5
    rng = stream("hs decay flow")
    Z, a, c = rng.uniform(-0.1, 0.1, (width, X.shape[1])), rng.uniform(-0.1, 0.1, width), 0.0
    first, worst = np.sum(Z**2, axis=1) + a**2, 0.0
    for t in range(1, steps + 1):
        h = X @ Z.T
        slope = np.sign(np.maximum(h, 0) @ a + c - y) / len(y)
        pulls = a[:, None] * ((slope[:, None] * (h > 0)).T @ X), np.maximum(h, 0).T @ slope, slope.sum()
        Z, a, c = (now - step * (pull + decay * now) for now, pull in zip((Z, a, c), pulls, strict=True))
        size = np.sum(Z**2, axis=1) + a**2
        worst = max(worst, (size / (first * np.exp(-2 * (decay - mu) * step * t))).max())
    return Flow(float(worst), float(size.sum() / first.sum()))


def largest_moment(case: str) -> float:
    r"""$\mu$: root of the largest eigenvalue of the second moments of (x, 1), on the inputs of run 0."""
    x = polynomials.problem(case, 3, 0).x
    X = np.column_stack([x, np.ones(len(x))])
    return float(np.linalg.eigvalsh(X.T @ X / len(X))[-1] ** 0.5)
