"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record cyclic_labels/NAME``."""

from __future__ import annotations

from experiments.cyclic_labels import (
    amplitudes,
    bumps,
    embedding,
    heatmaps,
    initialisation,
    kernel_regime,
    loss_reduction,
    mechanism,
    modes,
    regularisation,
    trainer_agreement,
    undersampling,
)
from shallow.book.recipes import Recipe

RECORDS: dict[str, Recipe] = (
    heatmaps.RECORDS
    | initialisation.RECORDS
    | trainer_agreement.RECORDS
    | loss_reduction.RECORDS
    | amplitudes.RECORDS
    | undersampling.RECORDS
    | embedding.RECORDS
    | modes.RECORDS
    | kernel_regime.RECORDS
    | bumps.RECORDS
    | regularisation.RECORDS
    | mechanism.RECORDS
)
