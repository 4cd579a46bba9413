"""What is left of a run when its curves are gone: its bump, and where it ended."""

from __future__ import annotations

import xarray as xr

from experiments.cyclic_labels import bumps, runs
from shallow.book.recipes import releases_gil


def outcomes(trained: xr.Dataset) -> xr.Dataset:
    """Runs stacked along `seed` (cells of :func:`runs.run`) without their curves.

    Returns over `seed` the fields of :func:`bumps.slow`, the last train_loss, test_loss, trace, error and cluster_error
    (cluster number `place`), and zero_epoch (NaN for never).
    """
    last = trained[["train_loss", "test_loss", "trace", "error", "cluster_error"]].isel(epoch=-1, drop=True)
    return xr.merge([bumps.slow(trained), last.rename(cluster="place"), trained.zero_epoch])


@releases_gil
def outcome(seed: int, *, design: str, step: float, agop: float = 0.0) -> xr.Dataset:
    """:func:`outcomes` of one run of n = 50 points at width 512."""
    trained = runs.run(seed, design=design, step=step, agop=agop)
    return outcomes(trained.expand_dims(seed=[seed])).isel(seed=0, drop=True)


@releases_gil
def one_layer(seed: int, *, design: str, step: float, train: str) -> xr.Dataset:
    """A run of n = 50 points at width 512 of which one layer is trained, "output" or "hidden".

    Returns diverging and recovers of :func:`bumps.slow`, and test_loss over `epoch` (every 100).
    """
    trained = runs.run(seed, design=design, step=step, train=train).expand_dims(seed=[seed])
    found = xr.merge([bumps.slow(trained)[["diverging", "recovers"]], trained.test_loss])
    return found.isel(seed=0, drop=True)
