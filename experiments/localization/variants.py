r"""The standard network with other gains, widths and data: a fine ring, a torus, and processes with heavy tails.

The weights of a field on N pixels move as on fewer if their rate is in proportion to 1/N (chapter "Localization"): 2 in
the place of 20 for 400 pixels of the same ring.  The torus of 20 x 20 is not a finer ring, as its lengths in pixels are
those of the ring of 40; but a slow field has more power there, so that its rate is a quarter.
The heavy-tailed twin of a process has its covariance and a positive excess kurtosis, see :mod:`shallow.data.nlgp`.
Source: note on localized receptive fields, Sections 1 and 2; the torus and the tails go beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.scores import points
from shallow.book.recipes import Recipe, releases_gil
from shallow.stats import stream
from shallow.train import online


@releases_gil
def network(
    seed: int,
    gain: float,
    *,
    steps: Sequence[int] = (100, networks.STEPS),
    width: int = networks.WIDTH,
    shape: int | Sequence[int] = networks.N,
    lengths: tuple[float, float] = networks.LENGTHS,
    tails: str = "light",
    rate: float | None = None,
) -> xr.Dataset:
    """One network at some steps of its training, from the start and with the batches of its seed.

    Args:
        steps: ascending; the last one is the end.
        shape: pixels of a ring, or of the two axes of a torus.
        rate: by default half the width.

    Returns:
        W (step, neuron, pixel), on the torus (step, neuron, row, column); b (step, neuron); loss and accuracy at
        threshold 0 on 10,000 test points (step); diverged.

    Cost: 0.2 ms per step for forty neurons and pixels, 0.5 ms for a hundred neurons, 2 ms on 400 pixels.
    """
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    pair = networks.pair(gain, sizes, tuple(lengths), tails=tails)
    start = networks.starts([seed], width, int(np.prod(sizes)))
    rngs, rate = [stream("localization", "batches", seed)], width / 2 if rate is None else rate
    run = online.train(start, pair, rngs=rngs, rate=rate, steps=steps[-1], records=np.array(steps))
    given = points(seed, pair)
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
#: Gains of the heavy-tailed twins; up to 1/2 their excess kurtosis is finite.
TAIL_GAINS = [0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 3.0]
SEEDS = [0, 1, 2]


def _recipe(axes: dict, about: str, steps: int = networks.STEPS, early: int = 100, **fixed) -> Recipe:
    fixed, short = {"steps": [early, steps], **fixed}, {"steps": [early]}
    return Recipe(network, axes, fixed, about, shortened=short)


RECORDS: dict[str, Recipe] = {
    "gains": _recipe({"gain": GAINS, "seed": SEEDS}, "The standard network from Gaussian data to signs", 4000),
    "balance": _recipe({"gain": [0.01, 3.0], "seed": list(range(10))}, "Ten standard networks at both gains"),
    "tiling": _recipe({"seed": list(range(5))}, "A hundred neurons, 2000 steps", gain=3.0, width=100),
    **{
        f"widths_{width}": _recipe(
            {"gain": [0.01, 3.0], "seed": SEEDS}, f"{width} neurons, 3000 steps", 3000, width=width
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
    "tails": _recipe(
        {"tails": ["light", "heavy"], "gain": TAIL_GAINS, "seed": list(range(6))},
        "Light and heavy tails with equal covariances",
        4000,
    ),
    "torus": _recipe(
        {"gain": [0.01, 1.0, 3.0], "seed": SEEDS},
        "The torus in two dimensions, 20 x 20 pixels",
        6000,
        early=30,
        shape=[20, 20],
        rate=5.0,
    ),
}
