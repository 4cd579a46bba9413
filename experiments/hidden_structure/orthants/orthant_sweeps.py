"""The recorded networks on orthant shells: the document's, other sizes and rates, and other data; name -> recipe.

Further arguments of a cell, `options`, are those of :func:`experiments.hidden_structure.orthants.cells.study`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from experiments.hidden_structure import shells
from experiments.hidden_structure.orthants.cells import AUTHORS, BATCH, author, document, network, study
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.stats import stream

ORTHANTS = 2**shells.DIMENSION
#: Empty orthants of the document's logs, one for each data set of the two-way design.
EMPTY = (2, 15, 40, 56, 82, 99)
#: Widths besides the document's, by depth, at learning rate 1e-3 without weight decay.
WIDTHS = {
    1: [32, 64, 512, 2048],
    2: [32, 64, 128, 256],
    3: [8, 16, 32, 128],
    4: [8, 16, 64, 128],
    5: [8, 16, 32, 64, 128],
}
TWENTY, TEN, FIVE = list(range(20)), list(range(10)), list(range(5))


@releases_gil
def by_points(run: int, depth: int, **options) -> xr.Dataset:
    """The document's networks, stopped by the mean validation loss over the points as all records but `orthants` are.

    Data, start and batches are those of :func:`author`, so that the two part where one of them stops.
    """
    width, rate, decay = document(depth)
    return network(run, depth, width, rate=rate, decay=decay, **options)


@releases_gil
def nudged(run: int, depth: int, nudge: int, **options) -> xr.Dataset:
    """:func:`author` with one training point, counted from 1, moved by its last bit in single precision; 0 for none."""
    task, (width, rate, decay) = shells.draw(run), document(depth)
    checks.integers(0, len(task.train), nudge=nudge)
    x = task.train.x.copy()
    if nudge:
        x[nudge - 1] = np.nextafter(x[nudge - 1].astype(np.float32), np.float32(np.inf))
    task = replace(task, train=replace(task.train, x=x))
    protocol = {"rate": rate, "decay": decay, "validation_batch": BATCH}
    return study(task, int(task.empty[0]), run, depth, width, **protocol, **options)


@releases_gil
def fewer_neighbours(run: int, removed: int, kind: str, **options) -> xr.Dataset:
    """The document's three layers where the focus and further orthants are empty, "neighbours" or "random" ones."""
    first = shells.empty_orthant(run)
    pools = {"neighbours": shells.neighbours(first), "random": np.setdiff1d(np.arange(ORTHANTS), first)}
    checks.one_of(pools, kind=kind)
    checks.integers(0, shells.DIMENSION, removed=removed)
    further = stream("orthants", run, "removed", kind).permutation(pools[kind])[:removed]
    return _three_layers(run, first, shells.all_but([first, *further]), **options)


#: What is emptied beside the focus: nothing, all orthants across one plane, all across one or two, as many others.
AROUND = ("none", "neighbours", "two planes", "others")


@releases_gil
def emptied_around(run: int, depth: int, width: int, removed: str, **options) -> xr.Dataset:
    """:func:`network` where the orthants of :data:`AROUND` are empty too; the others keep the neighbours."""
    checks.one_of(AROUND, removed=removed)
    first = shells.empty_orthant(run)
    planes = np.bitwise_count(np.arange(ORTHANTS) ^ first)
    near = {"none": 0, "neighbours": 1, "two planes": 2}
    if removed in near:
        further = np.flatnonzero((planes > 0) & (planes <= near[removed]))
    else:
        as_many = np.count_nonzero((planes == 1) | (planes == 2))
        further = stream("orthants", run, "around").permutation(np.flatnonzero(planes > 2))[:as_many]
    return study(shells.draw(run, shells.all_but([first, *further])), first, run, depth, width, **options)


@releases_gil
def many_empty(run: int, emptied: int, *, refilled: bool = False, **options) -> xr.Dataset:
    """The document's three layers where `emptied` orthants are empty, the focus and others at random.

    Refilled, the others hold more points each, so that their total stays that of one empty orthant.
    """
    checks.integers(1, ORTHANTS - 1, emptied=emptied)
    first = shells.empty_orthant(run)
    further = stream("orthants", run, "emptied").permutation(np.setdiff1d(np.arange(ORTHANTS), first))[: emptied - 1]
    per_class = round(shells.PER_CLASS * (ORTHANTS - 1) / (ORTHANTS - emptied)) if refilled else shells.PER_CLASS
    return _three_layers(run, first, shells.all_but([first, *further], per_class=per_class), **options)


def _three_layers(run: int, studied: int, counts: np.ndarray, **options) -> xr.Dataset:
    width, rate, decay = document(3)
    return study(shells.draw(run, counts), studied, run, 3, width, rate=rate, decay=decay, **options)


