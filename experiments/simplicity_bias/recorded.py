"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record simplicity_bias/NAME``."""

from __future__ import annotations

from experiments.simplicity_bias import (
    alignment_runs,
    anatomy,
    concentration,
    directions,
    effective_width,
    limits,
    omnidirectionality,
    stationary,
    sweeps,
    two_fits,
    variants,
)
from shallow.book.recipes import Recipe

MODULES: list = [
    alignment_runs, anatomy, concentration, directions, effective_width, limits, omnidirectionality, stationary, sweeps,
    two_fits, variants,
]  # fmt: skip
RECORDS: dict[str, Recipe] = {name: recipe for module in MODULES for name, recipe in module.RECORDS.items()}
