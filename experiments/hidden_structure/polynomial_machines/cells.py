r"""Kernel regression on polynomials of a hidden direction: tangent kernels and Gaussian kernels beside the network.

All machines have the absolute error or a tube, C by 4-fold cross-validation on the mean square, and the same points.
A *tangent* machine has the kernel of the untrained or of the last network, in trainable layers alone, and a penalised
intercept as LinearSVR; a *Gaussian* one a free intercept as SVR.  C and gamma are chosen on the first `tuning` points,
and the cross-validated error is that of the chosen ones on all.  The networks are those of
:mod:`experiments.hidden_structure.polynomials`, step by step.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5.2.4 and Appendix A, and
its public code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from sklearn.metrics.pairwise import rbf_kernel

from experiments.hidden_structure import hidden_index, polynomials, selection
from experiments.hidden_structure.polynomial_measures import fits
from experiments.hidden_structure.polynomials import BATCH, PATIENCE, Problem, chosen, initial, problem
from shallow import checks
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.kernels import interior_point, layered, machines
from shallow.kernels.machines import Machine
from shallow.mlp import Stack
from shallow.stats import stream

#: The author's values of C and gamma, number of folds, and half-width of the tube of his Gaussian machine.
PENALTIES = tuple(10.0**k for k in range(-4, 3))
GAMMAS = (*(10.0**k for k in range(-4, 5)), "scale", "auto")
FOLDS, TUBE = 4, 0.1
#: What the author's cross-validation chose for the Gaussian machine: C and gamma by degree, independent inputs.
AUTHORS = {3: (1, 1), 4: (100, 1), 5: (0.1, "scale"), 6: (1, "scale"), 7: (0.1, 10), 8: (10, 100), 9: (0.01, 10)}
#: And C for the machine on the tangent kernel of the trained network.
AUTHORS_TANGENT = {3: 1.0, 4: 0.1, 5: 1.0, 6: 1.0, 7: 100.0, 8: 1e-4, 9: 0.01}
POINTS, TUNING = 2500, 800
BINS = 50
MACHINES = ("network", "initial", "last", "gaussian", "gaussian_absolute")

Fit = Callable[[np.ndarray, np.ndarray, float], Machine]
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Chosen(NamedTuple):
    """A kernel with a solver and a C; `tuning_error` is the mean square by which C was chosen."""

    kernel: Kernel
    fit: Fit
    C: float
    gamma: float
    tuning_error: float


@releases_gil
def compared(
    run: int,
    degree: int,
    *,
    case: str = "independent",
    mode: str = "regular",
    learners: Sequence[str] = MACHINES,
    points: int = POINTS,
    same_points: bool = False,
    tuning: int = TUNING,
    cross_validated: bool = True,
    penalties: Sequence[float] | None = PENALTIES,
    gammas: Sequence[float | str] = GAMMAS,
    validation_batch: int | None = None,
    keep: bool = False,
    epochs: int = polynomials.EPOCHS,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """The network in the author's configuration, and kernel machines on the first `points` of its training points.

    Args:
        mode: schedule of the network; where the first layer is frozen, tangent machines have the output layer's
            features alone.
        learners: names of :data:`MACHINES`: the network; machines with the absolute error on the tangent kernel of the
            untrained and of the last network; Gaussian ones with a tube of 0.1 and with the absolute error.
        same_points: whether the network is trained on these points alone, too; else on all.
        cross_validated: whether the machines are cross-validated on all points.
        penalties: values of C; None for the one that the author's choice was for his tangent machine.
        validation_batch: :data:`polynomials.BATCH` stops networks as the author's program does.
        keep: also the predictions, for pictures.

    Returns:
        With dimension machine: `C`, `gamma`, `tuning_error`; `cv`, cross-validated mean square; `gap`, relative duality
        gap; :func:`fuzz` on the test points; and (part, range) the `fits` on the points of the fit, `train`, and on the
        test points.  On request `prediction` (machine, point): first of the points of the fit, then of the test points.

    Cost: the training; some 10 systems of n equations for each tangent machine; 77 x 4 small fits of libsvm for each
    Gaussian one.
    """
    for one in learners:
        checks.one_of(MACHINES, learners=one)
    task = problem(case, degree, run, size=size)
    if same_points:
        task = task._replace(rows=task.rows | {"train": task.rows["train"][:points]})
    setting = chosen(case, degree, None, None, None)
    last = start = initial(case, task.x.shape[1], setting.width, run)
    if {"network", "last"} & set(learners):
        rng = stream("hidden structure", case, "batches", run)
        schedule = {"mode": mode, "epochs": epochs, "patience": PATIENCE, "validation_batch": validation_batch}
        last = polynomials.fitted(task, start, setting, rng, **schedule).last
    few = task._replace(rows={"train": task.rows["train"][:tuning]})
    penalties = [AUTHORS_TANGENT[degree]] if penalties is None else penalties
    fitted = task._replace(rows={"train": task.rows["train"][:points], "test": task.rows["test"]})
    layers = [2] if polynomials.MODES[mode].afterwards else None
    rows = []
    for name in learners:
        if name == "network":
            rows.append(_measured(last.forward(task.x)[0].astype(np.float64), fitted, keep=keep))
            continue
        if name in ("initial", "last"):
            choice = tangent(start if name == "initial" else last, layers, few, run, penalties)
        else:
            choice = gaussian(few, run, penalties, gammas, TUBE if name == "gaussian" else 0.0)
        rows.append(evaluated(choice, fitted, run, cross_validated=cross_validated, keep=keep))
    return xr.concat(rows, "machine").assign_coords(machine=list(learners))


# Choosing C and gamma, and measuring the machine that was chosen.


def tangent(network: Stack, layers: Sequence[int] | None, few: Problem, run: int, penalties: Sequence[float]) -> Chosen:
    """The machine with absolute error on the tangent kernel of a network in some of its layers (all for None)."""
    parts = network.network(0)

    def kernel(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return layered.ntk(*parts, x, None if x is z else z, trainable=layers)

    x, y = _part(few, "train")
    fit = interior_point.absolute_error
    path = selection.path(kernel(x, x), y, penalties, _folds(run, len(y)), fit=fit, error=selection.mean_square)
    return Chosen(kernel, fit, path.best, np.nan, path.errors.mean(axis=1).min())


def gaussian(few: Problem, run: int, penalties: Sequence[float], gammas: Sequence[float | str], tube: float) -> Chosen:
    """The machine on a Gaussian kernel with the gamma and C of the smallest cross-validated error."""
    x, y = _part(few, "train")
    fit = tubed(tube, y)
    paths = selection.rbf_paths(x, y, penalties, gammas, _folds(run, len(y)), fit=fit, error=selection.mean_square)
    gamma, C = selection.best(paths)
    return Chosen(_rbf(gamma, x), fit, C, selection.gamma_value(x, gamma), paths[gamma].errors.mean(axis=1).min())


def tubed(tube: float, y: np.ndarray) -> Fit:
    """scikit-learn's SVR to a hundredth of the deviation of the labels."""

    def fit(kernel: np.ndarray, targets: np.ndarray, C: float) -> Machine:
        return machines.epsilon_insensitive(kernel, targets, C, epsilon=tube, tolerance=0.01 * float(y.std()))

    return fit


