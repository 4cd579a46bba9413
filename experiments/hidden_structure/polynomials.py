r"""Networks on polynomials of a hidden direction: training from x, from correlated x or from v, and what is measured.

Configurations are those that the author's model selection picked; run 0 has the author's inputs, splits and initial
weights.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5 and Appendices A and B,
and its public code, logs and configuration files.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.hidden_direction import cosines
from experiments.hidden_structure.polynomial_measures import directions, fits, trainable, weights
from shallow import mlp
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble
from shallow.train.ensemble import MODES

NETWORK_SEED = 47647  # the author's, of the initial weights
EPOCHS, PATIENCE, BATCH = 500, 50, 32
#: The author's program stops by the mean over batches of a reshuffled validation set, not over its points.  So do the
#: records from_x and curves; R_c differs by less than 0.01 where runs fit.
STOPPING = {"validation_batch": BATCH}
ALIGNED = 0.02  # share of aligned units by which the epoch of alignment is recognised
PARTS = ("train", "validation", "test")


class Setting(NamedTuple):
    """A configuration: hidden units, learning rate of AdaDelta, weight decay."""

    width: int
    rate: float
    decay: float


def _settings(*rows: tuple[int, int, float, float]) -> dict[int, Setting]:
    return {degree: Setting(*setting) for degree, *setting in rows}


#: The setting that no selection has to defend: it won at degrees 3 and 6, on both kinds of inputs.
COMMON = Setting(512, 1, 0)
#: What the author's selection chose, by case and degree; the correlated case has no run of degree 4, 5 and 7.
SETTINGS = {
    "independent": _settings(
        (3, *COMMON),
        (4, 256, 1, 1e-4),
        (5, 256, 1, 1e-4),
        (6, *COMMON),
        (7, 512, 1, 1e-3),
        (8, 256, 1, 10),
        (9, 128, 1, 100),
    ),
    "correlated": _settings(
        (3, *COMMON),
        (4, *COMMON),
        (5, *COMMON),
        (6, *COMMON),
        (7, *COMMON),
        (8, 512, 1, 1e-4),
        (9, 1024, 1, 0),
        (10, 128, 1, 1e-4),
        (11, 256, 1, 0),
        (12, 128, 1, 10),
        (13, 128, 1, 1),
        (14, 512, 1e-3, 0),
        (15, 128, 0.1, 100),
        (16, 128, 1, 100),
        (17, 256, 1e-3, 1e-4),
        (18, 512, 1e-3, 1),
        (19, 512, 1e-3, 0),
    ),
    "given": _settings(
        (9, 1024, 1, 0),
        (10, 1024, 0.01, 1e-3),
        (11, 1024, 1, 1e-3),
        (12, 128, 1, 1e-3),
        (13, 512, 1, 1e-3),
        (14, 128, 1, 0),
        (15, 1024, 1, 0),
        (16, 128, 0.01, 1e-3),
        (17, 512, 0.1, 1e-3),
        (18, 128, 1, 1e-4),
        (19, 128, 1e-3, 0.1),
        (20, 128, 1e-3, 0.1),
    ),
}
WIDEST = 1024


class Problem(NamedTuple):
    """Inputs x (n, p), hidden coordinate v (n,), labels y (n,), row numbers of the parts, and the direction (p,)."""

    x: np.ndarray
    v: np.ndarray
    y: np.ndarray
    rows: dict[str, np.ndarray]
    direction: np.ndarray


def problem(case: str, degree: int, run: int, *, shuffled: bool = False, size: int = hidden_index.SIZE) -> Problem:
    """The polynomial of a degree on the inputs of a run; shuffled, its values are dealt to the points at random."""
    drawn = hidden_index.draw(case, run, size=size)
    y = hidden_index.polynomial(degree)(drawn.v)
    if shuffled:
        y = stream("hidden structure", case, "shuffled labels", run).permutation(y)
    return Problem(drawn.x, drawn.v, y, rows(drawn), np.ones(drawn.x.shape[1]))


def rows(drawn: hidden_index.Draw) -> dict[str, np.ndarray]:
    """The row numbers of the parts of a draw, by name."""
    return {part: getattr(drawn, part) for part in PARTS}


def initial(case: str, inputs: int, width: int, run: int) -> Stack:
    """One network; from x its first layer is half antisymmetric, given v it is PyTorch's default.  Run 0: author's."""
    named = stream("hidden structure", case, "initial weights", width, run)
    rng = named if run else torch.Generator().manual_seed(NETWORK_SEED)
    start = mlp.default([rng], (inputs, width, 1))
    return start if case == "given" else half_antisymmetric(start)


def half_antisymmetric(networks: Stack) -> Stack:
    """The document's symmetric start: the second half of the first layer, weights and biases, is minus its first half.

    The output layer stays as it is, so the output is not 0.
    """
    changed, half = _copied(networks)
    for part in (changed.weights[0], changed.biases[0]):
        part[:, half:] = -part[:, :half]
    return changed


def paired(networks: Stack) -> Stack:
    """Equal units in pairs with opposite output weights, and no output bias, so that f = 0; one hidden layer only."""
    if len(networks.widths) != 3:
        raise ValueError(f"networks must have one hidden layer, got widths {networks.widths}")
    changed, half = _copied(networks)
    for part in (changed.weights[0], changed.biases[0]):
        part[:, half:] = part[:, :half]
    output, offset = changed.weights[1], changed.biases[1]
    output[..., half:] = -output[..., :half]
    offset[:] = 0
    return changed


def _copied(networks: Stack) -> tuple[Stack, int]:
    """A copy to be changed, and half the width of its first hidden layer."""
    half, odd = divmod(networks.widths[1], 2)
    if odd:
        raise ValueError(f"networks must have a first hidden layer of even width, got widths {networks.widths}")
    return Stack(networks.parameters.copy(), networks.widths), half


def chosen(case: str, degree: int, width: int | None, rate: float | None, decay: float | None) -> Setting:
    """The author's configuration, with what is not None in its place; all three are needed where there is none."""
    asked = (width, rate, decay)
    known = SETTINGS.get(case, {}).get(degree)
    if known is None and None in asked:
        degrees = ", ".join(map(str, SETTINGS.get(case, {})))
        raise ValueError(f"degree must be one of {degrees} in case {case!r} without width, rate and decay: {degree}")
    return Setting(*(own if own is not None else known[i] for i, own in enumerate(asked)))