@releases_gil
def sparse(run: int, depth: int, points: int, *, width: int = 64, **options) -> xr.Dataset:
    """A network where the focus has so many points of each class before the split, and all other orthants are full."""
    return study(_with_few(run, points), shells.empty_orthant(run), run, depth, width, **options)


def _with_few(run: int, points: int, per_class: int = shells.PER_CLASS) -> shells.Task:
    checks.integers(0, shells.PER_CLASS, points=points)
    counts = shells.all_but(shells.empty_orthant(run), per_class=per_class)
    counts[shells.empty_orthant(run)] = points
    return shells.draw(run, counts)


@releases_gil
def crossed(data: int, start: int, depth: int, **options) -> xr.Dataset:
    """The document's network of some depth on one of six data sets, whose empty orthants are those of :data:`EMPTY`.

    A start, initialisation and order of the batches, is the same for every data set.
    """
    checks.integers(0, len(EMPTY) - 1, data=data)
    width, rate, decay = document(depth)
    task = shells.draw(f"crossed {data}", shells.all_but(EMPTY[data]))
    return study(task, EMPTY[data], start, depth, width, rate=rate, decay=decay, **options)


# Records.  A cell is verified by the untrained network and the first epoch; 635 steps magnify rounding.


def _recipe(cell, axes: dict, about: str, *, replicates: str = "run", **fixed: object) -> Recipe:
    short = {"epochs": 1, "final": False}
    return Recipe(cell, axes, fixed, about, replicates=replicates, shortened=short)


RECORDS: dict[str, Recipe] = {
    "orthants": replace(
        _recipe(
            author,
            {"depth": list(AUTHORS), "run": TWENTY},
            "Tables 1 and 2, Figure 2: the document's networks, with their weights (of ten runs at five layers)",
            keep=[20, 20, 20, 20, 10],
        ),
        exact=("theta",),
    ),
    "orthants_by_points": _recipe(
        by_points,
        {"depth": list(AUTHORS), "run": TWENTY},
        "The same networks, stopped by the mean validation loss over the points",
    ),
    "orthant_nudged": _recipe(
        nudged,
        {"depth": [1, 3], "run": list(range(8)), "nudge": [1, 2, 3]},
        "The document's networks with one training point moved by its last bit",
    ),
    **{
        f"orthant_widths_{depth}": _recipe(
            network,
            {"width": widths, "run": TWENTY if depth == 3 else TEN},
            f"Other widths at {depth} hidden layer{'s' if depth > 1 else ''}",
            depth=depth,
        )
        for depth, widths in WIDTHS.items()
    },
    "orthant_width_256": _recipe(
        network, {"width": [256], "run": TEN}, "Three hidden layers, wider than in the document's grid", depth=3
    ),
    "orthant_slow_rate": _recipe(
        network,
        {"depth": [1, 2, 3, 4], "run": FIVE},
        "All depths with the learning rate and width of the document's deepest network",
        width=128,
        rate=1e-4,
    ),
    "orthant_neighbours": _recipe(
        fewer_neighbours,
        {"kind": ["neighbours", "random"], "removed": [1, 3, 7], "run": TEN},
        "Further orthants emptied: neighbours of the empty one, or any",
    ),
    "orthant_reach": _recipe(
        emptied_around,
        {"depth": [1, 2, 3], "removed": list(AROUND), "run": TEN},
        "All orthants across one plane emptied, or across two, or as many others: 128 neurons a layer",
        width=128,
    ),
    "orthant_reach_wide": _recipe(
        emptied_around,
        {"depth": [1], "removed": list(AROUND), "run": TEN},
        "The same with one layer of 512 neurons",
        width=512,
    ),
    "orthant_many_empty": _recipe(
        many_empty, {"emptied": [2, 4, 8, 16, 32, 64], "run": TEN}, "Up to half of the orthants empty"
    ),
    "orthant_sparse": _recipe(
        sparse,
        {"depth": [1, 3, 5], "points": [1, 2, 5, 10, 20, 50], "run": FIVE},
        "Few points in the otherwise empty orthant",
    ),
    "orthant_crossed": _recipe(
        crossed,
        {"depth": [1, 3], "data": list(range(len(EMPTY))), "start": list(range(6))},
        "Six data sets by six initialisations",
        replicates="start",
    ),
    "orthant_selection": _recipe(
        network,
        {"width": [32, 64, 128], "rate": [1e-4, 1e-3, 1e-2], "decay": [0.0, 1e-4, 1e-3], "run": list(range(3))},
        "The document's selection after ten epochs against the end",
        depth=3,
    ),
}
