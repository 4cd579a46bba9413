r"""The tangent machine of a network whose first layer is frozen, on all training points.

What is left to train of such a network is its output layer, so its tangent features are the activations of the hidden
units and 1: a linear regression with absolute error on m + 1 features.  They are settled when the warm-up ends; modes
"stop-first" and "reinit" have the same.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Appendix A, and its public code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from sklearn.svm import LinearSVR

from experiments.hidden_structure import hidden_index, polynomials, selection
from experiments.hidden_structure.polynomial_measures import fits
from experiments.hidden_structure.polynomials import chosen, initial, problem
from shallow.book.recipes import Agreement, Recipe
from shallow.kernels import machines
from shallow.stats import stream

#: The author's grid without its two largest values, which at even degrees only cost time; folds and iterations are his.
PENALTIES, FOLDS, ITERATIONS = tuple(10.0**k for k in range(-4, 1)), 4, 1000


def output_machine(
    run: int,
    mode: str,
    *,
    degree: int = 6,
    penalties: Sequence[float] = PENALTIES,
    iterations: int = ITERATIONS,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """scikit-learn's LinearSVR with absolute error on the activations after one epoch of warm-up in a mode.

    Returns `errors` (C): mean square by four-fold cross-validation on all training points; `cv`, the smallest, and its
    `C`; with that C the `fits` (part, range) of :mod:`.polynomial_measures`; `stopped`: whether the last fit used up
    its iterations.  Cost: 5 s at degree 6.
    """
    task, setting = problem("independent", degree, run, size=size), chosen("independent", degree, None, None, None)
    start = initial("independent", task.x.shape[1], setting.width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    network = polynomials.fitted(task, start, setting, rng, mode=mode, epochs=1, records=[1]).snapshot(1)
    W, b = network.weights[0][0].astype(np.float64), network.biases[0][0].astype(np.float64)
    features, rows = np.maximum(task.x @ W.T + b, 0), task.rows

    def fitted(C: float, points: np.ndarray) -> LinearSVR:
        solver = LinearSVR(epsilon=0, C=C, max_iter=iterations, random_state=0)
        machines.fit_quietly(solver, features[points], task.y[points])
        return solver

    def held_out(C: float, inside: np.ndarray, outside: np.ndarray) -> float:
        return float(np.mean((fitted(C, inside).predict(features[outside]) - task.y[outside]) ** 2))

    splits = selection.folds(stream("hidden structure", "folds", run), len(rows["train"]), FOLDS)
    parts = [(rows["train"][inside], rows["train"][outside]) for inside, outside in splits]
    errors = [float(np.mean([held_out(C, *part) for part in parts])) for C in penalties]
    best = int(np.argmin(errors))
    last = fitted(penalties[best], rows["train"])
    seen = {part: rows[part] for part in ("train", "test")}
    return (
        fits(last.predict(features), task.v, task.y, seen)
        .assign(
            errors=("tried", errors),
            cv=errors[best],
            C=penalties[best],
            stopped=bool(np.max(last.n_iter_) >= iterations),
        )
        .assign_coords(tried=list(penalties))
    )


RECORDS: dict[str, Recipe] = {
    "frozen_all_points": Recipe(
        output_machine,
        {"mode": ["stop-first", "first-last"], "run": list(range(5))},
        {"degree": 6},
        "Degree 6: machines on the output layer of networks frozen after one epoch, 8,000 points, the author's solver",
        replicates="run",
        # Activations moved by 1e-6 move the error of the largest C by 6e-4, of the smallest, which counts, by 1e-10.
        agreement=Agreement(relative=1e-3, rounding=("errors",)),
    ),
}
