"""Units and kernels at the document's moments, on all points; how far a run can be repeated; labels without signal.

The networks are those of :mod:`experiments.hidden_structure.polynomials` and stop as the author's program does.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5.2 and Appendix B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from experiments.hidden_structure import hidden_index, polynomials, selection
from experiments.hidden_structure.alignment.kernel_paths import END, FOLDS, PENALTIES, correlation, machine, unit_norm
from experiments.hidden_structure.hidden_direction import cosines
from experiments.hidden_structure.polynomial_measures import directions, fits
from experiments.hidden_structure.polynomials import BATCH, EPOCHS, PATIENCE, Problem, chosen, initial, problem
from shallow import checks
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.mlp import Stack
from shallow.stats import stream

POINTS, CHOSEN_ON = 8000, 2000  # training points of a machine, and how many of them choose its C
SHOWN = 2000  # training points whose predictions are kept


@releases_gil
def moments(
    run: int,
    degree: int,
    *,
    case: str = "independent",
    at: Sequence[int] = (0,),
    points: int = POINTS,
    chosen_on: int = CHOSEN_ON,
    shown: int = SHOWN,
    penalties: Sequence[float] = PENALTIES,
    epochs: int = EPOCHS,
    whole: bool = True,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """A network in the author's configuration and stopping, and machines on its tangent kernel on the way.

    Args:
        at: ascending epochs of the machines; the end of the run, :data:`END`, is added.
        points, chosen_on, shown: the first training points, of which a machine is fitted; C is chosen by four-fold
            cross-validation; predictions are kept, beside those of all test points.
        whole: if not, training ends with the last of `at`, and only the shares of units are returned.

    Returns:
        With dimension moment: :func:`directions` of the hidden units; `ntk_*` of :func:`.kernel_paths.machine`; `r`,
        correlation over test points of its predictions with those of the final network; `network_r2` (range) of the
        network of that moment on the test points, and its absolute loss `validation`; `cosine` (unit); `prediction`
        (point) of the machine.  `final` (point): of the final network, and `v`, `y`, `is_test` of these points;
        `constant`: validation loss of the median of the training labels; `final_r2` (range) of the test; `epochs`.

    Cost: beside the training, 20 to 40 s for each machine on 8,000 points.
    """
    checks.integers(8, points, chosen_on=chosen_on)
    task, setting = problem(case, degree, run, size=size), chosen(case, degree, None, None, None)
    start = initial(case, task.x.shape[1], setting.width, run)
    norm, rng = unit_norm(start), stream("hidden structure", case, "batches", run)
    schedule = {"epochs": epochs if whole else max(1, *at), "patience": PATIENCE, "validation_batch": BATCH}
    fit = polynomials.fitted(task, start, setting, rng, records=list(at), **schedule)
    networks = {moment: fit.snapshot(moment) for moment in at} | ({END: fit.last} if whole else {})
    shares = [directions(network, task.direction, norm) for network in networks.values()]
    found = xr.Dataset({name: ("moment", [one[name] for one in shares]) for name in shares[0]})
    found = found.assign_coords(moment=list(networks))
    if not whole:
        return found
    train, test = task.rows["train"][:points], task.rows["test"]
    splits = selection.folds(stream("hidden structure", case, "folds", run), chosen_on, FOLDS)
    machines = [machine(network, task, train, splits, penalties, kept=shown) for network in networks.values()]
    measured = xr.concat([measures for measures, _ in machines], "moment").assign_coords(moment=list(networks))
    seen = np.concatenate([test, train[:shown]])
    own = [network.forward(task.x)[0].astype(np.float64) for network in networks.values()]
    validation, only_test = task.rows["validation"], {"test": test}
    r2 = [fits(values, task.v, task.y, only_test).r2.sel(part="test").values for values in own]
    constant = np.abs(task.y[validation] - np.median(task.y[task.rows["train"]])).mean()
    predictions = [prediction for _, prediction in machines]
    return found.merge(measured).assign(
        r=("moment", [correlation(one[: len(test)], own[-1][test]) for one in predictions]),
        network_r2=(("moment", "range"), r2),
        validation=("moment", [np.abs(one[validation] - task.y[validation]).mean() for one in own]),
        cosine=(("moment", "unit"), [cosines(one.weights[0][0], task.direction) for one in networks.values()]),
        prediction=(("moment", "point"), predictions),
        final=("point", own[-1][seen]),
        v=("point", task.v[seen]),
        y=("point", task.y[seen]),
        is_test=("point", np.arange(len(seen)) < len(test)),
        constant=constant,
        final_r2=("range", r2[-1]),
        epochs=fit.epochs[0],
    )


@releases_gil
def perturbed(run: int, degree: int, copy: int, *, size: int = hidden_index.SIZE, **schedule) -> xr.Dataset:
    """The author's network with every initial weight moved to a neighbour in single precision; copy 0 as it is.

    `schedule` and the result are of `polynomials.trained`.
    """
    setting, task = chosen("independent", degree, None, None, None), problem("independent", degree, run, size=size)
    start = initial("independent", task.x.shape[1], setting.width, run)
    checks.integers(0, copy=copy)
    if copy:
        up = stream("hidden structure", "last place", copy).random(start.parameters.shape) < 0.5
        towards = np.where(up, np.float32(np.inf), np.float32(-np.inf))
        start = Stack(np.nextafter(start.parameters, towards), start.widths)
    return _trained(task, start, setting, run, schedule)


@releases_gil
def unsigned(run: int, *, degree: int = 5, size: int = hidden_index.SIZE, **schedule) -> xr.Dataset:
    """The author's network on an odd target minus the multiple of v that leaves its sign uncorrelated with v.

    The variance of the labels is unchanged.  `schedule` and the result are of `polynomials.trained`.
    """
    setting, task = chosen("independent", degree, None, None, None), problem("independent", degree, run, size=size)
    start = initial("independent", task.x.shape[1], setting.width, run)
    return _trained(task._replace(y=without_sign(task.v, task.y)), start, setting, run, schedule)


def without_sign(v: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""$y - kv$ with k such that $\overline{v \operatorname{sign}(y - kv)} = 0$, scaled to the deviation of y; (n,)."""
    slope = brentq(lambda k: float(np.mean(np.sign(y - k * v) * v)), 0, 5)
    changed = y - slope * v
    return changed * (y.std() / changed.std())


