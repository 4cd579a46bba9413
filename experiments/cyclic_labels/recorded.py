"""The modules of the chapter that hold recipes of recorded runs, in the order of the list."""

from __future__ import annotations

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import embedding, lever, mechanism, population, roles, undersampling
from experiments.cyclic_labels.kernel import kernel_regime, modes
from experiments.cyclic_labels.penalty import cells as regularisation
from experiments.cyclic_labels.settings import cells as trainer_agreement
from experiments.cyclic_labels.theory import poor_cluster
from experiments.cyclic_labels.variance import amplitudes, heatmaps, heights, initialisation, loss_reduction

MODULES = (
    heatmaps,
    initialisation,
    trainer_agreement,
    loss_reduction,
    amplitudes,
    undersampling,
    population,
    lever,
    roles,
    poor_cluster,
    heights,
    embedding,
    modes,
    kernel_regime,
    bumps,
    regularisation,
    mechanism,
)
