r"""How well averages over the ring, equations (4) and (5), replace a sum over trained neurons.

With $h(\tau) = \sum_t w(t - \tau) x(t)$ a neuron's *own ring average* is the mean over all n shifts and both signs of
its output, $\frac12 \langle \sigma(|h| + b) + \sigma(b - |h|) \rangle$.  (4) gives each population one template and the
weight 1/2; for other shares the true ones take its place, :data:`WEIGHTS`.  A template is the mean of the aligned
fields of a population, stretched to their mean norm: where fields are no copies, their mean is too short.  Beside it
stand the mean as it is, and the mean of all own ring averages.
Source: note on localized receptive fields, Section 2, equations (3) to (5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from experiments.localization import networks, scores
from experiments.localization.populations import cells as populations
from shallow.committee import Committee
from shallow.data import nlgp
from shallow.stats import stream

#: Points of each class at which formulas are compared with a network.
PER_CLASS = 1000
#: Weights of the two populations: as printed, and the true ones.
WEIGHTS = ("halves", "shares")
#: What stands for a population, and which terms of it.
FORMS = ("(4), template", "(4), mean", "(4), own", "(5), own", "corrected, own")


def terms(W: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Ring averages of $\sigma(|h| + b)$ and of $\sigma(b - |h|)$ of every neuron, both (K, points), in the type of x.

    Cost: 2 K n^2 operations and 2 K n values of erf a point.
    """
    found = np.empty((2, len(W), len(x)), x.dtype)
    points = torch.as_tensor(x)
    for k, (w, bias) in enumerate(zip(W, b, strict=True)):
        h = (points @ torch.as_tensor(nlgp.circulant(w).astype(x.dtype))).abs_()
        for i, term in enumerate((h + float(bias), float(bias) - h)):
            found[i, k] = term.mul_(0.5**0.5).erf_().mean(dim=1).numpy()
    return found[0], found[1]


def templates(W: np.ndarray) -> dict[str, np.ndarray]:
    """One field for a population W (k, n): the mean of the aligned fields, stretched to their mean norm and not."""
    mean, norm = populations.aligned(W).mean(axis=0), np.linalg.norm(W, axis=1).mean()
    return {"template": mean * (norm / np.linalg.norm(mean)), "mean": mean}


def weighted(terms: dict[int, np.ndarray], share: float, weights: str) -> np.ndarray:
    """One half, or the share of its neurons, of the value (points,) of the population of either sign."""
    plus = share if weights == "shares" else 0.5
    return (1 - plus) * terms[-1] + plus * terms[1]


