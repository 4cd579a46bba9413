r"""Mean squares of responses, $\mathbb E\langle w, X_i\rangle^2 = w^\top\Sigma_i w$, and their difference.

Source: note on localized receptive fields, Section 2, "Difference in means".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy import optimize

from experiments.localization import dominance, networks
from experiments.localization.bumps import filters
from shallow.data import nlgp
from shallow.stats import stream

#: Rings and length scales for which the leading mode of the difference is asked for.
CASES = ((40, (2.0, 1.0)), (40, (3.0, 1.0)), (40, (4.47, 0.1)), (400, (20.0, 10.0)), (40, (1.0, 2.0)))
GAINS = (0.0, 1.0, 3.0, 100.0)


def forms(seeds: Sequence[int] = range(6), samples: int = 20_000) -> xr.DataArray:
    """Sample difference of the mean squares of ten random filters minus its quadratic form, over the sum of the two.

    Shape (gain, filter, seed).
    """
    gains = (0.01, 3.0, 100.0)
    found = np.empty((len(gains), 10, len(seeds)))
    W = stream("localization", "squares").standard_normal((10, 40))
    for (g, gain), (s, seed) in itertools.product(enumerate(gains), enumerate(seeds)):
        rng, apart, total = stream("localization", "squares", seed), 0.0, 0.0
        for sign, process in zip((1, -1), networks.pair(gain), strict=True):
            form = np.einsum("fi,ij,fj->f", W, nlgp.circulant(process.covariance), W)
            apart = apart + sign * (((process.sample(rng, samples) @ W.T) ** 2).mean(axis=0) - form)
            total = total + form
        found[g, :, s] = apart / total
    return xr.DataArray(found, {"gain": list(gains), "filter": range(10), "seed": list(seeds)})


def beyond() -> xr.DataArray:
    """Largest Rayleigh quotient of the difference that 1000 random filters and ten ascents find, minus its eigenvalue.

    Shape (lengths, gain).
    """
    orders, gains = ((2.0, 1.0), (1.0, 2.0)), (0.0, 3.0)
    found = np.empty((2, 2))
    C = stream("localization", "rayleigh").standard_normal((1000, 40))
    for (i, lengths), (g, gain) in itertools.product(enumerate(orders), enumerate(gains)):
        S = nlgp.circulant(np.subtract(*(process.covariance for process in networks.pair(gain, 40, lengths))))
        tried = [(np.einsum("fi,ij,fj->f", C, S, C) / (C**2).sum(axis=1)).max()]
        for c in C[:10]:
            ascent = optimize.minimize(lambda x, S=S: -(x @ S @ x) / (x @ x), c, method="L-BFGS-B")
            tried.append(-ascent.fun)
        found[i, g] = max(tried) - np.linalg.eigvalsh(S)[-1]
    return xr.DataArray(found, {"lengths": [f"({a:g}, {b:g})" for a, b in orders], "gain": list(gains)})


def scaled(pairs: int = 20_000) -> int:
    """Pairs on which (10) changes when a filter is multiplied by 0.01 or 100; g = 3, the constant."""
    rng = stream("localization", "norms")
    u, v = (process.sample(rng, pairs).sum(axis=1) for process in networks.pair(3.0))
    return sum(int((((c * u) ** 2 > (c * v) ** 2) != (u**2 > v**2)).sum()) for c in (0.01, 100.0))


def best_modes() -> xr.Dataset:
    """Modes that maximise the difference and the ratio of the spectra, and their values in (9); Gaussian data."""
    orders, modes, values = ((2.0, 1.0), (1.0, 2.0)), [], []
    for lengths in orders:
        first, second = (process.spectrum[:21] for process in networks.pair(0.0, 40, lengths))
        modes.append([int((first - second).argmax()), int((first / second).argmax())])
        values.append(dominance.at_a_point((first / second)[modes[-1]]))
    axes = ("lengths", "objective")
    coordinates = {"lengths": [f"({a:g}, {b:g})" for a, b in orders], "objective": ["difference", "ratio"]}
    return xr.Dataset({"mode": (axes, modes), "value": (axes, values)}, coordinates)


def behind(seeds: Sequence[int] = range(6), pairs: int = 10_000) -> xr.DataArray:
    """How far the best wave or bump in the difference is behind the best in (9), chosen on another draw.

    Shape (case, seed): for the lengths (2, 1) at g = 3, and (1, 2) and Gaussian data.
    """
    cases = {"(2, 1), g = 3": ((2.0, 1.0), 3.0), "(1, 2), Gaussian": ((1.0, 2.0), 0.0)}
    W = np.concatenate([filters.waves(40), dominance.gabors(40, filters.WIDTHS, [0])[:, 0]])
    found = np.empty((len(cases), len(seeds)))
    for (i, (lengths, gain)), (s, seed) in itertools.product(enumerate(cases.values()), enumerate(seeds)):
        first, second = networks.pair(gain, 40, lengths)
        select, judged = (
            dominance.probability(
                dominance.outcomes_at_a_point(
                    stream("localization", "rival objectives", seed, part), first, second, W, pairs
                )
            ).value
            for part in ("select", "evaluate")
        )
        S = nlgp.circulant(first.covariance - second.covariance)
        found[i, s] = judged[select.argmax()] - judged[np.einsum("fi,ij,fj->f", W, S, W).argmax()]
    return xr.DataArray(found, {"case": list(cases), "seed": list(seeds)})


def oscillating(n: int, xi: float) -> np.ndarray:
    r"""First row of the kernel $\cos(4 d/\xi)\,e^{-d^2/\xi^2}$."""
    d = nlgp.ring_distance(n)
    return np.cos(4 * d / xi) * np.exp(-((d / xi) ** 2))


def leading_mode(row: np.ndarray) -> int:
    """Frequency of the eigenvector of the largest eigenvalue of a circulant with this first row."""
    return int(np.abs(np.fft.rfft(np.linalg.eigh(nlgp.circulant(row))[1][:, -1])).argmax())


def leaders() -> xr.DataArray:
    """Frequency of the leading eigenvector of the difference, (case, gain); the oscillating kernel has one gain."""
    names = [f"({a:g}, {b:g})" for _, (a, b) in CASES]
    found = [
        [leading_mode(np.subtract(*(p.covariance for p in networks.pair(gain, n, lengths)))) for gain in GAINS]
        for n, lengths in CASES
    ]
    found.append([leading_mode(oscillating(400, 20.0) - oscillating(400, 10.0))] * len(GAINS))
    return xr.DataArray(found, {"case": [*names, "oscillating"], "gain": list(GAINS)})
