r"""Support vector machines on the tangent kernels of networks that learned shells in orthants.

Two forms are kept apart.  The *author's form* is LinearSVC on the gradients of the probability, by dual coordinate
descent that ends after 1,000 or 20,000 passes; the *converged form* is the same problem solved, on the kernel of the
probability or of the logit.  Both have squared hinge loss, a penalised intercept and 20 points of each class and
orthant.  The networks are those of :mod:`experiments.hidden_structure.orthants`, the same for equal run and
depth.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 4.2, and its public code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import linear_machines, selection, shells
from experiments.hidden_structure.orthant_scores import Values, labels, network_scores, scores, subset
from experiments.hidden_structure.orthants import EPOCHS, document, trained
from shallow import checks
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.kernels import layered, machines
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


@releases_gil
def author_form(
    run: int,
    depth: int,
    *,
    penalties: Sequence[float] | None = None,
    passes: Sequence[int] = PASSES,
    points: int = POINTS,
    epochs: int = EPOCHS,
    whole: bool = True,
) -> xr.Dataset:
    r"""Coordinate descent on the gradients of the probability, and the network they come from.

    Args:
        penalties: values of C; by default the one of the author's log, :data:`PENALTY`, without a dimension.
        passes: limits of passes.
        points: of each class and populated orthant.
        epochs: of the network, at most.
        whole: otherwise only the network is measured.

    Returns:
        :func:`scores` of the network as `network_*`, and with dimensions penalty and limit those of the machines;
        `passes`, done; `gap`, relative duality gap; `features`, the number after truncation (penalty).

    Cost: the training; about n r 10^-9 seconds per pass for r features of n points.
    """
    task, network = _network(run, depth, epochs)
    fitted = subset(task.train, points)
    found = network_scores(network, task, run, fitted)
    if not whole:
        return found
    kernel = tangent_kernel(network, "probability")
    gram = kernel(fitted.x)
    if penalties is None:
        return found.merge(_descended(kernel, gram, PENALTY[depth], task, run, fitted, depth, passes))
    rows = [_descended(kernel, gram, C, task, run, fitted, depth, passes) for C in penalties]
    return found.merge(xr.concat(rows, "penalty").assign_coords(penalty=list(penalties)))


def _descended(
    kernel: Kernel, gram: np.ndarray, C: float, task: shells.Task, run: int, fitted: shells.Points, depth: int,
    passes: Sequence[int],
) -> xr.Dataset:  # fmt: skip
    reduced = _reduced(gram, C)
    rng = stream("orthants", run, "coordinate descent", depth, C)
    ended = linear_machines.coordinate_descent(reduced, labels(fitted), C, rng, passes=passes)
    pivots = fitted.x[reduced.pivots]
    of_limit = [scores(lambda x, m=machine: m.values(kernel(x, pivots)), task, run, fitted) for machine in ended]
    return xr.concat(of_limit, "limit").assign(
        passes=("limit", [machine.convergence.iterations for machine in ended]),
        gap=("limit", [machine.convergence.gap for machine in ended]),
        features=len(pivots),
    ).assign_coords(limit=list(passes))  # fmt: skip


def _reduced(gram: np.ndarray, C: float) -> linear_machines.Reduced:
    """Truncated where the rest is small beside the 1/(2C) that the loss adds to the diagonal."""
    return linear_machines.reduced(gram, min(0.1 / (2 * C), 1e-6 * gram.diagonal().max()))


@releases_gil
def solvers(
    run: int,
    depth: int,
    *,
    penalties: Sequence[float] = PENALTIES[::2],
    passes: Sequence[int] = PASSES,
    points: int = POINTS,
    epochs: int = EPOCHS,
    whole: bool = True,
) -> xr.Dataset:
    """One machine by four solvers: :func:`author_form` along C, LinearSVC's primal, and Newton's method on the kernel.

    Returns:
        Those of :func:`author_form`, and with dimension penalty the scores of `primal_*` and `kernel_*` with their
        `*_gap` and `*_iterations`.  Primal and kernel form are NaN where C is beyond the rounding of the kernel.
    """
    found = author_form(run, depth, penalties=penalties, passes=passes, points=points, epochs=epochs, whole=whole)
    if not whole:
        return found
    task, network = _network(run, depth, epochs)
    fitted, kernel = subset(task.train, points), tangent_kernel(network, "probability")
    gram, rows = kernel(fitted.x), []
    for C in penalties:
        reduced = _reduced(gram, C)
        rng = stream("orthants", run, "primal", depth, C)
        primal = linear_machines.squared_hinge(reduced.features, labels(fitted), C, rng, dual=False)
        pivots, coefficients = fitted.x[reduced.pivots], reduced.coefficients(primal.coefficients)
        newton = machines.squared_hinge(gram, labels(fitted), C)
        of_form = {
            "primal": (lambda x, z=pivots, c=coefficients, b=primal.intercept: kernel(x, z) @ c + b, primal),
            "kernel": (_values(kernel, newton, fitted.x), newton),
        }
        rows.append(xr.merge([_named(form, *pair, task, run, fitted) for form, pair in of_form.items()]))
    return found.merge(xr.concat(rows, "penalty").assign_coords(penalty=list(penalties)))


def _named(form: str, values: Values, machine, task: shells.Task, run: int, fitted: shells.Points) -> xr.Dataset:
    measured = scores(values, task, run, fitted).drop_vars("profile")
    measured = measured.assign(gap=machine.convergence.gap, iterations=machine.convergence.iterations)
    return measured.rename({name: f"{form}_{name}" for name in measured.data_vars})


@releases_gil
def converged(
    run: int,
    depth: int,
    *,
    scalings: Sequence[str] = ("raw",),
    penalties: Sequence[float] = WIDE,
    points: int = POINTS,
    tuning: int = TUNING,
    epochs: int = EPOCHS,
    whole: bool = True,
) -> xr.Dataset:
    """The machine solved, on the kernels of probability and logit of the last network, C chosen for each.

    Args:
        scalings: of the features, names of :data:`SCALINGS`: as they are; all divided by one number, so that a point
            has mean square norm 1; every point to norm 1; every column to mean 0 and variance 1.
        penalties: values of C to choose from, see :func:`tuned`.
        tuning: points of each class and orthant of the fits that choose C.

    Returns:
        :func:`scores` of the network as `network_*`; with dimensions output and scaling those of :func:`tuned`.
    """
    task, network = _network(run, depth, epochs)
    fitted = subset(task.train, points)
    found = network_scores(network, task, run, fitted)
    if not whole:
        return found
    by_output = [
        xr.concat(
            [
                tuned(scaled_kernel(network, output, scaling, fitted.x), task, run, fitted, penalties, tuning)
                for scaling in scalings
            ],
            "scaling",
        )
        for output in layered.OUTPUTS
    ]
    machines_found = xr.concat(by_output, "output").assign_coords(output=list(layered.OUTPUTS), scaling=list(scalings))
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
    epochs: int = EPOCHS,
) -> xr.Dataset:
    """The converged machine on the logit's kernel of the network after some epochs.

    Returns:
        With dimension epoch (`at`; :data:`END` is the end of training) those of :func:`tuned`, and `network_*`.
    """
    task, (width, rate, decay) = shells.draw(run), document(depth)
    fitted, rows = subset(task.train, points), []
    for epoch in at:
        # The first epochs of a run do not depend on how many there will be.
        initial, fit = trained(
            task, run, depth, width, rate=rate, decay=decay, epochs=epochs if epoch == END else max(epoch, 1)
        )
        network = initial if epoch == 0 else fit.last
        machine = tuned(tangent_kernel(network, "logit"), task, run, fitted, penalties, tuning)
        rows.append(machine.merge(network_scores(network, task, run, fitted)))
    return xr.concat(rows, "epoch").assign_coords(epoch=list(at))


# Networks and kernels.


def _network(run: int, depth: int, epochs: int) -> tuple[shells.Task, Stack]:
    """Data and last network of a run in the document's configuration."""
    task, (width, rate, decay) = shells.draw(run), document(depth)
    return task, trained(task, run, depth, width, rate=rate, decay=decay, epochs=epochs)[1].last


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
    kernel: Kernel,
    task: shells.Task,
    run: int,
    fitted: shells.Points,
    penalties: Sequence[float],
    tuning: int,
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


