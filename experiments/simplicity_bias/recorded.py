"""The modules of the chapter that hold recipes of recorded runs, in the order of the list."""

from __future__ import annotations

from experiments.simplicity_bias import early_alignment, half_samples, two_fits
from experiments.simplicity_bias.concentration import cells as concentration
from experiments.simplicity_bias.concentration import planar
from experiments.simplicity_bias.extremal import (
    effective_width,
    few_directions,
    geometry,
    infinite_sample,
    omnidirectionality,
)
from experiments.simplicity_bias.limits import anatomy, driven, interpolation, restart
from experiments.simplicity_bias.phases import cells as phases
from experiments.simplicity_bias.theorem_2 import cells as assumption
from experiments.simplicity_bias.theorem_2 import sample_size
from experiments.simplicity_bias.transition import adam_and_gelu, batch_noise, figures_1_and_3, leaks, which_leak
from experiments.simplicity_bias.transition import cells as transition
from experiments.simplicity_bias.two_units import gathering, margins

MODULES = (
    early_alignment,
    anatomy,
    concentration,
    planar,
    infinite_sample,
    effective_width,
    few_directions,
    geometry,
    interpolation,
    omnidirectionality,
    restart,
    driven,
    transition,
    figures_1_and_3,
    gathering,
    margins,
    assumption,
    sample_size,
    half_samples,
    phases,
    two_fits,
    adam_and_gelu,
    batch_noise,
    leaks,
    which_leak,
)
