"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record heavy_tails/NAME``."""

from __future__ import annotations

from shallow.experiments import Recipe
from shallow.experiments.heavy_tails.runs import RATES, RULES, one_step, steps

SEEDS = list(range(5))
SWEEP = {"rule": list(RULES), "rate": [0.0, *RATES], "seed": SEEDS}

RECORDS: dict[str, Recipe] = {
    "one_step": Recipe(
        one_step, {"n": [2000, 4000], "seed": SEEDS}, {}, "Figures 3 and 19: one step, all rules and learning rates"
    ),
    "one_step_8000": Recipe(
        one_step, {"seed": SEEDS[:3]}, {"n": 8000}, "Figure 20: one step with 8000 points, all rules and learning rates"
    ),
    "ten_steps_2000": Recipe(steps, SWEEP, {"n": 2000}, "Figure 22: ten steps with 2000 points"),
    "ten_steps_4000": Recipe(steps, SWEEP, {"n": 4000}, "Figure 23: ten steps with 4000 points"),
    "ten_steps_8000": Recipe(steps, SWEEP, {"n": 8000}, "Figure 5: ten steps with 8000 points"),
}
