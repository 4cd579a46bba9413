r"""What samples of the process show: covariances, spectra, zero crossings, values of one place, the seam of the ring.

Every table holds independent draws along `seed`, so that intervals are over draws; gains share the latent samples of a
draw (:meth:`shallow.data.nlgp.Process.observed`).
Source: note on localized receptive fields, Section 1 with its footnotes and Figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy import special

from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

GAINS = (0.01, 1.0, 3.0, 100.0)
TWO_GAINS = (0.01, 3.0)
PICTURE_GAINS = (0.01, 3.0, 100.0)
MARGINAL_GAINS = (0.01, 0.1, 0.3, 0.5**0.5, 1.0, 3.0, 10.0, 100.0)
LIMIT_GAINS = (0.01, 0.1, 0.3, 1.0, 3.0)
LENGTHS = (5.0, 10.0, 20.0, 40.0)
PICTURE = (20.0, 10.0)  # length scales of Figure 1, on 400 points


def covariance(x: np.ndarray) -> np.ndarray:
    """First row of the covariance of stationary samples (m, n) with mean 0, averaged over places and samples."""
    n = x.shape[1]
    return np.fft.irfft((np.abs(np.fft.rfft(x, axis=1)) ** 2).mean(axis=0) / n, n)


def covariances(seeds: Sequence[int] = range(20), samples: int = 2500) -> xr.Dataset:
    """Sample covariance at the lags 0 to n/2, the closed form, that of Z; least eigenvalue over the largest."""
    n, lengths = 40, (1.0, 2.0)
    lags = np.arange(n // 2 + 1)
    sample = np.empty((len(lengths), len(GAINS), len(seeds), len(lags)))
    laws = [[Process(n, xi, gain) for gain in GAINS] for xi in lengths]
    for i, row in enumerate(laws):
        for s, seed in enumerate(seeds):
            z = row[0].latent(stream("localization", "covariance", row[0].xi, seed), samples)
            sample[i, :, s] = [covariance(law.observed(z))[lags] for law in row]
    return xr.Dataset(
        {
            "sample": (("xi", "gain", "seed", "lag"), sample),
            "formula": (("xi", "gain", "lag"), [[law.covariance[lags] for law in row] for row in laws]),
            "latent": (("xi", "lag"), [row[0].kernel[lags] for row in laws]),
            "least": (("xi", "gain"), [[law.spectrum.min() / law.spectrum.max() for law in row] for row in laws]),
        },
        {"xi": list(lengths), "gain": list(GAINS), "seed": list(seeds), "lag": lags},
    )


def half_lag(row: np.ndarray) -> float:
    """Lag at which a covariance first falls to half its value at 0, by linear interpolation."""
    row = np.asarray(row) / row[0]
    after = int(np.argmax(row < 0.5))
    return after - 1 + (row[after - 1] - 0.5) / (row[after - 1] - row[after])


def half_lags(seeds: Sequence[int] = range(10), samples: int = 500, n: int = 400) -> xr.Dataset:
    """Half-value lag over xi: of samples, and of the closed form."""
    sample, formula = np.empty((2, len(LENGTHS), len(seeds))), np.empty((2, len(LENGTHS)))
    for j, xi in enumerate(LENGTHS):
        laws = [Process(n, xi, gain) for gain in TWO_GAINS]
        formula[:, j] = [half_lag(law.covariance) / xi for law in laws]
        for s, seed in enumerate(seeds):
            z = laws[0].latent(stream("localization", "half", xi, seed), samples, np.float32)
            sample[:, j, s] = [half_lag(covariance(law.observed(z))) / xi for law in laws]
    return xr.Dataset(
        {"sample": (("gain", "xi", "seed"), sample), "formula": (("gain", "xi"), formula)},
        {"gain": list(TWO_GAINS), "xi": list(LENGTHS), "seed": list(seeds)},
    )


def spectra(seeds: Sequence[int] = range(20), samples: int = 500, n: int = 400) -> xr.Dataset:
    """Mean power of samples by frequency, over n, so that its mean is the eigenvalue; and the eigenvalues."""
    power = np.empty((len(PICTURE), 2, len(seeds), n // 2 + 1))
    for i, xi in enumerate(PICTURE):
        for s, seed in enumerate(seeds):
            z = Process(n, xi, 1.0).latent(stream("localization", "power", xi, seed), samples)
            for g, gain in enumerate(TWO_GAINS):
                x = Process(n, xi, gain).observed(z)
                power[i, g, s] = (np.abs(np.fft.rfft(x, axis=1)) ** 2).mean(axis=0) / n
    eigenvalues = [[Process(n, xi, gain).spectrum[: n // 2 + 1] for gain in TWO_GAINS] for xi in PICTURE]
    return xr.Dataset(
        {"power": (("xi", "gain", "seed", "k"), power), "formula": (("xi", "gain", "k"), eigenvalues)},
        {"xi": list(PICTURE), "gain": list(TWO_GAINS), "seed": list(seeds), "k": range(n // 2 + 1)},
    )


def crossings(seeds: Sequence[int] = range(20), samples: int = 2000, n: int = 400) -> xr.Dataset:
    """Mean numbers of crossings: by length scale, with the closed form; by gain, drawn apart.

    `changed` counts samples, of 200 in a draw, whose signs differ between the gains.
    """
    count, by_gain = np.empty((len(LENGTHS), len(seeds))), np.empty((len(PICTURE), len(GAINS), len(seeds)))
    changed = 0
    for s, seed in enumerate(seeds):
        for i, xi in enumerate(LENGTHS):
            z = Process(n, xi, 1.0).latent(stream("localization", "crossings", xi, seed), samples, np.float32)
            count[i, s] = nlgp.crossings(z).mean()
            if xi in PICTURE:
                z = z[:200]
                changed += sum(((Process(n, xi, g).observed(z) > 0) != (z > 0)).any(axis=1).sum() for g in GAINS)
        for i, xi in enumerate(PICTURE):
            for g, gain in enumerate(GAINS):
                rng = stream("localization", "crossings apart", xi, gain, seed)
                by_gain[i, g, s] = nlgp.crossings(Process(n, xi, gain).sample(rng, 400, np.float32)).mean()
    return xr.Dataset(
        {
            "count": (("xi", "seed"), count),
            "expected": ("xi", [n * Process(n, xi, 1.0).crossing_rate for xi in LENGTHS]),
            "apart": (("length", "gain", "seed"), by_gain),
            "changed": int(changed),
        },
        {"xi": list(LENGTHS), "length": list(PICTURE), "gain": list(GAINS), "seed": list(seeds)},
    )


def picture(seed: int, samples: int = 3) -> dict[float, np.ndarray]:
    """Latent samples (samples, 400) of Figure 1, by length scale."""
    return {xi: Process(400, xi, 1.0).latent(stream("localization", "figure 1", xi, seed), samples) for xi in PICTURE}


def pictured(seeds: Sequence[int] = range(10), samples: int = 500) -> xr.Dataset:
    """Of Figure 1's samples: mean numbers of crossings, and the shares of values near the largest one."""
    count, near = np.empty((len(PICTURE), len(seeds))), np.empty((len(PICTURE), len(PICTURE_GAINS), len(seeds)))
    for s, seed in enumerate(seeds):
        for i, (xi, z) in enumerate(picture(seed, samples).items()):
            count[i, s] = nlgp.crossings(z).mean()
            for g, gain in enumerate(PICTURE_GAINS):
                x = np.abs(Process(400, xi, gain).observed(z))
                near[i, g, s] = (x > 0.9 * x.max()).mean()
    return xr.Dataset(
        {"count": (("xi", "seed"), count), "near": (("xi", "gain", "seed"), near)},
        {"xi": list(PICTURE), "gain": list(PICTURE_GAINS), "seed": list(seeds)},
    )