#: A recomputed cell trains the network and measures it; the machines take too long.  Rounding decides where these
#: networks end: on another processor the start of the same ones is compared.
CHAOTIC = {"agreement": Agreement(elsewhere=None), "start": "hidden_structure/orthants"}
RULE = {"replicates": "run", "shortened": {"whole": False}} | CHAOTIC
RECORDS: dict[str, Recipe] = {
    "tangent_machines": Recipe(
        author_form,
        {"depth": list(PENALTY), "run": list(range(5))},
        {"passes": (1000, 5000, 20_000)},
        "Table 1: support vector machines on the gradients of the networks, in the author's form",
        **RULE,
    ),
    "tangent_penalties": Recipe(
        author_form,
        {"depth": [1, 3], "run": [0]},
        {"penalties": PENALTIES, "passes": PASSES[:1]},
        "The author's selection of C: nine values, 1,000 passes each",
        **RULE,
    ),
    "tangent_solvers": Recipe(
        solvers,
        {"depth": [1, 3], "run": [0, 1, 2]},
        {"penalties": (100.0,)},
        "One machine by four solvers, to 20,000 passes",
        **RULE,
    ),
    "tangent_converged": Recipe(
        converged,
        {"depth": [1, 2, 3], "run": list(range(5))},
        {},
        "Converged machines on the kernels of probability and logit",
        **RULE,
    ),
    "tangent_scalings": Recipe(
        converged,
        {"depth": [1, 2, 3], "run": list(range(3))},
        {"scalings": SCALINGS, "points": POINTS // 2},
        "Converged machines with scaled features, at half the points",
        **RULE,
    ),
    "tangent_training": Recipe(
        along_training,
        {"depth": [1, 2, 3], "run": list(range(5))},
        {"at": (0, 5, END)},
        "Converged machines on the tangent kernels of untrained, partly trained and trained networks",
        replicates="run",
        shortened={"at": (0,)},
    ),
}
