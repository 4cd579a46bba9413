r"""The standard network, and with what its author's program does otherwise, one thing at a time.

The program's loss has no factor 1/2, so that its learning rate counts twice.  Its initial weights are normal numbers
cut at two standard deviations and stretched to the same variance, $2/(n + K)$.  It draws the class of every sample of
a batch, so that the class counts fluctuate.  Without biases, and with ReLU and the labels 1 and 0, it is another model,
for contrast.
Source: the author's public code of the months in which the note on localized receptive fields was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy import special, stats

from experiments.localization import networks
from experiments.localization.scores import Points, points
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe
from shallow.committee import Committee
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import plain
from shallow.train.online import Pair

CUT = 2.0  # standard deviations of the normal law that is cut
BATCH = 1000
VARIANTS = ("standard", "start", "counts", "rate 10", "rate 40", "relu")


def truncated(z: np.ndarray) -> np.ndarray:
    """Standard normal numbers as numbers of the law that is cut and stretched to variance one, each by its rank."""
    low, high = special.ndtr(-CUT), special.ndtr(CUT)
    values = special.ndtri(low + (high - low) * special.ndtr(np.asarray(z, dtype=np.float64)))
    return values / stats.truncnorm(-CUT, CUT).std()


def truncated_start(seed: int) -> Committee:
    """The standard start of a seed with every weight at the same rank of the truncated law of the same variance."""
    start = networks.starts([seed])
    deviation = (2 / (start.pixels + start.width)) ** 0.5
    return replace(start, W=(deviation * truncated(start.W / deviation)).astype(np.float32))


def fluctuating(
    start: Committee, classes: Pair, rng: np.random.Generator, rate: float, steps: Sequence[int]
) -> list[Committee]:
    """One network at some steps, trained on batches in which every sample has its class by a coin.

    Cost: 3 ms a step.
    """
    W, b, means, found = start.W[0].copy(), start.b[0].copy(), np.full(start.width, 1 / start.width), []
    for step in range(1, steps[-1] + 1):
        first = int(rng.binomial(BATCH, 0.5))
        x = np.concatenate(
            [process.sample(rng, count, np.float32) for process, count in zip(classes, (first, BATCH - first))]
        )
        y = np.where(np.arange(BATCH) < first, np.float32(1), np.float32(-1))
        down = plain.gradient(x, y, TwoLayer(W, b, means), activation="erf")[0]
        W -= rate * down.W
        b -= rate * down.b
        if step in steps:
            found.append(replace(start, W=W[None].copy(), b=b[None].copy()))
    return found


def trained(variant: str, seed: int, gain: float, steps: Sequence[int]) -> list[Committee]:
    """The network of a variant at some steps of its training."""
    start = truncated_start(seed) if variant == "start" else networks.starts([seed])
    if variant == "counts":
        rng = stream("localization", "fluctuating batches", seed)
        return fluctuating(start, networks.pair(gain), rng, networks.WIDTH / 2, steps)
    options = {"rate": float(variant.removeprefix("rate"))} if variant.startswith("rate") else {}
    if variant == "relu":
        start = networks.starts([seed], activation="relu")
        options = {"rate": 5.0, "labels": (1.0, 0.0), "bounds": (0.0, 0.0)}
    run = networks.train([seed], [gain], networks=start, steps=steps[-1], records=np.array(steps), **options)
    return [run.snapshot(step) for step in steps]


def variants(seed: int, gain: float, *, steps: Sequence[int] = (50, networks.STEPS)) -> xr.Dataset:
    """All :data:`VARIANTS` of one seed at some steps: biases, fields, and scores on the 10,000 test points of the seed.

    Loss and accuracy of ReLU are those with its own labels and the threshold 1/2.

    Cost: 3 ms a step for the network with fluctuating counts, 0.2 ms for each of the others.
    """
    given = points(seed, networks.pair(gain))
    found = [
        xr.concat([_measured(network, given) for network in trained(variant, seed, gain, steps)], "step")
        for variant in VARIANTS
    ]
    table = xr.concat(found, "variant").transpose("step", "variant", ...)
    return table.assign_coords(step=list(steps), variant=list(VARIANTS)).astype(np.float32)


def _measured(network: Committee, given: Points) -> xr.Dataset:
    output, scale = network.forward(given.x)[0].astype(np.float64), 1
    if network.activation == "relu":  # labels 1 and 0: twice the output minus one has labels +1 and -1
        output, scale = 2 * output - 1, 4
    return xr.Dataset(
        {
            "b": ("neuron", network.b[0]),
            "ipr": ("neuron", fields.inverse_participation_ratio(network.W[0])),
            "mean_frequency": ("neuron", fields.mean_frequency(network.W[0])),
            "loss": ((output - given.y) ** 2).mean() / 2 / scale,
            "accuracy": ((output > 0) == (given.y > 0)).mean(),
        }
    )


RECORDS: dict[str, Recipe] = {
    "program": Recipe(
        variants,
        {"gain": [0.01, 3.0], "seed": list(range(6))},
        {"steps": [50, networks.STEPS]},
        "What the author's program does otherwise: start, class counts, rate; and ReLU",
        shortened={"steps": [50]},
    )
}
