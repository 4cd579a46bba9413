r"""The note's ring of 400 pixels, with the two rates that a finer grid asks for, and with one.

A field on ten times as many pixels moves as on the coarse ring if its weights have a tenth of the rate and its biases
the same one (chapter "Localization", proposition on the grid): 2 and 20 in the place of 20.  One rate 2 slows the
biases down by ten, one rate 20 hurries the weights.  On the coarse ring slowed biases alone are the control.
Source: note on localized receptive fields, Section 1, Practice, and Figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.populations.cells import population
from experiments.localization.scores import points
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe
from shallow.stats import stream
from shallow.train import whole_committee
from shallow.train.whole_committee import Machine, Rates

#: Pixels, rate of the weights, rate of the biases.
RINGS = {
    "40": (40, 20.0, 20.0),
    "40, slow biases": (40, 20.0, 2.0),
    "400": (400, 2.0, 20.0),
    "400, one rate 2": (400, 2.0, 2.0),
    "400, one rate 20": (400, 20.0, 20.0),
}
#: Frequencies above this one are not excited by the data.
CUT = 60


def ring(seed: int, gain: float, *, ring: str, steps: Sequence[int] = (30, 3000)) -> xr.Dataset:
    """One network: biases, shape of its fields by population, loss and accuracy, at some steps.

    width is the share of the ring that a field occupies, 1 / (n IPR), of its part up to :data:`CUT` cycles, slow_width
    of that up to the 20 cycles that 40 pixels can hold, raw_width of the whole field; fast is the share of its energy
    above :data:`CUT`.

    Cost: 1.5 s on 40 pixels, 9 s on 400.
    """
    n, weights, biases = RINGS[ring]
    pair = networks.pair(gain, n, (n / 20, n / 40))
    start = networks.starts([seed], n=n)
    machine = Machine(start.W[0], start.b[0], np.ones(networks.WIDTH, np.float32))
    rng, rates = stream("localization", "batches", seed), Rates(weights, biases)
    found = whole_committee.train(machine, pair, rng=rng, rates=rates, steps=steps)
    given = points(seed, pair, 2000)
    rows = []
    for one in found:
        output, signs = one.forward(given.x), population(one.b)
        shapes = {
            "width": 1 / (n * fields.inverse_participation_ratio(fields.low_pass(one.W, CUT))),
            "slow_width": 1 / (n * fields.inverse_participation_ratio(fields.low_pass(one.W, networks.N / 2))),
            "raw_width": 1 / (n * fields.inverse_participation_ratio(one.W)),
            "fast": 1 - fields.low_share(one.W, CUT),
            "frequency": fields.mean_frequency(fields.low_pass(one.W, CUT)),
        }
        medians = {
            name: ("side", [np.median(values[signs == sign]) if sign in signs else np.nan for sign in (-1, 1)])
            for name, values in shapes.items()
        }
        loss, accuracy = ((output - given.y) ** 2).mean() / 2, ((output > 0) == (given.y > 0)).mean()
        rows.append(xr.Dataset({"b": ("neuron", one.b), **medians, "loss": loss, "accuracy": accuracy}))
    table = xr.concat(rows, "step").astype(np.float32)
    return table.assign_coords(step=list(steps), side=["minus", "plus"])


RECORDS: dict[str, Recipe] = {
    "rings": Recipe(
        ring,
        {"ring": list(RINGS), "gain": [0.01, 3.0], "seed": list(range(5))},
        {"steps": [30, 3000]},
        "The ring of 400 pixels with two rates and with one, and of 40 with slowed biases",
        shortened={"steps": [30]},
    )
}
