r"""Modes of a spectrum: maxima of a kernel density estimate, the valleys between them, and their masses.

With $r$ the density at the lowest point on the way to a higher maximum, over the density at a maximum, $-\ln r$ is the
prominence of that maximum in the logarithm of the density.  Taking the maxima by falling prominence splits the sample
at the valleys between them into two groups, three, ...  The first split in which two groups have at least a twentieth
of the values each gives the two modes; a lone spike is never one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks, peak_prominences

from shallow import checks

_BINS = 16  # per bandwidth
_GAP = 12  # bandwidths: the density is zero in wider gaps, which are shortened to this


@dataclass(frozen=True)
class Modes:
    """What the criterion BIMODAL rests on.

    Attributes:
        valley: density in the valley over that at the lower of two modes, each with at least 5 % of the values; 1 if
            there are no two.
        places: the places of these modes, ascending: two or more, or the one highest maximum.
        masses: share of the values on their side of the valleys, in the same order.
        bandwidth: standard deviation of the Gaussian kernel.
    """

    valley: float
    places: tuple[float, ...]
    masses: tuple[float, ...]
    bandwidth: float

    @property
    def bimodal(self) -> bool:
        """Criterion BIMODAL: two modes with 5 % of the values each or more, and a valley below 0.8 of the lower one."""
        return self.valley < 0.8


def silverman(values: np.ndarray) -> float:
    r"""Silverman's rule of thumb $0.9 \min(\mathrm{sd}, \mathrm{IQR} / 1.34)\,N^{-1/5}$ (Silverman 1986, eq. 3.31)."""
    values = _checked(values)
    quartiles = np.quantile(values, [0.25, 0.75])
    spread = min(values.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.34)
    return float(0.9 * spread * len(values) ** -0.2)


def modes(values: np.ndarray, *, bandwidth: float | None = None, least: float = 0.05) -> Modes:
    """Modes of the Gaussian kernel density of a sample, for spectra usually of the log10 eigenvalues.

    Args:
        values: shape (N,), any order, N >= 4; negative ones are allowed.
        bandwidth: of the kernel; half of Silverman's rule by default.
        least: smallest share of the values in a mode.

    Raises:
        ValueError: for values that are not finite or too few, that have no spread, or an impossible bandwidth or share.

    Cost: O(N) bins, whatever the range: 4 ms at N = 1000.
    """
    values = np.sort(_checked(values))
    bandwidth = silverman(values) / 2 if bandwidth is None else float(bandwidth)
    if not (np.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth must be positive (values with no spread need one), got {bandwidth}")
    if not 0 < least <= 0.5:
        raise ValueError(f"least must lie in (0, 0.5], got {least}")
    points = np.append(0, np.cumsum(np.minimum(np.diff(values), _GAP * bandwidth)))
    centres, density = _density(points, bandwidth)
    peaks = find_peaks(density)[0]
    prominences = peak_prominences(np.log(density), peaks)[0]
    order = np.argsort(-prominences, kind="stable")
    for count in range(2, len(peaks) + 1):
        chosen = np.sort(peaks[order[:count]])
        splits = [left + np.argmin(density[left:right]) for left, right in zip(chosen[:-1], chosen[1:])]
        masses = np.diff([0, *np.searchsorted(points, centres[splits]), len(points)]) / len(points)
        heavy = masses >= least
        if heavy.sum() >= 2:
            places = np.interp(centres[chosen[heavy]], points, values)
            valley = np.exp(-prominences[order[count - 1]])
            return Modes(float(valley), tuple(map(float, places)), tuple(map(float, masses[heavy])), bandwidth)
    highest = np.interp(centres[np.argmax(density)], points, values)
    return Modes(1.0, (float(highest),), (1.0,), bandwidth)


def _density(points: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres of fine bins and the density there, on ascending points that start at zero; never below a tiny floor."""
    width = bandwidth / _BINS
    margin = (_GAP // 2) * _BINS
    place = points / width + margin
    whole = place.astype(int)
    part = place - whole
    bins = whole[-1] + margin + 2
    counts = np.bincount(whole, 1 - part, bins) + np.bincount(whole + 1, part, bins)  # linear binning
    density = gaussian_filter1d(counts, _BINS, mode="constant", truncate=_GAP / 2) / (len(points) * width)
    return (np.arange(bins) - margin) * width, np.maximum(density, np.finfo(float).tiny)


def _checked(values: np.ndarray) -> np.ndarray:
    checks.numbers(values=values)
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) < 4 or not np.isfinite(values).all():
        raise ValueError(f"values must be a vector of at least four finite numbers, got {checks.given(values)}")
    return values
