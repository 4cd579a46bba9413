"""The modules of the chapter that hold recipes of recorded runs, in the order of the list."""

from __future__ import annotations

from experiments.heavy_tails import rate_sweeps
from experiments.heavy_tails.beyond import deep_nets, open_questions, shuffled_labels, steering
from experiments.heavy_tails.exponents import tail_fits
from experiments.heavy_tails.first_update import bulk
from experiments.heavy_tails.first_update import cells as first_update
from experiments.heavy_tails.long_runs import cells as long_runs
from experiments.heavy_tails.long_runs import onsets
from experiments.heavy_tails.overlaps import cells as overlaps
from experiments.heavy_tails.overlaps import scatters
from experiments.heavy_tails.rates import further
from experiments.heavy_tails.readings import cells as readings
from experiments.heavy_tails.readings import tuned
from experiments.heavy_tails.real_layers import cells as real_layers
from experiments.heavy_tails.route import cells as training_spectra
from experiments.heavy_tails.route import noise_errors, overshoot, widening
from experiments.heavy_tails.variants import cells as scaling

MODULES = (
    rate_sweeps,
    further,
    first_update,
    bulk,
    tail_fits,
    training_spectra,
    widening,
    overshoot,
    noise_errors,
    overlaps,
    scatters,
    scaling,
    long_runs,
    onsets,
    deep_nets,
    shuffled_labels,
    open_questions,
    steering,
    readings,
    tuned,
    real_layers,
)