def values(W: np.ndarray, b: np.ndarray, x: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """All :data:`FORMS` with both :data:`WEIGHTS` of one network with neurons of both signs; (points,) each.

    "corrected" drops the term that is saturated at the sign of the bias, and puts this sign in its place.
    """
    signs = populations.population(b)
    share = float((signs == 1).mean())
    larger, smaller = terms(W, b, x)
    of = {sign: signs == sign for sign in (-1, 1)}
    larger, smaller = ({sign: kind[chosen].mean(axis=0) for sign, chosen in of.items()} for kind in (larger, smaller))
    single = {}
    for sign, chosen in of.items():
        for name, shape in templates(W[chosen]).items():
            bias = np.array([b[chosen].mean()])
            single.setdefault(name, {})[sign] = np.mean(terms(shape[None], bias, x), axis=0)[0]
    parts = {
        **{f"(4), {name}": values for name, values in single.items()},
        "(4), own": {sign: (larger[sign] + smaller[sign]) / 2 for sign in of},
        "(5), own": larger,
        "corrected, own": {-1: (larger[-1] - 1) / 2, 1: (smaller[1] + 1) / 2},
    }
    return {(form, weights): weighted(parts[form], share, weights) for form in FORMS for weights in WEIGHTS}


def compared(W: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray) -> xr.Dataset:
    """All formulas against the network at points x with labels y.

    error is the root mean square difference over the output's standard deviation, lost the network's accuracy at
    threshold 0 minus the formula's; bound the largest difference of (4) and the corrected form, own averages and true
    shares, over the proved one.
    """
    output, found = Committee(W[None], b[None]).forward(x)[0].astype(np.float64), values(W, b, x)
    accuracy, deviation = np.mean((output > 0) == (y > 0)), output.std()
    rows = {name: np.empty((len(FORMS), len(WEIGHTS))) for name in ("correlation", "error", "lost")}
    for (form, weights), value in found.items():
        at, difference = (FORMS.index(form), WEIGHTS.index(weights)), value - output
        rows["correlation"][at] = np.corrcoef(value, output)[0, 1]
        rows["error"][at] = np.sqrt(np.mean(difference**2)) / deviation
        rows["lost"][at] = accuracy - np.mean((value > 0) == (y > 0))
    gap = np.abs(found["(4), own", "shares"] - found["corrected, own", "shares"]).max()
    table = xr.Dataset(
        {name: (("form", "weights"), value) for name, value in rows.items()},
        {"form": list(FORMS), "weights": list(WEIGHTS)},
    )
    return table.assign(bound=gap / bound(b))


def bound(b: np.ndarray) -> float:
    r"""$\frac1K \sum_k \frac12 (1 - \sigma(|b_k|))$: the most that dropping the saturated terms can change."""
    z = torch.as_tensor(np.abs(np.asarray(b, dtype=np.float64)))
    return float(torch.special.ndtr(-z).mean())


# Networks that tile the ring exactly, or by chance.


def network(shapes: Sequence[np.ndarray], biases: Sequence[float], copies: tuple[int, int]) -> Committee:
    """All shifts and both signs of two templates, each so often."""
    W = np.concatenate(
        [sign * nlgp.circulant(w).T for w, often in zip(shapes, copies) for sign in (1, -1) for _ in range(often)]
    )
    b = np.repeat(biases, [2 * len(shapes[0]) * often for often in copies])
    return Committee(W[None], b[None])


def tiled(
    shapes: Sequence[np.ndarray],
    biases: Sequence[float],
    copies: tuple[int, int] = (1, 1),
    written: str = "correlation",
) -> dict[str, float]:
    """Largest difference of a network of all shifts and both signs of two templates from (4), by its weights.

    Args:
        copies: how often each neuron of either population occurs.
        written: "correlation", or "convolution" as the note has it: with the templates reflected.
    """
    n = len(shapes[0])
    x = nlgp.minibatch(stream("localization", "tiled"), *networks.pair(3.0, n), 500).x
    output = network(shapes, biases, copies).forward(x)[0]
    shown = [w[-np.arange(n) % n] if written == "convolution" else w for w in shapes]
    one = dict(zip((-1, 1), np.mean(terms(np.array(shown), np.array(biases), x), axis=0)))
    share = copies[1] / sum(copies)
    return {weights: float(np.abs(output - weighted(one, share, weights)).max()) for weights in WEIGHTS}


def independent(width: int, draws: int = 30) -> float:
    """Root mean square difference from (4) for neurons of one template at independent uniform centres and signs."""
    rng, n = stream("localization", "independent centres", width), networks.N
    x, w = nlgp.minibatch(rng, *networks.pair(3.0), 250).x, 5 * np.exp(-((nlgp.ring_distance(n) / 2) ** 2))
    average = np.mean(terms(w[None], np.array([-1.0]), x), axis=0)[0]
    gaps = []
    for _ in range(draws):
        rows = rng.choice([-1.0, 1.0], width)[:, None] * nlgp.circulant(w).T[rng.integers(n, size=width)]
        gaps.append(Committee(rows[None], np.full((1, width), -1.0)).forward(x)[0] - average)
    return float(np.sqrt(np.mean(np.square(gaps))))


# Trained networks.


def measured(runs: xr.Dataset) -> xr.Dataset:
    """:func:`compared` for the networks of a record at one step, on 2000 test points (gain, seed)."""
    return xr.concat(
        [
            xr.concat([_one(runs.sel(gain=gain, seed=seed), gain, seed) for seed in runs.seed.values], runs.seed)
            for gain in runs.gain.values
        ],
        runs.gain,
    )


def inputs(seed: int, gain: float) -> scores.Points:
    """The points of a seed at which formulas are compared."""
    return scores.points(int(seed), networks.pair(float(gain)), PER_CLASS)


def _one(run: xr.Dataset, gain: float, seed: int) -> xr.Dataset:
    given = inputs(seed, gain)
    return compared(run.W.values, run.b.values, given.x, given.y)
