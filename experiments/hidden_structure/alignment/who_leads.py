r"""Who knows the polynomial first: the network, its output layer solved alone, or what its first layer could do next.

The tangent kernel of a network with one hidden layer is a sum of two.  That of the *output layer* is the kernel of the
hidden features, and its machine the best output layer that these features allow.  That of the *first layer* belongs to
the functions $\sum_j a_j \mathbf 1\{w_j \cdot x + b_j > 0\}\,(\delta_j \cdot x + \beta_j)$: the network linearised in
its first layer.  All machines have the absolute error, a nearly free intercept, and a C chosen by one rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy import linalg

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.alignment.kernel_paths import FREE, GAP, unit_norm
from experiments.hidden_structure.polynomial_measures import directions, fits
from experiments.hidden_structure.polynomials import Problem, chosen, initial, problem
from shallow import checks
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.kernels import interior_point, layered
from shallow.mlp import Stack
from shallow.stats import stream

POINTS, CHOSEN_ON = 2000, 800  # training points of a kernel machine, and how many of them choose its C
PENALTIES = tuple(10.0**k for k in range(4))  # for a kernel whose mean diagonal is 1
LARGE = (100.0, 1000.0)  # for the output layer on all points, whose feature vectors have a mean square of 1
SMOOTHED, ROUNDS = 1e-3, 12  # see solved


@releases_gil
def who_leads(
    run: int,
    degree: int,
    *,
    at: Sequence[int] = (0, 1, 3, 5, 10, 20),
    points: int = POINTS,
    chosen_on: int = CHOSEN_ON,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """Train one network with the author's setting, independent inputs, and solve parts of it on the way.

    Args:
        at: ascending epochs.
        points: of a kernel machine; the output layer is also solved on all training points, `output, all`.
        chosen_on: the first points, on which the machine of each C is fitted; the C whose mean absolute error on the
            validation points is smallest is that of the machine on `points`.

    Returns:
        `aligned` (epoch); `r2` (epoch, learner, range), over the test points; `C` (epoch, learner), NaN of the network;
        `mae` (epoch, learner), over all test points.  Learners: the `network`; machines on the kernel of its `output`
        layer, of its `first` and on the `full` one; on the full one of the :func:`dealt` network; `output, all`.

    Cost: about ten seconds for an epoch.
    """
    checks.integers(8, points, chosen_on=chosen_on)
    task, setting = problem("independent", degree, run, size=size), chosen("independent", degree, None, None, None)
    start = initial("independent", task.x.shape[1], setting.width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    fit = polynomials.fitted(task, start, setting, rng, records=list(at), epochs=max(1, *at))
    networks = [fit.snapshot(epoch) for epoch in at]
    seen = [_learners(network, task, points, chosen_on, run) for network in networks]
    shares = [directions(network, task.direction, unit_norm(start))["aligned"] for network in networks]
    return xr.concat(seen, "epoch").assign_coords(epoch=list(at)).assign(aligned=("epoch", shares))


def _learners(network: Stack, task: Problem, points: int, chosen_on: int, run: int) -> xr.Dataset:
    test = task.rows["test"]
    predictions = {"network": (network.forward(task.x[test])[0].astype(np.float64), np.nan)}
    output, first = (_kernel(network, task, layer, points) for layer in (2, 1))
    other = dealt(network, run)
    kernels = {"output": output, "first": first, "full": output + first}
    kernels["dealt"] = _kernel(other, task, 1, points) + _kernel(other, task, 2, points)
    predictions |= {name: _machine(kernel, task, chosen_on) for name, kernel in kernels.items()}
    predictions["output, all"] = _output(network, task)
    measured = [
        fits(found, task.v[test], task.y[test], {"test": np.arange(len(test))})[["r2", "mae"]].isel(part=0, drop=True)
        for found, _ in predictions.values()
    ]
    found = xr.concat(measured, "learner").assign_coords(learner=list(predictions))
    return xr.Dataset({"r2": found.r2, "mae": found.mae.sel(range="all", drop=True)}).assign(
        C=("learner", [C for _, C in predictions.values()])
    )


def dealt(network: Stack, run: int) -> Stack:
    """The network with the sign of every weight of its first layer drawn anew: norms are kept, directions are not."""
    changed = Stack(network.parameters.copy(), network.widths)
    signs = stream("hidden structure", "who leads", "signs", run).choice([-1.0, 1.0], changed.weights[0].shape)
    changed.weights[0][:] = np.abs(changed.weights[0]) * signs
    return changed


def _kernel(network: Stack, task: Problem, layer: int, points: int) -> np.ndarray:
    """A layer's part of the tangent kernel; columns: some training points; rows: these, validation and test points."""
    fitted = task.rows["train"][:points]
    rows = np.concatenate([fitted, task.rows["validation"], task.rows["test"]])
    return layered.ntk(*network.network(0), task.x[rows], task.x[fitted], trainable=(layer,))


