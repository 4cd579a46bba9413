"""Losses with a tuned ridge constant for which the effects of size, direction and spectrum are known."""

import numpy as np
import xarray as xr

from experiments.heavy_tails.readings import tuned
from experiments.heavy_tails.teacher_student import FEATURES

PARTS = {"size": ("size",), "direction": ("size", "direction"), "trained": ("size", "direction", "spectrum")}


def record(*, runs=tuned.TEN, seeds=6, hill=None, text=None, constants=None, **effects) -> xr.Dataset:
    """A record of :func:`tuned.tuned_losses` in which every trained run has the same effects, shares of the test loss.

    Args:
        effects: of size, direction and spectrum.   text: those with the features of the text, if they are others.
        hill: exponents by run, by default falling a little from run to run.
        constants: factors of the losses at fixed constants, by run.
    """
    rng = np.random.default_rng(0)
    axes = {"seed": range(seeds), "run": list(runs), "network": list(PARTS), "features": list(FEATURES)}
    level = np.ones([len(axis) for axis in axes.values()])
    for f, shares in enumerate((effects, effects if text is None else text)):
        for k, parts in enumerate(PARTS.values()):
            level[:, 1:, k, f] = np.prod([1 + shares.get(part, 0.0) for part in parts])
    level *= 1 + 0.05 * rng.standard_normal((seeds, 1, 1, 1)) + 5e-4 * rng.standard_normal(level.shape)
    test = xr.DataArray(level, axes, list(axes))
    found = xr.Dataset(
        {"test": test, "fixed": test.expand_dims(constant=list(tuned.FIXED)), "hill": 0 * test[..., 0, 0]}
    )
    by_run = [hill[run] if hill else 2.45 - 0.01 * k for k, run in enumerate(runs)]
    found["hill"] = found.hill.reset_coords(drop=True) + xr.DataArray(by_run, {"run": list(runs)})
    if constants:
        found["fixed"] = found.fixed * xr.DataArray([constants.get(run, 1.0) for run in runs], {"run": list(runs)})
    return found


def bulk(effect: float) -> xr.Dataset:
    """A record of :func:`tuned.bulk_losses` in which the shape of the trained bulk has an effect in every run."""
    one = record(spectrum=effect).test.sel(run=["GD 3000", "Adam 1"], network=["direction", "trained"])
    return one.assign_coords(network=["spike", "trained"]).to_dataset(name="test")
