"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record heavy_tails/NAME``."""

from __future__ import annotations

from experiments.heavy_tails import (
    deep_nets,
    first_update,
    long_runs,
    open_questions,
    overlaps,
    rate_sweeps,
    readings,
    scaling,
    steering,
    tail_fits,
    training_spectra,
)
from shallow.book.recipes import Recipe

RECORDS: dict[str, Recipe] = (
    rate_sweeps.ONE_STEP
    | first_update.RECORDS
    | tail_fits.RECORDS
    | training_spectra.RECORDS
    | overlaps.RECORDS
    | scaling.RECORDS
    | rate_sweeps.TEN_STEPS
    | long_runs.RECORDS
    | deep_nets.RECORDS
    | open_questions.RECORDS
    | steering.RECORDS
    | readings.RECORDS
)
