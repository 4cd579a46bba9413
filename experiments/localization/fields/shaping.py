r"""Does training shape the receptive fields, or does it scale them up, and which objective do the shapes follow?

:func:`split` takes trained fields apart into directions and norms and asks what either is worth without the other, with
the biases chosen anew.  :func:`scaled` scales bumps up.  :func:`followed` starts a population of negative biases from
planted fields.
Source: note on localized receptive fields, Section 2, "A cheat", and the passage from (6) to (7).
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from scipy import optimize

from experiments.localization import dominance, networks, reductions
from experiments.localization.dominance import gabors
from shallow import checks
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe, releases_gil
from shallow.committee import Committee
from shallow.data import nlgp
from shallow.stats import stream
from shallow.train import online

#: Factors by which the norms that the loss is evaluated at differ from the trained ones.
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
#: Recorded steps; those of the rules among them.
RECORDED = (0, 10, 20, 50, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 4000)
BEGINNINGS = ("random", "bumps", "waves")


def test_set(seed: int, gain: float, part: str, count: int) -> nlgp.Batch:
    """`count` samples of both classes together, apart from those of training."""
    rng = stream("localization", "test", seed, part)
    return nlgp.minibatch(rng, *networks.pair(gain), count // 2, np.float32)


def loss(network: Committee, sample: nlgp.Batch, offset: float = 0.0) -> float:
    """Loss (2) of one network, with its factor 1/2, over a sample."""
    return float(np.mean((network.forward(sample.x)[0] + offset - sample.y) ** 2, dtype=np.float64) / 2)


def best_biases(W: np.ndarray, begin: np.ndarray, sample: nlgp.Batch) -> np.ndarray:
    """Biases (K,) that minimise loss (2) over a sample with the fields W (K, n) fixed, by L-BFGS from `begin`."""
    h = torch.from_numpy((sample.x @ W.T.astype(np.float32)) * np.float32(0.5**0.5))
    y = torch.from_numpy(sample.y)

    def value(b: np.ndarray) -> tuple[float, np.ndarray]:
        moved = h + torch.from_numpy((b * 0.5**0.5).astype(np.float32))
        residual = torch.erf(moved).mean(dim=1) - y
        slopes = residual @ torch.exp(-(moved**2)) * (2 / np.pi) ** 0.5 / (len(y) * len(W))
        return float((residual**2).mean()) / 2, slopes.numpy().astype(np.float64)

    options = {"maxiter": 300, "ftol": 1e-9, "gtol": 1e-6}
    return optimize.minimize(value, begin, jac=True, method="L-BFGS-B", options=options).x


def split(seed: int, gain: float, *, steps: int = 4000, whole: bool = True) -> xr.Dataset:
    """A standard network over time, and the loss of its initial and of its final directions at several norms.

    Args:
        whole: also what depends on the last step, `cosine`, `swept` and `kept`.

    Returns:
        high: share of the energy above n/4 cycles; spread: inverse participation ratio; cosine: with the final field;
        swept: test loss of directions "initial" and "final" with `factor` times the trained norm of each neuron, biases
            chosen anew on 10,000 other samples: the best found from the trained ones times the factor, from the signs
            of the first steps at their median size, and from 0;
        kept: test loss with "shape" only, final directions at initial norms, and with "scale" only, initial directions
            at final norms, biases chosen anew likewise; "both" has the trained biases, "refitted" new ones.

    Cost: 1 s for training and 0.3 s for each of 48 descents in the biases.
    """
    records = [step for step in RECORDED if step <= steps]
    run = networks.train([seed], [gain], steps=steps, records=records)
    W, b, test = run.W[0].astype(np.float64), run.b[0].astype(np.float64), test_set(seed, gain, "test", 10_000)
    by_step, norms = ("step", "neuron"), np.linalg.norm(W, axis=-1)
    found = xr.Dataset(
        {
            "norm": (by_step, norms),
            "bias": (by_step, b),
            "high": (by_step, 1 - fields.low_share(W, networks.N // 4)),
            "spread": (by_step, fields.inverse_participation_ratio(W)),
            "loss": ("step", [loss(run.snapshot(step), test) for step in records]),
        },
        {"step": records},
    )
    if not whole:
        return found
    initial, final, sample = W[0] / norms[0, :, None], W[-1] / norms[-1, :, None], test_set(seed, gain, "fit", 10_000)
    first = np.where(b[min(1, len(b) - 1)] < 0, -1.0, 1.0)

    def refitted(V: np.ndarray, factor: float) -> float:
        begins = factor * b[-1], factor * np.median(np.abs(b[-1])) * first, np.zeros(len(first))
        tried = [Committee(V[None], best_biases(V, begin, sample)[None]) for begin in begins]
        return loss(min(tried, key=lambda network: loss(network, sample)), test)

    swept = [[refitted(c * norms[-1, :, None] * shape, c) for c in FACTORS] for shape in (initial, final)]
    kept = {
        "start": loss(run.snapshot(0), test),
        "scale": refitted(norms[-1, :, None] * initial, 1.0),
        "shape": refitted(norms[0, :, None] * final, float(np.median(norms[0] / norms[-1]))),
        "both": loss(run.last, test),
        "refitted": refitted(W[-1], 1.0),
    }
    return found.assign(
        cosine=(by_step, np.einsum("skn,kn->sk", W, final) / norms),
        swept=(("shape", "factor"), swept),
        kept=("change", list(kept.values())),
    ).assign_coords(shape=["initial", "final"], factor=list(FACTORS), change=list(kept))


def scaled(seed: int, *, pairs: int = 20_000, points: int = 4000) -> xr.Dataset:
    r"""What a bump gains when its norm and its bias grow together, b/|w| = slope, by (8), (6) and the loss.

    Returns:
        point, ring: the probabilities (8) and (6) on one set of pairs; loss: the least loss (2) over the output offset
            of a network of this bump at all places with both signs, over `points` samples;
        for the bump of width 2 the :class:`.reductions.Events` of (7) beside (8), at several norms and biases.

    Cost: 3 s.
    """
    widths, slopes, norms = (1.5, 2.0), (-0.5, -1.0, -1.5), (0.5, 1.0, 2.0, 4.0, 8.0)
    slow, fast = networks.pair(3.0)
    batch = nlgp.minibatch(stream("localization", "cheat loss", seed), slow, fast, points // 2)
    shape = (len(widths), len(slopes), len(norms))
    point, ring, losses = (np.empty(shape) for _ in range(3))
    for i, width in enumerate(widths):
        bump = gabors(networks.N, [width], [0])[0]
        W = np.array(norms)[:, None] * bump
        here = dominance.outcomes_at_a_point(stream("localization", "cheat pairs", seed), slow, fast, W, pairs)
        point[i] = dominance.probability(here).value
        for j, slope in enumerate(slopes):
            b, rng = slope * np.array(norms), stream("localization", "cheat pairs", seed)
            around = dominance.outcomes_on_average(rng, slow, fast, W, b[:, None], pairs)[:, 0]
            ring[i, j] = dominance.probability(around).value
            losses[i, j] = [reductions.tiled_loss(w, bias, batch) for w, bias in zip(W, b)]
    rng, bump = stream("localization", "cheat", seed), gabors(networks.N, [2.0], [0])[0, 0]
    h = [reductions.responses(rng, process, bump, pairs, moved=True) for process in (slow, fast)]
    sizes, biases = (0.5, 1.0, 2.0, 4.0), (-4.0, -2.0, -1.0, 0.0, 1.0)
    events = np.array([[reductions.through_sigmoid(*h, norm, b) for b in biases] for norm in sizes])
    axes, plane = ("width", "slope", "norm"), ("size", "bias")
    return xr.Dataset(
        {"point": (axes, point), "ring": (axes, ring), "loss": (axes, losses)}
        | {name: (plane, events[..., i]) for i, name in enumerate(reductions.Events._fields)},
        {"width": list(widths), "slope": list(slopes), "norm": list(norms), "size": list(sizes), "bias": list(biases)},
    )


def planted(begin: str, seed: int, width: float = 2.0, bias: float = -2.0) -> Committee:
    """Forty fields of norm 1, one for each place: "bumps" of that width with signs in turn, "waves" of 0, 1 or 2
    cycles, or "random" ones, which alone have biases 0."""
    checks.one_of(BEGINNINGS, begin=begin)
    if begin == "random":
        return networks.starts([seed])
    places = np.arange(networks.N)
    if begin == "bumps":
        bump = gabors(networks.N, [width], [0])[0, 0]
        W = np.stack([(-1) ** place * np.roll(bump, place) for place in places])
    else:
        W = np.stack([np.roll(gabors(networks.N, [np.inf], [place % 3])[0, 0], place) for place in places])
    return Committee(W[None].astype(np.float32), np.full((1, networks.N), bias))


@releases_gil
def followed(begin: str, gain: float, seed: int, *, steps: int = 4000) -> xr.Dataset:
    """A network with biases of at most 0 and output offset +1/2, from :func:`planted` fields: medians, and test loss.

    Cost: 2 s.
    """
    records = [step for step in RECORDED if step <= steps]
    options = {"networks": planted(begin, seed), "offset": 0.5, "bounds": (-np.inf, 0.0)}
    run: online.Run = networks.train([seed], [gain], steps=steps, records=records, **options)
    test = test_set(seed, gain, "test", 40_000)
    W = run.W[0]
    measures = {
        "spread": fields.inverse_participation_ratio(W),
        "frequency": fields.mean_frequency(W),
        "low": fields.low_share(W, 2),
        "bias": run.b[0],
        "norm": np.linalg.norm(W, axis=-1),
    }
    medians = {name: ("step", np.median(values, axis=1)) for name, values in measures.items()}
    losses = [loss(run.snapshot(step), test, 0.5) for step in records]
    return xr.Dataset(medians | {"loss": ("step", losses)}, {"step": records})


# Records.  Runs of single precision part from each other by rounding: a cell is verified by its first steps.

RECORDS: dict[str, Recipe] = {
    "shape_and_scale": Recipe(
        split,
        {"gain": [0.01, 3.0], "seed": [0, 1, 2]},
        about="Norms and directions of the fields over time, and what either is worth without the other",
        shortened={"steps": 100, "whole": False},
    ),
    "scaled_bumps": Recipe(
        scaled,
        {"seed": list(range(5))},
        about="Bumps with norm and bias that grow together: the probabilities (8) and (6), and the loss",
    ),
    "planted_fields": Recipe(
        followed,
        {"begin": list(BEGINNINGS), "gain": [0.01, 3.0], "seed": [0, 1, 2]},
        about="Negative biases alone, from bumps, from long waves and from random fields",
        shortened={"steps": 100},
    ),
}
