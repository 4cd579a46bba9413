"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record heavy_tails/NAME``."""

from __future__ import annotations

from experiments.heavy_tails import (
    alignment,
    deep_nets,
    first_update,
    long_runs,
    open_questions,
    route,
    scaling,
    steering,
    tail_fits,
    ten_steps,
)
from experiments.heavy_tails.runs import RULES, one_step, steps
from experiments.heavy_tails.sweeps import one_step_variants
from shallow.book.recipes import Recipe

ONE_RUN = {"rules": ("Adam code",), "rates": (1.0,)}
SWEEPS: dict[str, Recipe] = {
    "one_step": Recipe(
        one_step,
        {"seed": list(range(5))},
        {},
        "Figure 3: one step, all rules and learning rates",
        shortened=ONE_RUN,
    ),
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
    "one_step_4000": Recipe(
        one_step, {"seed": [0, 1, 2]}, {"n": 4000}, "Figure 19: one step, 4000 points", shortened=ONE_RUN
    ),
    "one_step_8000": Recipe(
        one_step, {"seed": [0, 1, 2]}, {"n": 8000}, "Figure 20: one step, 8000 points", shortened=ONE_RUN
    ),
    "one_step_ridge": Recipe(
        one_step,
        {"seed": [0, 1, 2]},
        {"rules": ("GD code", "Adam code"), "penalties": (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)},
        "One step: ridge constants that would show the pattern of Figure 3",
        shortened=ONE_RUN,
    ),
    "one_step_variants": Recipe(
        one_step_variants,
        {"seed": [0, 1, 2]},
        {},
        "One step: centred labels, and a constant feature",
        shortened=ONE_RUN,
    ),
}
MODULES = (
    first_update,
    tail_fits,
    route,
    alignment,
    scaling,
    ten_steps,
    long_runs,
    deep_nets,
    open_questions,
    steering,
)
RECORDS: dict[str, Recipe] = {
    name: recipe for source in (SWEEPS, *(module.RECORDS for module in MODULES)) for name, recipe in source.items()
}
