r"""Points for classifiers on shells in orthants, and what such a classifier does in full, empty and other orthants.

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Table 1 and Figure 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from experiments.hidden_structure import shells
from shallow import checks
from shallow.mlp import Stack
from shallow.stats import stream

REGIONS = ["empty", "neighbour", "distant"]
Values = Callable[[np.ndarray], np.ndarray]
_ROWS = 4096  # points whose kernel with those of the fit is held at a time


def subset(points: shells.Points, per_class: int) -> shells.Points:
    """The first `per_class` points of each class in each orthant that has any; ValueError where there are fewer."""
    cell = len(shells.RADII) * points.orthant + points.label
    order = np.argsort(cell, kind="stable")
    _, first, count = np.unique(cell[order], return_index=True, return_counts=True)
    checks.integers(1, int(count.min()), per_class=per_class)  # the points of the emptiest cell
    return points[order[np.arange(len(cell)) - np.repeat(first, count) < per_class]]


def labels(points: shells.Points) -> np.ndarray:
    """Classes 0 and 1 as -1.0 and 1.0."""
    return 2.0 * points.label - 1


def network_scores(network: Stack, task: shells.Task, run: int, fitted: shells.Points) -> xr.Dataset:
    """:func:`scores` of a network, named `network_*`."""
    measured = scores(lambda x: network.forward(x)[0], task, run, fitted)
    return measured.rename({name: f"network_{name}" for name in measured.data_vars})


def scores(values: Values, task: shells.Task, run: int, fitted: shells.Points) -> xr.Dataset:
    """What a classifier does on the populated orthants, in the empty one and along the radius.

    Args:
        values: x (n, 7) -> f (n,), class 1 where f > 0.
        task: data with one empty orthant.
        run: names the points of the profile.
        fitted: points of the fit.

    Returns:
        `train`, `validation`: accuracy on the points of the fit and of the validation set; `empty`, E; `others`,
        `worst`: mean M and minimum over the populated orthants; `ones`: share of the empty orthant called class 1;
        `profile` (region, radius): fraction called class 1 at the radii of Figure 2, the same points in the empty
        orthant, a neighbour and a distant one.
    """
    studied, line = shells.empty_orthant(run), shells.profile(stream("orthants", run, "profile"))
    there = [shells.reflected(line, orthant).reshape(-1, line.shape[-1]) for orthant in shells.compared(studied)]
    parts = [fitted.x, task.validation.x, task.test.x, *there]
    x = np.concatenate(parts)
    called = np.concatenate([values(x[start : start + _ROWS]) > 0 for start in range(0, len(x), _ROWS)])
    train, validation, test, *profile = np.split(called, np.cumsum([len(part) for part in parts])[:-1])
    accuracy = shells.by_orthant(test == task.test.label, task.test)
    others = accuracy[task.counts > 0]
    return xr.Dataset(
        {
            "train": (train == fitted.label).mean(),
            "validation": (validation == task.validation.label).mean(),
            "empty": accuracy[studied],
            "others": others.mean(),
            "worst": others.min(),
            "ones": test[task.test.orthant == studied].mean(),
            "profile": (("region", "radius"), [part.reshape(line.shape[:2]).mean(axis=1) for part in profile]),
        },
        {"region": REGIONS, "radius": shells.PROFILE},
    )
