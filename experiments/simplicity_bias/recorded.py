"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record simplicity_bias/NAME``."""

from __future__ import annotations

from experiments.simplicity_bias import (
    adam_and_gelu,
    anatomy,
    concentration,
    early_alignment,
    effective_width,
    infinite_sample,
    interpolation,
    omnidirectionality,
    stationary,
    transition,
    two_fits,
)
from shallow.book.recipes import Recipe

RECORDS: dict[str, Recipe] = (
    {"unaligned": early_alignment.RECORDS["unaligned"]}  # stands first in the page's table
    | anatomy.RECORDS
    | concentration.RECORDS
    | infinite_sample.RECORDS
    | early_alignment.RECORDS
    | effective_width.RECORDS
    | interpolation.RECORDS
    | omnidirectionality.RECORDS
    | stationary.RECORDS
    | transition.RECORDS
    | two_fits.RECORDS
    | adam_and_gelu.RECORDS
)
