r"""A null for silent alignment: the same networks on labels that are dealt to the points at random.

There is nothing to align with, and the loss hardly falls; what a measure of "early alignment" finds here it finds
without a cause.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.cited import silent_alignment
from experiments.hidden_structure.polynomials import BATCH, chosen, initial, problem
from shallow.book.recipes import Recipe, releases_gil
from shallow.mlp import Stack
from shallow.stats import stream

EPOCHS = (0, 1, 2, 3, 5, 10, 20, 40)


@releases_gil
def shuffled(
    run: int,
    task: str,
    *,
    scale: float = 1.0,
    points: int = silent_alignment.POINTS,
    epochs: tuple[int, ...] = EPOCHS,
    looks: int = 10,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """What :func:`silent_alignment.stepwise` measures, on shuffled labels, with `looks` in each of the first epochs.

    Args:
        task: case and degree, as "independent 7".
        scale: factor of all initial parameters.
        points: number of training points on which the kernel is taken.
        epochs: that are looked at, ascending.
        looks: moments between two consecutive ones of the first three epochs.

    Cost: 0.03 s per epoch at width 512 and the same for every look.
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
    networks = silent_alignment.snapshots(start, whole, setting, rng, marks)
    return silent_alignment.look(networks, whole, points).assign_coords(step=marks)


RECORDS: dict[str, Recipe] = {
    "silent_shuffled": Recipe(
        shuffled,
        {"task": ["independent 3", "independent 7", "correlated 7"], "run": list(range(5))},
        {},
        "Kernel alignment and loss step by step on labels dealt at random",
        replicates="run",
        shortened={"epochs": (0, 1)},
    )
}