@releases_gil
def network(
    run: int,
    degree: int,
    *,
    case: str = "independent",
    width: int | None = None,
    rate: float | None = None,
    decay: float | None = None,
    shuffled: bool = False,
    size: int = hidden_index.SIZE,
    **schedule,
) -> xr.Dataset:
    """One network of the document, by default in its configuration; `schedule` and the result are of :func:`trained`.

    Cost: 250 steps an epoch; about 0.03 s at width 512 and 100 inputs, a quarter of that given v.
    """
    setting = chosen(case, degree, width, rate, decay)
    task = problem(case, degree, run, shuffled=shuffled, size=size)
    start = initial(case, task.x.shape[1], setting.width, run)
    return trained(task, start, setting, stream("hidden structure", case, "batches", run), **schedule)


def trained(
    task: Problem,
    start: Stack,
    setting: Setting,
    rng: np.random.Generator,
    *,
    mode: str = "regular",
    warmup: int = 1,
    epochs: int = EPOCHS,
    patience: int | None = PATIENCE,
    validation_batch: int | None = None,
    optimiser: str = "adadelta",
    early: int = 20,
    whole: bool = True,
    keep: bool = False,
) -> xr.Dataset:
    """Train a network with the absolute loss in batches of 32, and measure the path of its beginning and its end.

    Args:
        mode, warmup, epochs, patience, validation_batch: as in :func:`shallow.train.ensemble.train`.
        early: epochs whose path is kept.
        whole: if not, training ends with the path, and nothing else is returned.
        keep: also the cosines and the predictions of :func:`kept`.

    Returns:
        With dimension epoch = 0, ..., `early` (NaN after the end) `path_*` of the :func:`directions`, and the losses
        `path_training`, `path_validation` (absolute) and `path_square` (mean square on the validation points).
        Of the end: :func:`directions`, :func:`weights` and :func:`fits`; `epochs`, `best_epoch`, `diverged`;
        `alignment_epoch`, the first of the path with a share of at least :data:`ALIGNED`, NaN without; `trainable`,
        the number of parameters that are trained after the warm-up; `best_r2`, the `r2` of the test bulk with the
        weights of the best epoch in the place of the last.
    """
    initial_norm = np.median(np.linalg.norm(start.weights[0][0], axis=1))
    validation = task.rows["validation"]

    def look(now: Stack) -> dict[str, float]:
        square = np.mean((now.forward(task.x[validation])[0] - task.y[validation]) ** 2)
        return directions(now, task.direction, initial_norm) | {"square": float(square)}

    warming = 0 if mode == "regular" else warmup
    total = epochs if whole else max(1, early - warming)
    fit = fitted(
        task,
        start,
        setting,
        rng,
        optimiser=optimiser,
        epochs=total,
        mode=mode,
        warmup=warming,
        patience=patience,
        validation_batch=validation_batch,
        records=range(min(early, warming + total) + 1),
        measure=look,
    )
    found = path(fit, early)
    if not whole:
        return found
    end = {**directions(fit.last, task.direction, initial_norm), **weights(fit.last, start, initial_norm)}
    crossed = np.flatnonzero(found.path_aligned >= ALIGNED)
    end |= {
        "epochs": fit.epochs[0],
        "best_epoch": fit.best_epoch[0],
        "diverged": fit.diverged[0],
        "alignment_epoch": float(crossed[0]) if len(crossed) else np.nan,
        "trainable": trainable(start, mode),
        "best_r2": _fits(fit.best, task).r2.sel(part="test", range="bulk").item(),
    }
    found = found.assign(end).merge(_fits(fit.last, task))
    return found.merge(kept(fit, task)) if keep else found


