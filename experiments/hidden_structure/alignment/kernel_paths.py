"""Kernel machines along training: the tangent kernel of the network of an epoch, and what it predicts.

Predictions are compared with the polynomial and with what the *final* network will predict.  The networks are those of
:mod:`experiments.hidden_structure.polynomials`, step by step.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5.2.3 and Appendix B.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, selection
from experiments.hidden_structure.hidden_direction import cosines
from experiments.hidden_structure.polynomial_measures import COLLAPSED, directions, fits
from experiments.hidden_structure.polynomials import BATCH, EPOCHS, PATIENCE, Problem, chosen, initial, problem
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.kernels import interior_point, layered, machines
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

#: The author's values of C, and the number of folds by which one is chosen.
PENALTIES, FOLDS = tuple(10.0**k for k in range(-4, 3)), 4
POINTS, CHOSEN_ON = 2500, 1250  # training points of a machine, and how many of them choose its C
TOLERANCE = 0.01  # of libsvm, in units of the labels' standard deviation, about 0.5
STEPS, GAP, FREE = 20, 1e-3, 1e3  # see absolute
END = -1  # stands for the last epoch among the moments


class Seen(NamedTuple):
    """What is kept of a network after an epoch: its directions, the cosines of its units (m,), perhaps itself."""

    shares: dict[str, float]
    cosine: np.ndarray
    network: Stack | None


@releases_gil
def kernel_path(
    run: int,
    degree: int,
    *,
    case: str = "independent",
    at: Sequence[int] = tuple(range(21)),
    pictured: Sequence[int] = (END,),
    points: int = POINTS,
    chosen_on: int = CHOSEN_ON,
    penalties: Sequence[float] = PENALTIES,
    epochs: int = EPOCHS,
    patience: int | None = PATIENCE,
    early: int = 60,
    whole: bool = True,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """Train one network in the author's configuration, and fit a kernel machine on its tangent kernel on the way.

    Args:
        at: epochs of the machines; the end of the run, :data:`END`, is always added.
        pictured: those moments of which predictions and cosines are kept.
        points, chosen_on: the first training points, of which a machine is fitted and C is chosen by cross-validation.
        early: epochs of which the path of the cosines is kept.
        whole: if not, training ends with the last of `at`, and only what needs no more is returned.

    Returns:
        :func:`alignment_path`; with dimension moment the `ntk_*` of :func:`machine`; `r`, the correlation over the test
        points of its predictions with those of the final network, and `network_r`, `network_r2` and `network_spread`
        (range), the same for the network of that moment; `linear_r`, `linear_r2` (range): for least squares on x;
        `final_*` (part, range): :func:`fits` of the final network; `final_deviation`, of its test predictions;
        `epochs`; for pictures `v`, `y`, `final` (point) and `prediction` (picture, point) of the test points, and
        `cosine` (picture, unit).

    Cost: beside the training, ten to twenty seconds for each machine at 2,500 points with its choice of C.
    """
    task = problem(case, degree, run, size=size)
    setting = chosen(case, degree, None, None, None)
    start = initial(case, task.x.shape[1], setting.width, run)
    _check(at, pictured, points, chosen_on, epochs, len(task.rows["train"]))
    norm, wanted, count = unit_norm(start), set(at), itertools.count()

    def look(now: Stack) -> Seen:
        cosine = cosines(now.weights[0][0], task.direction, least=COLLAPSED * norm)
        shares = directions(now, task.direction, norm) | {"norm": unit_norm(now) / norm}
        return Seen(shares, cosine, now if next(count) in wanted else None)

    total = epochs if whole else max(1, *at)
    train, validation = ((task.x[part], task.y[part]) for part in (task.rows["train"], task.rows["validation"]))
    fit = ensemble.train(
        start,
        *train,
        rngs=[stream("hidden structure", case, "batches", run)],
        loss="absolute",
        optimiser="adadelta",
        rate=setting.rate,
        decay=setting.decay,
        epochs=total,
        batch=BATCH,
        validation=validation,
        patience=patience,
        records=range(total + 1),
        measure=look,
    )
    path = alignment_path(fit, early if whole else total)
    moments = {epoch: seen.network for epoch, seen in enumerate(fit.values[0]) if seen.network is not None}
    moments |= {END: fit.last} if whole else {}
    fitted = task.rows["train"][:points]
    splits = selection.folds(stream("hidden structure", case, "folds", run), chosen_on, FOLDS)
    found = {moment: machine(network, task, fitted, splits, penalties) for moment, network in moments.items()}
    measured = xr.concat([measures for measures, _ in found.values()], "moment").assign_coords(moment=list(found))
    if not whole:
        return path.drop_vars("later_change").merge(measured)
    predictions = {moment: prediction for moment, (_, prediction) in found.items()}
    return xr.merge([path, measured, _against_the_end(moments, predictions, task, fitted), _end(fit, task)]).merge(
        _pictures(pictured, predictions, moments, fit.last, task)
    )


def unit_norm(network: Stack) -> float:
    """Median norm of the hidden units of the first layer."""
    return float(np.median(np.linalg.norm(network.weights[0][0], axis=1)))


def alignment_path(fit: ensemble.Fit, early: int) -> xr.Dataset:
    r"""How the cosines of the hidden units move, from what was :class:`Seen` after epochs 0, 1, ...

    With dimension epoch = 0, ..., `early`, NaN after the end: `path_*` of :func:`directions`; `path_norm`, median norm
    of the units over that of the start; `path_change`, mean over units of $\bigl| |\cos|(t) - |\cos|(t - 1) \bigr|$;
    the absolute losses.  `later_change`: mean of that change from epoch 2 to the very end, NaN without.
    """
    seen = fit.values[0]
    change = [_mean_of_known(np.abs(after.cosine - before.cosine)) for before, after in itertools.pairwise(seen)]
    path = {name: [one.shares[name] for one in seen] for name in seen[0].shares} | {"change": [np.nan, *change]}
    path |= {name: [np.nan, *getattr(fit, name)[0]] for name in ("training", "validation")}
    padded = {f"path_{name}": np.full(early + 1, np.nan) for name in path}
    for name, values in path.items():
        padded[f"path_{name}"][: len(values)] = values[: early + 1]
    found = xr.Dataset({name: ("epoch", values) for name, values in padded.items()}, {"epoch": range(early + 1)})
    return found.assign(later_change=_mean_of_known(np.array(change[1:])))


def _mean_of_known(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def machine(
    network: Stack,
    task: Problem,
    fitted: np.ndarray,
    splits: Sequence[selection.Split],
    penalties: Sequence[float],
    *,
    kept: int = 0,
) -> tuple[xr.Dataset, np.ndarray]:
    """The kernel machine of a network with absolute error and free intercept, and its predictions.

    C is the one of the smallest mean square over the `splits` of the first points.  Predictions are those of the test
    points, then those of the first `kept` points of the fit.

    Returns `ntk_*` (part, range): :func:`fits`; `ntk_deviation` of the test predictions; `ntk_C`; `ntk_cv`: the mean
    square by which it was chosen; `ntk_gap`: relative duality gap of the last fit.
    """
    x, y, test = task.x, task.y, task.rows["test"]
    kernel = layered.ntk(*network.network(0), x[fitted])
    first = sum(map(len, splits[0]))
    inner, labels = kernel[:first, :first], y[fitted[:first]]
    path = selection.path(inner, labels, penalties, splits, fit=absolute, error=selection.mean_square)
    machine = absolute(kernel, y[fitted], path.best)
    prediction = np.full(len(y), np.nan)
    prediction[fitted] = machine.values(kernel)
    prediction[test] = machine.values(layered.ntk(*network.network(0), x[test], x[fitted]))
    found = fits(prediction, task.v, y, {"train": fitted, "test": test})
    found = found.rename({name: f"ntk_{name}" for name in found.data_vars}).assign(
        ntk_deviation=prediction[test].std(),
        ntk_C=path.best,
        ntk_cv=path.errors.mean(axis=1).min(),
        ntk_gap=machine.convergence.gap,
    )
    return found, prediction[np.concatenate([test, fitted[:kept]])]


def absolute(kernel: np.ndarray, y: np.ndarray, C: float) -> machines.Machine:
    """SVR with epsilon = 0, to a relative duality gap of :data:`GAP`.

    Where the :data:`STEPS` of libsvm for each point leave a larger gap, the rule for large C on the kernel of a trained
    network, an interior point solves the problem, with an intercept that is nearly free: the penalised one of a kernel
    that is raised by :data:`FREE` times its mean diagonal.
    """
    machine = machines.epsilon_insensitive(kernel, y, C, tolerance=TOLERANCE * float(y.std()), max_iter=STEPS * len(y))
    if machine.convergence.gap <= GAP:
        return machine
    lift = FREE * float(np.trace(kernel)) / len(kernel)
    machine = interior_point.absolute_error(kernel + lift, y, C, tolerance=GAP)
    return machines.Machine(machine.coefficients, (1 + lift) * machine.intercept, machine.convergence)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r of two vectors, NaN where one of them is constant to rounding."""
    a, b = (np.asarray(values, dtype=np.float64) - np.mean(values) for values in (a, b))
    scale = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / scale) if scale > 1e-12 else float("nan")


