r"""The contest of tails: networks on classes of one covariance whose tails are chosen class by class, and forecasts.

Forecasts are for the filters of `FAMILY`: the constant, three cosines and bumps $e^{-d^2/a^2}$ of 14 widths, all of
norm 1.  Three objectives say which of them a network should learn:

* (9), $P(|h_1| > |h_0|)$;
* the *linear term* of the loss (2) for one neuron, $\max_{b < 0} E_1\sigma(h + b) - E_0\sigma(h + b)$, with h the
  response at the norm of the trained fields: $E Y\hat y$ is half its mean over the neurons;
* the *whole loss*, when all negative fields of a trained network are replaced by copies of the filter that cover the
  ring evenly with alternating signs, at the trained norm and the best common bias; the positive ones stay.  Beside
  them the same copies with other phases, a control that Gaussian data cannot tell from them.

Source: goes beyond the note on localized receptive fields, Section 2; (2) and (9) are its equations.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import fft

from experiments.localization import dominance, networks
from experiments.localization.bumps import filters, laws
from experiments.localization.dominance import gabors
from experiments.localization.populations.cells import population
from shallow import receptive_fields
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.nlgp import minibatch
from shallow.stats import stream
from shallow.train import online

COSINES = (1, 2, 3)
FAMILY = ("constant", *(f"cosine {k}" for k in COSINES), *(f"bump {a:.2g}" for a in filters.WIDTHS))
#: Biases tried, over the deviation of a filter's response (geometric mean of the classes).
BIASES = np.linspace(0.1, 3.0, 16)


def family() -> np.ndarray:
    """The filters of `FAMILY`, shape (18, 40)."""
    waves = gabors(networks.N, [np.inf], (0, *COSINES))[0]
    return np.concatenate([waves, gabors(networks.N, filters.WIDTHS, [0])[:, 0]])


def tiles(count: int) -> np.ndarray:
    """Copies of every filter at evenly spaced centres, with alternating signs and norm 1, shape (18, count, 40)."""
    n, signs = networks.N, np.where(np.arange(count) % 2, -1.0, 1.0)
    d = np.abs((np.arange(n) - n * np.arange(count)[:, None] / count + n / 2) % n - n / 2)
    copies = [np.cos(2 * np.pi * k * d / n) for k in (0, *COSINES)] + [np.exp(-((d / a) ** 2)) for a in filters.WIDTHS]
    fields = np.stack(copies) * signs[:, None]
    return fields / np.linalg.norm(fields, axis=-1, keepdims=True)


def scrambled(fields: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fields (..., n) with one random change of phase for each wave, the same for all fields.

    All spectra and all inner products, also of shifted fields, stay; so does all that Gaussian data can tell.
    """
    turns = np.exp(2j * np.pi * rng.random(fields.shape[-1] // 2 + 1))
    turns[[0, -1]] = 1
    return fft.irfft(fft.rfft(fields) * turns, fields.shape[-1])


def erf(z: np.ndarray) -> np.ndarray:
    r"""$\mathrm{erf}(z/\sqrt2)$."""
    from shallow.extras import torch

    return torch.erf(torch.from_numpy(z * z.dtype.type(0.5**0.5))).numpy()


def in_objective(pair: str, gain: float, seed: int, *, pairs: int = 100_000) -> xr.Dataset:
    """(9) of the family on a pair of laws, on two draws, with the leads over the constant on the second.

    Kurtosis is that of the sample, and means nothing where heavy tails have no fourth moment.

    Cost: 2 s.
    """
    classes, W = laws.pair(pair, gain), family()
    rngs = {draw: stream("localization", "contest", pair, seed, draw) for draw in ("select", "evaluate", "kurtosis")}
    select, outcomes = (
        dominance.outcomes_at_a_point(rngs[draw], *classes, W, pairs) for draw in ("select", "evaluate")
    )
    lead = dominance.advantage(outcomes, outcomes[0])
    heavy = [filters.kurtosis(rngs["kurtosis"], one, W, pairs) for one in classes]
    return xr.Dataset(
        {
            "select": ("filter", dominance.probability(select).value),
            "value": ("filter", dominance.probability(outcomes).value),
            "lead": ("filter", lead.value),
            "lead_error": ("filter", lead.error),
            "kurtosis": (("class", "filter"), np.stack(heavy)),
            "ratio": ("filter", dominance.variance_ratio(W, *(one.spectrum for one in classes))),
        },
        {"filter": list(FAMILY), "class": [1, 0]},
    )


def linear_term(x: np.ndarray, W: np.ndarray) -> np.ndarray:
    r"""$\max_{b<0} E_1\sigma(h + b) - E_0\sigma(h + b)$ for filters (F, n), over a grid of biases; shape (F,).

    Args:
        x: samples, half of them of either class, the slow one first.  Their laws are symmetric, so that h and -h count.
    """
    h = np.abs(x @ W.T.astype(x.dtype)).reshape(2, -1, len(W))
    deviation = np.sqrt((h**2).mean(axis=1)).prod(axis=0) ** 0.5
    best = np.full(len(W), -np.inf)
    for b in -BIASES[:, None].astype(x.dtype) * deviation:
        slow, fast = (erf(h + b) + erf(b - h)).mean(axis=1, dtype=np.float64) / 2
        best = np.maximum(best, slow - fast)
    return best


def whole_loss(x: np.ndarray, y: np.ndarray, rest: np.ndarray, W: np.ndarray, width: int) -> float:
    r"""The least loss (2), over common biases, of fields W (m, n) beside a population of the output `rest` (samples,).

    `rest` and the output are sums over neurons divided by `width`.
    """
    h = x @ W.T.astype(x.dtype)
    deviation = np.sqrt((h.reshape(2, -1) ** 2).mean(axis=1)).prod() ** 0.5
    outputs = (erf(h - x.dtype.type(b * deviation)).sum(axis=1) / width for b in BIASES)
    return min(float(((rest + one - y) ** 2).mean()) / 2 for one in outputs)


def medians(W: np.ndarray, b: np.ndarray) -> dict:
    """Medians over the negative and the positive neurons of one network, their numbers, and the median fields."""
    found = {name: np.full(2, np.nan) for name in ("ipr", "frequency", "norm", "bias")}
    count, middle = np.zeros(2, int), np.zeros((2, W.shape[1]), np.float32)
    for i, sign in enumerate((-1, 1)):
        members = population(b) == sign
        chosen, count[i] = W[members], members.sum()
        if members.any():
            ipr, norm = receptive_fields.inverse_participation_ratio(chosen), np.linalg.norm(chosen, axis=1)
            of = (ipr, receptive_fields.mean_frequency(chosen), norm, b[members])
            for values, one in zip(found.values(), of, strict=True):
                values[i] = np.median(one)
            middle[i] = chosen[np.argsort(ipr)[len(ipr) // 2]]
    return {name: ("sign", value) for name, value in {**found, "neurons": count}.items()} | {
        "field": (("sign", "pixel"), middle)
    }


def train(pair: str, gain: float, seed: int, steps: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Fields (steps, K, n) and biases of the standard network of a seed on a pair of laws."""
    classes, start, rng = laws.pair(pair, gain), networks.starts([seed]), stream("localization", "batches", seed)
    rate = networks.WIDTH / 2
    if any(isinstance(one, laws.Mixed) for one in classes):
        return laws.descend(start, classes, rng, rate=rate, steps=steps)
    run = online.train(start, classes, rngs=[rng], rate=rate, steps=steps[-1], records=np.array(steps))
    return run.W[0], run.b[0]


def populations_of(W: np.ndarray, b: np.ndarray, x: np.ndarray, rng: np.random.Generator) -> dict:
    """The loss (2) of a network on samples x, and with copies of every filter in the place of its negative fields.

    Returns:
        tested: the loss of the network; tiled, scrambled: those with :func:`tiles` of each filter, and with the same
            tiles :func:`scrambled`; NaN for a network without negative biases.
    """
    y, positive = np.repeat(np.array([1, -1], x.dtype), len(x) // 2), population(b) == 1
    neurons = erf(x @ W.T + b)
    rest, negative = neurons[:, positive].sum(axis=1) / len(b), W[population(b) == -1]
    losses = np.full((2, len(FAMILY)), np.nan)
    if len(negative):
        norm, copies = np.median(np.linalg.norm(negative, axis=1)), tiles(len(negative))
        for i, fields in enumerate((copies, scrambled(copies, rng))):
            losses[i] = [whole_loss(x, y, rest, norm * one, len(b)) for one in fields]
    tested = float(((neurons.mean(axis=1) - y) ** 2).mean()) / 2
    return {"tested": tested, "tiled": ("filter", losses[0]), "scrambled": ("filter", losses[1])}


@releases_gil
def network(
    pair: str, gain: float, seed: int, *, steps: tuple[int, ...] | list[int] = (100, 4000), samples: int = 40_000
) -> xr.Dataset:
    """What a standard network learns on a pair of laws, and what two objectives at its trained norm say of the family.

    Returns:
        by the sign of the bias: medians of inverse participation ratio, mean frequency, norm and bias, number of
        neurons, and the field in the middle; linear, :func:`linear_term` of the family on all samples; and
        :func:`populations_of` on a quarter of them.

    Cost: 0.3 ms a step, twice that for linear and elliptical data, and 2 s.
    """
    W, b = train(pair, gain, seed, list(steps))
    x = minibatch(stream("localization", "contest", seed), *laws.pair(pair, gain), samples // 2, np.float32).x
    some, found = x.reshape(2, -1, networks.N)[:, : samples // 8].reshape(-1, networks.N), []
    for fields, biases in zip(W, b, strict=True):
        one = medians(fields, biases)
        linear = linear_term(x, one["norm"][1][0] * family())
        others = populations_of(fields, biases, some, stream("localization", "phases", seed))
        found.append(xr.Dataset(one | others | {"linear": ("filter", linear)}))
    return xr.concat(found, "step").assign_coords(step=list(steps), sign=[-1, 1], filter=list(FAMILY))


# Records.

PAIRS = [f"{slow}/{fast}" for slow in laws.TAILS for fast in laws.TAILS]
OTHERS = [
    "signs/signs",
    "sparse/sparse",
    "Gaussian/sparse",
    "sparse/Gaussian",
    "sphere/sphere",
    "radial/radial",
    "Gaussian/radial",
    "radial/Gaussian",
]
GAINS, SEEDS = [0.5, 1.0, 3.0], list(range(10))
#: Gains at which the width is asked for.
WIDTH_GAINS = [0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 10.0, 100.0]

RECORDS: dict[str, Recipe] = {
    "contest_objective": Recipe(
        in_objective,
        {"pair": PAIRS + OTHERS, "gain": GAINS, "seed": [0, 1, 2]},
        about="Objective (9) of the constant, cosines and bumps on 17 pairs of laws with equal covariances",
    ),
    "contest": Recipe(
        network,
        {"pair": PAIRS, "gain": GAINS, "seed": SEEDS},
        {"steps": [100, 4000]},
        "Networks on slow and fast classes with light, Gaussian or heavy tails",
        shortened={"steps": [100]},
    ),
    "contest_others": Recipe(
        network,
        {"pair": OTHERS, "gain": [0.5, 3.0], "seed": SEEDS},
        {"steps": [100, 4000]},
        "Networks on linear processes and elliptical data with the same covariances",
        shortened={"steps": [100]},
    ),
    "width": Recipe(
        network,
        {"gain": WIDTH_GAINS, "seed": SEEDS},
        {"pair": "light/light", "steps": [100, 4000]},
        "The note's data from Gaussian to signs: what networks learn, and what the loss says of the family",
        shortened={"steps": [100]},
    ),
}
