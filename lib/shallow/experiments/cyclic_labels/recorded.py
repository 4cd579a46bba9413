"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record cyclic_labels/NAME``."""

from __future__ import annotations

from shallow.experiments import Recipe
from shallow.experiments.cyclic_labels.heatmaps import SIZES, heatmap, models
from shallow.experiments.cyclic_labels.initialisation import NETWORKS, compared, kernel_change

ALL_SIZES = list(range(10, 201))
HEATMAP = dict(step=0.01, width=512, models=10, epochs=20_000, every=500)

RECORDS: dict[str, Recipe] = {
    "heatmap_three_periods": Recipe(
        heatmap, {"base": [0, 1], "n": ALL_SIZES}, HEATMAP, "Figures 1 and 2: three periods, default initialisation"
    ),
    "heatmap_three_periods_models": Recipe(
        models, {"n": ALL_SIZES}, HEATMAP, "Figures 1 and 2: the first set with all its models, at every record"
    ),
    "heatmap_four_periods": Recipe(
        heatmap, {"base": [0, 1], "n": ALL_SIZES}, HEATMAP | {"periods": 4}, "Figures 3 and 4: four periods"
    ),
    "heatmap_antisymmetric": Recipe(
        heatmap,
        {"base": [0, 1], "n": ALL_SIZES},
        HEATMAP | {"antisymmetric": True},
        "Figures 5 and 6: antisymmetric initialisation, three periods",
    ),
    "heatmap_antisymmetric_four_periods": Recipe(
        heatmap,
        {"base": [0], "n": ALL_SIZES},
        HEATMAP | {"antisymmetric": True, "periods": 4},
        "Figures 5 and 6: antisymmetric initialisation, four periods",
    ),
    "heatmap_near_zero": Recipe(
        heatmap,
        {"base": [0], "n": ALL_SIZES},
        HEATMAP | {"alpha": 0.1},
        "Section 4, step 4: default initialisation times 0.1",
    ),
    "heatmap_nearer_zero": Recipe(
        heatmap,
        {"base": [0], "n": list(SIZES)},
        HEATMAP | {"alpha": 0.01},
        "Section 4, step 4: default initialisation times 0.01, on 13 sizes",
    ),
    "growth_settings": Recipe(
        heatmap,
        {
            "step": [0.001, 0.003, 0.01],
            "width": [128, 512],
            "initial": ["default", "normal"],
            "n": [10, 20, 30, 50, 80, 120, 160, 200],
        },
        {"models": 10, "epochs": 20_000, "every": 20_000},
        "Growth of the variance with the sample size over steps, widths and initialisations",
    ),
    "antisymmetric_forty_models": Recipe(
        compared,
        {"network": list(NETWORKS), "n": list(SIZES)},
        {"step": 0.01, "models": 40, "epochs": 20_000, "every": 500},
        "Antisymmetric against plain and twice as wide, 40 models each",
    ),
    "kernel_from_near_zero": Recipe(
        kernel_change,
        {"alpha": [1.0, 0.1], "width": [128, 512, 8192], "step": [0.001, 0.01], "seed": list(range(10))},
        {"n": 50, "epochs": 20_000},
        "Change of the tangent kernel from default and near-zero initialisation",
    ),
}