def _against_the_end(
    moments: Mapping[int, Stack], predictions: Mapping[int, np.ndarray], task: Problem, fitted: np.ndarray
) -> xr.Dataset:
    """Correlations with the final network's test predictions."""
    test = task.rows["test"]
    networks = {moment: network.forward(task.x[test])[0] for moment, network in moments.items()}
    final = networks[END]
    offset = np.column_stack([np.ones(len(task.x)), task.x])
    coefficients, *_ = np.linalg.lstsq(offset[fitted], task.y[fitted], rcond=None)
    linear = offset[test] @ coefficients
    seen, straight = ([_of_test(one, task) for one in of] for of in (networks.values(), [linear]))
    return xr.Dataset(
        {
            "r": ("moment", [correlation(prediction, final) for prediction in predictions.values()]),
            "network_r": ("moment", [correlation(one, final) for one in networks.values()]),
            "network_r2": (("moment", "range"), [one.r2.values for one in seen]),
            "network_spread": (("moment", "range"), [one.spread.values for one in seen]),
            "linear_r": correlation(linear, final),
            "linear_r2": ("range", straight[0].r2.values),
        },
        {"moment": list(moments)},
    )


def _of_test(prediction: np.ndarray, task: Problem) -> xr.Dataset:
    """:func:`fits` of test predictions (n_test,), with dimension range."""
    test = task.rows["test"]
    return fits(prediction, task.v[test], task.y[test], {"test": np.arange(len(test))}).isel(part=0)


