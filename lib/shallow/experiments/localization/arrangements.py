r"""Populations out of balance: standard networks whose biases start or are held elsewhere, and networks pruned by sign.

An *arrangement* says where each bias starts, between which bounds it is kept, and what constant is added to the output.
All arrangements of a seed have the same initial weights and see the same batches and the same test points.
Source: note on localized receptive fields, Section 2, "Frequency specialization".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from shallow.committee import Committee
from shallow.experiments import Exact, Recipe, releases_gil
from shallow.experiments.localization.standard import SEEDS, WIDTH, batches, classes, initial, points, scores
from shallow.receptive.populations import population
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


def arrangements(width: int = WIDTH) -> dict[str, Arrangement]:
    """All arrangements of networks of some width, a multiple of 20, by name; the first one is the standard network.

    "clamped m": m biases of 40 (that share of any width) are held at 0 or above, all others at 0 or below;
    "begun m": these start at +0.5 and the others at -0.5, all of them free; "begun at b": all start at b.  With
    "offset" the constant 1/2 or -1/2 is added that one population alone is lacking.
    """
    if not isinstance(width, int | np.integer) or width < 20 or width % 20:
        raise ValueError(f"width must be a positive multiple of 20, got {width!r}")
    free, zero = np.full(width, np.inf), np.zeros(width)

    def positive(count: int) -> np.ndarray:
        return np.arange(width) * WIDTH < count * width

    def clamped(count: int, offset: float = 0.0) -> Arrangement:
        up = positive(count)
        return Arrangement(zero, np.where(up, 0.0, -np.inf), np.where(up, np.inf, 0.0), offset)

    def begun(start: np.ndarray) -> Arrangement:
        return Arrangement(start, -free, free)

    return {
        "free": begun(zero),
        "plus only": clamped(WIDTH),
        "minus only": clamped(0),
        "plus only, offset": clamped(WIDTH, -0.5),
        "minus only, offset": clamped(0, 0.5),
        **{f"clamped {count}": clamped(count) for count in POSITIVE},
        **{f"begun {count}": begun(np.where(positive(count), 0.5, -0.5)) for count in POSITIVE},
        **{f"begun at {level:+g}": begun(zero + level) for level in (-2.0, -0.5, 0.5, 2.0)},
    }


@releases_gil
def arranged(seed: int, gain: float, *, steps: int = 4000, width: int = WIDTH) -> xr.Dataset:
    """The standard network and all its :func:`arrangements`, and both of its populations cut out after training.

    Returns:
        :func:`.standard.scores` of every arrangement (network; loss_covariance also rival), on the same 10,000 points;
        W (network, neuron, pixel), b (network, neuron);
        pruned_NAME (part): the same scores of the standard network after training without the neurons of the other
        population, part "minus" and "plus", the read-out and the offset as they were;
        diverged (network).

    Cost: 19 networks, 0.2 ms for a step of each.
    """
    cases, pair = arrangements(width), classes(gain)
    V = len(cases)
    start = initial(seed, width)
    stack = Committee(start.W[[0] * V], np.stack([case.start for case in cases.values()]))
    bounds = tuple(np.stack([getattr(case, end) for case in cases.values()]) for end in ("low", "high"))
    offsets = np.array([case.offset for case in cases.values()])
    run = online.train(
        stack, pair, rngs=[batches(seed) for _ in range(V)], rate=width / 2, steps=steps, offset=offsets,
        bounds=bounds, records=[steps],
    )  # fmt: skip
    given, signs = points(seed, pair), population(run.last.b[0])
    outputs, fitting = (run.last.forward(x) + offsets[:, None].astype(np.float32) for x in (given.x, given.fitting_x))
    parts = [run.last[:1].pruned(signs == sign) if (signs == sign).any() else None for sign in (-1, 1)]
    cut = [
        np.stack([np.zeros(len(x), np.float32) if part is None else part.forward(x)[0] for part in parts])
        for x in (given.x, given.fitting_x)
    ]
    pruned = {
        f"pruned_{name}": ("part", values) for name, (dims, values) in scores(*cut, given).items() if len(dims) == 1
    }
    return xr.Dataset(
        {
            "W": (("network", "neuron", "pixel"), run.last.W),
            "b": (("network", "neuron"), run.last.b),
            "diverged": ("network", run.diverged),
            **scores(outputs, fitting, given),
            **pruned,
        },
        {"network": list(cases), "part": ["minus", "plus"]},
    )


RECORDS: dict[str, Recipe] = {
    "arrangements": Recipe(
        arranged, {"gain": [0.01, 3.0], "seed": SEEDS}, {}, "Populations clamped, begun out of balance, and pruned",
        agreement=Exact(elsewhere=0.02), shortened={"steps": 50},
    )
}  # fmt: skip
