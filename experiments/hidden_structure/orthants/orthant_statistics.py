r"""Statistics of runs that the rules on orthants ask for: means of five, falls of a profile, two factors."""

from __future__ import annotations

import numpy as np
from scipy import stats

from shallow.stats import RESAMPLES, Interval, percentiles, stream

#: The document prints means of five runs.
PRINTED_RUNS = 5


def reach(runs: np.ndarray, floor: float = 0.02) -> float:
    r"""How far a printed mean of five may lie from the mean of R runs: $t s \sqrt{1/5 + 1/R}$, and at least `floor`.

    s is the standard deviation over our runs, t the 0.975 quantile of Student's law with R - 1 degrees of freedom.
    """
    half = stats.t.ppf(0.975, len(runs) - 1) * np.std(runs, ddof=1) * (1 / PRINTED_RUNS + 1 / len(runs)) ** 0.5
    return float(max(floor, half))


def agrees(runs: np.ndarray, printed: float, floor: float = 0.02) -> bool:
    """Whether a printed mean of five runs is within :func:`reach` of the mean of our runs."""
    return bool(abs(printed - np.mean(runs)) <= reach(runs, floor))


def median_coverage(runs: np.ndarray, half_widths: np.ndarray, *, name: str, resamples: int = 300) -> Interval:
    """What printed half-widths are worth: the share of means of five runs that lie within them of the mean of all runs.

    The median over the k entries of a table, of runs (R, k), with its percentile bootstrap interval over the runs.
    """
    rng = stream("median coverage", name)

    def covered(values: np.ndarray) -> float:
        means = values[rng.integers(0, len(values), (500, PRINTED_RUNS))].mean(axis=1)
        return float(np.median((np.abs(means - values.mean(axis=0)) <= half_widths).mean(axis=0)))

    draws = [covered(runs[rng.integers(0, len(runs), len(runs))]) for _ in range(resamples)]
    return Interval.from_draws(covered(runs), np.array(draws))


def falls(profile: np.ndarray) -> np.ndarray:
    """Sum of the downward steps of profiles (..., n) along the last axis; shape (...)."""
    return np.maximum(0, -np.diff(profile, axis=-1)).sum(axis=-1)


def variance_shares(table: np.ndarray, *, name: str) -> dict[str, Interval]:
    r"""Shares of the variance of a table (a, b) that rows, columns and the rest carry, in a random-effects model.

    Without replicates the rest holds interaction and noise.  Components by the mean squares of the two-way analysis of
    variance, $\sigma^2_\text{row} = (MS_\text{row} - MS_\text{rest})/b$ and so on, not below 0; intervals by bootstrap
    of rows and of columns, a table whose entries are all equal being drawn again.
    """
    if min(table.shape) < 2 or not np.ptp(table) > 0:
        raise ValueError(f"table must be at least 2 by 2 and not constant, got shape {table.shape}")
    rng, draws = stream("variance shares", name), []
    while len(draws) < RESAMPLES:
        drawn = table[np.ix_(*(rng.integers(0, n, n) for n in table.shape))]
        if np.ptp(drawn) > 0:
            draws.append(_components(drawn))
    low, high = percentiles(draws, axis=0)
    return {
        part: Interval(*map(float, numbers))
        for part, *numbers in zip(("rows", "columns", "rest"), _components(table), low, high, strict=True)
    }


def _components(table: np.ndarray) -> np.ndarray:
    """Shares of rows, columns and rest, summing to 1."""
    a, b = table.shape
    rows, columns = (table.mean(axis=axis) - table.mean() for axis in (1, 0))
    rest = ((table - table.mean() - rows[:, None] - columns) ** 2).sum() / ((a - 1) * (b - 1))
    of_rows, of_columns = b * (rows**2).sum() / (a - 1), a * (columns**2).sum() / (b - 1)
    parts = np.array([max(0.0, (of_rows - rest) / b), max(0.0, (of_columns - rest) / a), rest])
    return parts / parts.sum()
