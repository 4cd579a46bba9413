"""The document's scatter plots of overlaps, by their largest entries, and the losses of its Figure 21 at every step."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.overlaps.cells import FIVE, PANELS, ROUGH, SIDES, overlap, weights
from experiments.heavy_tails.teacher_student import FEATURES, draw
from shallow.book.recipes import Recipe, releases_gil
from shallow.spectra import esd

COUNT = 800  # entries of a million that are kept


@releases_gil
def largest(seed: int, *, figure: str) -> xr.Dataset:
    """The `COUNT` largest entries of the overlaps of one of :data:`cells.PANELS`.

    Returns:
        value (side, entry): descending, float32;
        place (side, vector, entry): indices, from 1, of the vector of the weights and of that of the update.

    Cost: two singular value decompositions, 0.6 s each, beside the steps.
    """
    (t, s), double, setting = PANELS[figure]
    chosen = {name: setting[name] for name in ("rule", "rate")}
    drawn = draw(seed, **{name: value for name, value in setting.items() if name not in chosen})
    path = weights(drawn, steps=max(t, s + 1), double=double, **chosen)
    W, M = (esd.singular_vectors(one) for one in (path[t], path[s + 1].astype(float) - path[s]))
    tops = [top(overlap(getattr(W, side), getattr(M, side)).matrix) for side in ("U", "V")]
    return xr.Dataset(
        {
            "value": (("side", "entry"), [values.astype(np.float32) for values, _ in tops]),
            "place": (("side", "vector", "entry"), np.array([places for _, places in tops], dtype=np.int16)),
        },
        {"side": list(SIDES), "vector": ["weights", "update"]},
    )


def top(matrix: np.ndarray, count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """The largest entries of a matrix, descending (count,), and their rows and columns, from 1 (2, count)."""
    flat = matrix.ravel()
    chosen = np.argpartition(flat, -count)[-count:]
    chosen = chosen[np.argsort(flat[chosen])[::-1]]
    return flat[chosen], np.array(np.unravel_index(chosen, matrix.shape)) + 1


@releases_gil
def course(seed: int, *, rule: str, rate: float, steps: int = 10, **setting) -> xr.Dataset:
    """Ridge losses, train and test (at, features), before the first and after every step, float32.

    Cost: one evaluation per step and reading of the features, half a second each at n = 2000.
    """
    drawn = draw(seed, **setting)
    options = {"records": range(steps + 1), "measure": lambda student: teacher_student.losses(student, drawn)}
    found = np.array(teacher_student.train(drawn, rule, rate=rate, steps=steps, **options).values, dtype=np.float32)
    variables = {name: (("at", "features"), found[:, k]) for k, name in enumerate(("train", "test"))}
    return xr.Dataset(variables, {"at": np.arange(steps + 1), "features": list(FEATURES)})


RECORDS: dict[str, Recipe] = {
    "overlaps_largest": Recipe(
        largest,
        {"figure": list(PANELS), "seed": [0]},
        about="Overlaps of Figures 9, 12, 14, 16 to 18, 21 and 25 to 27: their largest entries and where they lie",
        agreement=ROUGH,
    ),
    "gd_2000_course": Recipe(
        course,
        {"seed": [*FIVE, 5, 6, 7, 8, 9]},
        {"rule": "GD code", "rate": 2000.0},
        "Figure 21 (a): losses after every one of ten steps of GD",
        agreement=ROUGH,
    ),
}
