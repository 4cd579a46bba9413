r"""How heavy a tail is: two exponents in use for spectra of networks, the power-law fit, and its goodness.

Every exponent $\alpha$ here is that of a *density* $p(\lambda) \propto \lambda^{-\alpha}$, one more than Hill's tail
index, and does not depend on the scale of the values.  With ascending values $\lambda_0 \le \dots \le \lambda_{N-1}$
and the cut $x_\min = \lambda_i$, $m = N - i$, it is the maximum-likelihood estimate

.. math:: \alpha_i = 1 + \frac{m}{\sum_{j \ge i} \ln \lambda_j - m \ln \lambda_i} .

Three choices of the cut: the median (:func:`hill`, PL_Alpha_Hill), the smallest distance to the fitted law
(:func:`scan`, PL_Alpha_KS; :func:`power_law`, the standard fit), or all of them (:func:`hill_path`).

Zeros are no part of a tail.  All functions leave them out, with what rounding makes of them: values up to
`esd.ROUNDING`, 1e-26, times the largest.  For a W of lower rank the exponents are those of its positive eigenvalues.

The values are *squared* singular values.  Nothing in the values themselves tells them from singular values, for which
$\alpha - 1$ comes out twice as large: give `esd.eigenvalues(W)`, or `s**2`.

Eigenvalues repel each other, so a spectrum is more regular than independent draws.  :func:`goodness` takes
it for such draws, as is usual: the test is then too lenient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from shallow import checks
from shallow.display import short
from shallow.spectra.esd import positive
from shallow.spectra.tail_laws import PowerLaw
from shallow.stats import stream

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@dataclass(frozen=True)
class Fit:
    """A power law above a chosen cut.

    Attributes:
        alpha: exponent of the density.
        xmin: the cut, one of the values.
        size: number m of values from the cut on, itself included.
        distance: largest difference of the law from the empirical distribution (one-sided, steps j/m) above the cut.
    """

    alpha: float
    xmin: float
    size: int
    distance: float

    @property
    def law(self) -> PowerLaw:
        """The fitted law, for likelihood-ratio tests."""
        return PowerLaw(self.xmin, self.alpha)


class HillPath(NamedTuple):
    """Exponent for every cut: sizes m = 2..N of the tail, cuts xmin and exponents alpha, shape (N - 1,) each."""

    sizes: np.ndarray
    xmin: np.ndarray
    alpha: np.ndarray

    __repr__ = short


def hill(values: np.ndarray) -> float:
    r"""PL_Alpha_Hill: $\alpha_i$ at the median, $i = \lfloor N/2 \rfloor$ (document, Section 3.2).

    Always uses the upper half of the spectrum, heavy tail or not: for a random matrix it is 2.449 at h/d = 1.5
    (`MarchenkoPastur.hill`).  The median is that of the positive values, and N their number.

    Args:
        values: squared singular values, any order (singular values give $2 \alpha - 1$); zeros are left out.

    Raises:
        ValueError: for values that are negative or not finite, or of which fewer than two are positive, or whose upper
            half is constant.

    Cost: O(N log N).
    """
    values = positive(values, least=2)
    logs = np.log(values[len(values) // 2 :])
    if logs[0] == logs[-1]:
        raise ValueError(f"values must not be constant in the upper half, got {values[len(values) // 2]} there")
    return float(1 + 1 / (logs - logs[0]).mean())


def hill_path(values: np.ndarray) -> HillPath:
    """Exponent for every cut, from the two largest values to all that are positive; infinite for a constant tail.

    Args:
        values: any order; zeros are left out, N are left, at least two.

    Cost: O(N log N).
    """
    values = positive(values, least=2)[::-1]
    logs = np.log(values)
    sizes = np.arange(2, len(logs) + 1)
    excess = np.cumsum(logs - logs[0])[1:] - sizes * (logs[1:] - logs[0])
    with np.errstate(divide="ignore"):
        alpha = 1 + sizes / excess
    return HillPath(sizes, values[1:].copy(), alpha)


def scan(values: np.ndarray) -> Fit:
    r"""PL_Alpha_KS: the cut with the smallest distance, over all cuts that leave two values or more (authors' code).

    $D_i = \max_j |1 - (\lambda_{i+j} / \lambda_i)^{1 - \alpha_i} - j/m|$ with $j = 0 \dots m - 1$; no limit on alpha,
    no truncation.  Cuts with a constant tail, where alpha is infinite, are left out.

    Args:
        values: shape (N,), any order, of which at least two are positive and different; zeros are left out.

    Cost: as :func:`power_law`.
    """
    return _fit(values, least=2, merge_ties=False)


def power_law(values: np.ndarray, *, least: int = 3) -> Fit:
    r"""Continuous power law with the cut of smallest Kolmogorov-Smirnov distance (Clauset, Shalizi and Newman 2009).

    The distance is that of :func:`scan`; equal values count once, as one step of the empirical distribution.  Agrees
    with `powerlaw.Fit` where that finds the maximum of the likelihood.

    Args:
        values: shape (N,), any order; zeros are left out.
        least: smallest number of values in the tail, at least 2 (3, as in `powerlaw`).

    >>> values = 1 + np.random.default_rng(0).pareto(1.5, 2000)  # of density exponent 2.5
    >>> fit = power_law(values)
    >>> round(fit.alpha, 2), fit.size
    (2.48, 1992)

    Raises:
        ValueError: for values that are negative, not finite, fewer than `least` when zeros are left out, or constant.

    Cost: O(N^2) in the worst case; since most cuts are rejected after a few terms 0.5 to 2.5 ms at N = 4000.
    """
    return _fit(values, least=least, merge_ties=True)


def goodness(values: np.ndarray, *, name: str, least: int = 3, resamples: int = 200) -> float:
    r"""p-value of the fitted power law by semi-parametric bootstrap: the share of synthetic samples that fit no better.

    A synthetic sample of size N draws from the fitted law with probability m/N and otherwise from the values below the
    cut, and is fitted like the data, cut included (Clauset, Shalizi and Newman 2009, Section 4.1).  A small p speaks
    against the power law; standard error $\sqrt{p(1-p)/R}$ with R resamples.

    Args:
        values: shape (N,), any order; zeros are left out.
        name: name of the random stream.
        least: smallest number of values in the tail.
        resamples: number R of resamples, at least 1.

    Cost: one fit per resample, 0.1 s at N = 1000 and 200 resamples.
    """
    checks.integers(1, resamples=resamples)
    fit = power_law(values, least=least)
    values, rng = positive(values), stream("tails.goodness", name)
    body = values[values < fit.xmin]
    worse = 0
    for _ in range(resamples):
        size = rng.binomial(len(values), fit.size / len(values)) if len(body) else len(values)
        tail = np.log(fit.xmin) + rng.standard_exponential(size) / (fit.alpha - 1)
        rest = np.log(rng.choice(body, len(values) - size)) if len(body) else np.empty(0)
        worse += _search(np.sort(np.append(rest, tail)), least, True)[2] >= fit.distance
    return worse / resamples


@compiled
def _search(logs, least, merge_ties):
    """Index of the best cut of ascending finite logarithms, its exponent and its distance; index -1 if none."""
    n = logs.size
    step = np.empty(n)  # number of values to the left, in the empirical distribution of all
    for j in range(n):
        step[j] = step[j - 1] if merge_ties and j and logs[j] == logs[j - 1] else j
    sums = np.zeros(n + 1)  # of the logarithms relative to the largest, so that a narrow tail keeps its digits
    for i in range(n - 1, -1, -1):
        sums[i] = sums[i + 1] + (logs[i] - logs[n - 1])
    best, at, slope = np.inf, -1, np.nan
    for stride in (1 + int(np.sqrt(n)), 1):  # a few cuts first, so that most of the others are rejected early
        for i in range(0, n - least + 1, stride):
            excess = sums[i] - (n - i) * (logs[i] - logs[n - 1])
            if step[i] != i or not excess > 0:
                continue
            decay = (n - i) / excess
            found = _distance(logs[i:], step[i:], decay, best)
            if found < best:
                best, at, slope = found, i, decay
    return at, 1 + slope, best


@compiled
def _distance(logs, step, decay, enough):
    """Largest |law - steps| over the tail, or anything from `enough` on that this exceeds.

    Law and steps both rise, so between the ends l < r of a block no difference exceeds max(law_r - step_l, step_r -
    law_l): blocks in which that is below what has been found are skipped, which leaves few terms and an exact maximum.
    """
    m = logs.size
    block = max(1, int(np.sqrt(m)) // 2)
    largest = 0.0
    for j in range(0, m, block):
        law = 1.0 - np.exp(-decay * (logs[j] - logs[0]))
        largest = max(largest, abs(law - (step[j] - step[0]) / m))
        if largest >= enough:
            return largest
    for left in range(0, m, block):
        right = min(left + block, m) - 1
        below, above = 1.0 - np.exp(-decay * (logs[left] - logs[0])), 1.0 - np.exp(-decay * (logs[right] - logs[0]))
        if max(above - (step[left] - step[0]) / m, (step[right] - step[0]) / m - below) > largest:
            for j in range(left + 1, right + 1):
                law = 1.0 - np.exp(-decay * (logs[j] - logs[0]))
                largest = max(largest, abs(law - (step[j] - step[0]) / m))
            if largest >= enough:
                return largest
    return largest


def _fit(values: np.ndarray, least: int, merge_ties: bool) -> Fit:
    checks.integers(2, least=least)
    values = positive(values, least)
    at, alpha, distance = _search(np.log(values), least, merge_ties)
    if at < 0:
        raise ValueError(f"values must have at least {least} positive ones, not all equal, got {len(values)}")
    return Fit(float(alpha), float(values[at]), len(values) - int(at), float(distance))
