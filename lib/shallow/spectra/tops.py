r"""The top per cents of a spectrum: does it thin out faster or slower than an exponential law?

The *mean excess* above a cut u is $e(u) = E[x - u \mid x > u]$.  It does not depend on u for an exponential law,
rises with u for a heavier tail (in proportion to u for a power law), and falls where a law has an end.  Its *rise* from
one cut to a higher one does not depend on place or scale, nor on anything below the lower cut.
Source: the mean residual life plot, for example Embrechts, Kluppelberg and Mikosch, "Modelling Extremal Events" (1997).
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.spectra.esd import ascending
from shallow.stats import Interval, stream

#: Shares of the values above the higher and the lower cut.
NEAR, FAR = 0.05, 0.20


def without_top(values: np.ndarray, share: float) -> np.ndarray:
    """The values, descending, without the given share of the largest, rounded to the nearest number."""
    checks.within("[0, 1)", share=share)
    ordered = ascending(values)[::-1]
    return ordered[round(share * len(ordered)) :].copy()


def _excess(values: np.ndarray, counts: np.ndarray, share: float) -> np.ndarray:
    """Mean excess of weighted values: descending (N,), with counts (..., N), above the cut with a share above it."""
    above = counts.cumsum(-1)
    place = np.maximum((above < share * above[..., -1:]).sum(-1), 1)  # the cut, at least one value above it
    upper = np.arange(len(values)) < place[..., None]
    held = (counts * upper).sum(-1)
    return (counts * upper * values).sum(-1) / np.maximum(held, 1) - values[place]


def mean_excess(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The mean excess above the cuts that the given shares of some values exceed, shape of the shares."""
    checks.within("(0, 1)", shares=shares)
    ordered = ascending(values)[::-1]
    ones = np.ones((1, len(ordered)), dtype=int)
    return np.array([float(_excess(ordered, ones, share)[0]) for share in shares])


def rise(values: np.ndarray, *, without: float = 0.0) -> float:
    r"""$e(u_{0.05}) / e(u_{0.2})$, with $u_t$ the cut that a share t of the values exceeds; 1 for an exponential law.

    Args:
        values: at least 40, any order.
        without: share of the largest values that is left out first; compare with :func:`exponential_rise` then.

    Cost: O(N log N).
    """
    checks.within("[0, 1)", without=without)
    left = without_top(values, without)
    if len(left) < 40:
        raise ValueError(f"values must be at least 40, got {len(left)}")
    return float(_rise(left, np.ones((1, len(left)), dtype=int))[0])


def rise_interval(values: np.ndarray, *, name: str, without: float = 0.0, resamples: int = 300) -> Interval:
    """:func:`rise` with its bootstrap interval: values drawn with replacement, after the largest are left out."""
    checks.within("[0, 1)", without=without)
    checks.integers(1, resamples=resamples)
    left = without_top(values, without)
    counts = stream("rise", name).multinomial(len(left), np.full(len(left), 1 / len(left)), resamples)
    return Interval.from_draws(rise(values, without=without), _rise(left, counts))


def _rise(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return _excess(values, counts, NEAR) / np.maximum(_excess(values, counts, FAR), np.finfo(float).tiny)


def exponential_rise(without: float = 0.0) -> float:
    r"""The :func:`rise` of an exponential law, in closed form: 1, and 0.75 without the largest hundredth.

    Among the values below the quantile that the share s exceeds, those above the cut u with $e^{-u} = p$ have the mean
    $[p (1 - \ln p) - s (1 - \ln s)] / (p - s)$.
    """
    checks.within("[0, 1)", without=without)

    def above(p: float) -> float:
        return p * (1 - np.log(p)) if p else 0.0

    excess = []
    for share in (NEAR, FAR):
        p = without + share * (1 - without)
        excess.append((above(p) - above(without)) / (p - without) + np.log(p))
    return float(excess[0] / excess[1])


def stretch(values: np.ndarray, share: float = 0.01, *, axis: int = -1) -> np.ndarray:
    r"""How far the largest values reach, in quarters: $S = (x_p - x_{1/2}) / (x_{1/4} - x_{1/2})$.

    $x_t$ is the value above which a share t of the values lies.  S does not depend on scale or place, hardly on the
    aspect ratio of a random matrix (2.3 to 3.2 at a share of 0.01), and not on fewer than $p N$ outliers.  It is no
    measure of a tail: an exponential law has 5.6, the square of a normal number with the same tail 7.1, a log-normal
    law of spread one half with a heavier one 5.5, and noise with unequal rows, which ends in an edge, 9.

    Args:
        values: in any order along the axis.
        share: p, in (0, 0.25).
        axis: along which the values lie.

    Raises:
        ValueError: for values that are not finite, or a share outside its range.
    """
    checks.array((..., "N"), values=values)
    checks.within("(0, 0.25)", share=share)
    middle, quarter, far = np.quantile(values, [0.5, 0.75, 1 - share], axis=axis)
    return (far - middle) / (quarter - middle)


def exponential_stretch(share: float = 0.01) -> float:
    r"""The :func:`stretch` of an exponential law, $\log_2 \frac{1}{2p}$: 5.64 at p = 0.01."""
    checks.within("(0, 0.25)", share=share)
    return float(np.log2(1 / (2 * share)))
