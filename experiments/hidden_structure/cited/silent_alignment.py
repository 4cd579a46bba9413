r"""Is the alignment of the weights silent?  Tangent kernel and loss of a network, step by step.

*Silent alignment* means that the kernel turns towards the target while the loss has not yet fallen, and afterwards
grows only in scale (Atanasov, Bordelon and Pehlevan 2021).  Here both are measured within the first epochs of the
networks of :mod:`experiments.hidden_structure.polynomials`, and from a smaller initialisation.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5.2.3 and Appendix B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.hidden_direction import aligned, cosines
from experiments.hidden_structure.polynomials import BATCH, Problem, Setting, chosen, initial, problem
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.kernels import empirical, layered
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import backpropagation

STEP_EPOCHS, EVERY = 3, 25  # epochs that are looked at every 25 steps
LATER = (4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 50, 60, 80, 100)  # epochs beyond
POINTS, LOSS_POINTS = 500, 2000
NULL_EPOCHS = (0, 1, 2, 3, 5, 10, 20, 40)  # of labels dealt at random
#: The five tasks of the claim.
TASKS = ("independent 3", "independent 5", "independent 7", "correlated 7", "correlated 11")


@releases_gil
def stepwise(
    run: int,
    task: str,
    *,
    scale: float = 1.0,
    later: Sequence[int] = LATER,
    points: int = POINTS,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    r"""A network in the author's configuration without early stopping, looked at every 25 steps for three epochs.

    Args:
        task: case and degree, as in :data:`TASKS`.
        scale: factor of all initial parameters.
        later: epochs after the first three that are looked at; the last one ends the run.
        points: number of training points, the first ones, on which the kernel is taken.

    Returns:
        With dimension step: `loss`, mean absolute error on the first 2,000 training points; `alignment`, centred
        alignment of the tangent kernel with $yy^\top$; `rank`, effective rank of the kernel; `centred_rank`, that of
        $HKH$; `likeness`, cosine of the kernel with the initial one, and `growth`, its norm over that one's; `aligned`
        and `mean_cosine` of the hidden units.  `best_constant`: the loss of the median of the labels.
    """
    case, _, degree = task.partition(" ")
    if not degree.isdigit():
        raise ValueError(f"task must be a case and a degree, as {TASKS[0]!r}, got {task!r}")
    checks.positive(scale=scale)
    whole, setting = problem(case, int(degree), run, size=size), chosen(case, int(degree), None, None, None)
    checks.integers(2, len(whole.rows["train"]), points=points)
    start = initial(case, whole.x.shape[1], setting.width, run)
    start = Stack((scale * start.parameters).astype(np.float32), start.widths)
    per_epoch = -(-len(whole.rows["train"]) // BATCH)
    marks = [*range(0, STEP_EPOCHS * per_epoch, EVERY), *(per_epoch * epoch for epoch in (STEP_EPOCHS, *later))]
    networks = snapshots(start, whole, setting, stream("hidden structure", case, "batches", run), marks)
    return look(networks, whole, points).assign_coords(step=marks)


def snapshots(
    start: Stack, task: Problem, setting: Setting, rng: np.random.Generator, marks: Sequence[int]
) -> list[Stack]:
    """The network after each of the ascending numbers of steps; the steps are those of the ensemble's trainer."""
    dtype, widths = start.parameters.dtype, np.array(start.widths)
    x, y = (np.ascontiguousarray(values[task.rows["train"]], dtype) for values in (task.x, task.y))
    theta, moments = start.parameters[0].copy(), np.zeros((2, start.parameters.shape[1]), dtype)
    ages, trained = np.zeros(len(widths) - 1, np.int64), np.ones(len(widths) - 1, np.bool_)
    rules = (BATCH, backpropagation.ABSOLUTE, backpropagation.ADADELTA, float(setting.rate), float(setting.decay))
    per_epoch, done, networks, order = -(-len(x) // BATCH), 0, [], np.empty(0, np.int64)
    for mark in marks:
        while done < mark:
            first = done % per_epoch
            order = order if first else rng.permutation(len(x))
            last = min(per_epoch, first + mark - done)
            part = order[first * BATCH : last * BATCH]
            backpropagation.epoch(theta, moments, ages, trained, widths, x, y, part, *rules)
            done += last - first
        networks.append(Stack(theta[None].copy(), start.widths))
    return networks


def look(networks: Sequence[Stack], task: Problem, points: int) -> xr.Dataset:
    """What :func:`stepwise` returns, of networks in the order of their steps."""
    train = task.rows["train"]
    x, y, seen = task.x[train[:points]], task.y[train[:points]], train[:LOSS_POINTS]

    def kernel(network: Stack) -> np.ndarray:
        return layered.ntk(*network.network(0), x)

    first, ones, rows = kernel(networks[0]), np.ones((points, 1)), []
    for network in networks:
        now, cosine = kernel(network), cosines(network.weights[0][0], task.direction)
        rows.append(
            {
                "loss": np.mean(np.abs(network.forward(task.x[seen])[0] - task.y[seen])),
                "alignment": empirical.target_alignment(now, y),
                "rank": empirical.effective_rank(now),
                "centred_rank": empirical.effective_rank(empirical.without(now, ones)),
                "likeness": empirical.alignment(now, first),
                "growth": np.linalg.norm(now) / np.linalg.norm(first),
                "aligned": aligned(cosine),
                "mean_cosine": np.nanmean(cosine),
            }
        )
    found = {name: ("step", [float(row[name]) for row in rows]) for name in rows[0]}
    return xr.Dataset(found).assign(best_constant=np.mean(np.abs(task.y[seen] - np.median(task.y[seen]))))


@releases_gil
def shuffled(
    run: int,
    task: str,
    *,
    scale: float = 1.0,
    points: int = POINTS,
    epochs: tuple[int, ...] = NULL_EPOCHS,
    looks: int = 10,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """What :func:`stepwise` measures, on labels dealt at random, with `looks` in each of the first three epochs.

    There is nothing to align with, and the loss hardly falls; what a measure of "early alignment" finds here it finds
    without a cause.
    """
    case, _, degree = task.partition(" ")
    whole = problem(case, int(degree), run, shuffled=True, size=size)
    setting = chosen(case, int(degree), None, None, None)
    start = initial(case, whole.x.shape[1], setting.width, run)
    start = Stack((scale * start.parameters).astype(np.float32), start.widths)
    per_epoch = -(-len(whole.rows["train"]) // BATCH)
    early = np.linspace(0, 3 * per_epoch, 3 * looks + 1).astype(int)
    marks = sorted({*early.tolist(), *(per_epoch * epoch for epoch in epochs)})
    rng = stream("hidden structure", case, "batches", run)
    networks = snapshots(start, whole, setting, rng, marks)
    return look(networks, whole, points).assign_coords(step=marks)


RECORDS: dict[str, Recipe] = {
    "silent": Recipe(
        stepwise,
        {"task": list(TASKS), "scale": [1.0, 0.1], "run": list(range(5))},
        about="Kernel alignment and loss step by step, from the author's and a ten times smaller initialisation",
        replicates="run",
        shortened={"later": ()},
        # Where the loss falls within these epochs, rounding decides where the steps of AdaDelta lead.
        steady={"task": ["correlated 11"]},
    ),
    "silent_shuffled": Recipe(
        shuffled,
        {"task": ["independent 3", "independent 7", "correlated 7"], "run": list(range(5))},
        about="Kernel alignment and loss step by step on labels dealt at random",
        replicates="run",
        shortened={"epochs": (0, 1)},
    ),
}