def from_normal(ordered: np.ndarray) -> float:
    """Kolmogorov-Smirnov distance of ordered values (m,) from the standard normal law."""
    law, steps = special.ndtr(ordered), np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))


def limits(seeds: Sequence[int] = range(10), samples: int = 30_000, n: int = 40, xi: float = 2.0) -> xr.Dataset:
    """Distances of one place and of a random projection from the normal laws of their variances, by gain."""
    found = np.empty((len(LIMIT_GAINS), 2, len(seeds)))
    for s, seed in enumerate(seeds):
        rng = stream("localization", "limit", seed)
        u, z = rng.standard_normal(n), Process(n, xi, 1.0).latent(rng, samples)
        for g, gain in enumerate(LIMIT_GAINS):
            law = Process(n, xi, gain)
            x, deviation = law.observed(z), (u @ nlgp.circulant(law.covariance) @ u) ** 0.5
            found[g, :, s] = [from_normal(np.sort(values)) for values in (x[:, 0], x @ u / deviation)]
    return xr.Dataset(
        {"distance": (("gain", "of", "seed"), found), "raw": Process(n, xi, 0.01, normalisation="raw").variance},
        {"gain": list(LIMIT_GAINS), "of": ["one place", "projection"], "seed": list(seeds)},
    )


def largest_value(gain: float) -> float:
    r"""$1/\nu_g$, which no value of X exceeds."""
    return Process(40, 2.0, gain, normalisation="raw").variance ** -0.5