def _trained(task: Problem, start: Stack, setting: polynomials.Setting, run: int, schedule: dict) -> xr.Dataset:
    rng = stream("hidden structure", "independent", "batches", run)
    return polynomials.trained(task, start, setting, rng, **schedule)


def _moments(case: str, degree: int, runs: Sequence[int], at: Sequence[int], about: str) -> Recipe:
    return Recipe(
        moments,
        {"run": list(runs)},
        {"degree": degree, "case": case, "at": tuple(at)},
        about,
        replicates="run",
        # A unit more or less is near the hidden direction after fourteen epochs on another processor.
        agreement=Agreement(elsewhere=0.05, rounding=("aligned", "near")),
        shortened={"at": tuple(at[:2]), "whole": False},
    )


def _paths(case: str, degree: int, early: int, about: str) -> Recipe:
    return Recipe(
        polynomials.network,
        {"run": list(range(40))},
        {"degree": degree, "case": case, "early": early, "whole": False},
        about,
        replicates="run",
        agreement=Agreement(elsewhere=0.05),
        shortened={"early": 2},
    )


RECORDS: dict[str, Recipe] = {
    "moments_7": _moments(
        "independent", 7, range(5), (0, 2, 3), "Figures 10 to 12: tangent kernels, all training points"
    ),
    "moments_8": _moments("independent", 8, [0], (0,), "Figure 13: the tangent kernel, all training points"),
    "moments_11": _moments(
        "correlated", 11, range(5), (0, 14, 16, 18), "Figures 14 to 16: tangent kernels, all training points"
    ),
    "moments_12": _moments("correlated", 12, [0], (0, 1), "Figures 17 to 19: tangent kernels, all training points"),
    "perturbed": Recipe(
        perturbed,
        {"degree": [6, 7], "copy": list(range(5))},
        {"run": 0, "validation_batch": BATCH},
        "One run again from starts that differ in the last place of the weights",
        replicates="copy",
        agreement=Agreement(elsewhere=0.05, rounding=("largest_cosine",)),
        shortened={"early": 2, "whole": False},
    ),
    "alignment_4": _paths("independent", 4, 12, "The first epochs of degree 4 in forty runs"),
    "alignment_7": _paths("independent", 7, 6, "The first epochs of degree 7 in forty runs"),
    "alignment_11": _paths("correlated", 11, 60, "The first sixty epochs of degree 11 with correlation in forty runs"),
    "no_sign_signal": Recipe(
        unsigned,
        {"run": polynomials.RUNS},
        {"early": 20, "whole": False},
        "Alignment at degree 5 whose sign is uncorrelated with the hidden coordinate",
        replicates="run",
        agreement=Agreement(elsewhere=0.05),
        shortened={"early": 2, "whole": False},
    ),
}
