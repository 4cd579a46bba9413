r"""The gradient at the start of training: symmetry, the absolute loss, and the expectation of (33), on samples.

$h = \langle w, X\rangle$, $v = w^\top\Sigma w$ and $\sigma(x) = \mathrm{erf}(x/\sqrt2)$.
Source: note on localized receptive fields, the remark after (10), and equations (28) to (34).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from shallow import committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

SLOPE = (2 / np.pi) ** 0.5  # sigma'(0)
_sigma = committee.ACTIVATIONS["erf"]
BLOCK = 50_000


def symmetry(
    gains: Sequence[float] = (0.01, 3.0, 100.0), draws: int = 6, filters: int = 10, samples: int = 20_000
) -> xr.Dataset:
    """Mean over the deviation, and skewness, of the responses of random filters, by (gain, label, filter, seed).

    `moved` is the mean for data shifted by one deviation of a pixel, as data on the interval (0, 1) are.
    """
    W = stream("localization", "ten filters").standard_normal((filters, networks.N))
    shape = (len(gains), 2, filters, draws)
    mean, skewness, moved = (np.empty(shape) for _ in range(3))
    for seed in range(draws):
        for i, gain in enumerate(gains):
            for j, process in enumerate(networks.pair(gain)):
                h = process.sample(stream("localization", "symmetry", process.xi, gain, seed), samples) @ W.T
                centre, spread = h.mean(axis=0), h.std(axis=0)
                mean[i, j, :, seed], moved[i, j, :, seed] = centre / spread, (centre + W.sum(axis=1)) / spread
                skewness[i, j, :, seed] = np.mean(((h - centre) / spread) ** 3, axis=0)
    dims = ("gain", "label", "filter", "seed")
    columns = {"mean": (dims, mean), "skewness": (dims, skewness), "moved": (dims, moved)}
    return xr.Dataset(columns, {"gain": list(gains), "label": [1, -1]})


# The absolute loss, (28) to (32).


def identities(samples: int = 10_000, gain: float = 3.0) -> xr.Dataset:
    r"""Both sides of (28) to (32) on one sample, for forty random neurons.

    Returns:
        sum_over_mean: the right side of (29) over the left side of (28), and for labels 1 and 0 zero_one;
        off (side): relative distance of the gradient of (28) in the first neuron's weights, by finite differences, from
            (30) as "printed" and as "half" of that; for "output", of (31) from the class mean of the output's gradient;
        slope (x): the derivative of sigma by finite differences, over $e^{-x^2/2}$.
    """
    rng, step, K, n = stream("localization", "absolute loss"), 1e-5, networks.WIDTH, networks.N
    x, y = nlgp.minibatch(rng, *networks.pair(gain), samples)
    W, b = rng.normal(0, (2 / (n + K)) ** 0.5, (K, n)), rng.uniform(-2, 2, K)
    others = _sigma(x @ W[1:].T + b[1:]).sum(axis=1) / K

    def output(w: np.ndarray) -> np.ndarray:
        return others + _sigma(x @ w + b[0]) / K

    def gradient(function: Callable[[np.ndarray], float]) -> np.ndarray:
        moves = step * np.eye(n)
        return np.array([function(W[0] + move) - function(W[0] - move) for move in moves]) / (2 * step)

    up, down, now = y > 0, y < 0, output(W[0])
    exact = gradient(lambda w: np.mean(np.abs(y - output(w))))
    first, second = (gradient(lambda w, part=part: np.mean(output(w)[part])) for part in (up, down))
    formula = SLOPE * (np.exp(-((x[up] @ W[0] + b[0]) ** 2) / 2) @ x[up]) / up.sum() / K
    at = np.array([-2, -0.3, 0, 0.3, 1, 2])
    slopes = (_sigma(at + step) - _sigma(at - step)) / (2 * step)
    ones = (y > 0).astype(float)
    off = [_off(second - first, exact), _off((second - first) / 2, exact), _off(formula, first)]
    return xr.Dataset(
        {
            "sum_over_mean": (np.mean(1 - now[up]) + np.mean(1 + now[down])) / np.mean(np.abs(y - now)),
            "zero_one": (np.mean(1 - now[up]) + np.mean(now[down])) / np.mean(np.abs(ones - now)),
            "off": ("side", off),
            "slope": ("x", slopes / np.exp(-(at**2) / 2)),
        },
        {"side": ["printed", "half", "output"], "x": at},
    )


def _off(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


# The expectation of (33).


def expansion(n: int = 5, trials: int = 1000) -> float:
    """Largest difference of the two sides of (33) = (34), for random weights, inputs and biases."""
    rng = stream("localization", "expansion")
    w, x, b = rng.standard_normal((trials, n)), rng.standard_normal((trials, n)), rng.standard_normal(trials)
    j, k = np.triu_indices(n, 1)
    p = w * x
    expanded = (p**2).sum(1) + 2 * (p[:, k] * p[:, j]).sum(1) + 2 * b * p.sum(1) + b**2
    return float(np.abs(np.exp(-expanded / 2) - np.exp(-((p.sum(1) + b) ** 2) / 2)).max())


def bell_means(
    process: Process, W: np.ndarray, biases: Sequence[float], rng: np.random.Generator, samples: int
) -> np.ndarray:
    r"""Sample means of $e^{-(h + b)^2/2} X$, shape (filters, biases, n)."""
    W32, b32 = W.astype(np.float32), np.array(biases, dtype=np.float32)
    total = np.zeros((len(W) * len(b32), W.shape[1]))
    for start in range(0, samples, BLOCK):
        x = process.sample(rng, min(BLOCK, samples - start), np.float32)
        bells = np.exp(-(((x @ W32.T)[:, :, None] + b32) ** 2) / 2)
        total += bells.reshape(len(x), -1).T @ x
    return total.reshape(len(W), len(b32), -1) / samples


def bell_formula(process: Process, W: np.ndarray, biases: Sequence[float]) -> np.ndarray:
    r"""$-b(1+v)^{-3/2}e^{-b^2/(2(1+v))}\,\Sigma w$, with the covariance of X; shape (filters, biases, n)."""
    seen, b = W @ nlgp.circulant(process.covariance), np.array(biases)
    spread = 1 + np.einsum("fn,fn->f", W, seen)[:, None]
    return (-b * spread**-1.5 * np.exp(-(b**2) / (2 * spread)))[:, :, None] * seen[:, None]


def bells(draws: int = 6, samples: int = 200_000) -> xr.Dataset:
    r"""The closed form of (33) beside sample means.

    Returns:
        for Gaussian data and filters of five and of forty pixels, entry: sample mean less closed form; ratio: the part
            of the sample mean along the closed form, over it; wrong: for a form that lacks a power of 1 + v;
        cosine: of sample mean and closed form at g = 3, with the covariance of X.

    Cost: 3 s.
    """
    biases, sizes, lengths = (-1.0, 0.7, 2.0), (-2.0, 2.0), (1.0, 2.0)
    entry, ratio, wrong = [], [], []
    for n, xi in ((5, 1.0), (40, 2.0)):
        process, w = Process(n, xi, 0.0), stream("localization", "bell filter", n).normal(0, 0.5, (1, n))
        formula = bell_formula(process, w, biases)[0]
        means = [
            bell_means(process, w, biases, stream("localization", "bells", n, seed), samples)[0]
            for seed in range(draws)
        ]
        entry.append((np.stack(means, axis=-1) - formula[..., None]).transpose(1, 0, 2))
        ratio.append(np.stack([(mean * formula).sum(1) / (formula**2).sum(1) for mean in means], axis=-1))
        wrong.append(1 / float(1 + w[0] @ nlgp.circulant(process.covariance) @ w[0]))
    noise = stream("localization", "bells at 3").normal(0, (2 / 80) ** 0.5, (3, 40))
    W = np.vstack([noise, np.exp(-((nlgp.ring_distance(40) / 2.0) ** 2))])
    cosine = np.empty((len(W), len(sizes), len(lengths), draws))
    for k, xi in enumerate(lengths):
        process = Process(40, xi, 3.0)
        formula = bell_formula(process, W, sizes)
        for seed in range(draws):
            mean = bell_means(process, W, sizes, stream("localization", "bells at 3", xi, seed), samples // 2)
            norms = np.linalg.norm(mean, axis=-1) * np.linalg.norm(formula, axis=-1)
            cosine[:, :, k, seed] = (mean * formula).sum(axis=-1) / norms
    return xr.Dataset(
        {
            "entry": (("place", "bias", "seed"), np.concatenate(entry)),
            "ratio": (("case", "bias", "seed"), np.stack(ratio)),
            "wrong": ("case", wrong),
            "cosine": (("filter", "size", "xi", "seed"), cosine),
        },
        {
            "bias": list(biases),
            "case": ["5 pixels", "40 pixels"],
            "size": list(sizes),
            "xi": list(lengths),
            "filter": ["noise", "noise", "noise", "bump"],
        },
    )