def _rbf(gamma: float | str, x: np.ndarray) -> Kernel:
    value = selection.gamma_value(x, gamma)
    return lambda x, z: rbf_kernel(x, z, gamma=value)


def evaluated(choice: Chosen, fitted: Problem, run: int, *, cross_validated: bool, keep: bool = False) -> xr.Dataset:
    """The chosen machine on all points of the fit, and its cross-validated mean square there."""
    (x, y), test = _part(fitted, "train"), fitted.rows["test"]
    gram, cv = choice.kernel(x, x), np.nan
    if cross_validated:
        splits = _folds(run, len(y))
        path = selection.path(gram, y, [choice.C], splits, fit=choice.fit, error=selection.mean_square)
        cv = path.errors.mean()
    machine = choice.fit(gram, y, choice.C)
    prediction = np.full(len(fitted.y), np.nan)
    prediction[fitted.rows["train"]] = machine.values(gram)
    prediction[test] = machine.values(choice.kernel(fitted.x[test], x))
    return _measured(prediction, fitted, keep=keep).assign(
        C=choice.C, gamma=choice.gamma, tuning_error=choice.tuning_error, cv=cv, gap=machine.convergence.gap
    )


def _measured(prediction: np.ndarray, fitted: Problem, *, keep: bool = False) -> xr.Dataset:
    train, test = fitted.rows["train"], fitted.rows["test"]
    found = fits(prediction, fitted.v, fitted.y, {"train": train, "test": test})
    unknown = dict.fromkeys(("C", "gamma", "tuning_error", "cv", "gap"), np.nan)
    found = found.assign(fuzz=fuzz(prediction[test], fitted.v[test]), **unknown)
    return found.assign(prediction=("point", prediction[np.concatenate([train, test])])) if keep else found


