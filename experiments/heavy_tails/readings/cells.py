r"""Which evaluation shows which figure: students of two activations before two teachers, and losses along ten steps.

Figure 5 of the document has a softplus teacher and a tanh student, Figure 32 tanh for both.  Its public code evaluates
a student on features with the scale $1/\sqrt d$ applied twice, its text once.  Here a softplus student is run too, and
the losses of Figure 28 are taken along ten steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.linalg import LinAlgError

from experiments.heavy_tails import rate_sweeps, teacher_student
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY, PYTORCH, RATES, RULES, Draw, draw
from shallow import stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.nets import SoftplusStudent
from shallow.spectra import tails
from shallow.stats import Interval
from shallow.train.first_layer import SoftplusTrainer
from shallow.train.run import Diverged

STEPS = 10
LINKS = ["softplus", "tanh"]
NEAR = [0.01, 0.1, 1.0, 10.0]  # the rates called benign (0.01 to 1), and the next
#: Ridge constants of Figure 28(b).
FEW_PENALTIES = (0.1, 0.01, 0.001, 0.0001)


def softplus_student(drawn: Draw, rule: str, rate: float, *, steps: int = STEPS) -> SoftplusStudent:
    """A student with the weights of a draw's tanh student and the activation softplus, after steps of a rule."""
    start = drawn.student
    student, (optimiser, factor) = SoftplusStudent(start.W, start.a, start.scale), RULES[rule]
    trainer = SoftplusTrainer(*drawn.samples.train, student, optimiser, factor=factor, **PYTORCH)
    for _ in range(steps if rate else 0):
        trainer.step(rate)
    return trainer.student


@releases_gil
def ten_softplus_steps(
    seed: int, *, rule: str, rate: float, penalties: Sequence[float] = (PENALTY,), **setting
) -> xr.Dataset:
    """:func:`teacher_student.measure` of a softplus student after ten steps; rate 0: untrained.

    All NaN where the weights are no longer finite, or so large that the ridge equations cannot be solved.
    """
    drawn = draw(seed, **setting)
    try:
        return teacher_student.measure(softplus_student(drawn, rule, rate), drawn, penalties)
    except (Diverged, LinAlgError):
        return teacher_student.measure(drawn.student, drawn, penalties) * np.nan


@releases_gil
def loss_curves(
    seed: int,
    *,
    rule: str = "Adam code",
    rate: float = 1.0,
    shown: Sequence[int] = (0, 1, 2, 4, 7, STEPS),
    penalties: Sequence[float] = FEW_PENALTIES,
    **setting,
) -> xr.Dataset:
    """Ridge losses of a tanh student, train and test (step, features, penalty), after `shown` numbers of steps.

    Cost: one evaluation per number and reading of the features; at n = 8000 twenty seconds in all.
    """
    drawn = draw(seed, **setting)
    run = teacher_student.train(
        drawn,
        rule,
        rate=rate,
        steps=shown[-1],
        records=shown,
        measure=lambda student: teacher_student.read_outs(student, drawn, penalties),
    )
    dims = ("step", "features", "penalty")
    return xr.Dataset(
        {name: (dims, [[getattr(one, name) for one in found] for found in run.values]) for name in ("train", "test")},
        {"step": run.steps, "features": list(FEATURES), "penalty": list(penalties)},
    )


def exponents(
    eigenvalues: xr.DataArray, estimate: Callable[[np.ndarray], float] = lambda one: tails.scan(one).alpha
) -> xr.DataArray:
    """An exponent, by default PL_Alpha_KS (20 ms each), of every spectrum; dimension k is reduced; NaN of a NaN."""

    def one(values: np.ndarray) -> float:
        return estimate(values) if np.isfinite(values).all() else np.nan

    return xr.apply_ufunc(one, eigenvalues, input_core_dims=[["k"]], vectorize=True)