def fitted(
    task: Problem, start: Stack, setting: Setting, rng: np.random.Generator, *, optimiser: str = "adadelta", **options
) -> ensemble.Fit:
    """A network trained as in the document: absolute loss, batches of 32; `options` are of `ensemble.train`."""
    train, validation = ((task.x[part], task.y[part]) for part in (task.rows["train"], task.rows["validation"]))
    return ensemble.train(
        start,
        *train,
        validation=validation,
        rngs=[rng],
        loss="absolute",
        optimiser=optimiser,
        rate=setting.rate,
        decay=setting.decay,
        batch=BATCH,
        **options,
    )


def _fits(network: Stack, task: Problem) -> xr.Dataset:
    return fits(network.forward(task.x)[0], task.v, task.y, task.rows)


def path(fit: ensemble.Fit, early: int) -> xr.Dataset:
    """What was seen of one network at epochs 0, ..., `early`, NaN after its end; dimension epoch."""
    values = {name: [value[name] for value in fit.values[0]] for name in fit.values[0][0]}
    values |= {name: [np.nan, *getattr(fit, name)[0, :early]] for name in ("training", "validation")}
    padded = {f"path_{name}": np.full(early + 1, np.nan) for name in values}
    for name, seen in values.items():
        padded[f"path_{name}"][: len(seen)] = seen
    return xr.Dataset({name: ("epoch", array) for name, array in padded.items()}, {"epoch": range(early + 1)})


def kept(fit: ensemble.Fit, task: Problem) -> xr.Dataset:
    """For pictures: `cosine` (unit) of the end, NaN from the width on; `v`, `y`, `prediction` (point) of the test.

    And `learnt` (training), the predictions at the training points, whose v and y are those of :func:`problem`.
    """
    cosine = np.full(WIDEST, np.nan)
    found = cosines(fit.last.weights[0][0], task.direction)
    cosine[: len(found)] = found
    test = task.rows["test"]
    points = {"v": task.v[test], "y": task.y[test], "prediction": fit.last.forward(task.x[test])[0]}
    pictures = {"cosine": ("unit", cosine)} | {name: ("point", array) for name, array in points.items()}
    return xr.Dataset(pictures | {"learnt": ("training", fit.last.forward(task.x[task.rows["train"]])[0])})


RUNS = list(range(10))
#: A recomputed cell repeats the first epochs; on another kind of processor a few units may have crossed a threshold.
RULE = {
    "replicates": "run",
    "agreement": Agreement(elsewhere=0.05),  # at degree 9 two epochs already magnify rounding
    "shortened": {"early": 2, "whole": False},
}
of_networks = functools.partial(Recipe, network, **RULE)
RECORDS: dict[str, Recipe] = {
    "from_x": of_networks(
        {"degree": [3, 4, 5, 6, 7, 8, 9], "run": RUNS},
        {"early": 60, **STOPPING},
        "Networks on polynomials of the sum of 100 independent inputs, author's configurations",
    ),
    "from_correlated_x": of_networks(
        {"degree": list(range(3, 16)), "run": RUNS},
        {"case": "correlated", "early": 60},
        "Networks on polynomials of the sum of 100 correlated inputs, author's configurations",
    ),
    "shuffled_labels": of_networks(
        {"degree": [3, 6, 8, 9, 10, 11], "run": RUNS[:5]},
        {"case": "correlated", "shuffled": True, "early": 60},
        "The networks on correlated inputs with the labels dealt at random: alignment without a target",
    ),
    "from_v": of_networks(
        {"degree": list(range(9, 21)), "run": RUNS},
        {"case": "given"},
        "Networks on polynomials of their one input, author's configurations",
    ),
    "frozen": of_networks(
        {"degree": [3, 4, 5, 6, 7], "mode": ["stop-first", "first-last", "reinit"], "run": RUNS},
        about="Networks whose first layer is frozen after one epoch",
    ),
    "warm_up": of_networks(
        {"degree": [3, 6], "warmup": [0, 1, 2, 3, 5, 8, 12, 20], "run": RUNS},
        {"mode": "stop-first"},
        "Networks whose first layer is frozen after a warm-up of zero to twenty epochs",
    ),
    "curves": of_networks(
        {"degree": [3, 6, 7, 8], "mode": list(MODES), "run": [0]},
        {"keep": True, **STOPPING},
        "Predictions and cosines of the networks with the author's inputs and initial weights",
    ),
}
