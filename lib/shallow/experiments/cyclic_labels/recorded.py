"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record cyclic_labels/NAME``."""

from __future__ import annotations

from shallow.experiments import Recipe
from shallow.experiments.cyclic_labels.ensembles import ensemble

SIZES = list(range(10, 201))
HEATMAP = dict(step=0.01, width=512, models=10, epochs=20_000, every=500)

RECORDS: dict[str, Recipe] = {
    "heatmap_three_periods": Recipe(
        ensemble, {"base": [0, 1], "n": SIZES}, HEATMAP, "Figures 1 and 2: three periods, default initialisation"
    ),
    "heatmap_four_periods": Recipe(
        ensemble, {"base": [0, 1], "n": SIZES}, HEATMAP | {"periods": 4}, "Figures 3 and 4: four periods"
    ),
    "heatmap_antisymmetric": Recipe(
        ensemble, {"base": [0, 1], "n": SIZES}, HEATMAP | {"antisymmetric": True}, "Figures 5 and 6: ASI, three periods"
    ),
    "heatmap_antisymmetric_four_periods": Recipe(
        ensemble, {"base": [0], "n": SIZES}, HEATMAP | {"antisymmetric": True, "periods": 4}, "Figures 5 and 6: ASI, four"
    ),
    "heatmap_near_zero": Recipe(
        ensemble, {"base": [0], "n": SIZES}, HEATMAP | {"alpha": 0.1}, "Section 4, step 4: default initialisation times 0.1"
    ),
}