def _end(fit: ensemble.Fit, task: Problem) -> xr.Dataset:
    final = fit.last.forward(task.x)[0]
    found = fits(final, task.v, task.y, task.rows).sel(part=["train", "test"])
    return found.rename({name: f"final_{name}" for name in found.data_vars}).assign(
        final_deviation=float(final[task.rows["test"]].std()), epochs=fit.epochs[0]
    )


def _pictures(
    pictured: Sequence[int],
    predictions: Mapping[int, np.ndarray],
    moments: Mapping[int, Stack],
    last: Stack,
    task: Problem,
) -> xr.Dataset:
    test = task.rows["test"]
    return xr.Dataset(
        {
            "prediction": (("picture", "point"), [predictions[moment] for moment in pictured]),
            "cosine": (("picture", "unit"), [cosines(moments[one].weights[0][0], task.direction) for one in pictured]),
            "final": ("point", last.forward(task.x[test])[0]),
            "v": ("point", task.v[test]),
            "y": ("point", task.y[test]),
        },
        {"picture": list(pictured)},
    )


def _check(at: Sequence[int], pictured: Sequence[int], points: int, chosen_on: int, epochs: int, most: int) -> None:
    for name, moments, known in (("at", at, range(epochs + 1)), ("pictured", pictured, {*at, END})):
        if not len(moments) or not set(moments) <= set(known) or len(set(moments)) < len(moments):
            raise ValueError(f"{name} must hold epochs in 0..{epochs} ({END} for the last), each once, got {moments}")
    checks.integers(2 * FOLDS, most, points=points)
    checks.integers(2 * FOLDS, points, chosen_on=chosen_on)


def recipe(case: str, degree: int, runs: Sequence[int], about: str, **fixed: object) -> Recipe:
    return Recipe(
        kernel_path,
        {"run": list(runs)},
        {"degree": degree, "case": case} | fixed,
        about,
        replicates="run",
        shortened={"at": (0,), "pictured": (END,), "whole": False},
    )


RECORDS: dict[str, Recipe] = {
    "kernels_7": recipe(
        "independent", 7, range(5), "Figures 10 to 12: a kernel machine after each epoch", pictured=(0, 2, END)
    ),
    "kernels_11": recipe(
        "correlated", 11, range(5), "Figures 14 to 16: a kernel machine after each epoch", pictured=(0, 16, END)
    ),
    "kernels_12": recipe(
        "correlated", 12, range(10), "Figures 17 to 19: kernel machines", at=(0, 1), pictured=(0, 1, END)
    ),
    "kernels_7_correlated": recipe(
        "correlated", 7, range(5), "The degree of Figures 10 to 12 with correlation", at=tuple(range(13))
    ),
}
