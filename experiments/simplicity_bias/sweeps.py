"""The recorded sweeps of Figures 1 to 3 and of the settings that the document has lost: name -> recipe."""

from __future__ import annotations

import xarray as xr

from experiments.simplicity_bias.runs import NARROW, WIDTH, at_equal_time, deviation, run
from shallow.book.recipes import Recipe, releases_gil

#: Sample sizes of Figure 1 (the document's are lost), and the narrow network's further ones.
SIZES = [100, 200, 350, 500, 750, 1000, 1250, 1500, 2000, 3000, 5000, 10_000]
#: Sample sizes over d^3 for the law of the threshold, by dimension.
CUBIC = {2: [0.625, 1.25, 2.5, 5, 10, 20, 40], 3: [0.625, 1.25, 2.5, 5, 10, 20, 40], 10: [2.5, 5, 10, 20, 40]}
SEEDS = [0, 1, 2]
#: A cell is verified by the first thousand steps of the same run, a tenth of a millisecond to a second.
SHORT = {"steps": 1000, "anatomy": False, "decayed": 0, "keep": False}


@releases_gil
def at_fixed_mass(seed: int, n: int, *, width: int, **setting) -> xr.Dataset:
    r""":func:`run` with initial variances in proportion to 1/m: every width starts with one total mass."""
    return run(seed, n, width=width, scale=deviation(NARROW) * (NARROW / width) ** 0.5, **setting)


def _cubes(d: int) -> list[int]:
    return [round(factor * d**3) for factor in CUBIC[d]]


RECORDS: dict[str, Recipe] = {
    "figure_1": Recipe(
        run,
        {"n": SIZES, "seed": [0]},
        {"width": WIDTH, "anatomy": True},
        "Figure 1 at full scale: 10,000 neurons, 8 million steps",
        shortened=SHORT,
    ),
    "figure_1_narrow": Recipe(
        run,
        {"n": [30, 50, *SIZES, 30_000], "seed": SEEDS},
        {"width": NARROW, "anatomy": True, "keep": True, "decayed": 2_000_000},
        "Figures 1 and 2 with 1008 neurons: 8 million steps, then 2 million with a decaying rate",
        shortened=SHORT,
    ),
    "figure_3_narrow": Recipe(
        run,
        {
            "teacher": [f"relu {draw}" for draw in range(3)],
            "n": [100, 500, 1000, 2000, 5000, 15_000, 50_000],
            "seed": [0],
        },
        {"width": NARROW},
        "Figure 3 with 1008 neurons: three draws of a 5-ReLU teacher",
        shortened=SHORT,
    ),
    **{
        f"dimension_{d}": Recipe(
            run,
            {"n": _cubes(d), "seed": seeds},
            {"d": d},
            f"The threshold in dimension {d}",
            shortened=SHORT,
        )
        for d, seeds in ((2, SEEDS), (3, SEEDS), (10, [0]))
    },
    "scales": Recipe(
        run,
        {
            "scale": [1e-6, 1e-2, NARROW**-0.5],
            "n": [350, 500, 750, 1000, 1500, 2000, 3000, 5000, 10_000],
            "seed": [0],
        },
        {"steps": 2_000_000},
        "Sensitivity to the initial scale",
        shortened=SHORT,
    ),
    "rates": Recipe(
        at_equal_time,
        {"rate": [0.05, 0.003, 0.001], "n": [350, 500, 750, 1000, 1500, 2000, 3000, 5000], "seed": [0]},
        {},
        "Sensitivity to the learning rate at equal flow time",
        shortened={"time": 10.0},
    ),
    "batches": Recipe(
        at_equal_time,
        {"batch": [8, 128], "n": [350, 500, 750, 1000, 1500, 2000, 3000, 5000], "seed": [0]},
        {"rate": 0.01},
        "Sensitivity to the batch at equal flow time",
        shortened={"time": 10.0},
    ),
    "full_batch": Recipe(
        at_equal_time,
        {"n": [500, 1000, 2000, 5000], "seed": [0]},
        {"rate": 0.05, "batch": 1_000_000},
        "Full-batch descent at the flow time of the mini-batch runs",
        shortened={"time": 10.0},
    ),
    "small_rates": Recipe(
        at_equal_time,
        {"rate": [0.05, 0.003, 0.001], "n": [2000], "seed": [0]},
        {"time": 8e4},
        "Small learning rates above the threshold, to four times the flow time",
        shortened={"time": 10.0},
    ),
    "widths": Recipe(
        run,
        {"width": [100, 300, 1000, 3000], "seed": SEEDS},
        {"n": 5000},
        "The width at 5000 points",
        shortened=SHORT,
    ),
    "widths_fixed_mass": Recipe(
        at_fixed_mass,
        {"width": [100, 300, 1000], "seed": [0]},
        {"n": 5000},
        "The width at 5000 points, with the total initial mass held fixed",
        shortened=SHORT,
    ),
    "late": Recipe(
        run,
        {"n": [5000, 10_000], "seed": [0]},
        {"steps": 32_000_000},
        "Four times the steps above the threshold",
        shortened=SHORT,
    ),
}
