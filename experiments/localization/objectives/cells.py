r"""The note's passages from (6) to (14) on draws: what its page and its rules compare, as datasets over seeds.

(6) and (9) are those of :mod:`.dominance`; :mod:`.reductions` has the single events and integrals.  Every seed has
pairs, or samples, of its own.
Source: note on localized receptive fields, Section 2, from equation (6) to "Fourier space".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy import integrate, special

from experiments.localization import dominance, networks, reductions
from experiments.localization.bumps import filters
from experiments.localization.data import cells as processes
from experiments.localization.populations import cells as populations
from shallow import receptive_fields as fields
from shallow.data import nlgp
from shallow.stats import stream

TWO_GAINS = (0.01, 3.0)
#: Standard deviations (s1, s0) of the two responses.
PAIRS = ((2.0, 1.0), (1.0, 3.0), (1.5, 0.2), (1.0, 1.0))


# From (6) to (10).


def learned(runs: xr.Dataset, pairs: int = 1000) -> xr.DataArray:
    """(6) of the fields with negative biases with these biases, mean over the fields, (gain, seed).

    Args:
        runs: W (gain, seed, neuron, pixel) and b (gain, seed, neuron).

    Cost: 50 ms a network.
    """
    found = np.empty((runs.sizes["gain"], runs.sizes["seed"]))
    for i, gain in enumerate(runs.gain.values):
        for j, seed in enumerate(runs.seed.values):
            one = runs.sel(gain=gain, seed=seed)
            rows = populations.population(one.b.values) == -1
            W, b = (values[rows].astype(float) for values in (one.W.values, one.b.values))
            rng = stream("localization", "learned average", int(seed))
            won = dominance.outcomes_on_average(rng, *networks.pair(float(gain)), W, b[:, None], pairs)
            found[i, j] = dominance.probability(won).value.mean()
    return xr.DataArray(found, {"gain": runs.gain, "seed": runs.seed})


def exact_waves() -> tuple[float, float]:
    """(6) for Gaussian data of the wave that is best in (7), the constant, and of the wave that is best in (6)."""
    first, second = (process.spectrum[:20] for process in networks.pair(0.0))
    values = dominance.on_average(*(process.spectrum for process in networks.pair(0.0)))[:20]
    return float(values[(first / second).argmax()]), float(values.max())


def steps(seeds: Sequence[int] = range(6), pairs: int = 3000, places: int = 30_000) -> xr.Dataset:
    """The steps from (7) to (10) for three filters: constant, bump of width 2, random.

    differ and tied are those of :class:`.reductions.Events`, moved is (8) at random places minus (9), each on `places`
    pairs, and squares says whether (9) and (10) are the same events.
    """
    norms, biases, names = (1.0, 5.0), (-6.0, -2.0, 0.0, 2.0), ["constant", "bump", "random"]
    shape = (2, 3, len(seeds))
    differ, tied = np.empty((2, 3, 2, 4, len(seeds)), int), np.empty((2, 3, 2, 4, len(seeds)))
    moved, squares = np.empty(shape), np.empty(shape, bool)
    for (g, gain), (s, seed) in itertools.product(enumerate(TWO_GAINS), enumerate(seeds)):
        classes, rng = networks.pair(gain), stream("localization", "places", gain, seed)
        W = np.stack([filters.waves(40)[0], dominance.gabors(40, [2.0], [0])[0, 0], rng.standard_normal(40) / 40**0.5])
        away, here = (
            dominance.probability(dominance.outcomes_at_a_point(rng, *classes, W, places, moved=place)).value
            for place in (True, False)
        )
        moved[g, :, s] = away - here
        for f, w in enumerate(W):
            h = [reductions.responses(rng, process, w, pairs) for process in classes]
            for (i, norm), (j, bias) in itertools.product(enumerate(norms), enumerate(biases)):
                event = reductions.through_sigmoid(*h, norm, bias)
                differ[g, f, i, j, s], tied[g, f, i, j, s] = event.differ, event.tied
            squares[g, f, s] = np.array_equal(np.abs(h[0]) > np.abs(h[1]), h[0] ** 2 > h[1] ** 2)
    axes, settings = ("gain", "filter", "seed"), ("gain", "filter", "norm", "bias", "seed")
    return xr.Dataset(
        {"differ": (settings, differ), "tied": (settings, tied), "moved": (axes, moved), "squares": (axes, squares)},
        {"gain": list(TWO_GAINS), "filter": names, "norm": list(norms), "bias": list(biases), "seed": list(seeds)},
    )


# Learned fields.


def without_dips(
    runs: xr.Dataset, best: xr.DataArray, gain: float = 100.0, count: int = 4, pairs: int = 10_000
) -> xr.Dataset:
    """Some negative fields as they are and cut to the sign of their peak: (9), and the loss of a tiling by one field.

    missed is the mean share of what there is to gain in (9), at most `best` (gain, seed), that the fields miss; loss
    the mean (2) of tilings, with the best of several factors of norm and bias.

    Cost: 0.5 s a seed.
    """
    factors = list(itertools.product((0.8, 1.0, 1.25), (0.8, 1.0, 1.3, 1.6)))
    missed, loss = [], []
    for seed in runs.seed.values:
        one, classes = runs.sel(gain=gain, seed=seed), networks.pair(gain)
        rows = populations.population(one.b.values) == -1
        W, b = (values[rows][:count].astype(float) for values in (one.W.values, one.b.values))
        both = np.stack([W, np.where(W * fields.peak_sign(W)[:, None] > 0, W, 0)])
        rng, top = stream("localization", "dips", int(seed)), float(best.sel(gain=gain, seed=seed))
        won = dominance.outcomes_at_a_point(rng, *classes, both.reshape(-1, W.shape[1]), pairs)
        values = dominance.probability(won).value.reshape(2, -1).mean(axis=1)
        batch = nlgp.minibatch(rng, *classes, 1000)
        missed.append((top - values) / (top - 0.5))
        loss.append(
            [
                np.mean(
                    [min(reductions.tiled_loss(c * w, d * bias, batch) for c, d in factors) for w, bias in zip(V, b)]
                )
                for V in both
            ]
        )
    axes = ("shape", "seed")
    return xr.Dataset(
        {"missed": (axes, np.transpose(missed)), "loss": (axes, np.transpose(loss))},
        {"shape": ["whole", "cut"], "seed": runs.seed.values},
    )


# Gaussian data.


def last_line(ratio: float) -> float:
    """The note's last line for s1 / s0, by quadrature."""
    options = {"epsabs": 1e-14, "epsrel": 1e-13, "limit": 400, "points": [min(1 / ratio, 20), 1]}
    value = integrate.quad(lambda u: special.erf(ratio * u / 2**0.5) * np.exp(-(u**2) / 2), 0, 40, **options)[0]
    return (2 / np.pi) ** 0.5 * value


