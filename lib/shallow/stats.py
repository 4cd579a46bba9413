"""Intervals for what is measured: thin over scipy.stats, always 95 % and always with named random streams."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy import stats as scipy_stats

from shallow import checks, scaling

RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float

    @classmethod
    def from_draws(cls, estimate: float, draws: np.ndarray, *, skip_nan: bool = False) -> Interval:
        """An estimate with the percentile interval of draws (n,) of it, see :func:`percentiles`."""
        checks.shape(("n",), draws=draws)
        return cls(float(estimate), *map(float, percentiles(draws, skip_nan=skip_nan)))

    @classmethod
    def of_correlation(cls, estimate: float, draws: np.ndarray, pairs: int) -> Interval:
        r"""A rank correlation r of k pairs with $\tanh(\operatorname{artanh} r \pm 1.96\, s)$, s from draws (n,) of it.

        Resampling with replacement repeats rows and so weakens a rank correlation: percentiles of such draws can leave
        their estimate out, this interval (Fisher's) cannot.  s is the spread of artanh over the draws; correlations
        come in steps of $12 / (k^3 - k)$, and one of 1 is taken half a step lower, where artanh is finite.
        """
        checks.shape(("n",), draws=draws)
        checks.finite(estimate=estimate, draws=draws)
        checks.within("[-1, 1]", estimate=np.round(estimate, 12), draws=np.round(draws, 12))  # but for rounding
        checks.integers(2, pairs=pairs)
        if len(draws) < 2:
            raise ValueError(f"draws must be at least two, got {checks.given(draws)}")
        most = 1 - 6 / (pairs**3 - pairs)
        centre, drawn = (np.arctanh(np.clip(values, -most, most)) for values in (estimate, draws))
        low, high = np.tanh(centre + scipy_stats.norm.ppf([0.025, 0.975]) * np.std(drawn, ddof=1))
        return cls(float(estimate), float(np.minimum(low, estimate)), float(np.maximum(high, estimate)))

    def exceeds(self, value: float) -> bool | None:
        """Whether the quantity exceeds value: None if the interval contains value or has no ends, and does not say."""
        return self.above(value) if self.above(value) or self.below(value) else None

    def above(self, value: float) -> bool:
        """Whether the whole interval lies above value."""
        return bool(self.low > value)

    def below(self, value: float) -> bool:
        """Whether the whole interval lies below value."""
        return bool(self.high < value)

    def contains(self, value: float) -> bool:
        """Whether value lies in the interval."""
        return bool(self.low <= value <= self.high)

    def inside(self, low: float, high: float) -> bool:
        """Whether the interval lies inside [low, high]."""
        return bool(low <= self.low and self.high <= high)

    def __format__(self, spec: str) -> str:
        spec = spec or ".2f"
        estimate, low, high = (format(_no_negative_zero(z, spec), spec) for z in (self.estimate, self.low, self.high))
        return f"{estimate} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self, "")


def _no_negative_zero(value: float, spec: str) -> float:
    return 0.0 if format(value, spec) == format(-0.0, spec) else value


def stream(*names: str | int) -> np.random.Generator:
    """A generator whose seed is the hash of the names: adding a stream changes no other."""
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


def percentiles(draws: np.ndarray, *, axis: int | None = None, skip_nan: bool = False) -> np.ndarray:
    """The 2.5th and the 97.5th percentile of draws along an axis, by default of all; shape (2, ...).

    NaN if a draw is, unless such draws are left out.
    """
    checks.shape((..., "n"), draws=draws)
    checks.positive(**{"number of draws": np.size(draws)})
    return (np.nanquantile if skip_nan else np.quantile)(draws, [0.025, 0.975], axis=axis)


def wilson(successes: int | np.ndarray, trials: int | None = None) -> Interval:
    """Fraction of successes with Wilson's interval; also takes a boolean array instead of two counts.

    The middle of the interval is Wilson's centre, not the fraction.
    """
    if trials is None:
        checks.numbers(successes=successes)
        flags = np.asarray(successes)
        if not np.isin(flags, (0, 1)).all():
            raise ValueError("successes must be counts with trials, or an array of booleans")
        successes, trials = int(flags.sum()), flags.size
    checks.shape((), successes=successes, trials=trials)
    if trials % 1 or successes % 1 or not (1 <= trials < 2**63 and 0 <= successes <= trials):
        raise ValueError(f"trials must be positive and successes in 0..trials, got {successes} of {trials}")
    result = scipy_stats.binomtest(int(successes), int(trials)).proportion_ci(method="wilson")
    return Interval(successes / trials, float(result.low), float(result.high))


def student(values: np.ndarray) -> Interval:
    r"""Mean of independent runs (n,), $n \ge 2$, with Student's interval $\bar x \pm t_{n-1, 0.975}\, s/\sqrt n$.

    For paired runs give the differences.
    """
    checks.array(("n",), values=values)
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        raise ValueError(f"values must hold at least two runs, got {checks.given(values)}")
    unit = scaling.unit(values)
    values = values / unit
    half = special.stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / len(values) ** 0.5
    return _around(values.mean(), half, unit)


def _around(middle: float, half: float, unit: float) -> Interval:
    return Interval(*(float(end) * unit for end in (middle, middle - half, middle + half)))


def share(flags: np.ndarray) -> Interval:
    """Share of true flags of any shape, by :func:`wilson`."""
    return _share("flags", flags)


def _share(name: str, flags: np.ndarray) -> Interval:
    checks.numbers(**{name: flags})
    fine = np.isin(flags, (0, 1))
    if not fine.all():
        raise ValueError(f"{name} must be true or false, got {checks.given(flags, fine)}")
    return wilson(np.ravel(flags))


def welch(first: np.ndarray, second: np.ndarray) -> Interval:
    r"""Difference $\bar x_1 - \bar x_2$ of the means of two independent samples of at least two values each.

    Welch's interval $\pm\, t_{\nu, 0.975} \sqrt{v_1 + v_2}$, where $v_i = s_i^2 / n_i$ and
    $\nu = (v_1 + v_2)^2 / \bigl(v_1^2/(n_1 - 1) + v_2^2/(n_2 - 1)\bigr)$; if one sample has no spread it is
    :func:`student`'s of the other, if neither has it is the difference alone.
    """
    samples = []
    for name, values in (("first", first), ("second", second)):
        checks.array(("n",), **{name: values})
        if len(values) < 2:
            raise ValueError(f"{name} must hold at least two values, got {checks.given(values)}")
        samples.append(np.asarray(values, dtype=float))
    unit = scaling.unit(*samples)
    samples = [values / unit for values in samples]
    apart = samples[0].mean() - samples[1].mean()
    parts = np.array([values.var(ddof=1) / len(values) if np.ptp(values) else 0.0 for values in samples])
    if not (parts**2).any():  # no spread, or none beside the difference
        return _around(apart, 0.0, unit)
    freedom = parts.sum() ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, samples, strict=True))
    return _around(apart, special.stdtrit(freedom, 0.975) * parts.sum() ** 0.5, unit)


def newcombe(first: np.ndarray, second: np.ndarray) -> Interval:
    r"""Difference $p_1 - p_2$ of the shares of true flags of two independent samples of any shapes.

    Newcombe's interval from the Wilson intervals $[l_i, u_i]$ of both: down to
    $\sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}$ below the difference, up to $\sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}$ above.
    """
    one, other = _share("first", first), _share("second", second)
    apart = one.estimate - other.estimate
    down = np.hypot(one.estimate - one.low, other.high - other.estimate)
    return Interval(
        apart, float(apart - down), float(apart + np.hypot(one.high - one.estimate, other.estimate - other.low))
    )


def geometric(ratios: np.ndarray) -> Interval:
    """Geometric mean of positive ratios (n,), n >= 2, with :func:`student`'s interval of their logarithms.

    Of paired quantities give the ratios: it is the ratio of the geometric means.
    """
    checks.array(("n",), ratios=ratios)
    checks.positive(ratios=ratios)
    logs = student(np.log(np.asarray(ratios, dtype=float)))
    with np.errstate(over="ignore"):
        return Interval(*(float(np.exp(one)) for one in (logs.estimate, logs.low, logs.high)))


def bootstrap(
    values: np.ndarray, statistic: Callable[..., np.ndarray] = np.mean, *, name: str, resamples: int = RESAMPLES
) -> Interval:
    """Percentile bootstrap over the first axis of values; non-finite rows are refused.

    Args:
        values: shape (replicates, ...), resampled along axis 0.
        statistic: a function with an `axis` argument, reduced over axis 0 to a number.
        name: name of the random stream.

    Cost: O(resamples x values).
    """
    checks.array(("n", *[None] * (np.ndim(values) - 1)), values=values)
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        raise ValueError(f"values must hold at least two replicates, got {checks.given(values)}")
    checks.integers(1, resamples=resamples)
    estimate = statistic(values, axis=0)
    checks.shape((), statistic=estimate)
    rows = stream("bootstrap", name).integers(0, len(values), (resamples, len(values)))
    if statistic in (np.mean, np.median):  # of all resamples at once, to the same bits
        draws = statistic(values[rows], axis=1)
    else:
        draws = np.asarray([statistic(values[r], axis=0) for r in rows])
    return Interval.from_draws(estimate, draws)


def paired(first: np.ndarray, second: np.ndarray, *, name: str) -> Interval:
    """Mean of first - second over paired replicates, percentile bootstrap over the pairs."""
    checks.array(("n",), first=first, second=second)
    return bootstrap(np.asarray(first, dtype=float) - np.asarray(second, dtype=float), name=name)


def spearman(a: np.ndarray, b: np.ndarray, *, name: str | None = None) -> Interval | float:
    """Spearman rank correlation of two vectors; with a name, with its bootstrap interval over the pairs."""
    checks.array(("n",), a=a, b=b)
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if len(a) < 3:
        raise ValueError(f"a and b must hold at least three pairs, got {len(a)}")
    estimate = rank_correlation(a, b)
    if name is None:
        return estimate
    rows = stream("spearman", name).integers(0, len(a), (RESAMPLES, len(a)))
    draws = np.concatenate([rank_correlation(a[r], b[r]) for r in np.array_split(rows, 20)])  # of bounded memory
    return Interval.from_draws(estimate, draws, skip_nan=True)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float | np.ndarray:
    """Spearman's rho of (..., n) and (..., n), average ranks for ties; (...), NaN where one side is constant."""
    checks.shape((..., "n"), a=a, b=b)
    ranks = scipy_stats.rankdata(np.stack(np.broadcast_arrays(a, b)).astype(float), axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    norms = np.sqrt((ranks**2).sum(axis=-1)).prod(axis=0)
    rho = np.divide(ranks.prod(axis=0).sum(axis=-1), norms, out=np.full_like(norms, np.nan), where=norms > 0)
    return rho if rho.ndim else float(rho)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's step-down adjusted p-values, same shape as given."""
    checks.within("[0, 1]", p_values=p_values)
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, axis=None)
    adjusted = np.maximum.accumulate(p.ravel()[order] * np.arange(p.size, 0, -1))
    result = np.empty(p.size)
    result[order] = np.minimum(adjusted, 1.0)
    return result.reshape(p.shape)
