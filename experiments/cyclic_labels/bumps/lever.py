"""A beam: how far the lone point lies from its neighbours, and how many points lift the middle.

Bumps are those of :mod:`.cells`, with small steps.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.theory import poor_cluster
from shallow import checks, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.train import univariate
from shallow.train.run import schedule

AT = (0.1, 0.3, 0.5, 0.7, 0.9)  # from the border with its neighbour (0) to the end of the interval (1)
LIFTERS = (6, 8, 10, 12, 14)  # points in each of the two middle clusters of the poor cluster's label


def _climb(data: cyclic.Sample, seed: int, x: np.ndarray) -> xr.Dataset:
    """The bump of the sample's network in small steps on its labels at x, and the last cluster's highest loss."""
    finer = poor_cluster.REFINED
    records = schedule(finer * bumps.INTERVAL, finer * bumps.EPOCHS)
    network, options = nets.default(data.rng, poor_cluster.WIDTH), dict(records=records, grid=loss_curves.GRID)
    run = univariate.train(x, data.y, network, step=bumps.STEP / finer, epochs=int(records[-1]), **options)
    losses = loss_curves.hinge(run.predictions)
    curves = {
        "train_loss": ("epoch", run.loss),
        "test_loss": ("epoch", losses.mean(axis=-1)),
        "cluster_loss": (("epoch", "cluster"), loss_curves.by_cluster(losses)),
    }
    runs = xr.Dataset(curves, {"epoch": records // finer}).expand_dims(seed=[seed])
    found = bumps.slow(runs)[["rise", "low", "peak", "diverging", "recovers", "cluster"]]
    return found.assign(highest=poor_cluster.poor_loss(runs).highest).isel(seed=0, drop=True)


@releases_gil
def moved(seed: int, at: float) -> xr.Dataset:
    """The bump of a run of poor(5, 1) whose lone point is put at the share `at` of its cluster; all else as drawn."""
    checks.within("[0, 1]", at=at)
    data = cyclic.sample(50, base=7, seed=seed, design="poor(5,1)")
    alone = cyclic.clusters(data.x, 3) == poor_cluster.POOR
    return _climb(data, seed, np.where(alone, (2 + at) / 6, data.x))


@releases_gil
def held(seed: int, at: float, points: int) -> xr.Dataset:
    """The bump of a run with `points` in the last cluster, all at the share `at` of it; a second one is the first's.

    What was expected before the runs: if the output is an arm about the last support, at the centre of the fifth
    cluster, the hold of q points at the distance d goes by q d.  So two points at 0.1 should make as few bumps as one
    at 0.7 does, and two at 0.2 as few as one at 0.9.  If it only counts how much of the cluster is far from a point,
    a second point in the same place should change nothing.
    """
    checks.within("[0, 1]", at=at)
    checks.integers(1, 10, points=points)
    data = cyclic.from_counts([11 - points, 10, 10, 10, 9, points], base=7, seed=seed)
    last = cyclic.clusters(data.x, 3) == poor_cluster.POOR
    return _climb(data, seed, np.where(last, (2 + at) / 6, data.x))


@releases_gil
def lifted(seed: int, lifters: int, points: int) -> xr.Dataset:
    """The bump of a run with `points` in the last cluster and `lifters` in each of the two middle ones of its label.

    The two clusters of the other label beside them have 20 - lifters each, the last cluster's neighbour 10 - points.
    """
    checks.integers(0, 20, lifters=lifters)
    checks.integers(0, 10, points=points)
    data = cyclic.from_counts([20 - lifters, lifters] * 2 + [10 - points, points], base=7, seed=seed)
    return _climb(data, seed, data.x)


def exact_climb(places: poor_cluster.Places) -> float:
    """Climb of the mean loss on the exact path of the places."""
    curve = poor_cluster.curves(places).expand_dims(seed=[0])
    return float(bumps.slow(curve, start=100).rise[0])


def exact_lifted(lifters: int, points: int) -> poor_cluster.Places:
    """The counts of :func:`lifted`, at the centres of the clusters."""
    x, counts = (np.arange(6) + 0.5) / 6 - 0.5, [20 - lifters, lifters] * 2 + [10 - points, points]
    return poor_cluster.Places(x, cyclic.labels(x), np.array(counts))


SEEDS = list(range(1000, 1100))
RECORDS: dict[str, Recipe] = {
    "lever": Recipe(
        moved,
        {"at": list(AT), "seed": SEEDS},
        about="Bumps with the lone point at five places of the last cluster, all else equal",
    ),
    "hold": Recipe(
        held,
        {"points": [1, 2], "at": [0.1, 0.2, 0.7, 0.9], "seed": SEEDS},
        about="Bumps with one and two points at one place of the last cluster, by the place",
    ),
    "lifters": Recipe(
        lifted,
        {"points": [1, 2], "lifters": list(LIFTERS), "seed": SEEDS},
        about="Bumps with one and two points in the last cluster, by the points that lift the middle",
    ),
}
