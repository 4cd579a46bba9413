r"""Why networks align with a hidden direction or fail to: changed targets, other directions, other configurations.

Shifted roots give an even polynomial a linear signal; an odd one loses its linear part; and the hidden direction is a
random or a coordinate vector in the place of $\mathbf 1/\sqrt p$, because AdaDelta rescales every coordinate by itself.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 5.2.1 and 5.2.2.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.alignment import kernel_paths
from experiments.hidden_structure.polynomials import COMMON, RULE, RUNS, Problem, of_networks, problem
from shallow import checks
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.stats import stream

DIRECTIONS = ("ones", "random", "coordinate")


@releases_gil
def retargeted(
    run: int, degree: int, *, shift: float = 0.0, linear: bool = True, size: int = hidden_index.SIZE, **schedule
) -> xr.Dataset:
    """The author's network on the labels of :func:`relabelled`; `schedule` and result as of `polynomials.trained`."""
    task = problem("independent", degree, run, size=size)
    task = task._replace(y=relabelled(task.v, degree, shift=shift, linear=linear))
    return _trained(task, polynomials.SETTINGS["independent"][degree], run, **schedule)


def relabelled(v: np.ndarray, degree: int, *, shift: float = 0.0, linear: bool = True) -> np.ndarray:
    r"""Labels (n,) of the polynomial with shifted roots, or without its linear part $\overline{vy}/\overline{v^2}\,v$.

    Scaled to the variance of the unchanged labels, because early steps of AdaDelta depend on the size of gradients.
    """
    plain = hidden_index.polynomial(degree)(v)
    y = hidden_index.polynomial(degree, shift)(v)
    if not linear:
        y -= np.mean(v * y) / np.mean(v**2) * v
    return y * (plain.std() / y.std())


@releases_gil
def turned(run: int, degree: int, direction: str, *, size: int = hidden_index.SIZE, **schedule) -> xr.Dataset:
    """The author's network with another hidden direction, one of :data:`DIRECTIONS`, on inputs of equal law.

    The inputs of the three differ in their scale alone; v has one distribution.
    """
    checks.one_of(DIRECTIONS, direction=direction)
    u = {
        "ones": np.ones(hidden_index.DIMENSION),
        "random": stream("hidden structure", "direction", run).standard_normal(hidden_index.DIMENSION),
        "coordinate": np.eye(hidden_index.DIMENSION)[0],
    }[direction]
    u = u / np.linalg.norm(u)
    x, v, _ = hidden_index.gaussian(stream("hidden structure", "turned inputs", run), size, direction=u)
    order, held_out = stream("hidden structure", "turned split", run).permutation(size), size // 10
    test, validation, train = np.split(order, [held_out, 2 * held_out])
    rows = {"train": train, "validation": validation, "test": test}
    task = Problem(x, v, hidden_index.polynomial(degree)(v), rows, u)
    return _trained(task, polynomials.SETTINGS["independent"][degree], run, **schedule)


@releases_gil
def at_one_scale(run: int, degree: int, points: int, *, steps: int = 80_000, **schedule) -> xr.Dataset:
    """512 units, decay 0.0001, on the first `points` training points of 40,000, at the scale of the author's data.

    The spread of v is 0.473 in all runs, and one point of 40,000 has |v| > 2; validation and test points and the number
    of steps are equal for all numbers of points.
    """
    task = problem("independent", degree, run, size=4 * hidden_index.SIZE)
    drawn = hidden_index.draw("independent", run, size=4 * hidden_index.SIZE)
    factor = hidden_index.published("independent").scale / drawn.scale
    v, rows = factor * task.v, task.rows | {"train": task.rows["train"][:points]}
    task = Problem(factor * task.x, v, hidden_index.polynomial(degree)(v), rows, task.direction)
    epochs = steps * polynomials.BATCH // points
    return _trained(task, COMMON._replace(decay=1e-4), run, **{"epochs": epochs, "patience": None} | schedule)


