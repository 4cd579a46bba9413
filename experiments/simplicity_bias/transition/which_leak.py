"""Which leak takes the mass away in the network of Figure 1: each is closed alone, and both, along the training."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.simplicity_bias.limits import anatomy
from experiments.simplicity_bias.transition import cells as transition
from experiments.simplicity_bias.transition import leaks
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

#: What is done to the start: nothing, late neurons taken away, as many others, or dominated weights (8).
STARTS = ("as it is", "late taken away", "others taken away", "dominated")
STEPS = 1_000_000


@releases_gil
def followed(
    seed: int, n: int, *, start: str, margin: bool, width: int = transition.NARROW, d: int = 5, steps: int = STEPS
) -> xr.Dataset:
    r"""A run with the rate and the batches of Figure 1 of which one leak or both are closed.

    Late neurons are those that are unaligned at the end of early alignment; they are taken away then.

    Returns, by step: train, mean square on the sample, and outside, share of the mass $|a_j|\|w_j\|$ with a cosine
    below 0.95 to $\pm\beta^*$; share, that of the neurons taken away; and `ols`, train loss of least squares.
    Cost: 25 microseconds per step on one core.  In float64, as float32 rounds parallel neurons apart.
    """
    checks.one_of(STARTS, start=start)
    setting = leaks.Setting("dominated" if start == "dominated" else "gaussian", margin=margin)
    target, sample, network = leaks.drawn(seed, n, setting, width=width, d=d)
    rng = stream("which leak", "batches", d, n, width, seed)
    options = {"rate": transition.RATE, "batch": min(transition.BATCH, n), "rng": rng}
    early = transition.early_step(sample, transition.deviation(width), transition.RATE)
    network = minibatch.train(*sample, network, steps=early, **options).network
    late = anatomy.unaligned(network, sample)
    taken = {"late taken away": late, "others taken away": stream("which leak", "others", n, seed).permutation(late)}
    gone = taken.get(start, np.zeros(width, dtype=bool))
    network = TwoLayer(network.W[~gone], network.b[~gone], network.v[~gone])
    shown = sorted({*(step for step in transition.SNAPSHOTS if early < step < steps), steps})

    def look(network: TwoLayer) -> dict[str, float]:
        return transition.measures(network, sample, target)

    after = [step - early for step in shown]
    path = minibatch.train(*sample, network, steps=steps - early, records=after, measure=look, **options)
    found = {name: ("step", [value[name] for value in path.values]) for name in ("train", "outside")}
    ols = transition.least_squares(sample)[1]
    return xr.Dataset(found | {"share": gone.mean(), "ols": ols}, {"step": shown})


SEEDS = [0, 1, 2]
RECORDS: dict[str, Recipe] = {
    "which_leak": Recipe(
        followed,
        {"margin": [False, True], "start": list(STARTS), "n": [2000], "seed": SEEDS},
        about="The network of Figure 1 with one leak or both closed: one million steps",
        shortened={"steps": 1000},
    ),
    "which_leak_sizes": Recipe(
        followed,
        {"margin": [False, True], "start": list(STARTS[:3]), "n": [1000, 5000], "seed": SEEDS},
        about="The same with half as many samples and with five thousand",
        shortened={"steps": 1000},
    ),
    "both_closed": Recipe(
        followed,
        {"start": ["late taken away", "others taken away"], "seed": SEEDS},
        {"n": 2000, "margin": True, "steps": transition.STEPS},
        "Late neurons taken away, or as many others, with a margin: as many steps as Figure 1 before its decay",
        shortened={"steps": 1000},
    ),
}
