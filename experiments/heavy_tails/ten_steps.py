r"""The sweeps over learning rates at ten steps (the document's Figures 5, 22, 23, 30 and 32), as recorded runs.

One cell is one student.  Besides what :func:`runs.measure` gives it keeps the exponent of the features, so that the
spectrum of the weights can be compared with that of what the read-out sees.
"""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from experiments.heavy_tails.runs import (
    FEATURES,
    NORMALISE,
    PENALTY,
    RATES,
    RULES,
    Draw,
    draw,
    evaluation_scale,
    measure,
)
from experiments.heavy_tails.scaling import PENALTIES
from shallow.book.recipes import Recipe, releases_gil
from shallow.nets import Student
from shallow.spectra import esd, tails
from shallow.train import first_layer

STEPS = 10


def trained(drawn: Draw, rule: str, rate: float, *, steps: int = STEPS, normalise: bool = False) -> Student:
    """The student of a draw after full-batch steps of a rule of `runs.RULES`; rate 0 leaves it as it is.

    Cost: 4 n d h operations a step; half a second on one core at n = 8000.
    """
    if rate == 0:
        return drawn.student
    optimiser, factor = RULES[rule]
    run = first_layer.train(
        drawn.samples.train.x,
        drawn.samples.train.y,
        drawn.student,
        optimiser,
        rate=rate,
        steps=steps,
        factor=factor,
        normalise=NORMALISE[rule.split()[1]] if normalise else None,
    )
    return run.student


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
    r""":func:`runs.measure` after ten steps, and the exponent of the features.

    Returns the variables of :func:`runs.measure` and

        feature_hill (features): PL_Alpha_Hill of the eigenvalues of $Z Z^\top$ that are not zero by construction, Z the
            features of the probe sample.
    """
    drawn = draw(seed, **setting)
    student = trained(drawn, rule, rate, normalise=normalise)
    features = [student.features(drawn.samples.probe.x, evaluation_scale(student, name)) for name in FEATURES]
    exponents = [tails.hill(esd.eigenvalues(Z)) for Z in features]
    return measure(student, drawn, penalties).assign(feature_hill=("features", exponents))


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
RECORDS: dict[str, Recipe] = {
    "ten_steps_8000": _sweep(CODE, 5, "Figure 5: ten steps, 8000 points", n=8000, penalties=PENALTIES),
    "ten_steps_8000_text": _sweep(TEXT, 1, BESIDE, n=8000, penalties=PENALTIES),
    "ten_steps_8000_benign": _sweep(
        ["Adam text"], 5, "The text's Adam where Section 5.2 calls it benign", rates=(0.01, 0.1, 1.0), n=8000
    ),
    "ten_steps_2000": _sweep(CODE, 5, "Figure 22: ten steps, 2000 points", n=2000),
    "ten_steps_2000_text": _sweep(TEXT, 2, BESIDE, n=2000),
    "ten_steps_4000": _sweep(CODE, 3, "Figure 23: ten steps, 4000 points", n=4000),
    "ten_steps_4000_text": _sweep(TEXT, 1, BESIDE, n=4000),
    "ten_steps_500": _sweep(["Adam code", "Adam text"], 5, "Figure 28(a): ten steps, 500 points", rates=(1.0,), n=500),
    "ten_steps_normalised": _sweep(
        ["Adam code"], 3, "Figure 30: ten steps with weight normalisation", n=8000, normalise=True
    ),
    "ten_steps_normalised_text": _sweep(["Adam text"], 1, BESIDE, n=8000, normalise=True),
    "ten_steps_tanh": _sweep(["Adam code"], 3, "Figure 32: ten steps of Adam, tanh teacher", n=8000, link="tanh"),
    "ten_steps_tanh_text": _sweep(["Adam text"], 1, BESIDE, n=8000, link="tanh"),
    "ten_steps_tanh_gd": _sweep(
        ["GD code"], 3, "Figure 32: ten steps of GD, tanh teacher", rates=LARGE, n=8000, link="tanh"
    ),
    "ten_steps_tanh_gd_text": _sweep(["GD text"], 1, BESIDE, rates=LARGE, n=8000, link="tanh"),
}