def _machine(kernel: np.ndarray, task: Problem, chosen_on: int) -> tuple[np.ndarray, float]:
    """Test predictions and C of the machine on a :func:`_kernel`."""
    points, held = kernel.shape[1], len(task.rows["validation"])
    kernel = kernel * (points / np.trace(kernel[:points]))
    within, outside, test = np.split(kernel, [points, points + held])
    y, labels = task.y[task.rows["train"][:points]], task.y[task.rows["validation"]]
    few = slice(chosen_on)
    C = min(PENALTIES, key=lambda C: np.abs(_solve(within[few, few], y[few], C, outside[:, few]) - labels).mean())
    return _solve(within, y, C, test), C


def _solve(within: np.ndarray, y: np.ndarray, C: float, across: np.ndarray) -> np.ndarray:
    """Predictions of the machine with absolute error; its intercept is free as in :func:`.kernel_paths.absolute`."""
    machine = interior_point.absolute_error(within + FREE, y, C, tolerance=GAP)
    return across @ machine.coefficients + (1 + FREE) * machine.intercept


def _output(network: Stack, task: Problem) -> tuple[np.ndarray, float]:
    """Test predictions and C of the output layer solved on all training points, which also choose C."""
    train, validation, test = (task.rows[part] for part in polynomials.PARTS)
    hidden = network.features(task.x)[0].astype(np.float64)
    hidden = np.column_stack([hidden / np.sqrt((hidden[train] ** 2).sum(axis=1).mean()), np.ones(len(hidden))])
    weights, start = {}, np.zeros(hidden.shape[1])
    for C in LARGE:
        weights[C] = start = solved(hidden[train], task.y[train], C, start)
    C = min(LARGE, key=lambda C: np.abs(hidden[validation] @ weights[C] - task.y[validation]).mean())
    return hidden[test] @ weights[C], C


def solved(features: np.ndarray, y: np.ndarray, C: float, start: np.ndarray) -> np.ndarray:
    r"""The w of least $\tfrac12 |w|^2 + C \sum_i |y_i - w \cdot z_i|$, the last weight nearly free; shape (h,).

    By least squares with weights $1 / \max(|r_i|, \epsilon)$ from the last residuals r, which lower the objective with
    the absolute value rounded below $\epsilon$, :data:`SMOOTHED`, until it falls by less than 1/200 of itself.
    """
    penalty = np.ones(features.shape[1])
    penalty[-1] = 1 / FREE
    w, before = start, np.inf
    for _ in range(ROUNDS):
        weight = C / np.maximum(np.abs(y - features @ w), SMOOTHED)
        gram = linalg.blas.dsyrk(1.0, (features * np.sqrt(weight)[:, None]).T)  # its upper triangle
        w = linalg.solve(gram + np.diag(penalty), features.T @ (weight * y), assume_a="pos")
        objective = penalty @ w**2 / 2 + C * np.abs(y - features @ w).sum()
        if before - objective <= objective / 200:
            break
        before = objective
    return w


RECORDS: dict[str, Recipe] = {
    "who_leads": Recipe(
        who_leads,
        {"degree": [7], "run": list(range(5))},
        about="The network, its output layer solved alone, its first layer linearised, and both, along training",
        replicates="run",
        agreement=Agreement(elsewhere=0.1, rounding=("C",)),
        shortened={"at": (0, 1)},
    ),
}
