r"""Populations out of balance: standard networks whose biases start or are held elsewhere, and networks pruned by sign.

An *arrangement* says where each bias starts, between which bounds it is kept, and what constant is added to the output.
All arrangements of a seed have the same initial weights and see the same batches and the same test points.
Source: note on localized receptive fields, Section 2, "Frequency specialization".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.populations.cells import population
from experiments.localization.scores import Points, points, scores
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe, releases_gil
from shallow.committee import Committee
from shallow.stats import stream
from shallow.train import online

#: Numbers of neurons with a positive bias, of forty, for networks out of balance.
POSITIVE = (4, 10, 20, 30, 36)


@dataclass(frozen=True)
class Arrangement:
    """Biases at the start, and their bounds, each of shape (K,); the constant c in the output."""

    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    offset: float = 0.0


def arrangements() -> dict[str, Arrangement]:
    """All arrangements by name; the first one is the standard network.

    "clamped m": m biases of forty are held at 0 or above, all others at 0 or below; "begun m": these start at +0.5 and
    the others at -0.5, all of them free; "begun at b": all start at b.  With "offset" the constant 1/2 or -1/2 is added
    that one population alone is lacking.
    """
    free, zero = np.full(networks.WIDTH, np.inf), np.zeros(networks.WIDTH)

    def positive(count: int) -> np.ndarray:
        return np.arange(networks.WIDTH) < count

    def clamped(count: int, offset: float = 0.0) -> Arrangement:
        up = positive(count)
        return Arrangement(zero, np.where(up, 0.0, -np.inf), np.where(up, np.inf, 0.0), offset)

    def begun(start: np.ndarray) -> Arrangement:
        return Arrangement(start, -free, free)

    return {
        "free": begun(zero),
        "plus only": clamped(networks.WIDTH),
        "minus only": clamped(0),
        "plus only, offset": clamped(networks.WIDTH, -0.5),
        "minus only, offset": clamped(0, 0.5),
        **{f"clamped {count}": clamped(count) for count in POSITIVE},
        **{f"begun {count}": begun(np.where(positive(count), 0.5, -0.5)) for count in POSITIVE},
        **{f"begun at {level:+g}": begun(zero + level) for level in (-2.0, -0.5, 0.5, 2.0)},
    }


@releases_gil
def arranged(seed: int, gain: float, *, steps: Sequence[int] = (50, 4000)) -> xr.Dataset:
    """The standard network and all its :func:`arrangements`, and both of its populations cut out, at ascending steps.

    Biases, localisation and mean frequency of every field; :func:`.scores.scores` of every arrangement on the same
    10,000 points; and, as pruned_NAME, those of the standard network without the neurons of the other population, the
    read-out as it was.

    Cost: 19 networks, 0.2 ms for a step of each.
    """
    cases, pair = arrangements(), networks.pair(gain)
    V, rate = len(cases), networks.WIDTH / 2
    start = Committee(networks.starts([seed]).W[[0] * V], np.stack([case.start for case in cases.values()]))
    bounds = tuple(np.stack([getattr(case, end) for case in cases.values()]) for end in ("low", "high"))
    offsets = np.array([case.offset for case in cases.values()])
    rngs = [stream("localization", "batches", seed) for _ in range(V)]
    run = online.train(
        start, pair, rngs=rngs, rate=rate, steps=steps[-1], offset=offsets, bounds=bounds, records=np.array(steps)
    )
    given = points(seed, pair)
    measured = xr.concat([_measured(run.snapshot(step), offsets, given) for step in steps], "step")
    return measured.assign(diverged=("network", run.diverged)).assign_coords(
        step=list(steps), network=list(cases), part=["minus", "plus"]
    )


def _measured(stack: Committee, offsets: np.ndarray, given: Points) -> xr.Dataset:
    """All measures at one step."""
    outputs, fitting = (stack.forward(x) + offsets[:, None].astype(np.float32) for x in (given.x, given.fitting_x))
    signs = population(stack.b[0])
    parts = [np.stack([_part(stack[:1], signs == sign, x) for sign in (-1, 1)]) for x in (given.x, given.fitting_x)]
    by_part = {name: values for name, values in scores(*parts, given).items() if values.ndim == 1}
    variables = {
        "b": (("network", "neuron"), stack.b),
        "ipr": (("network", "neuron"), fields.inverse_participation_ratio(stack.W)),
        "mean_frequency": (("network", "neuron"), fields.mean_frequency(stack.W)),
        **{
            name: (("network", "rival")[: values.ndim], values)
            for name, values in scores(outputs, fitting, given).items()
        },
        **{f"pruned_{name}": ("part", values) for name, values in by_part.items()},
    }
    return xr.Dataset(variables).astype(np.float32)


def _part(network: Committee, kept: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Output (2 m,) of some neurons of one network, none included."""
    return network.pruned(kept).forward(x)[0] if kept.any() else np.zeros(len(x), np.float32)


RECORDS: dict[str, Recipe] = {
    "arrangements": Recipe(
        arranged,
        {"gain": [0.01, 3.0], "seed": list(range(6))},
        {"steps": [50, 4000]},
        "Populations clamped, begun out of balance, and pruned",
        shortened={"steps": [50]},
    )
}
