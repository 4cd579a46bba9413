r"""Support vector machines with kernels fixed in advance on shells in orthants: linear, Gaussian, and folded Gaussian.

The *folded* kernel is the Gaussian one of $|x|$, and the *averaged* one its mean over the reflections of an argument:
they know the symmetry that the others would have to find.  Nearest neighbours stand beside them.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 4.2 and Table 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from experiments.hidden_structure import selection, shells
from experiments.hidden_structure.shell_machines.orthant_machines import PENALTIES, TUNING, VALIDATION
from experiments.hidden_structure.shell_machines.orthant_scores import labels, scores, subset
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.kernels import machines
from shallow.kernels.machines import fit_quietly


def averaged(x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
    r"""$e^{-\gamma |x - z|^2}$ averaged over all $2^D$ flips, $\prod_i \frac12 (e^{-\gamma(x_i - z_i)^2} +
    e^{-\gamma(x_i + z_i)^2})$; shape (n, n').

    Every function of its space is invariant, $f(s \odot x) = f(x)$ for all signs s.
    Cost: 2 D n n' exponentials instead of $2^D n n'$.
    """
    checks.shape((None, "D"), x=x)
    checks.shape((None, np.shape(x)[1]), z=z)
    checks.positive(gamma=gamma)
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    product = np.ones((len(x), len(z)))
    for left, right in zip(x.T, z.T, strict=True):
        near = np.exp(-gamma * np.subtract.outer(left, right) ** 2)
        product *= (near + np.exp(-gamma * np.add.outer(left, right) ** 2)) / 2
    return product


#: The document's values of gamma.
GAMMAS = (*PENALTIES, "scale", "auto")
KERNELS: dict[str, Callable[[np.ndarray, np.ndarray, float], np.ndarray]] = {
    "gaussian": lambda x, z, gamma: rbf_kernel(x, z, gamma=gamma),
    "folded": lambda x, z, gamma: rbf_kernel(np.abs(x), np.abs(z), gamma=gamma),
    "averaged": averaged,
}
#: Points of each class and populated orthant of a fit: 7,874 in all, and 2,540 for the kernels that know the symmetry.
POINTS = {"gaussian": 31, "folded": 10, "averaged": 10}
LINEAR_LIMIT = 10_000  # iterations of the author's linear machine


@releases_gil
def fixed(run: int, kernel: str, *, points: int | None = None, tuning: int = TUNING, whole: bool = True) -> xr.Dataset:
    """A machine with C and gamma chosen by hold-out, at all values of the document.

    Args:
        points: of each class and populated orthant, by default :data:`POINTS`; 0 takes all points.
        tuning: the same of the fits that choose C and gamma, by the errors on 2,000 validation points.
        whole: otherwise only C and gamma are chosen.

    Returns errors (C_tried, gamma_tried) on the validation points; C and gamma, the chosen ones; those of
    :func:`machine`.
    """
    checks.one_of(KERNELS, kernel=kernel)
    form, task = KERNELS[kernel], shells.draw(run)
    small, held = subset(task.train, tuning), task.validation[:VALIDATION]
    seen = np.abs(task.train.x) if kernel == "folded" else task.train.x
    y, values = labels(held), [selection.gamma_value(seen, gamma) for gamma in GAMMAS]
    errors = np.empty((len(PENALTIES), len(values)))
    for j, gamma in enumerate(values):
        gram, across = form(small.x, small.x, gamma), form(held.x, small.x, gamma)
        for i, C in enumerate(PENALTIES):
            f = machines.hinge(gram, labels(small), C).values(across)
            errors[i, j] = selection.misclassified(f, y)
    i, j = np.unravel_index(np.argmin(errors), errors.shape)
    grid = (("C_tried", "gamma_tried"), errors)
    found = xr.Dataset({"errors": grid}, {"C_tried": list(PENALTIES), "gamma_tried": list(map(str, GAMMAS))})
    found = found.assign(C=PENALTIES[i], gamma=values[j])
    return found.merge(machine(run, kernel, C=PENALTIES[i], gamma=values[j], points=points)) if whole else found


@releases_gil
def machine(run: int, kernel: str, *, C: float, gamma: float, points: int | None = None) -> xr.Dataset:
    """Support vector machine with hinge loss and free intercept at given C and gamma; 0 points are all there are.

    Its `scores`, and `support`, the share of points that are support vectors.
    """
    checks.one_of(KERNELS, kernel=kernel)
    form, task = KERNELS[kernel], shells.draw(run)
    points = POINTS[kernel] if points is None else points
    fitted = subset(task.train, points) if points else task.train
    solver = SVC(C=C, kernel=lambda x, z: form(x, z, gamma), cache_size=500)
    if kernel == "gaussian":  # libsvm's own needs no Gram matrix
        solver.set_params(kernel="rbf", gamma=gamma)
    solver.fit(fitted.x, labels(fitted))
    return scores(solver.decision_function, task, run, fitted).assign(support=len(solver.support_) / len(fitted))


@releases_gil
def linear(run: int, *, points: int = 20, author: bool = False) -> xr.Dataset:
    """LinearSVC at all C; also the author's SVC with a linear kernel, stopped after 10,000 iterations, at C = 1.

    With dimension C, NaN for the author's, the `scores`, and `one_sided`: share of orthants whose points are called the
    same.
    """
    task = shells.draw(run)
    fitted, rows = subset(task.train, points), []
    tried = (*PENALTIES, np.nan) if author else PENALTIES
    for C in tried:
        solver = SVC(kernel="linear", max_iter=LINEAR_LIMIT) if np.isnan(C) else LinearSVC(C=C, dual=False)
        fit_quietly(solver, fitted.x, labels(fitted))
        share = shells.by_orthant(solver.decision_function(task.test.x) > 0, task.test)
        one_sided = float(np.isin(share, (0, 1)).mean())
        rows.append(scores(solver.decision_function, task, run, fitted).assign(one_sided=one_sided))
    return xr.concat(rows, "C").assign_coords(C=list(tried))


@releases_gil
def neighbours(run: int, count: int) -> xr.Dataset:
    """The majority of the `count` nearest of all training points, in the input space; its `scores`."""
    checks.integers(1, count=count)
    task = shells.draw(run)
    found = KNeighborsClassifier(count).fit(task.train.x, task.train.label)
    return scores(lambda x: found.predict_proba(x)[:, 1] - 0.5, task, run, task.train)


TEN = list(range(10))
RECORDS: dict[str, Recipe] = {
    "linear_machines": Recipe(
        linear,
        {"run": TEN},
        {"author": True},
        "Table 1: linear machines at nine values of C, and the author's",
        replicates="run",
    ),
    "nearest_neighbours": Recipe(
        neighbours,
        {"count": [1, 5, 25], "run": TEN},
        about="Nearest neighbours in the input space, beside Table 1",
        replicates="run",
    ),
    "fixed_kernels": Recipe(
        fixed,
        {"kernel": list(KERNELS), "run": list(range(5))},
        about="Gaussian machines on x, on its absolute values, and averaged over the reflections",
        replicates="run",
        shortened={"whole": False},
    ),
    "gaussian_full": Recipe(
        fixed,
        {"run": [0]},
        {"kernel": "gaussian", "points": 0},
        "The Gaussian machine on all 20,320 points",
        replicates="run",
        shortened={"whole": False},
    ),
}
