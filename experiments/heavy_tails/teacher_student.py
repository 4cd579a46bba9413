r"""A student and its teacher: their draws, the training of the first layer, and what is measured of a student.

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

from experiments.heavy_tails import read_out
from shallow import checks, nets, stats
from shallow.data import single_index
from shallow.nets import Student
from shallow.spectra import esd
from shallow.train import first_layer
from shallow.train.first_layer import GD, Adam, Trainer
from shallow.train.run import Run

#: Rule of the first stage and factor c of its loss $\frac{c}{n}|r|^2$, by optimiser and reading.
RULES = {
    "GD code": (GD(), 1.0),
    "GD text": (GD(), 0.5),
    "Adam code": (Adam(), 1.0),
    "Adam text": (Adam(corrected=False), 0.5),
}
#: Recorded runs keep the roundings of PyTorch's products, with which they were made.
PYTORCH = {"device": "cpu"}
#: When the weights are normalised, by reading.
NORMALISE = {"code": "before", "text": "after"}
FEATURES = ("code", "text")
#: The document's learning rates (Figures 3, 5, 19, 20, 22, 23, 30 and 32).
RATES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 2000.0, 3000.0)
#: The document's ridge constant, and others.
PENALTY, PENALTIES = 0.01, (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
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
    checks.one_of(SCALINGS, scaling=scaling)
    teacher_rng, student_rng = (stats.stream("heavy tails", seed, name) for name in ("teacher", "student"))
    teacher = single_index.random_teacher(teacher_rng, d, link=link, indices=indices, combine=combine)
    samples = single_index.split(teacher, n, seed=f"heavy tails/{seed}", noise=noise, test=test)
    student = SCALINGS[scaling](student_rng, h, d)
    return Draw(teacher, samples, Student(student.W.astype(np.float32), student.a, student.scale))


def evaluation_scale(student: Student, features: str) -> float:
    r"""Scale of the pre-activations in the evaluation: the student's, s, in the text, $s/\sqrt d$ in the code."""
    checks.one_of(FEATURES, features=features)
    return student.scale / (student.W.shape[1] ** 0.5 if features == "code" else 1.0)


def trainer(
    drawn: Draw, rule: str, *, sample: single_index.Sample | None = None, dtype: torch.dtype = torch.float32
) -> Trainer:
    """The student of a draw in training by a rule of :data:`RULES`, on another sample than its own if one is given."""
    checks.one_of(RULES, rule=rule)
    optimiser, factor = RULES[rule]
    return Trainer(*(sample or drawn.samples.train), drawn.student, optimiser, factor=factor, dtype=dtype, **PYTORCH)


def train(drawn: Draw, rule: str, *, rate: float, steps: int, normalise: bool = False, **options) -> Run:
    """:func:`first_layer.train` of the student of a draw by a rule of :data:`RULES`, with further `options`.

    Cost: 4 n d h operations a step; half a second for ten on one core at n = 8000.
    """
    checks.one_of(RULES, rule=rule)
    optimiser, factor = RULES[rule]
    return first_layer.train(
        *drawn.samples.train,
        drawn.student,
        optimiser,
        rate=rate,
        steps=steps,
        factor=factor,
        normalise=NORMALISE[rule.split()[1]] if normalise else None,
        **PYTORCH,
        **options,
    )


def trained(drawn: Draw, rule: str, rate: float, *, steps: int = 10, normalise: bool = False) -> Student:
    """The student of a draw after full-batch steps of a rule; rate 0 leaves it as it is."""
    return train(drawn, rule, rate=rate, steps=steps, normalise=normalise).network if rate else drawn.student


def after_one_step(drawn: Draw, rule: str, rates: Sequence[float]) -> list[Student]:
    """The student of a draw after one step of a rule at each of the learning rates, from one gradient."""
    optimiser, factor = RULES[rule]
    moved = first_layer.students(*drawn.samples.train, drawn.student, [optimiser], rates, factor=factor, **PYTORCH)
    return [student for *_, student in moved]


def read_outs(student: Student, drawn: Draw, penalties: Sequence[float] = (PENALTY,)) -> list[read_out.Evaluation]:
    """The ridge read-out of a student on the probe and test samples of a draw, by reading of the features."""
    samples = drawn.samples.probe, drawn.samples.test
    return [
        read_out.evaluate(student, *samples, penalties, scale=evaluation_scale(student, features))
        for features in FEATURES
    ]


def losses(student: Student, drawn: Draw) -> np.ndarray:
    """Train and test loss (in rows) of the ridge read-out by reading of the features, shape (2, 2)."""
    found = read_outs(student, drawn)
    return np.array([[one.train[0] for one in found], [one.test[0] for one in found]])


def measure(student: Student, drawn: Draw, penalties: Sequence[float] = (PENALTY,)) -> xr.Dataset:
    r"""What the document's figures show of one student.

    Returns:
        eigenvalues (k): of $W^\top W$, descending;
        similarity: $|v_1 \cdot \beta^*|$ with the first right singular vector;
        train, test (features, penalty): losses of the ridge read-out, fitted on the probe sample;
        alignment (features): kernel target alignment on the probe sample.
    """
    found = read_outs(student, drawn, penalties)
    by_penalty = {name: (("features", "penalty"), [getattr(one, name) for one in found]) for name in ("train", "test")}
    return xr.Dataset(
        {
            "eigenvalues": ("k", esd.eigenvalues(student.W)),
            "similarity": ((), read_out.similarity(student.W, drawn.teacher.directions)),
            "alignment": ("features", [one.alignment for one in found]),
        }
        | by_penalty,
        {"features": list(FEATURES), "penalty": list(penalties)},
    )
