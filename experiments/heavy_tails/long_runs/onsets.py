"""Steps to a widened bulk with the first spike changed by hand: before Adam divides, or after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import surgery, teacher_student
from experiments.heavy_tails.long_runs.cells import QUARTER, TO_200, _scale_leading
from experiments.heavy_tails.shapes import noise_hill
from shallow import checks as valid
from shallow.book.recipes import Recipe, releases_gil
from shallow.spectra import esd, marchenko_pastur, tails

#: The first step: "clean" has the leading pair of the gradient cut out, a number is a factor of that of the update.
FIRST = ("clean", "0", "0.5", "1", "2", "4")


@releases_gil
def until_widened(
    seed: int, *, rate: float, first: str, checks: Sequence[int], rule: str = "Adam code", **setting
) -> xr.Dataset:
    """The first of the steps `checks` at which the bulk is widened, infinity without one, and the gap after step 1.

    The bulk is widened where its exponent is 0.05 below that of noise and its distance 0.05 (HT-ONSET).
    """
    valid.one_of(FIRST, first=first)
    drawn = teacher_student.draw(seed, **setting)
    trainer = teacher_student.trainer(drawn, rule)
    surgery.step(trainer, rate, "gradient" if first == "clean" else "nothing")
    if first not in ("clean", "1"):
        _scale_leading(trainer, drawn.student.W, float(first))
    values = esd.eigenvalues(trainer.student.W)
    gap, found = values[0] / values[1], np.inf
    for t in checks:
        while trainer.taken < t:
            trainer.step(rate)
        if _widened(trainer.student.W):
            found = t
            break
    return xr.Dataset({"gap": np.float32(gap), "steps": np.float32(found)})


def _widened(W: np.ndarray) -> bool:
    rest = esd.eigenvalues(W)[1:]
    if tails.hill(rest) > noise_hill(*W.shape) - 0.05:
        return False
    return bool(marchenko_pastur.fitted_distance(rest, *W.shape) >= 0.05)


RECORDS: dict[str, Recipe] = {
    "onset_first": Recipe(
        until_widened,
        {"rate": [0.2, 0.3, 0.5, 1.0], "first": list(FIRST), "seed": list(range(10))},
        {"checks": TO_200, **QUARTER},
        "Steps to the widened bulk with the first spike changed by hand, before Adam divides or after it",
    ),
}
