"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record heavy_tails/NAME``."""

from __future__ import annotations

from shallow.experiments import Recipe
from shallow.experiments.heavy_tails import alignment, first_update, route, scaling, tail_fits
from shallow.experiments.heavy_tails.runs import RULES, one_step, steps

SWEEPS: dict[str, Recipe] = {
    "one_step": Recipe(one_step, {"seed": list(range(5))}, {}, "Figure 3: one step, all rules and learning rates"),
    "figure_1": Recipe(
        steps, {"rule": list(RULES), "rate": [0.0, 0.5, 2000.0], "seed": [0, 1, 2]}, {}, "Figure 1: ten steps"
    ),
    "spike_position_2000": Recipe(
        steps,
        {"rule": ["Adam code", "Adam text"], "rate": [0.001, 0.01, 0.1, 1.0, 10.0], "seed": list(range(5))},
        {},
        "Ten Adam steps: exponents and the position of the spike",
    ),
    "spike_position_8000": Recipe(
        steps,
        {"rule": ["Adam code"], "rate": [0.001, 0.01, 1.0, 10.0], "seed": list(range(5))},
        {"n": 8000},
        "The same with 8000 points",
    ),
}
RECORDS: dict[str, Recipe] = (
    first_update.RECORDS | SWEEPS | tail_fits.RECORDS | route.RECORDS | alignment.RECORDS | scaling.RECORDS
)