def _trained(task: Problem, setting: polynomials.Setting, run: int, **schedule) -> xr.Dataset:
    """From the initial weights and with the order of batches of the plain network of that run."""
    start = polynomials.initial("independent", task.x.shape[1], setting.width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    return polynomials.trained(task, start, setting, rng, **schedule)


#: Every recipe of the early epochs alone is short as it is; a recomputed cell repeats two of them.
EARLY = {"early": 20, "whole": False}
COMMON_SETTING = COMMON._asdict() | {"patience": None}
FIVE = RUNS[:5]
DECAYS = [0, 1e-4, 1e-3]
RECORDS: dict[str, Recipe] = {
    "shifted_roots": Recipe(
        retargeted,
        {"shift": [0, 0.1, 0.2, 0.3], "run": RUNS},
        {"degree": 6, **EARLY},
        "Alignment at degree 6 with all roots shifted: a linear signal for an even target",
        **RULE,
    ),
    "no_linear_part": Recipe(
        retargeted,
        {"linear": [True, False], "run": RUNS},
        {"degree": 5, **EARLY},
        "Alignment at degree 5 with and without the linear part of the target",
        **RULE,
    ),
    "directions": Recipe(
        turned,
        {"direction": list(DIRECTIONS), "degree": [3, 6], "run": RUNS},
        EARLY,
        "Alignment with a random and with a coordinate vector in the place of the all-ones direction",
        **RULE,
    ),
    "common_from_x": of_networks(
        {"degree": [6, 7, 8, 9, 10], "run": FIVE},
        COMMON_SETTING,
        "One configuration for all degrees, 500 epochs without early stopping, from x",
    ),
    "common_from_v": of_networks(
        {"degree": list(range(9, 21)), "run": FIVE},
        {"case": "given", **COMMON_SETTING},
        "One configuration for all degrees, 500 epochs without early stopping, given v",
    ),
    "degree_8": of_networks(
        {"width": [256, 512, 1024], "decay": DECAYS, "run": FIVE},
        {"degree": 8, "rate": 1},
        "Degree 8 with configurations that the selection passed over",
    ),
    "beyond_8": of_networks(
        {"degree": [9, 10, 11], "run": RUNS},
        COMMON_SETTING | {"decay": 1e-4},
        "Degrees 9 to 11 with the weight decay that lets degree 8 be learnt, 500 epochs without early stopping, from x",
    ),
    "degree_9_narrow": of_networks(
        {"degree": [9], "run": RUNS},
        COMMON_SETTING | {"width": 256, "decay": 1e-3},
        "Degree 9 with half of the width and ten times that weight decay, 500 epochs without early stopping, from x",
        agreement=Agreement(elsewhere=0.05, rounding=("norm",)),  # the decay takes weights to zero
    ),
    "more_points_one_scale": Recipe(
        at_one_scale,
        {"degree": [9, 10], "points": [8000, 32_000], "run": RUNS},
        {"early": 60},
        "Degrees 9 and 10 from x, by the number of training points, inputs of the scale of the author's data",
        **RULE,
    ),
    "correlated_small_decay": of_networks(
        {"degree": [12, 13], "width": [256, 512, 1024], "decay": DECAYS, "run": FIVE},
        {"case": "correlated", "rate": 1},
        "Correlated inputs beyond degree 11 with small weight decay",
    ),
    "long_correlated": of_networks(
        {"degree": [12, 13, 14, 15], "run": FIVE},
        {"case": "correlated", **COMMON_SETTING},
        "Correlated inputs beyond degree 11 for 500 epochs without early stopping",
    ),
    "kernels_12_more": kernel_paths.recipe(
        "correlated",
        12,
        range(10, 40),
        "Figures 17 to 19: thirty further runs of the network and its kernel machines",
        at=(0, 1),
        pictured=(kernel_paths.END,),
    ),
    "from_v_at_unit_rate": of_networks(
        {"degree": [19, 20, 22, 25], "width": [128, 1024], "decay": [0, 1e-4], "run": FIVE},
        {"case": "given", "rate": 1},
        "Given v, degrees 19 and up at learning rate 1",
    ),
}
