"""The modules of the chapter that hold recipes of recorded runs, in the order of the list."""

from __future__ import annotations

from experiments.localization import networks
from experiments.localization.beginning import descent_and_flow, signs
from experiments.localization.bumps import contest, filters, one_neuron
from experiments.localization.fields import shapes, shaping
from experiments.localization.objectives import learned
from experiments.localization.populations import arrangements, outputs, program, rings

MODULES = (
    networks,
    arrangements,
    outputs,
    rings,
    program,
    descent_and_flow,
    filters,
    shaping,
    shapes,
    signs,
    contest,
    one_neuron,
    learned,
)
