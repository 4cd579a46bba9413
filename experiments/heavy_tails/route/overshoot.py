"""What residuals are made of along ten steps: labels, or the output of a network after a step that is too long.

The control is a network whose labels are all zero.
Source: Kothapalli et al., "From Spikes to Heavy Tails", Section 6.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.route import cells
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.single_index import Sample
from shallow.spectra import esd

LABELS = ("true", "permuted", "zero")
STEPS = 10


@releases_gil
def residuals(seed: int, *, labels: str, rule: str, rate: float, steps: int = STEPS) -> xr.Dataset:
    r"""Ten steps on the true labels, on the same in another order, or on zeros.

    Returns:
        loss (time): mean of $r^2$ with $r = f(x) - y$, before each step and at the end;
        own (time): cosine between the residuals and the network's own outputs, $r \cdot f / (\|r\| \|f\|)$;
        eigenvalues (k): of $W^\top W$ at the end, descending.

    Cost: 0.3 s per step on one core.
    """
    checks.one_of(LABELS, labels=labels)
    drawn = teacher_student.draw(seed)
    sample = drawn.samples.train
    if labels == "zero":
        sample = Sample(sample.x, np.zeros_like(sample.y))
    else:
        sample = cells.relabelled(sample, labels, seed)
    trainer = teacher_student.trainer(drawn, rule, sample=sample)
    loss, own = [], []
    for t in range(steps + 1):
        outputs = trainer.student.forward(sample.x)
        left = outputs - sample.y
        loss.append(np.mean(left**2))
        own.append(left @ outputs / (np.linalg.norm(left) * np.linalg.norm(outputs)))
        if t < steps:
            trainer.step(rate)
    values = {"loss": ("time", loss), "own": ("time", own)}
    values["eigenvalues"] = ("k", esd.eigenvalues(trainer.student.W))
    return xr.Dataset(values, {"time": range(steps + 1)})


AXES = {"labels": list(LABELS), "seed": cells.SEEDS}
RECORDS: dict[str, Recipe] = {
    "overshoot_adam": Recipe(
        residuals,
        {"rate": [0.1, 1.0, 10.0], **AXES},
        {"rule": "Adam code"},
        "Residuals along ten steps of Adam, with all labels zero as the control",
        steady={"rate": [0.1, 1.0]},
    ),
    "overshoot_gd": Recipe(
        residuals,
        {"rate": [2000.0, 3000.0], **AXES},
        {"rule": "GD code"},
        "Residuals along ten steps of GD, with all labels zero as the control",
    ),
}
