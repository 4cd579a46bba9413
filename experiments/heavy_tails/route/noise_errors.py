"""What the errors of a run have to be for a wide bulk: those of the network, or noise in their place.

Overshoot is not asked for: noise of one size in every step neither knows the labels nor the network's own output.
Source: Kothapalli et al., "From Spikes to Heavy Tails", Section 6.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.route.widening import forms, small
from shallow import checks, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.nets import Student

#: The network's own; normal noise of the own run's size at each step, or of one size; one vector for all steps.
ERRORS = ("own", "noise, own size", "noise, one size", "one noise")


def gradient(student: Student, x: np.ndarray, errors: np.ndarray, factor: float) -> np.ndarray:
    r"""$\frac{2 c s}{n \sqrt h}\, a_i \sum_j \operatorname{sech}^2(s w_i \cdot x_j)\, r_j x_j$ for errors r (n,).

    With $r = f(x) - y$ it is the gradient of $\frac cn |f(x) - y|^2$.  Cost: 4 n d h operations.
    """
    hidden = np.tanh(student.scale * (student.W @ x.T))
    rows = 2 * factor * student.scale / (len(x) * len(student.a) ** 0.5) * student.a
    return rows[:, None] * (((1 - hidden**2) * errors) @ x)


@releases_gil
def replaced(seed: int, *, errors: str, rate: float, rule: str = "Adam code", steps: int = 10) -> xr.Dataset:
    r""":func:`forms` of W after some steps whose gradients are those of other errors, of :data:`ERRORS`.

    Also own (time): cosine between the errors of a step and the network's outputs.  Cost: 6 s at n = 2000.
    """
    checks.one_of(ERRORS, errors=errors)
    drawn, rng = teacher_student.draw(seed), stats.stream("heavy tails", seed, "noise errors")
    sample, factor = drawn.samples.train, teacher_student.RULES[rule][1]
    trainer = teacher_student.trainer(drawn, rule)
    sizes = _own_sizes(drawn, rule, rate, steps) if errors == "noise, own size" else np.ones(steps)
    noise, own = rng.normal(size=len(sample.y)), []
    for size in sizes:
        student = trainer.student
        outputs = student.forward(sample.x)
        if errors == "own":
            now = outputs - sample.y
        else:
            now = size * (noise if errors == "one noise" else rng.normal(size=len(sample.y)))
        own.append(now @ outputs / (np.linalg.norm(now) * np.linalg.norm(outputs)))
        moved = gradient(student, sample.x, now.astype(np.float32), factor)
        trainer.update(torch.from_numpy(moved.astype(np.float32)), rate)
    return small(forms(trainer.student.W, seed)).assign(own=("time", np.float32(own)))


def _own_sizes(drawn: teacher_student.Draw, rule: str, rate: float, steps: int) -> np.ndarray:
    """Root mean squares of the errors before each step of the run itself, (steps,)."""
    return np.sqrt(teacher_student.train(drawn, rule, rate=rate, steps=steps).loss / teacher_student.RULES[rule][1])


RECORDS: dict[str, Recipe] = {
    "noise_errors": Recipe(
        replaced,
        {"rate": [0.1, 1.0], "errors": list(ERRORS), "seed": list(range(10))},
        about="Exponents after ten steps of Adam when noise takes the place of the errors",
        shortened={"steps": 2},
    ),
}
