r"""Figures 1 and 3, and footnote 2, with a final loss that is read after the rate has decayed.

A loss at a constant rate can be read in the middle of an excursion.  These runs take the steps of
:mod:`experiments.simplicity_bias.transition.cells` and then let the rate decay as Figure 2 does: by 0.85 every 50,000.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from experiments.simplicity_bias.transition import adam_and_gelu
from experiments.simplicity_bias.transition import cells as transition
from shallow import clusters, gaussian_loss
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

#: Steps at which the run at the constant rate is looked at.
SHOWN = (1000, 500_000, 1_000_000, 2_000_000, 4_000_000, 6_000_000, 8_000_000)
#: Decay of Figure 2, and its steps here: the rate ends at 4 % of its start.
DECAY, EVERY, DECAYED = 0.85, 50_000, 1_000_000


@releases_gil
def run_and_decay(
    seed: int,
    n: int,
    *,
    teacher: str = "linear",
    d: int = 5,
    width: int = transition.NARROW,
    steps: int = transition.STEPS,
    decayed: int = DECAYED,
) -> xr.Dataset:
    r"""One run of Figure 1 or 3, then `decayed` further steps with a decaying rate.

    Data, initialisation and order of the batches are those of :func:`.transition.run`.

    Returns:
        train, excess (step): training loss and excess risk at the constant rate; ols, ols_excess: of least squares;
        and, if `decayed` is positive, decayed_train (restart), every 50,000 steps; the other measures of the end,
        decayed_excess and so on; and its :func:`heaviest` clusters.

    Cost: 8 microseconds per step at width 1008, d = 5 and batch 32 on one core, 80 at width 10,000.
    """
    target, sample, start = transition.drawn(seed, n, d=d, teacher=teacher, width=width)
    rng = stream("simplicity bias", "batches", d, n, width, seed)
    shown = sorted({*(step for step in SHOWN if step <= steps), steps})
    options = {"rate": transition.RATE, "batch": min(transition.BATCH, n), "rng": rng, "dtype": np.float32}

    def losses(network: TwoLayer) -> tuple[float, float]:
        return transition.train_loss(network, sample), gaussian_loss.excess_risk(network, target)

    path = minibatch.train(sample.x, sample.y, start, steps=steps, records=shown, measure=losses, **options)
    train, excess = zip(*path.values, strict=True)
    beta, ols = transition.least_squares(sample)
    found = xr.Dataset(
        {
            "train": ("step", list(train)),
            "excess": ("step", list(excess)),
            "ols": ols,
            "ols_excess": gaussian_loss.excess_risk(teachers.linear(beta), target),
        },
        {"step": shown},
    )
    if not decayed:
        return found
    restarts = np.unique(np.append(np.arange(0, decayed, EVERY), decayed))
    path = minibatch.train(
        sample.x,
        sample.y,
        path.network,
        steps=decayed,
        decay=DECAY,
        every=EVERY,
        records=restarts,
        measure=lambda network: transition.train_loss(network, sample),
        **options,
    )
    end = transition.measures(path.network, sample, target)
    found = found.assign({f"decayed_{name}": value for name, value in end.items() if name != "train"})
    found = found.assign(decayed_train=("restart", path.values)).assign_coords(restart=restarts)
    return found.merge(heaviest(path.network))


def heaviest(network: TwoLayer) -> xr.Dataset:
    """The 128 heaviest clusters of 0.02 rad, w and then a, float32; `kept`, the share of the mass that they carry."""
    together = clusters.find(network, transition.TOLERANCES[0])
    merged = clusters.condensed(network, together)
    kept = min(transition.HEAVIEST, len(merged.v))
    rows = np.zeros((transition.HEAVIEST, network.W.shape[1] + 1), np.float32)
    rows[:kept] = np.column_stack([merged.W, merged.v])[:kept]
    share = together.masses[:kept].sum() / together.masses.sum()
    return xr.Dataset({"heaviest": (("cluster", "coordinate"), rows), "kept": share})


_runs = partial(Recipe, run_and_decay, shortened={"steps": 1000, "decayed": 0})
WIDE = {"width": transition.WIDTH}
TEACHERS = {"teacher": [f"relu {draw}" for draw in range(3)]}

#: Adam on a hundred samples is 2 % away on another kind of processor after a thousand steps.
_variants = partial(Recipe, adam_and_gelu.variant, agreement=Agreement(elsewhere=0.1), shortened={"steps": 1000})
ENDS = {"kind": list(adam_and_gelu.VARIANTS), "n": [100, 10_000]}

RECORDS: dict[str, Recipe] = {
    "figure_1_decayed": _runs(
        {"n": [100, 2000, 10_000], "seed": transition.SEEDS},
        WIDE,
        "Figure 1 with 10,000 neurons: 8 million steps, then 1 million with a decaying rate",
    ),
    "figure_1_between": _runs({"n": [500], "seed": transition.SEEDS}, WIDE, "The same at the end of interpolation"),
    "dimension_10_decayed": _runs(
        {"n": [5000, 7000, 10_000, 14_000, 20_000], "seed": transition.SEEDS},
        {"d": 10},
        "Footnote 2: dimension 10, 8 million steps, then 1 million with a decaying rate",
    ),
    "dimension_10_further": _runs(
        {"n": [28_000], "seed": transition.SEEDS},
        {"d": 10},
        "The same at one more size, beyond half of the way to least squares",
    ),
    "figure_3_decayed": _runs(
        TEACHERS | {"n": [100, 500, 600, 700, 800, 900, 1000, 2000, 5000, 15_000, 50_000], "seed": [0]},
        about="Figure 3 with 1008 neurons: 8 million steps, then 1 million with a decaying rate",
        replicates="teacher",
    ),
    "figure_3_between": _runs(
        TEACHERS | {"n": [3000, 10_000, 30_000], "seed": [0]}, about="Figure 3 at further sizes", replicates="teacher"
    ),
    "figure_1_small": _runs(
        {"n": [100, 500, 2000, 10_000], "seed": transition.SEEDS},
        {"width": 256, "steps": 1_000_000, "decayed": 500_000},
        "Figure 1 in small: 256 neurons, a million steps, then half a million with a decaying rate",
    ),
    "variants_ends": _variants(
        ENDS | {"seed": [1, 2]}, about="Two further draws with Adam and with GeLU at the smallest and the largest size"
    ),
    "variants_more": _variants(
        ENDS | {"seed": [3, 4, 5]}, about="Three more, since three draws left intervals that decide nothing"
    ),
}