def integrals(pairs: int = 200_000) -> xr.Dataset:
    """The note's chain by quadrature, its first line by draws (won pairs), and its last line at many ratios."""
    wins = []
    for s1, s0 in PAIRS:
        rng = stream("localization", "arctan", str(s1), str(s0))
        wins.append(int((np.abs(s1 * rng.standard_normal(pairs)) > np.abs(s0 * rng.standard_normal(pairs))).sum()))
    cases = np.array(PAIRS)
    ratios = np.array([*np.geomspace(0.01, 100, 50), *cases[:, 0] / cases[:, 1]])
    return xr.Dataset(
        {
            "value": (("case", "line"), [reductions.chain(*case) for case in PAIRS]),
            "law": ("case", dominance.at_a_point((cases[:, 0] / cases[:, 1]) ** 2)),
            "wins": ("case", wins),
            "pairs": pairs,
            "integral": ("ratio", [last_line(ratio) for ratio in ratios]),
            "closed": ("ratio", dominance.at_a_point(ratios**2)),
        },
        {"case": [f"({s1:g}, {s0:g})" for s1, s0 in PAIRS], "line": range(1, 8), "ratio": ratios},
    )


def responses(seeds: Sequence[int] = range(6), samples: int = 30_000) -> xr.Dataset:
    """Responses of three random filters to Gaussian and nearly Gaussian data, (gain, xi, filter, seed).

    Their mean square over that of the law, and the Kolmogorov-Smirnov distance from the law.
    """
    gains, lengths = (0.0, 0.01), (2.0, 1.0)
    variance, distance = (np.empty((2, 2, 3, len(seeds))) for _ in range(2))
    for (g, gain), (i, xi), (s, seed) in itertools.product(*map(enumerate, (gains, lengths, seeds))):
        process, rng = nlgp.Process(40, xi, gain), stream("localization", "responses", seed)
        W = rng.standard_normal((3, 40))
        expected = np.einsum("fi,ij,fj->f", W, nlgp.circulant(process.covariance), W)
        h = process.sample(rng, samples) @ W.T / expected**0.5
        variance[g, i, :, s] = (h**2).mean(axis=0)
        distance[g, i, :, s] = [processes.from_normal(np.sort(column)) for column in h.T]
    axes = ("gain", "xi", "filter", "seed")
    return xr.Dataset(
        {"variance": (axes, variance), "distance": (axes, distance)},
        {"gain": list(gains), "xi": list(lengths), "filter": range(3), "seed": list(seeds)},
    )


