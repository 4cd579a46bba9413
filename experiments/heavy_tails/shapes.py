r"""The shape of a spectrum, as criteria on a few numbers: UNCHANGED, SPIKE, SINGLE SPIKE, HT-ONSET, HT, BIMODAL.

The document judges shapes by eye; these criteria are conventions of this book, fixed before its first run.  A
:class:`Shape` holds the numbers, its properties are the verdicts, so that a table can show how close a verdict is.

BIMODAL rests on the modes of a spectrum: maxima of a kernel density estimate, the valleys between them, and their
masses.  With $r$ the density at the lowest point on the way to a higher maximum, over the density at a maximum,
$-\ln r$ is the prominence of that maximum in the logarithm of the density.  Taking the maxima by falling prominence
splits the sample at the valleys between them into two groups, three, ...  The first split in which two groups have at
least a twentieth of the values each gives the two modes; a lone spike is never one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import xarray as xr
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks, peak_prominences
from scipy.stats import ks_2samp

from shallow import checks
from shallow.spectra import marchenko_pastur, tails
from shallow.spectra.esd import ascending, stable_rank

SPIKE_RATIO = 1.05  # the gap at initialisation is about 1 %
UNCHANGED_TOLERANCE = 0.01
UNCHANGED_SHARE = 0.99  # of the eigenvalues; the few smallest move by rounding
#: What a table of shapes has of each: numbers, and which criteria hold.
NUMBERS = ("spike_ratio", "second_ratio", "hill", "hill_excl", "ks", "ks_excl", "d_mp", "change")
VERDICTS = ("spike", "single_spike", "ht_onset", "ht", "bimodal")
_BINS = 16  # per bandwidth
_GAP = 12  # bandwidths: the density is zero in wider gaps, which are shortened to this


@dataclass(frozen=True)
class Shape:
    r"""Numbers of a spectrum $\lambda_1 \ge \dots \ge \lambda_N$ of $W^\top W$; `_excl` is without $\lambda_1$.

    Attributes:
        largest: $\lambda_1$.
        spike_ratio, second_ratio: $\lambda_1 / \lambda_2$ and $\lambda_2 / \lambda_3$.
        stable_rank: $\sum_k \lambda_k / \lambda_1$.
        hill, hill_excl: PL_Alpha_Hill.
        ks, ks_excl: PL_Alpha_KS.
        hill_mp: population value of PL_Alpha_Hill for a random matrix of this shape.
        d_mp_full, d_mp_excl: Kolmogorov-Smirnov distance to the Marchenko-Pastur law of this shape with the scale that
            minimises it.
        log_modes: modes of $\log_{10} \lambda$, without eigenvalues that are zero.
        change: largest $|\lambda_k / \lambda_k(0) - 1|$ over $k \le 0.99 N$ against an initial spectrum, NaN without.
    """

    largest: float
    spike_ratio: float
    second_ratio: float
    stable_rank: float
    hill: float
    hill_excl: float
    ks: float
    ks_excl: float
    hill_mp: float
    d_mp_full: float
    d_mp_excl: float
    log_modes: Modes
    change: float

    @property
    def spike(self) -> bool:
        r"""SPIKE: $\lambda_1 / \lambda_2 \ge 1.05$."""
        return self.spike_ratio >= SPIKE_RATIO

    @property
    def single_spike(self) -> bool:
        r"""SINGLE SPIKE: SPIKE and $\lambda_2 / \lambda_3 < 1.05$."""
        return self.spike and self.second_ratio < SPIKE_RATIO

    @property
    def d_mp(self) -> float:
        r"""D_MP: the distance, with $\lambda_1$ deleted if SPIKE."""
        return self.d_mp_excl if self.spike else self.d_mp_full

    @property
    def ht_onset(self) -> bool:
        """HT-ONSET: Hill without the largest eigenvalue 0.05 or more below a random matrix's, and D_MP >= 0.05."""
        return bool(heavy(self, self.hill_mp, onset=True))

    @property
    def ht(self) -> bool:
        """HT: Hill without the largest eigenvalue 0.20 or more below a random matrix's, and D_MP >= 0.10."""
        return bool(heavy(self, self.hill_mp))

    @property
    def bimodal(self) -> bool:
        """BIMODAL: two modes of the log10 eigenvalues, each with 5 % of them, and a valley below 0.8 of the lower."""
        return self.log_modes.bimodal

    @property
    def unchanged(self) -> bool:
        """UNCHANGED: the first 99 % of the eigenvalues are within 1 % of the initial ones."""
        if np.isnan(self.change):
            raise ValueError("initial spectrum was not given: shape(..., initial=...)")
        return self.change <= UNCHANGED_TOLERANCE


