"""The modules of the chapter that hold recipes of recorded runs, in the order of the list."""

from __future__ import annotations

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.alignment import (
    alignment_moments,
    kernel_paths,
    losses,
    other_target,
    output_of_v,
    polynomial_probes,
    who_leads,
)
from experiments.hidden_structure.cited import cells as cited
from experiments.hidden_structure.cited import parity, silent_alignment, two_stage
from experiments.hidden_structure.degrees import decay_optimisers
from experiments.hidden_structure.document import cells as document
from experiments.hidden_structure.frozen import cells as frozen_machines
from experiments.hidden_structure.orthants import orthant_sweeps, rate_time_noise
from experiments.hidden_structure.polynomial_machines import cells as polynomial_machines
from experiments.hidden_structure.shell_machines import orthant_kernels, orthant_machines

MODULES = (
    orthant_sweeps,
    rate_time_noise,
    orthant_machines,
    orthant_kernels,
    polynomials,
    polynomial_probes,
    polynomial_machines,
    kernel_paths,
    alignment_moments,
    who_leads,
    other_target,
    losses,
    output_of_v,
    frozen_machines,
    silent_alignment,
    two_stage,
    cited,
    parity,
    document,
    decay_optimisers,
)
