"""Sweeps over learning rates: students after one step (Figures 3, 19 and 20) and after ten (5, 22, 23, 30 and 32).

Their readings are taken by :mod:`experiments.heavy_tails.readings_of_sweeps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.teacher_student import FEATURES, PENALTIES, PENALTY, RATES, RULES, Draw, draw, measure
from shallow.book.recipes import Recipe, releases_gil
from shallow.kernels.ridge import Ridge, mean_square
from shallow.nets import Student
from shallow.spectra import esd, tails


@releases_gil
def one_step(
    seed: int,
    *,
    rules: Sequence[str] = tuple(RULES),
    rates: Sequence[float] = RATES,
    penalties: Sequence[float] = (PENALTY,),
    **setting,
) -> xr.Dataset:
    """:func:`teacher_student.measure` after one step for every rule and rate; rate 0 is the untrained student.

    `setting` is that of :func:`teacher_student.draw`.  Cost: one gradient, and one evaluation for every rule and rate,
    half a second at n = 2000.
    """
    drawn = draw(seed, **setting)
    return _over_rates(drawn, rules, rates, lambda student: measure(student, drawn, penalties))


def _over_rates(
    drawn: Draw, rules: Sequence[str], rates: Sequence[float], look: Callable[[Student], xr.Dataset]
) -> xr.Dataset:
    """What is seen of the student of a draw, untrained and after one step, over rule and rate."""
    untrained = look(drawn.student)
    rows = [
        _joined([untrained, *map(look, teacher_student.after_one_step(drawn, rule, rates))], "rate") for rule in rules
    ]
    return _joined(rows, "rule").assign_coords(rule=list(rules), rate=[0.0, *rates])


def _joined(parts: Sequence[xr.Dataset], dimension: str) -> xr.Dataset:
    return xr.concat(parts, dimension, data_vars="all", coords="minimal", compat="override")


@releases_gil
def steps(
    seed: int,
    *,
    rule: str = "Adam code",
    rate: float = 1.0,
    steps: int = 10,
    records: Sequence[int] | None = None,
    penalties: Sequence[float] = (PENALTY,),
    **setting,
) -> xr.Dataset:
    """:func:`teacher_student.measure` after `steps` steps, or at each of `records` (dimension step); rate 0: untrained.

    Also `loss` (time): that of the first stage before every step, with the factor of the rule.
    """
    drawn, shown = draw(seed, **setting), [steps] if records is None else list(records)
    if rate == 0:
        seen, loss = [measure(drawn.student, drawn, penalties)] * len(shown), np.full(steps, np.nan)
    else:
        run = teacher_student.train(
            drawn, rule, rate=rate, steps=steps, records=shown, measure=lambda one: measure(one, drawn, penalties)
        )
        seen, loss = run.values, run.loss
    found = _joined(seen, "step").assign_coords(step=shown).assign(loss=("time", loss))
    return found.squeeze("step", drop=True) if records is None else found


@releases_gil
def one_step_variants(
    seed: int, *, rules: Sequence[str] = ("GD code", "Adam code"), rates: Sequence[float] = RATES, **setting
) -> xr.Dataset:
    """Ridge losses after one step for a student that need not fit the mean of the labels by odd features.

    Variants: "centred", labels minus the mean of the probe labels; "intercept", a constant column beside the features,
    as large as the features of a neuron.  The first stage is trained as ever.  Returns train and test over (rule, rate,
    variant, features), rate 0 untrained.
    """
    drawn = draw(seed, **setting)
    return _over_rates(drawn, rules, rates, lambda student: _variants(student, drawn))


def _variants(student: Student, drawn: Draw) -> xr.Dataset:
    """Losses of one student by variant and reading of the features."""
    probe, test = drawn.samples.probe, drawn.samples.test
    mean = probe.y.mean()
    width = len(student.a)
    found = np.empty((2, 2, len(FEATURES)))  # loss, variant, features
    for k, features in enumerate(FEATURES):
        scale = teacher_student.evaluation_scale(student, features)
        fitted, unseen = (student.features(part.x, scale) for part in (probe, test))
        constant = np.sqrt(np.mean(fitted**2))
        beside = [np.column_stack([Z, np.full(len(Z), constant)]) for Z in (fitted, unseen)]
        for v, ((Z, Z_test), shift) in enumerate((((fitted, unseen), mean), (beside, 0.0))):
            weights = Ridge(Z, probe.y - shift).weights(PENALTY / width)
            found[:, v, k] = mean_square(Z, probe.y - shift, weights), mean_square(Z_test, test.y - shift, weights)
    dims = ("variant", "features")
    coordinates = {"variant": ["centred", "intercept"], "features": list(FEATURES)}
    return xr.Dataset({"train": (dims, found[0]), "test": (dims, found[1])}, coordinates)


@releases_gil
def ten_steps(
    seed: int,
    *,
    rule: str,
    rate: float,
    normalise: bool = False,
    penalties: Sequence[float] = (PENALTY,),
    **setting,
) -> xr.Dataset:
    r""":func:`teacher_student.measure` after ten steps, and the exponent of the features.

    Returns the variables of :func:`teacher_student.measure` and

        feature_hill (features): PL_Alpha_Hill of the eigenvalues of $Z Z^\top$ that are not zero by construction, Z the
            features of the probe sample.
    """
    drawn = draw(seed, **setting)
    student = teacher_student.trained(drawn, rule, rate, normalise=normalise)
    scales = [teacher_student.evaluation_scale(student, features) for features in FEATURES]
    exponents = [tails.hill(esd.eigenvalues(student.features(drawn.samples.probe.x, scale))) for scale in scales]
    return measure(student, drawn, penalties).assign(feature_hill=("features", exponents))


OF_CODE, FIVE, THREE, FURTHER = {"rules": ("GD code", "Adam code")}, list(range(5)), [0, 1, 2], [3, 4, 5, 6]


def _one_step(seeds: Sequence[int], about: str, cell: Callable[..., xr.Dataset] = one_step, **fixed) -> Recipe:
    return Recipe(cell, {"seed": seeds}, fixed, about, shortened={"rules": ("Adam code",), "rates": (1.0,)})


RECORDS: dict[str, Recipe] = {
    "one_step": _one_step(FIVE, "Figure 3: one step, all rules and learning rates"),
    "figure_1": Recipe(
        steps, {"rule": list(RULES), "rate": [0.0, 0.5, 2000.0], "seed": THREE}, {}, "Figure 1: ten steps"
    ),
    "spike_position_2000": Recipe(
        steps,
        {"rule": ["Adam code", "Adam text"], "rate": [0.001, 0.01, 0.1, 1.0, 10.0], "seed": FIVE},
        about="Ten Adam steps: exponents and the position of the spike",
    ),
    "spike_position_8000": Recipe(
        steps,
        {"rule": ["Adam code"], "rate": [0.001, 0.01, 1.0, 10.0], "seed": FIVE},
        {"n": 8000},
        "The same with 8000 points",
    ),
    "one_step_4000": _one_step(THREE, "Figure 19: one step, 4000 points", n=4000),
    "one_step_8000": _one_step(THREE, "Figure 20: one step, 8000 points", n=8000),
    "one_step_variants": _one_step(THREE, "One step: centred labels, and a constant feature", one_step_variants),
    "one_step_more": _one_step(list(range(5, 20)), "Figure 3: further draws", **OF_CODE),
    "one_step_4000_more": _one_step(FURTHER, "Figure 19: further draws", n=4000, **OF_CODE),
    "one_step_8000_more": _one_step(FURTHER, "Figure 20: further draws", n=8000, **OF_CODE),
    "one_step_near_gd": Recipe(
        one_step,
        {"seed": FIVE},
        {"rules": ("GD code",), "rates": (250.0, 500.0, 750.0, 1250.0, 1500.0, 1750.0)},
        "One step of GD on both sides of the first spike",
    ),
    "one_step_near_adam": Recipe(
        one_step,
        {"seed": FIVE},
        {"rules": ("Adam code",), "rates": (0.02, 0.03, 0.04, 0.05, 0.06, 0.08)},
        "One step of Adam on both sides of the first spike",
    ),
}


def _sweep(rules: Sequence[str], seeds: int, about: str, *, rates: Sequence[float] = RATES, **fixed) -> Recipe:
    axes = {"rule": list(rules), "rate": [0.0, *rates], "seed": list(range(seeds))}
    # Ten steps of Adam at ten and above magnify rounding so much that test losses differ by a fifth.
    with_adam = any(rule.startswith("Adam") for rule in rules)
    steady = {"rate": [rate for rate in axes["rate"] if rate <= 1]} if with_adam else {}
    return Recipe(ten_steps, axes, fixed, about, steady=steady)


CODE, TEXT = ("GD code", "Adam code"), ("GD text", "Adam text")
LARGE = (1000.0, 2000.0, 3000.0)
BESIDE = "The same in the text's reading"
#: The reading of the code decides and has more seeds; that of the text stands beside.
RECORDS |= {
    "ten_steps_8000": _sweep(CODE, 5, "Figure 5: ten steps, 8000 points", n=8000, penalties=PENALTIES),
    "ten_steps_8000_text": _sweep(TEXT, 1, BESIDE, n=8000, penalties=PENALTIES),
    "ten_steps_8000_benign": _sweep(
        ["Adam text"], 5, "The text's Adam where Section 5.2 calls it benign", rates=(0.01, 0.1, 1.0), n=8000
    ),
    "ten_steps_8000_more": Recipe(
        ten_steps,
        {"rule": ["Adam code"], "rate": [0.0, 0.01, 0.1, 1.0], "seed": list(range(5, 15))},
        {"n": 8000},
        "Figure 5: further draws where Section 5.2 calls Adam benign",
    ),
    "ten_steps_2000": _sweep(CODE, 5, "Figure 22: ten steps, 2000 points", n=2000),
    "ten_steps_2000_text": _sweep(TEXT, 2, BESIDE, n=2000),
    "ten_steps_4000": _sweep(CODE, 3, "Figure 23: ten steps, 4000 points", n=4000),
    "ten_steps_normalised": _sweep(
        ["Adam code"], 3, "Figure 30: ten steps with weight normalisation", n=8000, normalise=True
    ),
    "ten_steps_tanh": _sweep(["Adam code"], 3, "Figure 32: ten steps of Adam, tanh teacher", n=8000, link="tanh"),
    "ten_steps_tanh_gd": _sweep(
        ["GD code"], 3, "Figure 32: ten steps of GD, tanh teacher", rates=LARGE, n=8000, link="tanh"
    ),
}
