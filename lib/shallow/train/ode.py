"""Gradient flow of a small model of any kind: its parameters as the solution of a differential equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from shallow import checks


def integrate(
    velocity: Callable[..., Sequence[np.ndarray]],
    start: Sequence[np.ndarray],
    times: np.ndarray,
    *,
    tolerance: float = 1e-8,
) -> list[np.ndarray]:
    """The trajectory of several arrays at T times, by an explicit Runge-Kutta method of order 8 with error control.

    Args:
        velocity: arrays -> their derivatives in time, in the same order and shapes.
        start: the arrays at time 0, float64.
        times: ascending, not negative, the last one positive, shape (T,).
        tolerance: error of a step relative to each number, or to the largest initial one where that is more; from
            1e-13.

    Returns:
        For every array its values at the times, shape `(T, *shape)`.

    Cost: twelve evaluations of the velocity for each of some hundreds or thousands of steps.
    """
    checks.numbers(start=start)
    checks.array(("T",), times=times)
    checks.within("[1e-13, 1)", tolerance=tolerance)
    if times[0] < 0 or times[-1] <= 0 or (np.diff(times) <= 0).any():
        raise ValueError(f"times must ascend from 0 or later to a positive time, got {times}")
    times, shapes = np.asarray(times, dtype=np.float64), [np.shape(part) for part in start]
    ends = np.cumsum([np.size(part) for part in start])[:-1]

    def split(states: np.ndarray) -> list[np.ndarray]:
        parts = np.split(states, ends, axis=-1)
        return [part.reshape(*states.shape[:-1], *shape) for part, shape in zip(parts, shapes, strict=True)]

    def moved(_: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ravel(part) for part in velocity(*split(state))])

    state = np.concatenate([np.ravel(part) for part in start])
    floor = tolerance * max(np.abs(state).max(), np.finfo(float).tiny)
    solution = solve_ivp(moved, (0, times[-1]), state, method="DOP853", t_eval=times, rtol=tolerance, atol=floor)
    return split(solution.y.T)
