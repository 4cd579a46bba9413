"""Runs that only the document's figures need: Figure 4, and two things that figures hang on and do not show.

Which hidden units are left at the end of degree 7, Figure 12 (a), and how little chooses the C of the machine on the
kernel of an untrained network, Figure 17 (b, c).

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Appendix B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials, selection
from experiments.hidden_structure.alignment.kernel_paths import CHOSEN_ON, FOLDS, PENALTIES, POINTS, absolute
from experiments.hidden_structure.hidden_direction import cosines
from experiments.hidden_structure.polynomials import STOPPING, chosen, initial, problem
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.kernels import layered
from shallow.stats import stream

EARLY = 2  # epochs after which a recomputed run is compared


@releases_gil
def units(
    run: int,
    degree: int = 7,
    *,
    epochs: int = polynomials.EPOCHS,
    patience: int = polynomials.PATIENCE,
    whole: bool = True,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """The author's network at its end: `cosine` (unit) with the hidden direction, and `norm` (unit) of the weights.

    Norms are in units of the median norm at the start.  `early` (unit) are the cosines after two epochs, all that is
    returned if training is not to be `whole`.  Cost: up to two minutes.
    """
    task, setting = problem("independent", degree, run, size=size), chosen("independent", degree, None, None, None)
    start = initial("independent", task.x.shape[1], setting.width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    schedule = {"epochs": epochs if whole else EARLY, "patience": patience, **STOPPING}
    fit = polynomials.fitted(task, start, setting, rng, records=[EARLY], **schedule)
    early = xr.Dataset({"early": ("unit", cosines(fit.snapshot(EARLY).weights[0][0], task.direction))})
    if not whole:
        return early
    first, last = (np.linalg.norm(one.weights[0][0].astype(np.float64), axis=1) for one in (start, fit.last))
    cosine = cosines(fit.last.weights[0][0], task.direction)
    return early.assign(cosine=("unit", cosine), norm=("unit", last / np.median(first)), epochs=fit.epochs[0])


@releases_gil
def untrained(
    run: int,
    degree: int = 12,
    *,
    points: int = POINTS,
    chosen_on: int = CHOSEN_ON,
    penalties: Sequence[float] = PENALTIES,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """Machines on the tangent kernel of the author's network before training, correlated inputs, at every C.

    Returns by C: `error` (fold), the mean squares of the cross-validation that chooses C; `spread`, the deviation of
    the test predictions of a machine on all `points`, over that of the labels.  Cost: half a minute.
    """
    task, setting = problem("correlated", degree, run, size=size), chosen("correlated", degree, None, None, None)
    network = initial("correlated", task.x.shape[1], setting.width, run).network(0)
    fitted, test = task.rows["train"][:points], task.rows["test"]
    kernel = layered.ntk(*network, task.x[fitted])
    across = layered.ntk(*network, task.x[test], task.x[fitted])
    splits = selection.folds(stream("hidden structure", "correlated", "folds", run), chosen_on, FOLDS)
    inner, labels = kernel[:chosen_on, :chosen_on], task.y[fitted[:chosen_on]]
    found = selection.path(inner, labels, penalties, splits, fit=absolute, error=selection.mean_square)
    predictions = [absolute(kernel, task.y[fitted], C).values(across) for C in penalties]
    spread = np.std(predictions, axis=1) / task.y[test].std()
    return xr.Dataset({"error": (("C", "fold"), found.errors), "spread": ("C", spread)}, {"C": list(penalties)})


RECORDS: dict[str, Recipe] = {
    "given": polynomials.of_networks(
        {"degree": [18, 19], "run": [0]},
        {"case": "given", "keep": True, **STOPPING},
        "Figure 4: predictions of networks that are given v",
    ),
    "units_7": Recipe(
        units,
        {"run": [0]},
        {},
        "Figure 12 (a): cosine and size of every hidden unit at the end of degree 7",
        replicates="run",
        agreement=Agreement(elsewhere=0.05),
        shortened={"whole": False},
    ),
    "untrained_12": Recipe(
        untrained,
        {"run": list(range(10))},
        {},
        "Figure 17 (b, c): how nearly all C are equally bad before training",
        replicates="run",
        agreement=Agreement(relative=1e-3),
        shortened={"penalties": PENALTIES[:4]},
    ),
}