def nonlinear_part(gain: float) -> float:
    r"""$1 - a/\arcsin a$, the part of the variance of X that is not linear in Z."""
    a = 2 * gain**2 / (1 + 2 * gain**2)
    return float(1 - a / np.arcsin(a))


def exact_distance(gain: float) -> float:
    """Kolmogorov-Smirnov distance of one place from the standard normal law, without samples."""
    law, x = Process(40, 2.0, gain), np.linspace(0, max(largest_value(gain), 4), 200_001)
    return float(np.abs(law.cdf(x) - special.ndtr(x)).max())


def from_density(x: np.ndarray, law: Process) -> float:
    """Total variation between a histogram of values (m,) on 25 bins and the density over the bins."""
    edges = np.linspace(-1, 1, 26) * largest_value(law.gain)
    return float(0.5 * np.abs(np.histogram(x, edges)[0] / len(x) - np.diff(law.cdf(edges))).sum())


MEASURES = ("excess kurtosis", "beyond 3", "distance", "histogram", "nonlinear")


def marginals(seeds: Sequence[int] = range(10), values: int = 200_000) -> xr.DataArray:
    """Measures of one place by gain, from the same normal numbers for all gains (:data:`MEASURES`).

    Excess kurtosis; P(|X| > 3); distance from N(0, 1); of the histogram from the density; part not linear in Z.
    """
    found = np.empty((len(MARGINAL_GAINS), len(MEASURES), len(seeds)))
    for s, seed in enumerate(seeds):
        z = np.sort(stream("localization", "marginal", seed).standard_normal(values))
        for g, gain in enumerate(MARGINAL_GAINS):
            law = Process(40, 2.0, gain)
            x = law.observed(z)
            squares = x**2
            kurtosis = (squares**2).mean() / squares.mean() ** 2 - 3
            linear = np.corrcoef(x, z)[0, 1] ** 2
            found[g, :, s] = [kurtosis, (np.abs(x) > 3).mean(), from_normal(x), from_density(x, law), 1 - linear]
    coordinates = {"gain": list(MARGINAL_GAINS), "measure": list(MEASURES), "seed": list(seeds)}
    return xr.DataArray(found, coordinates)


def seam(x: np.ndarray) -> float:
    """Mean squared jump of samples (m, n) across the seam over that between other neighbours."""
    jumps = (np.diff(x, axis=1, append=x[:, :1]) ** 2).mean(axis=0)
    return float(jumps[-1] / jumps[:-1].mean())


def seams(seeds: Sequence[int] = range(10), samples: int = 5000) -> xr.Dataset:
    """The seam of eight processes, and of samples cut out of a ring of twice the length."""
    cases = [(n, xi, g) for n, lengths in ((40, (1.0, 2.0)), (400, (10.0, 20.0))) for xi in lengths for g in TWO_GAINS]
    found = [
        [
            seam(Process(*case).sample(stream("localization", "seam", *case, seed), samples, np.float32))
            for seed in seeds
        ]
        for case in cases
    ]
    drawn = (Process(80, 2.0, 3.0).sample(stream("localization", "cut", seed), samples) for seed in seeds)
    return xr.Dataset(
        {"ratio": (("case", "seed"), found), "cut": ("seed", [seam(x[:, :40]) for x in drawn])},
        {"case": [f"n = {n}, xi = {xi:g}, g = {g:g}" for n, xi, g in cases], "seed": list(seeds)},
    )
