r"""What one neuron wins with a bump, and with the same waves out of phase: same variances, other tails.

The control of the whole loss of :mod:`.contest` for a single neuron, in which no copies of a field can gain by being
different from each other.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.localization.bumps import contest, laws
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.nlgp import minibatch
from shallow.stats import stream

PHASES = 12


@releases_gil
def wins(
    pair: str, gain: float, seed: int, *, steps: tuple[int, ...] | list[int] = (100, 4000), samples: int = 20_000
) -> xr.Dataset:
    r"""The linear term of the loss (2), :func:`.contest.linear_term`, of every filter and of its moved waves.

    The norm is the median of the negative fields of the standard network of the seed after some steps.

    Returns, by step and filter: in_phase; out_of_phase, the mean over twelve draws of :func:`.contest.scrambled`.
    Cost: 3 s on one core, and the training.
    """
    W, b = contest.train(pair, gain, seed, list(steps))
    x = minibatch(stream("localization", "one neuron", seed), *laws.pair(pair, gain), samples // 2, np.float32).x
    found = []
    for fields, biases in zip(W, b, strict=True):
        family = contest.medians(fields, biases)["norm"][1][0] * contest.family()
        rng = stream("localization", "one neuron", "phases", seed)
        moved = [contest.linear_term(x, contest.scrambled(family, rng)) for _ in range(PHASES)]
        found.append({"in_phase": contest.linear_term(x, family), "out_of_phase": np.mean(moved, axis=0)})
    values = {name: (("step", "filter"), [one[name] for one in found]) for name in found[0]}
    return xr.Dataset(values, {"step": list(steps), "filter": list(contest.FAMILY)})


_SEEDS = list(range(5))
RECORDS: dict[str, Recipe] = {
    "one_neuron": Recipe(
        wins,
        {"pair": contest.PAIRS, "gain": contest.GAINS, "seed": _SEEDS},
        {"steps": [100, 4000]},
        "What one neuron wins with a bump in and out of phase, on the nine tasks of the tails",
        shortened={"steps": [100]},
    ),
    "one_neuron_others": Recipe(
        wins,
        {"pair": contest.OTHERS, "gain": [0.5, 3.0], "seed": _SEEDS},
        {"steps": [100, 4000]},
        "The same on linear and elliptical noise",
        shortened={"steps": [100]},
    ),
}
