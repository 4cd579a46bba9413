r"""Choosing the weight C of the loss: errors of a kernel machine along a path of C, on folds or a validation split.

Errors come with how every single fit ended, because a path of fits that were stopped early says more about the solver
than about C.

What a machine on features calls their scaling is on the kernel:

==============================  ====================================================================================
all features times a number     K times its square, :func:`unit_trace`; the same as another C
every point scaled to length 1  :func:`cosine`; another kernel
standardised columns            not a function of K: from the features themselves, ``layered.jacobian``; another kernel
==============================  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from shallow import checks
from shallow.kernels.machines import Machine
from shallow.representation import short

Split = tuple[np.ndarray, np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray, float], Machine]


def misclassified(values: np.ndarray, y: np.ndarray) -> float:
    """Share of the labels -1 and 1 whose sign is not that of f; zero has the sign of -1, as in scikit-learn."""
    checks.numbers(values=values, y=y)
    values, y = _compared(np.asarray(values, dtype=float), np.asarray(y, dtype=float))
    checks.finite(values=values, y=y)
    return float(np.mean((values > 0) != (y > 0)))


def mean_square(values: np.ndarray, y: np.ndarray) -> float:
    """Mean of (f - y)^2."""
    values, y = _compared(values, y)
    return float(np.mean((values - y) ** 2))


def _compared(values: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    checks.numbers(values=values, y=y)
    values, y = np.asarray(values), np.asarray(y)
    if values.ndim != 1 or not values.size or values.shape != y.shape:
        raise ValueError(f"values and y must be vectors of one length, got shapes {values.shape} and {y.shape}")
    return values, y


def folds(rng: np.random.Generator, n: int, count: int) -> list[Split]:
    """`count` pairs of indices (fitted, held out) of n points in random order, each held out once."""
    checks.integers(1, n=n, count=count)
    if not 2 <= count <= n:
        raise ValueError(f"count must lie between 2 and the number of points {n}, got {count}")
    parts = np.array_split(rng.permutation(n), count)
    return [(np.concatenate([*parts[:k], *parts[k + 1 :]]), parts[k]) for k in range(count)]


@dataclass(frozen=True)
class Path:
    """Machines along a path, all arrays of shape (penalties, splits).

    Attributes:
        penalties: values of C, shape (penalties,).
        errors: on the points held out.
        fitted: on the points of the fit.
        iterations, stopped, gaps: of :class:`shallow.kernels.machines.Convergence`.
    """

    penalties: np.ndarray
    errors: np.ndarray
    fitted: np.ndarray
    iterations: np.ndarray
    stopped: np.ndarray
    gaps: np.ndarray

    __repr__ = short

    @property
    def best(self) -> float:
        """C with the smallest mean error, the first of several."""
        return float(self.penalties[np.argmin(self.errors.mean(axis=1))])


def path(
    kernel: np.ndarray,
    y: np.ndarray,
    penalties: Sequence[float],
    splits: Sequence[Split],
    *,
    fit: Fit,
    error: Callable[[np.ndarray, np.ndarray], float],
) -> Path:
    """Fit on the first part of every split for every C, and take the errors on the second.

    Args:
        kernel: K of all n points, shape (n, n).
        y: labels or values, shape (n,).
        penalties: values of C.
        splits: pairs of indices (fitted, held out), from :func:`folds` or one of a validation set.
        fit: (K, y, C) -> machine, from :mod:`shallow.kernels.machines`, with its other options bound.
        error: :func:`misclassified` or :func:`mean_square`.
    """
    checks.numbers(kernel=kernel, y=y, penalties=penalties, splits=splits)
    y = np.asarray(y)
    if np.shape(kernel) != (len(y), len(y)):
        raise ValueError(f"kernel must have shape {(len(y), len(y))} like y, got {np.shape(kernel)}")
    if not len(penalties) or not len(splits):
        raise ValueError(f"penalties and splits must not be empty, got {len(penalties)} and {len(splits)}")
    if not (np.isfinite(penalties).all() and np.min(penalties) > 0):
        raise ValueError(f"penalties must be positive and finite, got {penalties}")
    rows = []
    for inside, outside in splits:
        within, across = kernel[np.ix_(inside, inside)], kernel[np.ix_(outside, inside)]
        machines = [fit(within, y[inside], C) for C in penalties]
        ended = [machine.convergence for machine in machines]
        rows.append((
            [error(machine.values(across), y[outside]) for machine in machines],
            [error(machine.values(within), y[inside]) for machine in machines],
            *([getattr(one, name) for one in ended] for name in ("iterations", "stopped", "gap")),
        ))  # fmt: skip
    return Path(np.asarray(penalties, dtype=float), *(np.array(part).T for part in zip(*rows, strict=True)))


def rbf_paths(
    x: np.ndarray,
    y: np.ndarray,
    penalties: Sequence[float],
    gammas: Sequence[float | str],
    splits: Sequence[Split],
    *,
    fit: Fit,
    error: Callable[[np.ndarray, np.ndarray], float],
) -> dict[float | str, Path]:
    r"""A path for every gamma of the kernel $e^{-\gamma |x - z|^2}$; x of shape (n, d), else :func:`path`'s arguments.

    A gamma may be "scale" or "auto" as in scikit-learn, by the variance of all points given.
    """
    checks.numbers(x=x, gammas=[gamma for gamma in gammas if not isinstance(gamma, str)])
    return {g: path(rbf_kernel(x, gamma=gamma_value(x, g)), y, penalties, splits, fit=fit, error=error) for g in gammas}


def gamma_value(x: np.ndarray, gamma: float | str) -> float:
    """The number behind gamma: "auto" is 1/d, "scale" is 1/(d times the variance of all entries of x)."""
    checks.numbers(x=x)
    x = np.asarray(x)
    if x.ndim != 2 or not x.size or x.dtype.kind not in "biuf" or not np.isfinite(x).all():
        raise ValueError(f"x must be a finite matrix that is not empty, got {checks.given(x)}")
    if gamma in ("auto", "scale"):
        return 1 / (x.shape[1] * (x.var() if gamma == "scale" else 1.0))
    if isinstance(gamma, str) or not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(f"gamma must be positive and finite, 'auto' or 'scale', got {gamma!r}")
    return float(gamma)


def best(paths: Mapping[float | str, Path]) -> tuple[float | str, float]:
    """Gamma and C with the smallest mean error of all paths, the first of several."""
    gamma = min(paths, key=lambda g: paths[g].errors.mean(axis=1).min())
    return gamma, paths[gamma].best


def unit_trace(kernel: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """K divided by the mean of the diagonal K(x, x) of the points of the fit, shape (n,)."""
    checks.numbers(kernel=kernel)
    return kernel / _diagonal("diagonal", diagonal).mean()


def cosine(kernel: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    r"""$K(x, z) / \sqrt{K(x, x) K(z, z)}$ with the diagonals of both sets of points, shapes (n,) and (n',)."""
    checks.numbers(kernel=kernel)
    roots = np.sqrt(_diagonal("left", left))[:, None] * np.sqrt(_diagonal("right", right))
    if kernel.shape != roots.shape:
        raise ValueError(f"kernel must have shape {roots.shape} like left and right, got {kernel.shape}")
    return kernel / roots


def _diagonal(name: str, values: np.ndarray) -> np.ndarray:
    checks.numbers(**{name: values})
    if np.ndim(values) != 1 or not np.isfinite(values).all() or not (np.asarray(values) > 0).all():
        raise ValueError(
            f"{name} must be a vector of positive finite numbers, "
            f"got {checks.given(values, np.isfinite(values) & (np.asarray(values) > 0))}"
        )
    return np.asarray(values, dtype=float)
