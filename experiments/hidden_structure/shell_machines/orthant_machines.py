r"""Support vector machines on the tangent kernels of networks that learned shells in orthants.

Two forms are kept apart.  The *author's form* is LinearSVC on the gradients of the probability, by dual coordinate
descent that ends after 1,000 or 20,000 passes; the *converged form* is the same problem solved, on the kernel of the
probability or of the logit.  Both have squared hinge loss, a penalised intercept and 20 points of each class and
orthant.  The networks are not trained here: they are the last weights that the record of
:func:`experiments.hidden_structure.orthants.cells.author` keeps, the same for every machine of a run and depth.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 4.2, and its public code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import selection, shells
from experiments.hidden_structure.orthants.cells import document, stored, trained, untrained
from experiments.hidden_structure.shell_machines.orthant_scores import Values, labels, network_scores, scores, subset
from shallow import checks
from shallow.book import records
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.kernels import layered, linear_machines, machines
from shallow.mlp import Stack
from shallow.stats import stream

#: Points of each class in each populated orthant, of a fit and of the smaller fits that choose C.
POINTS, TUNING = 20, 5
#: C of the author's logs by depth; depth 1 from an earlier script.  The limits of passes in selection and final fit.
PENALTY = {1: 1e4, 2: 1e4, 3: 1e2, 4: 1e3, 5: 1e2}
PASSES = (1000, 20_000)
PENALTIES = tuple(10.0**k for k in range(-4, 5))
#: C of the converged form, as far as rounding of the kernel allows.
WIDE = tuple(10.0**k for k in range(-8, 9))
VALIDATION = 2000  # points that choose C
SCALINGS = ("raw", "unit", "cosine", "standardised")
END = -1  # stands for the last epoch

Kernel = Callable[..., np.ndarray]


@functools.cache
def _networks() -> xr.Dataset:
    return xr.load_dataset(records.files("hidden_structure/orthants/orthants")[0], engine="h5netcdf")


def network(run: int, depth: int) -> Stack:
    """The stored network of a run, a stack of one."""
    return stored(_networks(), run, depth)


@releases_gil
def author_form(
    run: int,
    depth: int,
    *,
    penalties: Sequence[float] | None = None,
    passes: Sequence[int] = PASSES,
    points: int = POINTS,
) -> xr.Dataset:
    """Coordinate descent on the gradients of the probability, and the network they come from.

    Args:
        penalties: values of C; by default the one of the author's log, :data:`PENALTY`, without a dimension.
        passes: limits of passes.
        points: of each class and populated orthant.

    Returns :func:`scores` of the network as `network_*`, and with dimensions penalty and limit those of the machines;
    `passes`, done; `gap`, relative duality gap; `features`, the number after truncation (penalty).
    """
    task, source = shells.draw(run), network(run, depth)
    fitted, kernel = subset(task.train, points), tangent_kernel(source, "probability")
    gram, found = kernel(fitted.x), network_scores(source, task, run, fitted)
    if penalties is None:
        return found.merge(_descended(kernel, gram, PENALTY[depth], task, run, fitted, depth, passes))
    rows = [_descended(kernel, gram, C, task, run, fitted, depth, passes) for C in penalties]
    return found.merge(xr.concat(rows, "penalty").assign_coords(penalty=list(penalties)))


def _descended(
    kernel: Kernel,
    gram: np.ndarray,
    C: float,
    task: shells.Task,
    run: int,
    fitted: shells.Points,
    depth: int,
    passes: Sequence[int],
) -> xr.Dataset:
    reduced = _reduced(gram, C)
    rng = stream("orthants", run, "coordinate descent", depth, C)
    ended = linear_machines.coordinate_descent(reduced, labels(fitted), C, rng, passes=passes)
    each = _together(kernel, fitted.x[reduced.pivots], ended)
    of_limit = [scores(values, task, run, fitted) for values in each]
    return (
        xr.concat(of_limit, "limit")
        .assign(
            passes=("limit", [machine.convergence.iterations for machine in ended]),
            gap=("limit", [machine.convergence.gap for machine in ended]),
            features=len(reduced.pivots),
        )
        .assign_coords(limit=list(passes))
    )


def _together(kernel: Kernel, pivots: np.ndarray, ended: Sequence[machines.Machine]) -> list[Values]:
    """f of several machines on the same pivots; their kernel with a block of points is computed once for all."""
    weights, known = np.stack([machine.coefficients for machine in ended], axis=1), {}

    def values(x: np.ndarray, i: int) -> np.ndarray:
        block = x.tobytes()
        if block not in known:
            known[block] = kernel(x, pivots) @ weights
        return known[block][:, i] + ended[i].intercept

    return [functools.partial(values, i=i) for i in range(len(ended))]


def _reduced(gram: np.ndarray, C: float) -> linear_machines.Reduced:
    """Truncated where the rest is small beside the 1/(2C) that the loss adds to the diagonal."""
    return linear_machines.reduced(gram, min(0.1 / (2 * C), 1e-6 * gram.diagonal().max()))


@releases_gil
def solvers(run: int, depth: int, *, primal: bool = True, points: int = POINTS) -> xr.Dataset:
    """The problem of :func:`author_form` at the author's C by LinearSVC's primal, the slowest, and by Newton's method.

    Returns :func:`scores` of the network as `network_*` and of both as `primal_*`, `kernel_*` with gap and iterations.
    """
    task, source, C = shells.draw(run), network(run, depth), PENALTY[depth]
    fitted, kernel = subset(task.train, points), tangent_kernel(source, "probability")
    gram, found = kernel(fitted.x), [network_scores(source, task, run, fitted)]
    newton = machines.squared_hinge(gram, labels(fitted), C)
    found.append(_named("kernel", _values(kernel, newton, fitted.x), newton, task, run, fitted))
    if primal:
        reduced, rng = _reduced(gram, C), stream("orthants", run, "primal", depth, C)
        ended = linear_machines.squared_hinge(reduced.features, labels(fitted), C, rng, dual=False)
        pivots, c = fitted.x[reduced.pivots], reduced.coefficients(ended.coefficients)
        found.append(_named("primal", lambda x: kernel(x, pivots) @ c + ended.intercept, ended, task, run, fitted))
    return xr.merge(found)


def _named(form: str, values: Values, machine, task: shells.Task, run: int, fitted: shells.Points) -> xr.Dataset:
    measured = scores(values, task, run, fitted)
    measured = measured.assign(gap=machine.convergence.gap, iterations=machine.convergence.iterations)
    return measured.rename({name: f"{form}_{name}" for name in measured.data_vars})


@releases_gil
def converged(
    run: int,
    depth: int,
    *,
    outputs: Sequence[str] = layered.OUTPUTS,
    scalings: Sequence[str] = ("raw",),
    penalties: Sequence[float] = WIDE,
    points: int = POINTS,
    tuning: int = TUNING,
) -> xr.Dataset:
    """The machine solved, on the kernels of probability and logit of the last network, C chosen for each.

    Args:
        scalings: of the features, names of :data:`SCALINGS`: as they are; all divided by one number, so that a point
            has mean square norm 1; every point to norm 1; every column to mean 0 and variance 1.
        penalties, tuning: values of C, and points of each class and orthant of the fits that choose it, :func:`tuned`.

    Returns :func:`scores` of the network as `network_*`; with dimensions output and scaling those of :func:`tuned`.
    """
    task, source = shells.draw(run), network(run, depth)
    fitted = subset(task.train, points)
    found = network_scores(source, task, run, fitted)
    by_output = [
        xr.concat(
            [
                tuned(scaled_kernel(source, output, scaling, fitted.x), task, run, fitted, penalties, tuning)
                for scaling in scalings
            ],
            "scaling",
        )
        for output in outputs
    ]
    machines_found = xr.concat(by_output, "output").assign_coords(output=list(outputs), scaling=list(scalings))
    return found.merge(machines_found)


@releases_gil
def along_training(
    run: int,
    depth: int,
    *,
    at: Sequence[int] = (0, 1, 2, 5, 10, 20, 50, END),
    penalties: Sequence[float] = WIDE[::2],
    points: int = POINTS // 2,
    tuning: int = TUNING,
) -> xr.Dataset:
    """The converged machine on the logit's kernel of the network after some epochs, :data:`END` being the stored one.

    Returns, with dimension epoch, those of :func:`tuned`, and `network_*`.
    """
    task = shells.draw(run)
    fitted, rows = subset(task.train, points), []
    for epoch in at:
        source = network(run, depth) if epoch == END else _early(task, run, depth, epoch)
        machine = tuned(tangent_kernel(source, "logit"), task, run, fitted, penalties, tuning)
        rows.append(machine.merge(network_scores(source, task, run, fitted)))
    return xr.concat(rows, "epoch").assign_coords(epoch=list(at))


def _early(task: shells.Task, run: int, depth: int, epoch: int) -> Stack:
    """The network after its first epochs, which do not depend on how many there will be."""
    width, rate, decay = document(depth)
    if epoch == 0:
        return untrained(run, depth, width)
    return trained(task, run, depth, width, rate=rate, decay=decay, epochs=epoch)[1].last


# Networks and kernels.


def tangent_kernel(network: Stack, output: str) -> Kernel:
    """x, z -> K (n, n'); z may be left out."""
    parts = network.network(0)
    return lambda x, z=None: layered.ntk(*parts, x, z, output=output)


def scaled_kernel(network: Stack, output: str, scaling: str, x: np.ndarray) -> Kernel:
    """The tangent kernel with its features scaled by one of :data:`SCALINGS`; x are the points of the fit."""
    plain, parts = tangent_kernel(network, output), network.network(0)
    if scaling == "raw":
        return plain
    if scaling == "unit":
        mean = layered.diagonal(*parts, x, output=output).mean()
        return lambda x, z=None: plain(x, z) / mean
    if scaling == "cosine":  # the factor p (1 - p) of the probability cancels
        unscaled = tangent_kernel(network, "logit")

        def cosine(x: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
            left = layered.diagonal(*parts, x)
            return selection.cosine(unscaled(x, z), left, left if z is None else layered.diagonal(*parts, z))

        return cosine
    checks.one_of(SCALINGS, scaling=scaling)
    columns = layered.jacobian(*parts, x, output=output)
    mean, deviation = columns.mean(axis=0), columns.std(axis=0)
    live = deviation > 1e-12 * deviation.max()

    def features(x: np.ndarray) -> np.ndarray:
        return (layered.jacobian(*parts, x, output=output)[:, live] - mean[live]) / deviation[live]

    def standardised(x: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        left = features(x)
        return left @ (left if z is None else features(z)).T

    standardised.features = features
    return standardised


def _values(kernel: Kernel, machine: machines.Machine, x: np.ndarray) -> Values:
    """f of a machine that was fitted at x, by its features where the kernel has them, else by its support vectors."""
    beta, b = machine.coefficients, machine.intercept
    support = np.flatnonzero(beta)
    if features := getattr(kernel, "features", None):
        w = features(x[support]).T @ beta[support]
        return lambda new: features(new) @ w + b
    return lambda new: kernel(new, x[support]) @ beta[support] + b


def tuned(
    kernel: Kernel, task: shells.Task, run: int, fitted: shells.Points, penalties: Sequence[float], tuning: int
) -> xr.Dataset:
    r"""The solved machine with the C of the smallest error on 2,000 validation points, of fits at fewer points.

    C is left out where rounding of the kernel is not small beside 1/(2C), that is unless its trace is below
    $10^{13}/C$, and where the smaller fit does not converge.  Returns :func:`scores`, `penalty`, and `gap`, the
    relative duality gap of the machine.
    """
    small, held = subset(fitted, tuning), task.validation[:VALIDATION]
    gram, across = kernel(small.x), kernel(held.x, small.x)
    within = [C for C in penalties if C * np.trace(gram) * len(fitted) / len(small) < 1e13]
    if not within:
        raise ValueError(f"penalties must hold a value small enough for the kernel, got {list(penalties)}")
    fits = machines.squared_hinge_path(gram, labels(small), within)
    errors = [selection.misclassified(fit.values(across), labels(held)) for fit in fits]
    C = within[int(np.argmin(np.where([fit.convergence.stopped for fit in fits], np.inf, errors)))]
    machine = machines.squared_hinge(kernel(fitted.x), labels(fitted), C)
    measured = scores(_values(kernel, machine, fitted.x), task, run, fitted)
    return measured.assign(penalty=C, gap=machine.convergence.gap)


#: Where coordinate descent stops short of the end, rounding decides which points a pass leaves out, and so the order
#: of all later ones: on another processor the machines of the author's form differ more than solved ones do.
STOPPED = {"replicates": "run", "agreement": Agreement(elsewhere=0.05), "shortened": {"passes": PASSES[:1]}}
#: What Newton's method leaves of the duality gap, often 1e-10, is rounding.
SOLVED = {"replicates": "run", "agreement": Agreement(rounding=("gap", "kernel_gap"))}
TEN, FIVE = list(range(10)), list(range(5))
RECORDS: dict[str, Recipe] = {
    "tangent_machines": Recipe(
        author_form,
        {"depth": list(PENALTY), "run": TEN},
        {"passes": PASSES},
        "Table 1: support vector machines on the gradients of the networks, in the author's form",
        **STOPPED,
    ),
    "tangent_solvers": Recipe(
        solvers,
        {"depth": [1, 3], "run": FIVE[:3]},
        about="The problems of Table 1 by two other solvers",
        **SOLVED,
        shortened={"primal": False},
    ),
    "tangent_converged": Recipe(
        converged,
        {"depth": [1, 2, 3], "run": TEN},
        about="Converged machines on the kernels of probability and logit",
        **SOLVED,
        shortened={"outputs": ("logit",)},
    ),
    "tangent_scalings": Recipe(
        converged,
        {"depth": [1, 2, 3], "run": FIVE},
        {"scalings": SCALINGS, "points": POINTS // 2},
        "Converged machines with scaled features, at half the points",
        **SOLVED,
        shortened={"scalings": SCALINGS[:1]},
    ),
    "tangent_training": Recipe(
        along_training,
        {"depth": [1, 2, 3], "run": TEN},
        {"at": (0, 5, END)},
        "Converged machines on the tangent kernels of untrained, partly trained and trained networks",
        **SOLVED,
        shortened={"at": (0, END)},
    ),
}