class Combination(NamedTuple):
    """Links of teacher and student, and the features by which the student is evaluated: "code" or "text"."""

    teacher: str
    student: str
    features: str


class Runs(NamedTuple):
    """Sweeps (seed, rate) of a combination: Adam as in the figure, Adam on more test points, and GD."""

    figure: xr.Dataset
    adam: xr.Dataset
    gd: xr.Dataset


def change(curve: xr.Dataset, rate: float, over: float, of: str = "test") -> Interval:
    """A quantity at a rate minus that at another, mean over draws."""
    return stats.student((curve[of].sel(rate=rate) - curve[of].sel(rate=over)).values)


def position(curve: xr.Dataset, rate: float = 1.0) -> Interval:
    """Where the test loss at a rate lies between the least (0) and the largest (1) of its draw at :data:`NEAR`."""
    losses = curve.test.sel(rate=NEAR)
    least, largest = losses.min("rate"), losses.max("rate")
    return stats.student(((losses.sel(rate=rate) - least) / (largest - least)).values)


def level(curve: xr.Dataset) -> Interval:
    """Least mean test loss of a curve, with the interval in which the same mean of five other draws would fall."""
    losses = curve.test.sel(rate=curve.rate > 0)
    at = losses.sel(rate=losses.mean("seed").idxmin()).values
    mean = stats.student(at)
    half = (mean.high - mean.low) / 2 * (1 + len(at) / 5) ** 0.5
    return Interval(mean.estimate, mean.estimate - half, mean.estimate + half)


SEEDS = [0, 1, 2]
#: Softplus is unbounded: large steps magnify rounding as ten steps of Adam at ten and above do.
STEADY = {"rate": [0.0, 0.001, 0.01, 0.1, 1.0]}
RECORDS: dict[str, Recipe] = {
    "softplus_student": Recipe(
        ten_softplus_steps,
        {"link": LINKS, "rule": ["Adam code"], "rate": [0.0, *RATES[:7]], "seed": SEEDS},
        {"n": 8000},
        "Figures 5 and 32 with a softplus student: ten steps of Adam, both teachers",
        steady=STEADY,
    ),
    "softplus_student_gd": Recipe(
        ten_softplus_steps,
        {"link": LINKS, "rule": ["GD code"], "rate": [0.0, 3000.0], "seed": SEEDS},
        {"n": 8000},
        "The same with GD",
        steady={"rate": [0.0]},
    ),
    "many_test_points": Recipe(
        rate_sweeps.ten_steps,
        {"link": LINKS, "rule": ["Adam code"], "rate": [0.0, 0.01, 0.1, 1.0, 10.0], "seed": SEEDS},
        {"n": 8000, "test": 8000},  # the document's 200 leave rates next to each other undecided in five draws
        "Figures 5 and 32 with a tanh student: the runs of Adam with 8000 test points",
        steady=STEADY,
    ),
    "ten_steps_tanh_gd_more": Recipe(
        rate_sweeps.ten_steps,
        {"rule": ["GD code"], "rate": [0.0, 1000.0, 2000.0, 3000.0], "seed": [3, 4]},
        {"n": 8000, "link": "tanh"},
        "Figure 32: two more draws of GD",
    ),
    "loss_curves": Recipe(
        loss_curves,
        {"n": [500, 2000, 4000, 8000], "seed": SEEDS},
        {"test": 4000},
        "Figure 28(a, b): losses along ten steps of Adam, by number of points and ridge constant",
        shortened={"shown": (0, 1), "penalties": (PENALTY,)},
    ),
    "loss_curves_more": Recipe(
        loss_curves,
        {"n": [500, 2000, 4000, 8000], "seed": [3, 4, 5, 6]},
        {"test": 4000, "shown": (0, STEPS)},
        "Figure 28(a, b): four more draws, before and after ten steps",
        shortened={"shown": (0,), "penalties": (PENALTY,)},
    ),
}
