r"""Extremal vectors in the plane with and without a margin: how many, how far from $\pm\beta^*$ (Section 4.1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.two_units import gathering
from shallow import nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.stats import stream
from shallow.train import minibatch


def angles(n: int, margin: float, *, draws: int = 400) -> xr.Dataset:
    r"""Samples of the linear teacher $e_1$ with inputs N(0, I_2) conditioned on $|x_1| \ge c\|x\|$; all exact.

    Returns, by draw: number of extremal vectors; angle, the largest of a non-zero one to the axis of $\beta^*$.
    """
    number, angle = [], []
    for seed in range(draws):
        rng = stream("extremal angles", n, str(margin), seed)
        sample = teachers.labelled(rng, teachers.first_axis(2), teachers.with_margin(rng, n, 2, margin))
        found = extremal.circle(*sample)
        vectors = found.vectors[found.kinds != 0]
        number.append(len(found))
        angle.append(np.arctan2(np.abs(vectors[:, 1]), np.abs(vectors[:, 0])).max())
    return xr.Dataset({"number": ("draw", np.array(number)), "angle": ("draw", np.array(angle))})


@releases_gil
def before_growth(seed: int, n: int, *, scale: float = 1e-30, time: float = 60.0, step: float = 0.02) -> xr.Dataset:
    r"""Where neurons of :func:`gathering.gathered` turn to when the start is so small that the labels stay residuals.

    In the flow time directions come to rest and outputs stay below 1e-15.
    """
    sample, fresh = gathering.draw(seed, n)
    network = nets.dominated(stream("gathering", "network", seed, 64, 5), 64, 5, scale)
    network = minibatch.train(
        *sample, network, rate=step / 2, steps=round(time / step), batch=n, rng=stream("before growth")
    ).network
    found = gathering.look(network, sample, fresh)
    return found[["radius", "spread", "gap", "cuts", "patterns"]]


RECORDS: dict[str, Recipe] = {
    "extremal_angles": Recipe(
        angles,
        {"margin": [0.0, 0.5], "n": [10, 20, 50, 100, 200, 1000, 10_000]},
        {"draws": 400},
        "Number of extremal vectors in the plane and their angle to the axis, with and without a margin",
        replicates="n",
    ),
    "before_growth": Recipe(
        before_growth,
        {"n": [250, 500, 1000, 2000, 4000], "seed": list(range(6))},
        about="Whether neurons turn to one direction on either side before they grow, no margin",
    ),
}