def fuzz(prediction: np.ndarray, v: np.ndarray, bins: int = BINS) -> float:
    """How predictions (n,) scatter about a function of v: their deviation from a line within bins of v, meaned.

    The bins hold equally many of the points with |v| <= 1, at least three each.
    """
    inside = np.argsort(v)[np.searchsorted(np.sort(v), -1) : np.searchsorted(np.sort(v), 1, side="right")]
    if len(inside) < 3 * bins:
        raise ValueError(f"v must have at least {3 * bins} values in [-1, 1], got {len(inside)}")
    residuals = [
        prediction[b] - np.polynomial.Polynomial.fit(v[b], prediction[b], 1)(v[b]) for b in np.array_split(inside, bins)
    ]
    return float(np.mean([np.sqrt((r**2).sum() / (len(r) - 2)) for r in residuals]))


def _part(task: Problem, part: str) -> tuple[np.ndarray, np.ndarray]:
    return task.x[task.rows[part]], task.y[task.rows[part]]


def _folds(run: int, n: int) -> list[selection.Split]:
    """The folds are the same for all machines and degrees of a run."""
    return selection.folds(stream("hidden structure", "folds", run, n), n, FOLDS)


# Gaussian machines alone.


@releases_gil
def author_gaussian(
    run: int,
    degree: int,
    *,
    C: float | None = None,
    gamma: float | str | None = None,
    points: int = 8000,
    folded: int = POINTS,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """The Gaussian machine with a tube of 0.1 at the author's C and gamma, :data:`AUTHORS`, or at others.

    As :func:`compared` for one machine, `cv` being that of the first `folded` points.
    """
    task, (own_C, own_gamma) = problem("independent", degree, run, size=size), AUTHORS[degree]
    fitted = task._replace(rows={"train": task.rows["train"][:points], "test": task.rows["test"]})
    x, y = _part(fitted, "train")
    C, gamma = own_C if C is None else C, own_gamma if gamma is None else gamma
    choice = Chosen(_rbf(gamma, x), tubed(TUBE, y), C, selection.gamma_value(x, gamma), np.nan)
    found = evaluated(choice, fitted, run, cross_validated=False)
    few = fitted._replace(rows=fitted.rows | {"train": fitted.rows["train"][:folded]})
    return found.assign(cv=evaluated(choice, few, run, cross_validated=True).cv)


@releases_gil
def by_dimension(
    run: int,
    inputs: int,
    *,
    degree: int = 5,
    points: int = POINTS,
    tuning: int = TUNING,
    penalties: Sequence[float] = PENALTIES,
    gammas: Sequence[float | str] = GAMMAS,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    r"""The Gaussian machine on the p = `inputs` first of the coordinates $(v/10, e_2, \dots, e_{100})$ of a run.

    They are the inputs of :func:`polynomials.problem` after a reflection, which takes the hidden direction to the first
    coordinate.  With p = 100 it is the Gaussian machine of :func:`compared`, whose kernel no reflection changes.
    """
    task = problem("independent", degree, run, size=size)
    checks.integers(1, task.x.shape[1], inputs=inputs)
    fitted = task._replace(x=first_coordinate(task.x, task.direction)[:, :inputs])
    fitted = fitted._replace(rows={"train": task.rows["train"][:points], "test": task.rows["test"]})
    few = fitted._replace(rows={"train": fitted.rows["train"][:tuning]})
    return evaluated(gaussian(few, run, penalties, gammas, TUBE), fitted, run, cross_validated=False)


def first_coordinate(x: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Points x (n, p) after the reflection that takes the direction (p,) to the first coordinate vector."""
    mirror = direction / np.linalg.norm(direction)
    mirror[0] -= 1
    square = mirror @ mirror
    return x.copy() if square < 1e-24 else x - np.outer(x @ mirror, 2 / square * mirror)


_compared = functools.partial(Recipe, compared, replicates="run")
UNTRAINED = {"learners": ("initial",)}
#: The author's C, his early stopping, all his training points.
AS_PUBLISHED = {
    "case": "independent",
    "points": 8000,
    "validation_batch": BATCH,
    "learners": ("network", "last"),
    "penalties": None,
    "keep": True,
}
#: Rounding decides where these networks end; on another processor their beginnings are compared.
CHAOTIC = {
    "agreement": Agreement(elsewhere=None),
    "shortened": {"learners": ("network",)},
    "start": "hidden_structure/from_x",
}
RECORDS: dict[str, Recipe] = {
    "machines": _compared(
        {"degree": [3, 4, 5, 6, 7, 8, 9], "run": list(range(5))},
        about="Networks, tangent machines and Gaussian machines on independent inputs, 2,500 points",
        shortened=UNTRAINED,
    ),
    "machines_same_points": _compared(
        {"degree": [3, 4, 5, 6, 7, 8, 9], "run": list(range(5))},
        {"learners": ("network", "last"), "same_points": True, "cross_validated": False},
        "Networks and their tangent machines on the same 2,500 points",
        agreement=Agreement(elsewhere=0.05),
        shortened={"learners": ("network",)},
        steady={"degree": [8, 9]},  # below, rounding decides where a network ends
    ),
    "machines_correlated": _compared(
        {"degree": [3, 6, 8, 9, 10, 11, 12, 13], "run": list(range(5))},
        {"case": "correlated", "learners": ("last", "gaussian")},
        "Tangent machines and Gaussian machines on correlated inputs, 2,500 points",
        shortened=UNTRAINED | {"learners": ("gaussian",)},
    ),
    "machines_8000": _compared(
        {"degree": [3, 4, 5, 6, 7], "run": [0]},
        {"learners": ("network", "last"), "points": 8000, "cross_validated": False, "penalties": None},
        "Networks and their tangent machines at the author's C on all 8,000 training points, with his data",
        **CHAOTIC,
    ),
    "machines_8000_7": _compared(
        {"degree": [7], "run": list(range(5))},
        AS_PUBLISHED | {"cross_validated": True},
        "Figure 5a: networks and machines on all 8,000 training points, cross-validated",
        **CHAOTIC,
    ),
    "machines_8000_8": _compared(
        {"degree": [8], "run": [0]},
        AS_PUBLISHED | {"cross_validated": False},
        "Figure 5b: network and machine on all 8,000 training points",
        **CHAOTIC,
    ),
    "machines_frozen": _compared(
        {"mode": ["stop-first", "first-last", "reinit"], "degree": [3, 6], "run": list(range(5))},
        {"learners": ("network", "initial", "last")},
        "Networks whose first layer is frozen after one epoch, and their tangent machines",
        shortened=UNTRAINED,
    ),
    "gaussian_author": Recipe(
        author_gaussian,
        {"degree": list(AUTHORS), "run": list(range(5))},
        {"folded": 8000},
        "Gaussian machines at the author's C and gamma, fitted and cross-validated on 8,000 points",
        replicates="run",
    ),
    "gaussian_inputs": Recipe(
        by_dimension,
        {"inputs": [1, 2, 5, 10, 25, 50, 100], "run": list(range(20))},
        about="The Gaussian machine against the number of inputs, on the points and labels of the other records",
        replicates="run",
    ),
}