def shape(values: np.ndarray, h: int, d: int, *, initial: np.ndarray | None = None) -> Shape:
    r"""The shape of a spectrum.

    Args:
        values: eigenvalues of $W^\top W$, any order, shape (min(h, d),), all positive.
        h, d: shape of W.
        initial: eigenvalues of the same seed's W before training, same shape, for UNCHANGED.

    Cost: two scans and two fits of the scale, 6 ms at N = 1000.
    """
    checks.integers(1, h=h, d=d)
    values = ascending(values, least=8)[::-1]
    if len(values) != min(h, d):
        raise ValueError(f"values must be the min(h, d) = {min(h, d)} eigenvalues, got {len(values)}")
    if values[2] == 0:
        raise ValueError("values must have at least three positive eigenvalues")
    rest = values[1:]
    return Shape(
        largest=float(values[0]),
        spike_ratio=float(values[0] / values[1]),
        second_ratio=float(values[1] / values[2]),
        stable_rank=stable_rank(values),
        hill=tails.hill(values),
        hill_excl=tails.hill(rest),
        ks=tails.scan(values).alpha,
        ks_excl=tails.scan(rest).alpha,
        hill_mp=noise_hill(h, d),
        d_mp_full=marchenko_pastur.fitted_distance(values, h, d),
        d_mp_excl=marchenko_pastur.fitted_distance(rest, h, d),
        log_modes=modes(np.log10(values[values > 0])),
        change=float("nan") if initial is None else change(values, initial),
    )


def change(values: np.ndarray, initial: np.ndarray) -> float:
    r"""Largest $|\lambda_k / \lambda_k(0) - 1|$ over $k \le 0.99 N$ of two spectra of N values, each in any order."""
    values, initial = ascending(values)[::-1], ascending(initial, name="initial")[::-1]
    if values.shape != initial.shape:
        raise ValueError(f"initial must have as many eigenvalues as values, {len(values)}, got {len(initial)}")
    kept = max(1, int(UNCHANGED_SHARE * len(values)))
    if initial[kept - 1] == 0:
        raise ValueError("initial must have positive eigenvalues up to 0.99 N")
    return float(np.abs(values[:kept] / initial[:kept] - 1).max())


@lru_cache(maxsize=64)
def noise_hill(h: int, d: int) -> float:
    """Population value of PL_Alpha_Hill for Gaussian matrices of a shape."""
    return marchenko_pastur.MarchenkoPastur(h, d).hill


def shape_table(eigenvalues: xr.DataArray, h: int = 1500, d: int = 1000, *, initial: str = "rate") -> xr.Dataset:
    """The :func:`shape` of every spectrum (..., k), against that at the first value of the dimension `initial`.

    Returns :data:`NUMBERS` and :data:`VERDICTS` over the other dimensions.  Cost: 6 ms for each spectrum of 1000.
    """
    spectra = eigenvalues.transpose(..., initial, "k")
    values, outer = spectra.values.astype(float), spectra.dims[:-1]
    found = {name: np.empty(values.shape[:-1], float) for name in NUMBERS}
    found |= {name: np.empty(values.shape[:-1], bool) for name in VERDICTS}
    for place in np.ndindex(values.shape[:-1]):
        one = shape(values[place], h, d, initial=values[(*place[:-1], 0)])
        for name, array in found.items():
            array[place] = getattr(one, name)
    return xr.Dataset({name: (outer, array) for name, array in found.items()}, {name: spectra[name] for name in outer})


def heavy(numbers: Shape | xr.Dataset, noise: float, *, onset: bool = False) -> bool | xr.DataArray:
    """The criterion HT, or HT-ONSET, on `hill_excl` and `d_mp`, also on means; `noise` is the exponent of noise."""
    fall, distance = (0.05, 0.05) if onset else (0.20, 0.10)
    return (numbers.hill_excl <= noise - fall) & (numbers.d_mp >= distance)


def median_distance(values: np.ndarray, others: np.ndarray) -> float:
    """Two-sample Kolmogorov-Smirnov distance of two spectra, each divided by its median."""
    return float(ks_2samp(values / np.median(values), others / np.median(others), method="asymp").statistic)


# Modes.


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
    """Modes, with a `least` share of the values each, of the kernel density of a sample, usually of log10 eigenvalues.

    The bandwidth of the Gaussian kernel is half of Silverman's rule by default.

    Cost: O(N) bins, whatever the range: 4 ms at N = 1000.
    """
    values = np.sort(_checked(values))
    bandwidth = silverman(values) / 2 if bandwidth is None else float(bandwidth)
    checks.positive(bandwidth=bandwidth)  # values with no spread need one
    checks.within("(0, 0.5]", least=least)
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
    checks.array(("n",), values=values)
    if len(values) < 4:
        raise ValueError(f"values must be at least four numbers, got {len(values)}")
    return np.asarray(values, dtype=np.float64)
