"""Further draws of ten steps with 8000 points: the numbers that the rules compare, without the spectra."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes, teacher_student
from experiments.heavy_tails.teacher_student import FEATURES, draw
from shallow.book.recipes import Recipe, releases_gil
from shallow.spectra import esd

#: What is kept of the shape of a spectrum.
SHAPES = ("hill", "hill_excl", "ks", "spike_ratio")


@releases_gil
def numbers(seed: int, *, rule: str, rate: float, **setting) -> xr.Dataset:
    """Numbers of a student after ten steps: of its spectrum, and at the document's ridge constant.

    Returns :data:`SHAPES` and the `median` of the eigenvalues; train, test and alignment (features), as
    :func:`teacher_student.measure` has them.  Cost: 10 s at n = 8000.
    """
    drawn = draw(seed, **setting)
    student = teacher_student.trained(drawn, rule, rate)
    values = esd.eigenvalues(student.W)
    one = shapes.shape(values, *student.W.shape)
    found = teacher_student.read_outs(student, drawn)
    losses = {
        name: ("features", [float(np.squeeze(getattr(each, name))) for each in found]) for name in ("train", "test")
    }
    return xr.Dataset(
        {name: getattr(one, name) for name in SHAPES}
        | losses
        | {"alignment": ("features", [each.alignment for each in found]), "median": np.median(values)},
        {"features": list(FEATURES)},
    )


RECORDS: dict[str, Recipe] = {
    "ten_steps_8000_further": Recipe(
        numbers,
        {"seed": [5, 6, 7], "rule": ["Adam code"], "rate": [1.0, 100.0, 1000.0, 2000.0, 3000.0]},
        {"n": 8000},
        "Figure 5: three further draws of Adam at the rates that no other record has, and at 1 to compare",
        steady={"rate": [1.0]},
    ),
}
