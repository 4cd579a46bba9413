r"""What the losses with a tuned ridge say: the effect of size, direction and spectrum, and how exponents rank losses.

Every effect compares two networks of the same draw that differ in one thing, each with its own best ridge constant
(:mod:`experiments.heavy_tails.readings.tuned`): the ratio of their test losses minus one, its geometric mean over draws
with Student's interval of the logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails.readings.tuned import UNTRAINED
from shallow import stats
from shallow.stats import Interval

TUNED = {n: f"heavy_tails/readings/tuned_{n}" for n in (8000, 2000)}
BULK = "heavy_tails/readings/bulk_2000"
FIRST = "heavy_tails/readings/tuned_first"
#: The two networks that are compared for each effect; the second lacks what gives the effect its name.
EFFECTS = {
    "size": ("size", UNTRAINED),
    "direction": ("direction", "size"),
    "spectrum": ("trained", "direction"),
    "training": ("trained", UNTRAINED),
}


def relative(one: xr.DataArray, other: xr.DataArray) -> Interval:
    """Ratio of two losses (seed) minus one."""
    found = stats.geometric((one / other).values)
    return Interval(*(end - 1 for end in (found.estimate, found.low, found.high)))


def losses(record: xr.Dataset, run: str, network: str, features: str, constant: float | None = None) -> xr.DataArray:
    """Test losses (seed) of a network, with its own ridge constant or one that is the same for all."""
    one = record.test if constant is None else record.fixed.sel(constant=constant)
    if network == UNTRAINED:
        run, network = UNTRAINED, "trained"
    return one.sel(run=run, network=network, features=features)


def effect(record: xr.Dataset, run: str, what: str, features: str, constant: float | None = None) -> Interval:
    """One of the :data:`EFFECTS` in a run."""
    return relative(*(losses(record, run, network, features, constant) for network in EFFECTS[what]))


def change(record: xr.Dataset, run: str, over: str, features: str, constant: float | None = None) -> Interval:
    """Test loss of the trained network of a run over that of another run, minus one."""
    return relative(*(losses(record, one, "trained", features, constant) for one in (run, over)))


def of_bulk(record: xr.Dataset, run: str, features: str) -> Interval:
    """What the shape of the trained bulk does to the test loss, against noise's with the same spike and vectors."""
    one = record.test.sel(run=run, features=features)
    return relative(one.sel(network="trained"), one.sel(network="spike"))


def runs_of(record: xr.Dataset, optimiser: str) -> list[str]:
    """The runs of an optimiser, in the order of their rates."""
    return [str(run) for run in record.run.values if str(run).startswith(optimiser)]


def rate_of(run: str) -> float:
    """The learning rate of a run such as "Adam 0.1"; 0 of the untrained network."""
    return 0.0 if run == UNTRAINED else float(run.split()[1])


def rank_correlations(record: xr.Dataset, runs: Sequence[str], features: str) -> Interval:
    """Rank correlation of exponent and tuned test loss over runs, mean over draws: positive if lower is better."""
    one = record.sel(run=list(runs), network="trained", features=features).transpose("seed", "run", ...)
    return stats.student(np.array([stats.rank_correlation(*pair) for pair in zip(one.hill.values, one.test.values)]))


def best_run(record: xr.Dataset, features: str, network: str = "trained") -> str:
    """The run with the least mean logarithm of the tuned test loss."""
    return str(np.log(record.test.sel(network=network, features=features)).mean("seed").idxmin("run").item())
