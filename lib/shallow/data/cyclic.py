r"""Cyclic labels on an interval: $y = \operatorname{sgn}\sin(2\pi P x)$ for $x \in [-\tfrac12, \tfrac12]$.

The line splits into $2P$ *clusters* of equal width $1/(2P)$, numbered from 0 at the left, with alternating labels.
Source: Bowman (2025), Section 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shallow import checks
from shallow.display import short

_POOR = re.compile(r"poor\((\d+),(\d+)\)")


@dataclass(frozen=True)
class Sample:
    """A training set, with the generator that goes on to draw the initial network.

    Attributes:
        x: inputs, shape (n,), ascending.
        y: labels in {-1, 0, +1}, shape (n,); 0 only where x lies on a boundary between clusters.
        rng: the generator after the data have been drawn.
    """

    x: np.ndarray
    y: np.ndarray
    rng: np.random.Generator

    __repr__ = short


def labels(x: np.ndarray, periods: int = 3) -> np.ndarray:
    r"""Labels $\operatorname{sgn}\sin(2\pi P x)$, decided without rounding in the sine; shape of x, values -1, 0, +1.

    The sign of the sine is the parity of $\lfloor 2Px \rfloor$, and the label is 0 where $2Px$ is an integer.
    """
    checks.numbers(x=x)
    checks.integers(1, periods=periods)
    phase = 2 * periods * np.asarray(x, dtype=float)
    half_period = np.floor(phase)
    return np.where(phase == half_period, 0.0, 1.0 - 2.0 * np.mod(half_period, 2))


def clusters(x: np.ndarray, periods: int = 3) -> np.ndarray:
    r"""Cluster number $\lfloor 2P(x + \tfrac12) \rfloor \in \{0, \dots, 2P-1\}$ of x in $[-\tfrac12, \tfrac12]$."""
    checks.within("[-0.5, 0.5]", x=x)
    checks.integers(1, periods=periods)
    x = np.asarray(x, dtype=float)
    index = np.floor(2 * periods * x).astype(int) + periods
    return np.minimum(index, 2 * periods - 1)


def boundaries(periods: int = 3) -> np.ndarray:
    """The 2P - 1 inner boundaries k/(2P) - 1/2 between clusters, ascending."""
    checks.integers(1, periods=periods)
    return np.arange(1 - periods, periods) / (2 * periods)


def grid(points: int = 1000) -> np.ndarray:
    """Midpoints of `points` equal cells of [-0.5, 0.5], for tests; shape (points,)."""
    checks.integers(1, points=points)
    return (np.arange(points) + 0.5) / points - 0.5


def design_clusters(design: str, n: int, periods: int = 3) -> np.ndarray:
    """Cluster number of each of the n points of a designed training set, shape (n,).

    `strat` deals the points round-robin to all clusters.  `poor(c,q)` gives the first q points to cluster c and deals
    the others round-robin to the other clusters.  `two_rightmost` gives one point to the last cluster but one, two to
    the last, and deals the others to the rest.
    """
    checks.integers(1, n=n, periods=periods)
    count = 2 * periods
    if design == "strat":
        return np.arange(n) % count
    if design == "two_rightmost":
        checks.integers(2, periods=periods)
        poor = np.array([count - 2, count - 1, count - 1])[:n]
        return np.concatenate([poor, np.arange(max(n - 3, 0)) % (count - 2)])
    match = _POOR.fullmatch(design)
    if not match:
        raise ValueError(f"design must be iid, strat, equi, two_rightmost or poor(c,q), got {design!r}")
    cluster, few = int(match[1]), int(match[2])
    if cluster >= count or few > n:
        raise ValueError(f"design {design!r} needs a cluster below {count} and at most n = {n} points in it")
    others = np.delete(np.arange(count), cluster)
    return np.concatenate([np.full(few, cluster), others[np.arange(n - few) % (count - 1)]])


def sample(n: int, *, periods: int = 3, base: int = 0, seed: int = 0, design: str = "iid") -> Sample:
    r"""Draw a training set of n points; the stream is `numpy.random.default_rng([base, n, seed])`.

    `iid` takes $x_i \sim U[-\tfrac12, \tfrac12]$; `equi` the midpoints of n equal cells; the other designs (see
    :func:`design_clusters`) place a uniform point in each prescribed cluster.  The i.i.d. draw is always made, so that
    the designs of one seed continue one stream.

    Raises:
        ValueError: for a non-positive n, a negative base or seed, an unknown design or impossible periods.
    """
    checks.integers(1, periods=periods, n=n)
    checks.integers(0, base=base, seed=seed)
    rng = np.random.default_rng([base, n, seed])
    x = rng.uniform(-0.5, 0.5, n)
    if design == "equi":
        x = grid(n)
    elif design != "iid":
        cluster = design_clusters(design, n, periods)
        x = (cluster + rng.uniform(0, 1, n)) / (2 * periods) - 0.5
    x = np.sort(x)
    return Sample(x, labels(x, periods), rng)


def from_counts(counts: Sequence[int], *, base: int = 7, seed: int = 0) -> Sample:
    r"""Draw a training set with a given number of points in each of the 2P clusters, counts of shape (2P,).

    The stream and the order of draws are those of :func:`sample` with n the sum of the counts.  Clusters with fewer
    than max(counts) - 1 points are dealt theirs first, ascending; the others round-robin while they have some left.  So
    the counts of `strat`, and of `poor(c,q)` and `two_rightmost` where their poor clusters are that poor, give the
    sample of that design.

    Raises:
        ValueError: for an odd or empty list, a negative count, no point at all, a negative base or seed.
    """
    checks.array((None,), counts=counts)
    for count in counts:
        checks.integers(0, counts=count)
    checks.integers(0, base=base, seed=seed)
    counts = np.asarray(counts, dtype=int)
    n, periods = int(counts.sum()), len(counts) // 2
    if len(counts) % 2 or n < 1:
        raise ValueError(f"counts must hold an even number of clusters and at least one point, got {counts.tolist()}")
    poor = counts < counts.max() - 1
    first = np.repeat(np.flatnonzero(poor), counts[poor])
    rounds = [np.flatnonzero(~poor & (counts > k)) for k in range(counts.max())]
    rng = np.random.default_rng([base, n, seed])
    rng.uniform(-0.5, 0.5, n)  # the i.i.d. draw, with which the stream of every design begins
    x = np.sort((np.concatenate([first, *rounds]) + rng.uniform(0, 1, n)) / (2 * periods) - 0.5)
    return Sample(x, labels(x, periods), rng)
