"""Sweeps over learning rates: losses, alignments and exponents after one step and after ten, with their shapes.

A *sweep* is a Dataset with dimensions seed and rate (and k for eigenvalues) of one optimiser in one reading of the text
or the code; rate 0 is the untrained student, so that every change is paired with the same draw.  A *shaped* record has
the shapes of its spectra too, see :func:`shaped`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY, RATES
from shallow import checks

GRID = list(RATES)
HUGE = GRID[6:]
BENIGN, TENS = [0.01, 0.1, 1.0], [1.0, 10.0, 100.0]
#: The document's range of PL_Alpha_Hill for networks that generalise well, bounds excluded.
INTERVAL = (2.0, 2.5)


def reading(record: xr.Dataset, rule: str, features: str = "code") -> xr.Dataset:
    """One rule and one reading of the features of a sweep, at the document's ridge constant."""
    checks.one_of(FEATURES, features=features)
    return record.sel(rule=rule, features=features, penalty=PENALTY).transpose("seed", "rate", ...)


def shaped(record: xr.Dataset, initial: str = "rate") -> xr.Dataset:
    """A record with the shapes of its spectra, a :func:`shapes.shape_table`; as it is if it has them already."""
    if "hill" in record:
        return record
    return record.assign(shapes.shape_table(record.eigenvalues, initial=initial).data_vars)


def inside(hill: xr.DataArray) -> xr.DataArray:
    """Whether an exponent lies in the document's range."""
    return (hill > INTERVAL[0]) & (hill < INTERVAL[1])


def pooled(by_optimiser: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Trained students of all optimisers, rates and seeds along one dimension `run`.

    Returns hill and test as they are; `gain`, the test loss over that of the untrained student of the same draw, minus
    one; `unchanged`, UNCHANGED; `inside`, the exponent in the document's range; coordinates optimiser, seed and rate.
    """
    parts = []
    for name, one in by_optimiser.items():
        part = one[["hill", "test"]].assign(
            gain=one.test / one.test.sel(rate=0, drop=True) - 1,
            unchanged=one.change <= shapes.UNCHANGED_TOLERANCE,
            inside=inside(one.hill),
        )
        part = part.drop_vars(set(part.coords) - {"seed", "rate"}).sel(rate=GRID)
        parts.append(part.expand_dims(optimiser=[name]))
    return xr.concat(parts, "optimiser").stack(run=("optimiser", "seed", "rate"))


def bulk_distances(adam: xr.Dataset, rates: Sequence[float]) -> xr.DataArray:
    """Kolmogorov-Smirnov distance (rate, seed) of the bulk, without the largest eigenvalue and over its median, to that
    of the same seed at the rate 1."""
    found = [
        [
            shapes.median_distance(*(np.sort(values.sel(rate=r))[:-1] for r in (rate, 1.0)))
            for values in adam.eigenvalues.transpose("seed", ...)
        ]
        for rate in rates
    ]
    return xr.DataArray(found, {"rate": list(rates), "seed": adam.seed}, ["rate", "seed"])
