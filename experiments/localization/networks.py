r"""The standard network of the chapter, alone and in stacks, and with other gains, widths and data.

Rings of n = 40 points, length scales $(\xi_1, \xi_0) = (2, 1)$, 40 erf neurons with weights from $N(0, 2/(n + K))$ and
biases 0, labels +1 and -1, loss (2) with its factor 1/2, and plain descent with learning rate K/2 on fresh batches of
500 samples per class.
The weights of a field on N pixels move as on fewer if their rate is in proportion to 1/N (chapter "Localization"): 2 in
the place of 20 for 400 pixels of the same ring.
The heavy-tailed twin of a process has its covariance and a positive excess kurtosis, see :mod:`shallow.data.nlgp`.
Source: note on localized receptive fields, Sections 1 and 2, and the author's public code of the same time; the tails
go beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization.scores import points
from shallow import committee
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import online

N, WIDTH, STEPS = 40, 40, 2000
LENGTHS = (2.0, 1.0)


def pair(gain: float, n: int = N, lengths: tuple[float, float] = LENGTHS, **options) -> tuple[Process, Process]:
    """The classes with label +1 and -1: processes of length scales lengths[0] and lengths[1]."""
    return tuple(Process(n, xi, gain, **options) for xi in lengths)


def starts(seeds: Sequence[int], width: int = WIDTH, n: int = N, **options) -> committee.Committee:
    """One initial network for each seed, the same for every gain; options of :func:`shallow.committee.start`."""
    return committee.start([stream("localization", "start", seed) for seed in seeds], width, n, **options)


def train(
    seeds: Sequence[int],
    gains: Sequence[float],
    *,
    networks: committee.Committee | None = None,
    lengths: tuple[float, float] = LENGTHS,
    rate: float | None = None,
    steps: int = STEPS,
    **options,
) -> online.Run:
    """Networks for all gains and seeds, gains slowest: row g S + s has gain gains[g] and seed seeds[s].

    Args:
        networks: where to begin, one network for each row; by default :func:`starts` of the seeds for every gain.
        rate: by default half the number of neurons.
        options: of :func:`shallow.train.online.train`.

    Cost: 0.4 s of one core for each network of 40 neurons and 2000 steps.
    """
    networks = starts(list(seeds) * len(gains)) if networks is None else networks
    pairs = [pair(gain, networks.pixels, lengths) for gain in gains for _ in seeds]
    rngs = [stream("localization", "batches", seed) for _ in gains for seed in seeds]
    rate = networks.width / 2 if rate is None else rate
    return online.train(networks, pairs, rngs=rngs, rate=rate, steps=steps, **options)


@releases_gil
def network(
    seed: int,
    gain: float,
    *,
    steps: Sequence[int] = (100, STEPS),
    width: int = WIDTH,
    shape: int | Sequence[int] = N,
    lengths: tuple[float, float] = LENGTHS,
    tails: str = "light",
    rate: float | None = None,
) -> xr.Dataset:
    """One network at ascending steps of its training, from the start and with the batches of its seed.

    Args:
        shape: pixels of a ring, or of the two axes of a torus.
        rate: by default half the width.

    Returns:
        weights, biases, loss and accuracy at threshold 0 on 10,000 test points.

    Cost: 0.2 ms per step for forty neurons and pixels, 0.5 ms for a hundred neurons, 2 ms on 400 pixels.
    """
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    classes = pair(gain, sizes, tuple(lengths), tails=tails)
    start = starts([seed], width, int(np.prod(sizes)))
    rngs, rate = [stream("localization", "batches", seed)], width / 2 if rate is None else rate
    run = online.train(start, classes, rngs=rngs, rate=rate, steps=steps[-1], records=np.array(steps))
    given = points(seed, classes)
    outputs = np.stack([run.snapshot(step).forward(given.x)[0] for step in steps])
    axes = ("pixel",) if len(sizes) == 1 else ("row", "column")
    return xr.Dataset(
        {
            "W": (("step", "neuron", *axes), run.W[0].reshape(len(steps), width, *sizes)),
            "b": (("step", "neuron"), run.b[0]),
            "loss": ("step", (((outputs - given.y) ** 2).mean(axis=1) / 2).astype(np.float32)),
            "accuracy": ("step", ((outputs > 0) == (given.y > 0)).mean(axis=1).astype(np.float32)),
            "diverged": run.diverged[0],
        },
        {"step": list(steps)},
    )


# Records.  A cell is verified by its first steps: the rounding of one processor grows with the thousands of steps.

GAINS = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]
SEEDS = [0, 1, 2]


def _recipe(axes: dict, about: str, steps: int = STEPS, early: int = 100, **fixed) -> Recipe:
    fixed, short = {"steps": [early, steps], **fixed}, {"steps": [early]}
    return Recipe(network, axes, fixed, about, shortened=short)


RECORDS: dict[str, Recipe] = {
    "gains": _recipe({"gain": GAINS, "seed": SEEDS}, "The standard network from Gaussian data to signs", 4000),
    "balance": _recipe({"gain": [0.01, 3.0], "seed": list(range(10))}, "Ten standard networks at both gains"),
    "tiling": _recipe({"seed": list(range(5))}, "A hundred neurons, 2000 steps", gain=3.0, width=100),
    **{
        f"widths_{width}": _recipe(
            {"gain": [0.01, 3.0], "seed": list(range(10))}, f"{width} neurons, 3000 steps", 3000, width=width
        )
        for width in (20, 40, 100)
    },
    "fine_ring": _recipe(
        {"gain": [3.0], "seed": SEEDS},
        "The ring of the document's Figure 1, 400 pixels",
        3000,
        early=30,
        shape=400,
        lengths=(20.0, 10.0),
        rate=2.0,
    ),
}