#: Rings and length scales for which the extremes of (9) are predicted and searched.
CASES = {
    "n = 40, (2, 1)": (40, (2.0, 1.0)),
    "n = 40, (1, 2)": (40, (1.0, 2.0)),
    "n = 400, (20, 10)": (400, (20.0, 10.0)),
}


def extremes() -> xr.Dataset:
    """Largest and smallest value of (9) for Gaussian data by the spectra, what a search in the pixels finds; k = 1."""
    mode, predicted, found, one = [], [], [], []
    for name, (n, lengths) in CASES.items():
        first, second = networks.pair(0.0, n, lengths)
        ends = dominance.extremes(first.spectrum, second.spectrum)
        kept = np.minimum(*(process.spectrum / process.spectrum.max() for process in (first, second))) > dominance.CUT
        highest = n // 2 if kept.all() else int(np.flatnonzero(kept[: n // 2])[-1])
        searched = reductions.searched_extremes(
            first, second, reductions.real_modes(n, highest), stream("localization", "search", name)
        )
        mode.append([ends.maximiser[0], ends.minimiser[0]])
        predicted.append(dominance.at_a_point(np.array([ends.largest, ends.smallest])))
        found.append(dominance.at_a_point(np.array(searched)))
        one.append(dominance.at_a_point(first.spectrum[1] / second.spectrum[1]))
    axes = ("case", "end")
    return xr.Dataset(
        {"mode": (axes, mode), "predicted": (axes, predicted), "found": (axes, found), "one": ("case", one)},
        {"case": list(CASES), "end": ["largest", "smallest"]},
    )


# Polar and Fourier form.


def polar(seeds: Sequence[int] = range(3), pairs: int = 10_000) -> xr.Dataset:
    """Pairs on which (11) and (12) are not the event of (9), for a random filter, (gain, seed)."""
    differ = np.empty((2, 2, len(seeds)), int)
    for (g, gain), (s, seed) in itertools.product(enumerate(TWO_GAINS), enumerate(seeds)):
        rng = stream("localization", "polar", gain, seed)
        w = rng.standard_normal(40)
        x = [process.sample(rng, pairs) for process in networks.pair(gain)]
        sizes = [np.linalg.norm(sample, axis=1) for sample in x]
        h = [sample @ w for sample in x]
        cosine = [np.abs(a) / (np.linalg.norm(w) * size) for a, size in zip(h, sizes, strict=True)]
        event = np.abs(h[0]) > np.abs(h[1])
        differ[0, g, s] = (event != (cosine[0] * sizes[0] > cosine[1] * sizes[1])).sum()
        differ[1, g, s] = (event != (cosine[0] / cosine[1] > sizes[1] / sizes[0])).sum()
    return xr.Dataset(
        {"differ": (("form", "gain", "seed"), differ), "pairs": pairs},
        {"form": ["(11)", "(12)"], "gain": list(TWO_GAINS), "seed": list(seeds)},
    )


#: Ways to choose a filter in :func:`cosines`.
CHOICES = ("probability (9)", "cosines compared", "mean squares", "most parallel", "most orthogonal")


