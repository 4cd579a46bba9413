r"""The shape of a spectrum, as criteria on a few numbers: UNCHANGED, SPIKE, SINGLE SPIKE, HT-ONSET, HT, BIMODAL.

The document judges shapes by eye; these criteria are conventions of this book, fixed before its first run.  A
:class:`Shape` holds the numbers, its properties are the verdicts, so that a table can show how close a verdict is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.heavy_tails.modes import Modes, modes
from shallow import checks
from shallow.spectra import marchenko_pastur, tails
from shallow.spectra.esd import ascending, stable_rank

SPIKE_RATIO = 1.05  # the gap at initialisation is about 1 %
UNCHANGED_TOLERANCE = 0.01
UNCHANGED_SHARE = 0.99  # of the eigenvalues; the few smallest move by rounding


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
        return self.hill_excl <= self.hill_mp - 0.05 and self.d_mp >= 0.05

    @property
    def ht(self) -> bool:
        """HT: Hill without the largest eigenvalue 0.20 or more below a random matrix's, and D_MP >= 0.10."""
        return self.hill_excl <= self.hill_mp - 0.20 and self.d_mp >= 0.10

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
        values: eigenvalues of $W^\top W$, any order, shape (min(h, d),), the three largest positive.
        h, d: shape of W.
        initial: eigenvalues of the same seed's W before training, same shape, for UNCHANGED.

    Raises:
        ValueError: unless there are min(h, d) >= 8 eigenvalues, finite and not negative, not degenerate.

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
        hill_mp=_population_hill(h, d),
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
def _population_hill(h: int, d: int) -> float:
    return marchenko_pastur.MarchenkoPastur(h, d).hill
