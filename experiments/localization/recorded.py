"""The recorded runs of the chapter: name -> recipe; ``python -m shallow record localization/NAME`` reruns one."""

from __future__ import annotations

from experiments.localization import (
    arrangements,
    descent_and_flow,
    filters,
    networks,
    program,
    shapes,
    shaping,
    signs,
    twins,
)
from shallow.book.recipes import Recipe

MODULES = (networks, arrangements, program, descent_and_flow, filters, shaping, shapes, signs, twins)
RECORDS: dict[str, Recipe] = {name: recipe for module in MODULES for name, recipe in module.RECORDS.items()}