def cosines(seeds: Sequence[int] = range(6), pairs: int = 10_000) -> xr.Dataset:
    r"""Waves and bumps chosen by (9), by cosines alone, and by either half of the trade-off; judged by (9).

    "cosines compared" has the largest $P(|\cos(w, X_1)| > |\cos(w, X_0)|)$, "most parallel" the largest mean square
    cosine with class 1, "most orthogonal" the smallest with class 0, "mean squares" the largest ratio of both, on one
    draw of pairs.

    Returns:
        behind: value in (9) of the filter chosen by (9) minus that of the other, on a second draw; row: number of the
            chosen filter: waves from 0 to 20 cycles, then bumps by width; norms: deviation over mean of the length of
            samples of class 1.
    """
    W = np.concatenate([filters.waves(40), dominance.gabors(40, filters.WIDTHS, [0])[:, 0]])
    rows, behind = (np.empty((2, len(CHOICES), len(seeds)), kind) for kind in (int, float))
    spread = np.empty((2, len(seeds)))
    for (g, gain), (s, seed) in itertools.product(enumerate(TWO_GAINS), enumerate(seeds)):
        rng = stream("localization", "cosines", gain, seed)
        x = [process.sample(rng, 2 * pairs) for process in networks.pair(gain)]
        norms = [np.linalg.norm(one, axis=1, keepdims=True) for one in x]
        spread[g, s] = norms[0].std() / norms[0].mean()
        h = [np.abs(one @ W.T) for one in x]
        cosine = [one / norm for one, norm in zip(h, norms)]
        wins, first = h[0] > h[1], slice(pairs)
        compared = (cosine[0] > cosine[1])[first].mean(axis=0)
        squares = [(one[first] ** 2).mean(axis=0) for one in cosine]
        by_cosine = (compared, squares[0] / squares[1], squares[0], -squares[1])
        chosen = [one.argmax() for one in (wins[first].mean(axis=0), *by_cosine)]
        values = wins[pairs:].mean(axis=0)
        rows[g, :, s], behind[g, :, s] = chosen, values[chosen[0]] - values[chosen]
    axes = ("gain", "choice", "seed")
    return xr.Dataset(
        {"row": (axes, rows), "behind": (axes, behind), "norms": (("gain", "seed"), spread)},
        {"gain": list(TWO_GAINS), "choice": list(CHOICES), "seed": list(seeds)},
    )


def fourier(seeds: Sequence[int] = range(6), samples: int = 20_000) -> xr.Dataset:
    r"""(13) and (14) beside (9), and whether Fourier coefficients are uncorrelated and independent.

    Returns:
        apart: largest difference of $\langle w, x\rangle$ and $\langle\hat w, \hat x\rangle$ over the largest response;
        differ: pairs on which the two events differ; off: largest entry of $F\Sigma F^*$ off the diagonal over the
            largest; moduli: correlation of $|\hat X_k|^2$ and $|\hat X_l|^2$ for k < l up to 4.
    """
    rng, gains = stream("localization", "fourier", 0), (*TWO_GAINS, 100.0)
    W, F = rng.standard_normal((5, 40)), np.fft.fft(np.eye(40), norm="ortho")
    apart, differ, off = 0.0, [], []
    moduli = np.empty((len(gains), 6, len(seeds)))
    for gain in gains:
        x = [process.sample(rng, 5000) for process in networks.pair(gain)]
        h = [sample @ W.T for sample in x]
        other = [(np.fft.fft(one, norm="ortho") @ np.fft.fft(W, norm="ortho").conj().T).real for one in x]
        apart = max(apart, *(np.abs(a - b).max() / np.abs(a).max() for a, b in zip(h, other, strict=True)))
        differ.append(int(((np.abs(h[0]) > np.abs(h[1])) != (np.abs(other[0]) > np.abs(other[1]))).sum()))
    for g, gain in enumerate(gains):
        process = nlgp.Process(40, 2.0, gain)
        spectral = np.abs(F @ nlgp.circulant(process.covariance) @ F.conj().T)
        off.append((spectral - np.diag(np.diag(spectral))).max() / spectral.max())
        for s, seed in enumerate(seeds):
            x = process.sample(stream("localization", "moduli", seed), samples)
            moduli[g, :, s] = np.corrcoef((np.abs(np.fft.rfft(x)[:, 1:5]) ** 2).T)[np.triu_indices(4, 1)]
    names = [f"{k}, {l}" for k, l in itertools.combinations(range(1, 5), 2)]
    return xr.Dataset(
        {
            "apart": apart,
            "differ": ("gain", differ),
            "off": ("gain", off),
            "moduli": (("gain", "pair", "seed"), moduli),
        },
        {"gain": list(gains), "pair": names, "seed": list(seeds)},
    )
