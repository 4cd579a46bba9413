"""Choosing the weight C of the loss: errors of a kernel machine along a path of C, on folds or a validation split.

Errors come with how every single fit ended: a path of fits that were stopped early says more about the solver than C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from shallow import checks
from shallow.display import short
from shallow.kernels.machines import Machine

Split = tuple[np.ndarray, np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray, float], Machine]


def misclassified(values: np.ndarray, y: np.ndarray) -> float:
    """Share of the labels -1 and 1 whose sign is not that of f; zero has the sign of -1, as in scikit-learn."""
    checks.array(("n",), values=values, y=y)
    return float(np.mean((np.asarray(values) > 0) != (np.asarray(y) > 0)))


def mean_square(values: np.ndarray, y: np.ndarray) -> float:
    """Mean of (f - y)^2."""
    checks.shape(("n",), values=values, y=y)
    return float(np.mean((np.asarray(values) - np.asarray(y)) ** 2))


def folds(rng: np.random.Generator, n: int, count: int) -> list[Split]:
    """`count` pairs of indices (fitted, held out) of n points in random order, each held out once."""
    checks.integers(2, n=n)
    checks.integers(2, n, count=count)
    order = rng.permutation(n)
    return [(order[inside], order[outside]) for inside, outside in KFold(count).split(order)]


@dataclass(frozen=True)
class Path:
    """Machines by (penalties, splits): errors on points held out and on those of the fit, and how the fits ended."""

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
        splits: pairs of indices (fitted, held out), from :func:`folds` or one of a validation set.
        fit: (K, y, C) -> machine, from :mod:`shallow.kernels.machines`, with its other options bound.
    """
    checks.shape(("n", "n"), kernel=kernel)
    checks.shape((len(kernel),), y=y)
    checks.array(("C",), penalties=penalties)
    checks.positive(penalties=penalties)
    checks.numbers(splits=splits)
    if not len(splits):
        raise ValueError("splits must not be empty")
    y = np.asarray(y)
    rows = []
    for inside, outside in splits:
        within, across = kernel[np.ix_(inside, inside)], kernel[np.ix_(outside, inside)]
        machines = [fit(within, y[inside], C) for C in penalties]
        ended = [machine.convergence for machine in machines]
        rows.append(
            (
                [error(machine.values(across), y[outside]) for machine in machines],
                [error(machine.values(within), y[inside]) for machine in machines],
                *([getattr(one, name) for one in ended] for name in ("iterations", "stopped", "gap")),
            )
        )
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
    checks.array(("n", "d"), x=x)
    if gamma in ("auto", "scale"):
        return 1 / (np.shape(x)[1] * (np.var(x) if gamma == "scale" else 1.0))
    checks.positive(gamma=gamma)
    return float(gamma)


def best(paths: Mapping[float | str, Path]) -> tuple[float | str, float]:
    """Gamma and C with the smallest mean error of all paths, the first of several."""
    gamma = min(paths, key=lambda g: paths[g].errors.mean(axis=1).min())
    return gamma, paths[gamma].best


def cosine(kernel: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    r"""$K(x, z) / \sqrt{K(x, x) K(z, z)}$ with the diagonals of both sets of points, shapes (n,) and (n',)."""
    checks.shape(("n", "m"), kernel=kernel)
    checks.array((len(kernel),), left=left)
    checks.array((np.shape(kernel)[1],), right=right)
    checks.positive(left=left, right=right)
    return kernel / (np.sqrt(left)[:, None] * np.sqrt(right))
