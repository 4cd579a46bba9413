r"""A student and its data, the readings of the document's text and code, and what is measured after some steps.

The document's text and its authors' public code differ in ways that change results; each difference is run both ways:

* *rule*: the loss of the first stage has a factor 1/2 in the text only, which halves every gradient of GD, and Adam
  has bias correction in the code only;
* *features*: the code divides the pre-activations by $\sqrt d$ twice when it evaluates a student, the text once;
* weight normalisation is done before a step in the code and after it in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from shallow import nets, stats
from shallow.book.recipes import releases_gil
from shallow.data import single_index
from shallow.nets import Student
from shallow.spectra import esd
from shallow.train import first_layer, first_step, ridge
from shallow.train.first_layer import GD, Adam

#: Rule of the first stage and factor c of its loss $\frac{c}{n}|r|^2$, by optimiser and reading.
RULES = {
    "GD code": (GD(), 1.0),
    "GD text": (GD(), 0.5),
    "Adam code": (Adam(), 1.0),
    "Adam text": (Adam(corrected=False), 0.5),
}
#: When the weights are normalised, by reading.
NORMALISE = {"code": "before", "text": "after"}
FEATURES = ("code", "text")
#: The document's learning rates (Figures 3, 5, 19, 20, 22, 23, 30 and 32).
RATES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 2000.0, 3000.0)
PENALTY = 0.01
SCALINGS = {"ntk": nets.ntk, "mean-field": nets.mean_field}


@dataclass(frozen=True)
class Draw:
    """One repeat: a teacher, its training, probe and test samples, and an untrained student, all float32."""

    teacher: single_index.Teacher
    samples: single_index.Split
    student: Student


def draw(
    seed: int,
    *,
    n: int = 2000,
    d: int = 1000,
    h: int = 1500,
    link: str = "softplus",
    noise: float = 0.3,
    test: int = 200,
    scaling: str = "ntk",
    indices: int = 1,
    combine: str = "sum",
) -> Draw:
    """The draw of a seed (the document's base setting by default).

    Teacher, student, inputs and label noise have streams of their own: at one seed another n only adds or removes
    points, another noise level only rescales the same errors, and both scalings start from the same numbers.
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}")
    teacher_rng, student_rng = (stats.stream("heavy tails", seed, name) for name in ("teacher", "student"))
    teacher = single_index.random_teacher(teacher_rng, d, link=link, indices=indices, combine=combine)
    samples = single_index.split(teacher, n, seed=f"heavy tails/{seed}", noise=noise, test=test)
    student = SCALINGS[scaling](student_rng, h, d)
    return Draw(teacher, samples, Student(student.W.astype(np.float32), student.a, student.scale))


def evaluation_scale(student: Student, features: str) -> float:
    r"""Scale of the pre-activations in the evaluation: the student's, s, in the text, $s/\sqrt d$ in the code."""
    if features not in FEATURES:
        raise ValueError(f"features must be one of {', '.join(FEATURES)}, got {features!r}")
    return student.scale / (student.W.shape[1] ** 0.5 if features == "code" else 1.0)


def measure(student: Student, drawn: Draw, penalties: Sequence[float] = (PENALTY,)) -> xr.Dataset:
    r"""What the document's figures show of one student.

    Returns:
        eigenvalues (k): of $W^\top W$, descending;
        similarity: $|v_1 \cdot \beta^*|$ with the first right singular vector;
        train, test (features, penalty): losses of the ridge read-out, fitted on the probe sample;
        alignment (features): kernel target alignment on the probe sample.
    """
    found = [
        ridge.evaluate(
            student, drawn.samples.probe, drawn.samples.test, penalties, scale=evaluation_scale(student, features)
        )
        for features in FEATURES
    ]
    losses = {name: (("features", "penalty"), [getattr(one, name) for one in found]) for name in ("train", "test")}
    return xr.Dataset(
        {
            "eigenvalues": ("k", esd.eigenvalues(student.W)),
            "similarity": ((), ridge.similarity(student.W, drawn.teacher.directions)),
            "alignment": ("features", [one.alignment for one in found]),
        }
        | losses,
        {"features": list(FEATURES), "penalty": list(penalties)},
    )


@releases_gil
def one_step(
    seed: int, *, rules: Sequence[str] = tuple(RULES), rates: Sequence[float] = RATES, penalties=(PENALTY,), **setting
) -> xr.Dataset:
    """:func:`measure` after one step for every rule and rate, from one gradient; rate 0 is the untrained student.

    `setting` is that of :func:`draw`.  Cost: one evaluation for every rule and rate, half a second at n = 2000.
    """
    drawn = draw(seed, **setting)
    train = drawn.samples.train
    untrained = measure(drawn.student, drawn, penalties)
    rows = []
    for name in rules:
        rule, factor = RULES[name]
        moved = first_step.students(train.x, train.y, drawn.student, [rule], rates, factor=factor)
        rows.append(_joined([untrained, *(measure(student, drawn, penalties) for *_, student in moved)], "rate"))
    return _joined(rows, "rule").assign_coords(rule=list(rules), rate=[0.0, *rates])


@releases_gil
def steps(
    seed: int,
    *,
    rule: str = "Adam code",
    rate: float = 1.0,
    steps: int = 10,
    records: Sequence[int] | None = None,
    normalise: bool = False,
    decay: float = 1.0,
    penalties: Sequence[float] = (PENALTY,),
    device: str = "cpu",
    **setting,
) -> xr.Dataset:
    """:func:`measure` after `steps` steps, or at each of `records` (dimension step); rate 0 keeps the student as it is.

    Also `loss` (time): that of the first stage before every step, with the factor of the rule.
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    drawn = draw(seed, **setting)
    optimiser, factor = RULES[rule]
    if rate == 0:
        shown = [steps] if records is None else records
        found = _joined([measure(drawn.student, drawn, penalties)] * len(shown), "step").assign_coords(step=list(shown))
        found = found.assign(loss=("time", np.full(steps, np.nan)))
    else:
        run = first_layer.train(
            drawn.samples.train.x,
            drawn.samples.train.y,
            drawn.student,
            optimiser,
            rate=rate,
            steps=steps,
            decay=decay,
            factor=factor,
            normalise=NORMALISE[rule.split()[1]] if normalise else None,
            records=[steps] if records is None else records,
            measure=lambda student: measure(student, drawn, penalties),
            device=device,
            dtype=torch.float32,
        )
        found = _joined(run.values, "step").assign_coords(step=run.steps).assign(loss=("time", run.loss))
    return found.squeeze("step", drop=True) if records is None else found


def _joined(parts: Sequence[xr.Dataset], dimension: str) -> xr.Dataset:
    return xr.concat(parts, dimension, data_vars="all", coords="minimal", compat="override")
