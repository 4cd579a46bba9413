"""Whose loss climbs: the losses of the clusters where the mean loss is low and at its peak, by their counts."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps.lever import exact_climb
from experiments.cyclic_labels.theory import poor_cluster
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.train import univariate
from shallow.train.run import schedule

#: Points in the six clusters: a lone point beside equal clusters; a second point, taken from the first cluster, which
#: is a support; eight in each of the two that lift, or twelve in the middle, given to the first or taken from it.
COUNTS = {
    "one point": (10, 10, 10, 10, 9, 1),
    "two points": (9, 10, 10, 10, 9, 2),
    "fewer lift": (14, 8, 10, 8, 9, 1),
    "more in the middle": (8, 10, 12, 10, 9, 1),
}


@releases_gil
def roles(seed: int, counts: str) -> xr.Dataset:
    """The bump of one run in small steps, and what each cluster does.

    Returns:
        rise, low, peak, diverging, recovers, cluster: as in :func:`bumps.slow`.
        loss (moment, place): smoothed loss of each cluster at the low and at the peak of the largest rise.
        error (moment, place): share of the cluster with the wrong sign, smoothed alike.
        climb (place): how far the smoothed loss of the cluster rises above its running minimum, from epoch 500 on.
    """
    checks.one_of(COUNTS, counts=counts)
    data = cyclic.from_counts(list(COUNTS[counts]), base=7, seed=seed)
    finer = poor_cluster.REFINED
    records = schedule(finer * bumps.INTERVAL, finer * bumps.EPOCHS)
    network, options = nets.default(data.rng, poor_cluster.WIDTH), dict(records=records, grid=loss_curves.GRID)
    run = univariate.train(data.x, data.y, network, step=bumps.STEP / finer, epochs=int(records[-1]), **options)
    losses, wrong = loss_curves.hinge(run.predictions), run.predictions * cyclic.labels(loss_curves.GRID) <= 0
    of_clusters = [loss_curves.by_cluster(values) for values in (losses, wrong.astype(float))]
    curves = {
        "train_loss": ("epoch", run.loss),
        "test_loss": ("epoch", losses.mean(axis=-1)),
        "cluster_loss": (("epoch", "cluster"), of_clusters[0]),
    }
    runs = xr.Dataset(curves, {"epoch": records // finer}).expand_dims(seed=[seed])
    bump = bumps.slow(runs).isel(seed=0, drop=True)
    loss, error = (bumps.smooth(values[None])[0] for values in of_clusters)
    at = np.searchsorted(runs.epoch, [bump.low, bump.peak])
    late = loss[runs.epoch.values >= bumps.START]
    climb = (late - np.minimum.accumulate(late)).max(axis=0)
    found = {
        "loss": (("moment", "place"), loss[at]),
        "error": (("moment", "place"), error[at]),
        "climb": ("place", climb),
    }
    dataset = xr.Dataset(found, {"moment": ["low", "peak"]}).astype(np.float32)
    return dataset.merge(bump[["rise", "low", "peak", "diverging", "recovers", "cluster"]])


def climbs(runs: xr.Dataset) -> list[list[object]]:
    """By counts: share of runs with a bump, and how far the loss of the middle and of the last cluster climbs in all.

    Last, the climb of the mean loss on the exact path with these counts.
    """
    rows, six = [], poor_cluster.six()
    for name, points in COUNTS.items():
        one = runs.sel(counts=name)
        middle, last = (f"{stats.student(one.climb.sel(place=place).values):.2f}" for place in (2, 5))
        share = stats.wilson(one.diverging.values > 0)
        exact = exact_climb(poor_cluster.Places(six.x, six.labels, np.array(points)))
        rows.append([", ".join(map(str, points)), f"{share:.1%}", middle, last, f"{exact:.3f}"])
    return rows


def budget(runs: xr.Dataset) -> list[list[object]]:
    """By counts: change of the loss of each cluster from the low to the peak in the runs with a bump, means."""
    rows = []
    for name, points in COUNTS.items():
        one = runs.sel(counts=name)
        change = one.loss.sel(moment="peak") - one.loss.sel(moment="low")
        bumps_of = change.isel(seed=one.diverging.values > 0)
        means = (f"{value:+.2f}" for value in bumps_of.mean("seed").transpose("place").values)
        rows.append([", ".join(map(str, points)), bumps_of.sizes["seed"], *means])
    return rows


RECORDS: dict[str, Recipe] = {
    "roles": Recipe(
        roles,
        {"counts": list(COUNTS), "seed": list(range(1000, 1200))},
        about="Losses of the six clusters where the mean loss is low and at its peak, by the counts of the clusters",
    ),
}
