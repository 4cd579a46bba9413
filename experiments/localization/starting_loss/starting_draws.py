r"""The loss before training against the gain: exact averages over the weights, random networks, and identities.

Every table holds independent draws along `seed`; gains share the latent samples of a draw and the weights.
Source: note on localized receptive fields, Section 3, equations (15) to (27).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.starting_loss import cells as starting_loss
from shallow import committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

N = networks.N
GAINS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
WIDTHS = (1, 40, 100)
#: Variances of the weights, by name.
SCALES = {"2/(n+K)": lambda K: 2 / (N + K), "1/n": lambda K: 1 / N, "0.01/n": lambda K: 0.01 / N}
LABELS = {"erf": (1, -1), "relu": (1, 0)}
TWO_GAINS = (0.01, 3.0)
SPHERE_GAINS = (0.01, 0.3, 1.0, 3.0, 100.0)


def means(seeds: Sequence[int] = range(20), samples: int = 5000) -> xr.Dataset:
    """Means of the pixels of unit data, and the variances of the three normalisations at the two ends of the gain."""
    gains, lengths = (0.01, 1.0, 3.0, 100.0), networks.LENGTHS
    found = np.empty((len(lengths), len(gains), len(seeds), N))
    for i, xi in enumerate(lengths):
        for s, seed in enumerate(seeds):
            z = Process(N, xi, 1.0).latent(stream("localization", "pixels", xi, seed), samples, np.float32)
            found[i, :, s] = [Process(N, xi, gain).observed(z).mean(axis=0, dtype=np.float64) for gain in gains]
    ends = [[Process(N, 2.0, gain, normalisation=name).variance for gain in gains[::3]] for name in nlgp.NORMALISATIONS]
    return xr.Dataset(
        {"mean": (("xi", "gain", "seed", "pixel"), found), "variance": (("normalisation", "end"), ends)},
        {"xi": list(lengths), "gain": list(gains), "normalisation": list(nlgp.NORMALISATIONS), "end": list(gains[::3])},
    )


def curves(seeds: Sequence[int] = range(10), samples: int = 5000) -> xr.DataArray:
    """Loss averaged over the weights, by activation, data (normalisation), neurons, scale of the weights, and gain."""
    sizes = (len(starting_loss.ACTIVATIONS), len(nlgp.NORMALISATIONS), len(WIDTHS), len(SCALES), len(GAINS), len(seeds))
    loss = np.empty(sizes)
    variances = [[Process(N, 1.0, g, normalisation=name).variance for g in GAINS] for name in nlgp.NORMALISATIONS]
    for s, seed in enumerate(seeds):
        latent = [
            Process(N, xi, 1.0).latent(stream("localization", "norms", xi, seed), samples) for xi in networks.LENGTHS
        ]
        for g, gain in enumerate(GAINS):
            laws = networks.pair(gain)
            squares = [(law.observed(z) ** 2).sum(axis=1) for law, z in zip(laws, latent)]
            for a, d, k, c in np.ndindex(*sizes[:4]):
                size, K = variances[d][g], WIDTHS[k]
                loss[a, d, k, c, g, s] = starting_loss.averaged(
                    starting_loss.ACTIVATIONS[a],
                    *(size * u for u in squares),
                    neurons=K,
                    variance=list(SCALES.values())[c](K),
                    mean_square=N * size,
                )
    coordinates = {"activation": list(starting_loss.ACTIVATIONS), "normalisation": list(nlgp.NORMALISATIONS)}
    coordinates |= {"neurons": list(WIDTHS), "scale": list(SCALES), "gain": list(GAINS), "seed": list(seeds)}
    return xr.DataArray(loss, coordinates, name="loss")


def random_networks(
    activation: str,
    gains: Sequence[float],
    K: int,
    variance: float,
    *,
    normalisation: str = "unit",
    sphere: bool = False,
    seeds: Sequence[int] = range(10),
    draws: int = 40,
    per_class: int = 250,
) -> xr.DataArray:
    """Mean losses of random networks without biases, each on samples of its own with both signs; (gain, seed).

    With `sphere` every sample is rescaled to the norm that its variance gives it in the mean square.
    """
    loss = np.zeros((len(gains), len(seeds)))
    for s, seed in enumerate(seeds):
        rngs = [stream("localization", "start weights", seed, draw) for draw in range(draws)]
        nets = committee.start(rngs, K, N, activation=activation, variance=variance)
        for xi, label in zip(networks.LENGTHS, LABELS[activation]):
            z = Process(N, xi, 1.0).latent(
                stream("localization", "start draws", xi, seed), draws * per_class, np.float32
            )
            for g, gain in enumerate(gains):
                law = Process(N, xi, gain, normalisation=normalisation)
                x = law.observed(z)
                if sphere:
                    x *= ((N * law.variance) ** 0.5 / np.linalg.norm(x, axis=1))[:, None]
                x = x.reshape(draws, per_class, N)
                loss[g, s] += sum(((nets.forward(y) - label) ** 2).mean(dtype=np.float64) for y in (x, -x)) / 8
    return xr.DataArray(loss, {"gain": list(gains), "seed": list(seeds)}, name="loss")


def identities(seed: int = 0, samples: int = 10_000) -> xr.Dataset:
    """The loss times 4 on balanced samples, and the sums (18), (20) and (27), by what they are of."""
    x, y = nlgp.minibatch(stream("localization", "identities", seed), *networks.pair(3.0), samples)
    rng, found = stream("localization", "identity weights", seed), {}
    for name, activation, K in (("(18)", "erf", 40), ("(20)", "erf", 1), ("(27)", "relu", 1)):
        W = rng.normal(0, (2 / (N + K)) ** 0.5, (1, K, N))
        output = committee.Committee(W, np.zeros((1, K)), activation).forward(x)[0]
        one, other = LABELS[activation]
        errors = (output - np.where(y > 0, one, other)) ** 2
        first, second = output[y > 0], output[y < 0]
        found[name] = [2 * errors.mean(), ((first - one) ** 2).mean() + ((second - other) ** 2).mean()]
    return xr.Dataset(
        {"whole": ("of", [v[0] for v in found.values()]), "sum": ("of", [v[1] for v in found.values()])},
        {"of": list(found)},
    )


def folded(seeds: Sequence[int] = range(10), samples: int = 20_000) -> xr.Dataset:
    """4 L of one neuron by (20), and by (22) and (24) with restricted and with conditional means; by gain and seed."""
    gains = TWO_GAINS
    names = ("(20)", "(22)", "(24)", "(22), conditional", "(24), conditional")
    found = np.zeros((len(names), len(gains), len(seeds)))
    for s, seed in enumerate(seeds):
        w = stream("localization", "fold weight", seed).normal(0, (2 / (N + 1)) ** 0.5, N).astype(np.float32)
        for xi, label in zip(networks.LENGTHS, LABELS["erf"]):
            z = Process(N, xi, 1.0).latent(stream("localization", "fold", xi, seed), samples, np.float32)
            for g, gain in enumerate(gains):
                h = (Process(N, xi, gain).observed(z) @ w).astype(np.float64)
                output, right = committee.ACTIVATIONS["erf"](h), h > 0
                own, other = (output - label) ** 2, (output + label) ** 2
                both, even = own + other, 2 * (output**2 + 1)
                found[:, g, s] += [
                    own.mean(),
                    (both * right).mean(),
                    (even * right).mean(),
                    both[right].mean(),
                    even[right].mean(),
                ]
    return xr.Dataset(
        {"value": (("of", "gain", "seed"), found)}, {"of": list(names), "gain": list(gains), "seed": list(seeds)}
    )


def excesses(seeds: Sequence[int] = range(10), samples: int = 20_000, draws: int = 150) -> xr.Dataset:
    r"""$4\mathcal L - 2$ of erf networks on samples with both signs, over the closed forms; by what and seed.

    One network of 1 or 40 neurons on nearly Gaussian samples; networks on average, by neurons and gain; $\mathbb
    E\sigma(h)^2$ for normal h of variance v.  `twin` has the closed form with 2 v in the place of v.
    """
    ratio, twin = {}, {}
    kernels = [nlgp.circulant(law.covariance) for law in networks.pair(0.01)]
    for K in (1, 40):
        name = f"one network, K = {K}"
        ratio[name], twin[name] = [], []
        for seed in seeds:
            W = stream("localization", "one start", K, seed).normal(0, (2 / (N + K)) ** 0.5, (1, K, N))
            net, measured = committee.Committee(W.astype(np.float32), np.zeros((1, K))), 0.0
            for law in networks.pair(0.01):
                x = law.sample(stream("localization", "one start samples", law.xi, K, seed), samples, np.float32)
                measured += (net.forward(x)[0].astype(np.float64) ** 2).mean()
            for table, factor in ((ratio, 1.0), (twin, 2.0)):
                closed = 4 * starting_loss.of_network("erf", factor**0.5 * W[0], *kernels) - 2
                table[name].append(measured / closed)
    exact = curves(seeds, 2000).sel(activation="erf", normalisation="unit", scale="2/(n+K)")
    for K in (1, 40):
        measured = random_networks("erf", (0.01, 3.0, 100.0), K, 2 / (N + K), seeds=seeds, draws=draws, per_class=60)
        for gain in measured.gain.values:
            closed = 4 * exact.sel(neurons=K, gain=gain).mean("seed") - 2
            ratio[f"on average, K = {K}, g = {gain:g}"] = ((4 * measured.sel(gain=gain) - 2) / closed).values
    for v in (0.1, 1.0, 4.0):
        ratio[f"v = {v:g}"] = []
        for seed in seeds:
            h = v**0.5 * stream("localization", "arcsine", v, seed).standard_normal(samples)
            squares = committee.ACTIVATIONS["erf"](h) ** 2
            ratio[f"v = {v:g}"].append(squares.mean() / (2 / np.pi * np.arcsin(v / (1 + v))))
    return xr.Dataset(
        {"ratio": (("of", "seed"), list(ratio.values())), "twin": (("network", "seed"), list(twin.values()))},
        {"of": list(ratio), "network": list(twin), "seed": list(seeds)},
    )


def relu_averages(seeds: Sequence[int] = range(10)) -> xr.DataArray:
    """Mean loss of random ReLU networks over the exact average, by neurons and gain; (of, seed)."""
    exact = curves(seeds, 2000).sel(activation="relu", normalisation="unit", scale="2/(n+K)").mean("seed")
    found = {}
    for K, draws in zip(WIDTHS, (400, 60, 60)):  # single neurons differ most
        measured = random_networks("relu", TWO_GAINS, K, 2 / (N + K), seeds=seeds, draws=draws, per_class=60)
        for gain in TWO_GAINS:
            found[f"K = {K}, g = {gain:g}"] = (measured.sel(gain=gain) / exact.sel(neurons=K, gain=gain)).values
    return xr.DataArray(list(found.values()), {"of": list(found), "seed": list(seeds)}, ("of", "seed"))


def spheres(seeds: Sequence[int] = range(10)) -> xr.DataArray:
    """Loss of random ReLU networks of 40 neurons, by data and gain: as drawn, and with all samples of one norm."""
    cases = {"unit": {}, "unit, one norm": {"sphere": True}}
    cases["raw, one norm"] = {"sphere": True, "normalisation": "raw"}
    found = [random_networks("relu", SPHERE_GAINS, 40, 2 / (N + 40), seeds=seeds, **case) for case in cases.values()]
    return xr.concat(found, "of").assign_coords(of=list(cases))


def norms(seeds: Sequence[int] = range(10), samples: int = 5000) -> xr.DataArray:
    r"""$|X|/\sqrt n$ of unit data by class and gain; (xi, gain, seed, sample)."""
    found = np.empty((len(networks.LENGTHS), len(GAINS), len(seeds), samples))
    for s, seed in enumerate(seeds):
        for i, xi in enumerate(networks.LENGTHS):
            z = Process(N, xi, 1.0).latent(stream("localization", "norms", xi, seed), samples)
            for g, gain in enumerate(GAINS):
                found[i, g, s] = np.linalg.norm(Process(N, xi, gain).observed(z), axis=1) / N**0.5
    return xr.DataArray(
        found,
        {"xi": list(networks.LENGTHS), "gain": list(GAINS), "seed": list(seeds)},
        ("xi", "gain", "seed", "sample"),
    )
