r"""Two changes of scale: a student in mean-field scaling, and weights that are normalised after every step.

In mean-field scaling $f(x) = h^{-1/2} a^\top \tanh(W x)$ with $W_{ij} \sim N(0, 1/d)$ and $a_i \sim N(0, 1/h)$ (the
document's Appendix D).  Weight normalisation scales W to $\|W\|_F = \sqrt{hd}$ (Appendix F.4), see
:func:`shallow.train.first_layer.train`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import rate_sweeps, teacher_student
from experiments.heavy_tails.first_update.cells import along, bisect, sizes
from experiments.heavy_tails.teacher_student import FEATURES, PENALTIES, PYTORCH, RATES, RULES, draw
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import single_index
from shallow.kernels.ridge import Ridge, mean_square
from shallow.spectra import esd
from shallow.train import first_layer


@releases_gil
def spectra(
    seed: int,
    *,
    rule: str = "Adam code",
    rate: float = 1.0,
    records: Sequence[int] = (0, 10),
    normalise: bool = False,
    decay: float = 1.0,
    in_ntk_units: bool = False,
    **setting,
) -> xr.Dataset:
    r"""Eigenvalues (step, k) of $W^\top W$ after the steps `records`, and the training loss (time) before each step.

    Without the read-outs of :func:`rate_sweeps.steps`, which cost as much as ten steps at n = 2000.

    Args:
        in_ntk_units: in mean-field scaling, train with $\eta / \sqrt d$, which moves the pre-activations by as much as
            $\eta$ does in NTK scaling.
    """
    drawn = draw(seed, **setting)
    shrink = in_ntk_units and setting.get("scaling") == "mean-field"
    run = teacher_student.train(
        drawn,
        rule,
        rate=rate / drawn.student.W.shape[1] ** 0.5 if shrink else rate,
        steps=records[-1],
        decay=decay,
        normalise=normalise,
        records=records,
        measure=lambda student: esd.eigenvalues(student.W),
    )
    return xr.Dataset({"eigenvalues": (("step", "k"), run.values), "loss": ("time", run.loss)}, {"step": run.steps})


@releases_gil
def curves(seed: int, *, rule: str = "Adam code", rate: float = 1.0, decay: float = 1.0, steps: int = 10, **setting):
    """Ridge losses, train and test (step, features), after 1, ..., `steps` steps of a student.

    Cost: one evaluation per step and reading of the features; at n = 8000 half a minute in all.
    """
    drawn = draw(seed, **setting)
    options = dict(decay=decay, records=range(1, steps + 1), measure=lambda one: teacher_student.losses(one, drawn))
    run = teacher_student.train(drawn, rule, rate=rate, steps=steps, **options)
    found = np.array(run.values)
    variables = {name: (("step", "features"), found[:, k]) for k, name in enumerate(("train", "test"))}
    return xr.Dataset(variables, {"step": run.steps, "features": list(FEATURES)})


@releases_gil
def first_step_of_gd(seed: int, n: int = 2000, *, bisected: bool = True) -> xr.Dataset:
    r"""Norms of the first update in mean-field scaling and the spike that GD makes, at a size of Table 2.

    Returns:
        start (norm): spectral and Frobenius norm of $W_0$;
        direction (rule, norm): those of the first direction D, the update at learning rate 1;
        ratio, second (reading): $\lambda_1/\lambda_2$ and $\lambda_2/\lambda_3$ after GD with $\eta = h/15$;
        threshold: $\eta$ at which $\lambda_1/\lambda_2 = 1.05$ for the code's GD, to 1 %, or NaN unless `bisected`; it
            is twice that in the text.
    """
    size = sizes(n)
    h, drawn = size["h"], draw(seed, scaling="mean-field", **size)
    start, train = drawn.student.W, drawn.samples.train
    rules = {name: RULES[name][0] for name in ("GD code", "Adam code", "Adam text")}
    found = first_layer.directions(train.x, train.y, drawn.student, list(rules.values()), **PYTORCH)
    matrices = {"start": start} | {name: found[rule] for name, rule in rules.items()}
    norms = [[esd.top(one).s[0], np.linalg.norm(one.astype(float))] for one in matrices.values()]
    largest = along(start, matrices["GD code"])
    values = np.array([largest(h / 15), largest(h / 30)])
    return xr.Dataset(
        {
            "start": ("norm", norms[0]),
            "direction": (("rule", "norm"), norms[1:]),
            "ratio": ("reading", values[:, 0] / values[:, 1]),
            "second": ("reading", values[:, 1] / values[:, 2]),
            "threshold": ((), bisect(largest, h / 500, h / 5) if bisected else np.nan),
        },
        {"norm": ["spectral", "Frobenius"], "rule": list(rules), "reading": ["code", "text"]},
    )


@releases_gil
def readouts(
    seed: int,
    *,
    rates: Mapping[str, float],
    penalties: Sequence[float] = PENALTIES,
    scaling: str = "mean-field",
    **setting,
) -> xr.Dataset:
    r"""Test losses of ridge read-outs before and after one step, and of linear predictors on the same data.

    Args:
        rates: learning rate by optimiser, "GD" and "Adam".

    Returns:
        test (student, features, penalty): of the untrained student and of that after one step of every rule;
        linear (penalty): of ridge regression on the inputs themselves;
        ideal: of the best linear predictor of the population, $\mu_* \beta_* \cdot x$.
    """
    drawn = draw(seed, scaling=scaling, **setting)
    _, probe, test = drawn.samples
    students = {"untrained": drawn.student}
    for rule in RULES:
        (students[rule],) = teacher_student.after_one_step(drawn, rule, [rates[rule.split()[0]]])
    found = [[one.test for one in teacher_student.read_outs(each, drawn, penalties)] for each in students.values()]
    inputs = Ridge(probe.x, probe.y)
    slope = single_index.moments(drawn.teacher.link).slope
    return xr.Dataset(
        {
            "test": (("student", "features", "penalty"), found),
            "linear": ("penalty", [mean_square(test.x, test.y, inputs.weights(p)) for p in penalties]),
            "ideal": ((), mean_square(test.x, test.y, slope * drawn.teacher.directions[0])),
        },
        {"student": list(students), "features": list(FEATURES), "penalty": list(penalties)},
    )


# What the rules ask of spectra and curves.


def spread(eigenvalues: xr.DataArray) -> xr.Dataset:
    """Decades of singular values above the median, and from the smallest to the largest; dimension k is reduced."""
    half_logs = np.log10(eigenvalues) / 2
    return xr.Dataset(
        {"above": half_logs.max("k") - half_logs.median("k"), "whole": half_logs.max("k") - half_logs.min("k")}
    )


def unrest(curve: xr.DataArray) -> xr.DataArray:
    """Total variation of a curve along the dimension step minus its net change: zero if it is monotone."""
    jumps = curve.diff("step")
    return abs(jumps).sum("step") - abs(jumps.sum("step"))


SEEDS, FURTHER = [0, 1, 2], [3, 4, 5, 6]
ADAM = ["Adam code", "Adam text"]
GD = ["GD code", "GD text"]
STEADY = {"rate": [0.0016, 0.1, 1.0]}  # at ten rounding is seen after ten steps
FIELD, VERY_HEAVY = {"scaling": "mean-field"}, {"n": 4000, "d": 500, "h": 3000, "normalise": True}
LARGE, SIZES, DECAYS = [0.1, 1.0, 100.0, 2000.0], [1000, 2000, 3000, 4000], [0.2, 0.4, 0.6, 0.8]


def _spectra(about: str, seeds: Sequence[int] = SEEDS, axes: Mapping[str, Sequence] | None = None, **fixed) -> Recipe:
    """Runs of :func:`spectra` over some axes and seeds."""
    return Recipe(spectra, {**(axes or {}), "seed": seeds}, fixed, about)


def _scalings(rule: str, seeds: Sequence[int]) -> Recipe:
    axes = {"rule": [rule], "scaling": ["ntk", "mean-field"], "rate": [0.0016, 0.1, 1.0, 10.0], "seed": seeds}
    fixed = {"in_ntk_units": True, "records": (0, 1, 10)}
    return Recipe(spectra, axes, fixed, "The same Adam runs in both scalings", steady=STEADY)


def _long(about: str, rule: str, rates: Sequence[float], seeds: Sequence[int]) -> Recipe:
    return _spectra(about, seeds, {"rate": rates, "normalise": [False, True]}, rule=rule, records=(0, 64))


RECORDS: dict[str, Recipe] = {
    "mean_field": _spectra(
        "Figures 11 and 13: Adam in mean-field scaling",
        axes={"rule": ADAM, "rate": [0.00005, 0.005, 0.04, 0.5]},
        records=(0, 1, 10),
        **FIELD,
    ),
    "mean_field_gd": _spectra(
        "Figure 10: one step of GD in mean-field scaling", axes={"rule": GD, "rate": LARGE}, records=(0, 1), **FIELD
    ),
    "two_scalings": _scalings("Adam code", SEEDS),
    "two_scalings_text": _scalings("Adam text", [0]),
    "mean_field_sizes": Recipe(
        first_step_of_gd,
        {"n": SIZES, "seed": SEEDS},
        about="Corollary D.1: norms of the first update and threshold of GD at growing sizes",
    ),
    "mean_field_gd_more": _spectra(
        "Figure 10: further draws", FURTHER, {"rule": ["GD code"], "rate": LARGE}, records=(0, 1), **FIELD
    ),
    "mean_field_sizes_more": Recipe(
        first_step_of_gd, {"n": SIZES, "seed": FURTHER}, {}, "Corollary D.1: further draws"
    ),
    "mean_field_readouts": Recipe(
        readouts,
        {"seed": [0, 1, 2, 3, 4]},
        {"rates": {"GD": 100.0, "Adam": 0.04}},
        "Appendix D: one step against the untrained features and linear predictors",
    ),
    "very_heavy_gd": _spectra("Figure 7: GD with normalised weights", axes={"rule": GD}, rate=5000.0, **VERY_HEAVY),
    "very_heavy_adam": _spectra("Figure 7: Adam with normalised weights", axes={"rule": ADAM}, rate=3.0, **VERY_HEAVY),
    "decay_normalised": _spectra(
        "Figure 31: schedules with normalised weights", axes={"rule": ADAM, "decay": [1.0, *DECAYS]}, normalise=True
    ),
    "decay_plain": _spectra(
        "Two schedules without normalisation", axes={"rule": ADAM, "decay": [1.0, 0.4]}, normalise=False
    ),
    "decay_curves": Recipe(
        curves, {"decay": DECAYS, "seed": [0, 1]}, {"n": 8000}, "Figure 28 (d): losses after every step by schedule"
    ),
    "decay_curves_more": Recipe(
        curves,
        {"decay": DECAYS, "seed": [2, 3, 4]},
        {"n": 8000},
        "Figure 28 (d): losses after every step by schedule, further draws",
    ),
    "ten_steps_normalised_more": Recipe(
        rate_sweeps.ten_steps,
        {"rule": ["Adam code"], "rate": [0.0, *RATES], "seed": [3, 4]},
        {"n": 8000, "normalise": True},
        "Figure 30: ten steps of Adam with weight normalisation, further draws",
        steady={"rate": [0.0, 0.001, 0.01, 0.1, 1.0]},
    ),
    "ten_steps_normalised_gd": Recipe(
        rate_sweeps.ten_steps,
        {"rule": ["GD code"], "rate": [0.0, 100.0, 1000.0, 2000.0, 3000.0], "seed": SEEDS},
        {"n": 8000, "normalise": True},
        "Figure 30: ten steps of GD with weight normalisation",
    ),
    "ten_steps_normalised_gd_small": Recipe(
        rate_sweeps.ten_steps,
        {"rule": ["GD code"], "rate": [0.001, 0.01, 0.1, 1.0, 10.0], "seed": SEEDS},
        {"n": 8000, "normalise": True},
        "Figure 30: ten steps of GD with weight normalisation, small rates",
    ),
    "very_heavy_gd_more": _spectra(
        "Figure 7: GD with normalised weights, further draws",
        list(range(3, 10)),
        rule="GD code",
        rate=5000.0,
        **VERY_HEAVY,
    ),
    "decay_slow_more": _spectra(
        "Figure 31: the slowest schedule with normalised weights, further draws",
        list(range(3, 10)),
        {"decay": [0.8]},
        normalise=True,
    ),
    "long_gd": _long("Figure 29: 64 steps of GD with and without normalisation", "GD code", [0.1, 2000.0], [0, 1]),
    "long_adam": _long("Figure 29: 64 steps of Adam with and without normalisation", "Adam code", [0.1, 1.0], [0, 1]),
    "long_adam_text": _long("Figure 29 without bias correction", "Adam text", [0.1, 1.0], [0]),
}
