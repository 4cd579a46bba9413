"""The recorded runs of the chapter: name -> recipe.  Rerun one by ``python -m shallow record cyclic_labels/NAME``."""

from __future__ import annotations

from experiments.cyclic_labels import (
    amplitudes,
    bumps,
    embedding,
    kernel_regime,
    loss_reduction,
    mechanism,
    modes,
    trainer_agreement,
    undersampling,
)
from experiments.cyclic_labels.heatmaps import SIZES, heatmap, models
from experiments.cyclic_labels.initialisation import NETWORKS, compared, kernel_change, passage
from experiments.cyclic_labels.regularisation import after_zero, decayed
from experiments.cyclic_labels.undersampling import DESIGNS, spiky
from shallow.book.recipes import Agreement, Recipe

ALL_SIZES = list(range(10, 201))
#: The report draws ten models; four times as many make the intervals half as wide.
HEATMAP = dict(step=0.01, width=512, models=40, epochs=20_000, every=500)
MODE_STEPS, MODE_DESIGNS = [0.0001, 0.001, 0.01], ["iid", "strat", "two_rightmost"]
RECORDS: dict[str, Recipe] = {
    "heatmap_three_periods": Recipe(
        heatmap,
        {"base": [0, 1], "n": ALL_SIZES},
        HEATMAP,
        "Figures 1 and 2: three periods, default initialisation",
        replicates="base",
    ),
    "heatmap_three_periods_models": Recipe(
        models,
        {"n": ALL_SIZES},
        HEATMAP | {"models": 10},
        "Figures 1 and 2: the first ten models one by one, at every record",
    ),
    "heatmap_four_periods": Recipe(
        heatmap,
        {"base": [0, 1], "n": ALL_SIZES},
        HEATMAP | {"periods": 4},
        "Figures 3 and 4: four periods",
        replicates="base",
    ),
    "heatmap_antisymmetric": Recipe(
        heatmap,
        {"base": [0, 1], "n": ALL_SIZES},
        HEATMAP | {"antisymmetric": True},
        "Figures 5 and 6: antisymmetric initialisation, three periods",
        replicates="base",
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
        {"models": 40, "epochs": 20_000, "every": 20_000},
        "Growth of the variance with the sample size over steps, widths and initialisations",
    ),
    "antisymmetric_forty_models": Recipe(
        compared,
        {"network": list(NETWORKS), "n": list(SIZES)},
        {"models": 40, "epochs": 20_000, "every": 500},
        "Antisymmetric against plain, twice as wide, and matched in scale and step, 40 models each",
    ),
    "kernel_from_near_zero": Recipe(
        kernel_change,
        {"alpha": [1.0, 0.1], "width": [128, 512, 8192], "step": [0.001, 0.01], "seed": list(range(10))},
        {"n": 50, "epochs": 20_000},
        "Change of the tangent kernel from default and near-zero initialisation",
    ),
    "agreement": Recipe(
        trainer_agreement.path,
        {"n": [20, 50], "width": [128, 512], "step": [0.01, 0.001]},
        {"seed": 0, "epochs": 20_000},
        "The fast trainer against automatic differentiation over 20,000 epochs",
        agreement=Agreement(elsewhere=0.1),  # rounding errors, all of the size of 1e-13
    ),
    "equal_budget": Recipe(
        loss_reduction.equal_budget,
        {"form": ["sum", "0.5/n", "0.1/n"], "base": [0, 1], "n": list(SIZES)},
        {"models": 40},
        "Variance at equal step x n x epochs for three steps",
        replicates="base",
    ),
    "sources": Recipe(
        amplitudes.source,
        {"n": [10, 20, 30, 50, 80, 120, 160, 200], "repetition": list(range(5)), "varied": list(amplitudes.VARIED)},
        {"models": 10, "step": 0.01, "base": 2},
        "Ten models that differ in initialisation, in data or in both",
        replicates="repetition",
    ),
    "ablations": Recipe(
        undersampling.ablation,
        {"variant": list(undersampling.ABLATIONS), "points": list(undersampling.POINTS), "seed": list(range(50))},
        {},
        "Dose and response: points in one cluster, one factor changed at a time",
    ),
    "ablations_stratified": Recipe(
        undersampling.ablation,
        {"variant": list(undersampling.ABLATIONS), "seed": list(range(50))},
        {"points": None},
        "The same factors without a poor cluster",
    ),
    "independent_outcomes": Recipe(
        undersampling.iid,
        {"n": [20, 50, 100], "seed": list(range(50))},
        {},
        "Bumps and smallest counts in independent data",
    ),
    "fixed_features": Recipe(
        undersampling.result,
        {"design": ["poor(5,1)", "strat"], "seed": list(range(50))},
        {"train": "output", "epochs": 200_000},
        "Output weights alone, ten times the epochs",
    ),
    "imbalance": Recipe(
        embedding.imbalance,
        {"points": [1, 2, 3, 5, 8], "step": [0.001, 0.01], "train": ["output", "all"], "seed": list(range(20))},
        {},
        "A poor cluster on a fixed random embedding and in the full network, 20,000 and 200,000 epochs",
    ),
    "noise_coordinates": Recipe(
        embedding.noisy,
        {"inputs": [2, 5, 10], "design": ["poor(5,4)", "strat"], "seed": list(range(10))},
        {"n": 200, "width": 512, "step": 0.001, "epochs": 20_000},
        "Cyclic labels of one coordinate among noise coordinates: share of the gradient outer product",
    ),
    "modes": Recipe(
        modes.summary,
        {"width": [128, 512], "step": MODE_STEPS, "design": MODE_DESIGNS, "seed": list(range(50))},
        {},
        "Projections of the output gradient on the eigenvectors of the kernel at initialisation",
    ),
    "modes_wide": Recipe(
        modes.summary,
        {"step": MODE_STEPS, "design": MODE_DESIGNS, "seed": list(range(10))},
        {"width": 8192},
        "The same at width 8192",
    ),
    "kernel_regime": Recipe(
        kernel_regime.regime,
        {"width": [128, 512, 8192], "step": MODE_STEPS, "seed": list(range(10))},
        {},
        "The kernel after 20,000 epochs against the kernel at initialisation",
    ),
    "sensitivity": Recipe(
        kernel_regime.sensitivity,
        {"width": [128, 512, 8192], "step": [0.001 * 4.0**k for k in range(-3, 4)], "seed": list(range(10))},
        {},
        "Oscillation of the projections, and the effect of one label or one point, by width and step",
    ),
    "small_steps": Recipe(
        bumps.refined,
        {
            "refinement": [1, 3, 10, 30],
            "design": ["iid", "strat", "poor(5,1)", "two_rightmost"],
            "seed": list(range(50, 100)),
        },
        {},
        "Bumps of the test loss as the step is cut finer and finer at equal training time",
    ),
    "penalty_after_zero": Recipe(
        after_zero,
        {"step": [0.001, 0.01], "agop": [0.0, 0.001, 0.01, 0.1], "seed": list(range(50))},
        {"n": 50, "width": 512, "epochs": 50_000},
        "Test loss after the first zero of the training hinge, with and without the gradient penalty",
    ),
    "weight_decay": Recipe(
        decayed,
        {
            "design": ["poor(5,1)", "iid"],
            "step": [0.001, 0.01],
            "decay": [0.0, 1e-4, 1e-3, 1e-2],
            "seed": list(range(50)),
        },
        {},
        "Bumps and final losses with weight decay",
    ),
    "spikes": Recipe(
        spiky,
        {"design": ["strat", "equi", "iid"], "step": [0.0003, 0.001, 0.003, 0.01], "seed": list(range(50))},
        {},
        "Spikes of the test loss at four steps, records every 20 epochs",
    ),
    "designs_long_step": Recipe(
        bumps.outcome,
        {"design": list(DESIGNS), "seed": list(range(50))},
        {"step": 0.01},
        "Bumps and ends of the runs of seven designs at the step 0.01",
    ),
    "penalty_strengths": Recipe(
        bumps.outcome,
        {
            "agop": [1e-12, 0.0001, 0.001, 0.01, 0.1],
            "design": ["iid", "two_rightmost"],
            "step": [0.001, 0.01],
            "seed": list(range(50)),
        },
        {},
        "Bumps and ends of runs with a gradient penalty of five strengths",
    ),
    "one_layer": Recipe(
        bumps.one_layer,
        {
            "train": ["output", "hidden"],
            "step": [0.001, 0.01],
            "design": ["poor(5,1)", "strat"],
            "seed": list(range(50)),
        },
        {},
        "Test loss and bumps when the output weights or the hidden layer alone are trained",
    ),
    "penalty_slopes": Recipe(
        mechanism.energies,
        {"design": ["poor(5,1)", "two_rightmost", "strat"], "seed": list(range(50))},
        {"agop": 0.001},
        "Where the squared slope lives at the moments of a bump, with the gradient penalty",
    ),
    "three_steps": Recipe(
        loss_reduction.ensemble,
        {"form": list(loss_reduction.STEPS), "base": [0, 1], "n": list(SIZES)},
        {},
        "Ten models one by one on 13 sizes: the sum, and two steps proportional to 1/n",
        replicates="base",
    ),
    "sum_or_mean": Recipe(
        loss_reduction.reduced,
        {
            "form": list(loss_reduction.FORMS),
            "width": [128, 512],
            "n": [10, 20, 50, 80, 120, 160, 200, 400],
            "seed": list(range(20)),
        },
        {},
        "Error, stability and surviving neurons of the sum and of two forms of the mean",
    ),
    "active_terms": Recipe(
        loss_reduction.active_terms,
        {"step": [0.01, 0.001], "n": [50, 100, 200], "seed": list(range(50))},
        {},
        "Active hinge terms and those near a label boundary, at three epochs",
    ),
    "passage": Recipe(
        passage,
        {"alpha": [1, 0.5, 0.25, 0.1, 0.03, 0.01], "step": [0.001, 0.01], "seed": list(range(20))},
        {},
        "How long training takes to get going from small initial parameters",
    ),
}
