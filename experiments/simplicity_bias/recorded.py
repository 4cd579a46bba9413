"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record simplicity_bias/NAME``."""

from __future__ import annotations

from experiments.simplicity_bias import (
    adam_and_gelu,
    anatomy,
    assumption,
    concentration,
    driven,
    early_alignment,
    effective_width,
    few_directions,
    figures_1_and_3,
    gathering,
    geometry,
    half_samples,
    infinite_sample,
    interpolation,
    margins,
    omnidirectionality,
    phases,
    planar,
    restart,
    transition,
    two_fits,
)
from shallow.book.recipes import Recipe

RECORDS: dict[str, Recipe] = (
    {"unaligned": early_alignment.RECORDS["unaligned"]}  # stands first in the page's table
    | anatomy.RECORDS
    | concentration.RECORDS
    | planar.RECORDS
    | infinite_sample.RECORDS
    | early_alignment.RECORDS
    | effective_width.RECORDS
    | few_directions.RECORDS
    | geometry.RECORDS
    | interpolation.RECORDS
    | omnidirectionality.RECORDS
    | restart.RECORDS
    | driven.RECORDS
    | transition.RECORDS
    | figures_1_and_3.RECORDS
    | gathering.RECORDS
    | margins.RECORDS
    | assumption.RECORDS
    | half_samples.RECORDS
    | phases.RECORDS
    | two_fits.RECORDS
    | adam_and_gelu.RECORDS
)
