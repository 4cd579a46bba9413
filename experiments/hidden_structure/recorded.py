"""The recorded runs of the chapter: name -> recipe; ``python -m shallow record hidden_structure/NAME`` reruns one."""

from __future__ import annotations

from experiments.hidden_structure import (
    alignment_moments,
    cited,
    frozen_machines,
    kernel_paths,
    orthant_kernels,
    orthant_machines,
    orthant_sweeps,
    parity,
    polynomial_machines,
    polynomial_probes,
    polynomials,
    silent_alignment,
    silent_null,
    two_stage,
)
from shallow.book.recipes import Recipe

MODULES = (
    orthant_sweeps,
    orthant_machines,
    orthant_kernels,
    polynomials,
    polynomial_probes,
    polynomial_machines,
    kernel_paths,
    alignment_moments,
    frozen_machines,
    silent_alignment,
    silent_null,
    two_stage,
    cited,
    parity,
)
RECORDS: dict[str, Recipe] = {name: recipe for module in MODULES for name, recipe in module.RECORDS.items()}
