"""Rules on the exponents of trained models of others: the book's own questions, asked with the document's exponent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

RECORD = "heavy_tails/real_layers/exponents"
ALONE = {"a": "shuffled", "b": "within_columns", "c": "lengths"}  # parts of HT-82, and the nulls that they ask about
WHOLE = ("matrix", "flat")  # readings of a weight as one matrix


def whole(runs: xr.Dataset, least: int) -> xr.DataArray:
    """Which rows (model, row) are weights read as one matrix, with at least so many positive eigenvalues."""
    return runs.reading.isin(WHOLE) & (runs["rank"] >= least) & np.isfinite(runs.hill_units)


def below(runs: xr.Dataset, least: int, units: float) -> xr.DataArray:
    """Which of these lie below noise of their shape."""
    return whole(runs, least) & (runs.hill_units < -units)


def over_models(of: Callable[[str], np.ndarray], models: xr.DataArray) -> Interval:
    """Student's interval over models of the mean of what each has; models that have nothing are left out."""
    values = [of(str(model)) for model in models.values]
    return stats.student([float(np.mean(value)) for value in values if len(value)])


def typical(of: xr.DataArray, chosen: xr.DataArray) -> Interval:
    """Student's interval over models of the mean of each model's median over its chosen layers (model, row)."""

    def median(model: str) -> np.ndarray:
        return np.atleast_1d(np.median(of.sel(model=model).values[chosen.sel(model=model).values]))

    return over_models(median, chosen.model[chosen.any("row").values])


def explained(runs: xr.Dataset, null: str) -> xr.DataArray:
    """The share of a layer's distance from noise that a null has alone, or that is lost when the layer is balanced."""
    share = (runs.hill_noise - runs[null]) / (runs.hill_noise - runs.hill)
    return 1 - share if null == "balanced" else share


def distances(runs: xr.Dataset, least: int) -> dict[str, np.ndarray]:
    """Distance from noise in units of scatter, by reading, of every convolution with enough eigenvalues in both."""
    found: dict[str, list[float]] = {"flat": [], "slices": []}
    for model in runs.model.values:
        table = runs.sel(model=model)
        enough = (table["rank"] >= least) & np.isfinite(table.hill_units)
        units = {}
        for reading in found:
            rows = np.flatnonzero(enough & (table.reading == reading))
            units[reading] = {str(table.name[i].item()): float(table.hill_units[i]) for i in rows}
        for name in sorted(units["flat"].keys() & units["slices"].keys()):
            for reading, values in found.items():
                values.append(units[reading][name])
    return {reading: np.array(values) for reading, values in found.items()}


def sides(distance: np.ndarray, units: float) -> np.ndarray:
    """Whether layers lie below noise (-1), within its scatter (0), or above (1)."""
    return np.sign(distance) * (np.abs(distance) > units)


def answered(holds: bool | None) -> str | None:
    """The verdict on a question of ours: answered, by yes or no, unless an interval contains the limit."""
    return None if holds is None else "answered"


@decides(runs=RECORD)
def ht_81(runs, *, least, units, majority):
    """Layers of real models lie below noise of their shape."""
    chosen, low = whole(runs, least), below(runs, least, units)
    share = over_models(lambda model: low.sel(model=model).values[chosen.sel(model=model).values], runs.model)
    above = int((chosen & (runs.hill_units > units)).sum())
    counts = {"layers": int(chosen.sum()), "below": int(low.sum()), "above": above}
    typical = float(runs.hill_units.where(chosen).median())
    return Found(answered(share.exceeds(majority)), {"share": share, "typical distance": typical, **counts})


@decides(runs=RECORD)
def ht_82(runs, *, least, units, half):
    """Neither entries, nor columns, nor unequal lengths have alone most of the distance from noise."""
    low = below(runs, least, units)
    shares = {letter: typical(explained(runs, null), low) for letter, null in ALONE.items()}
    numbers = {"shares": shares, "gone when balanced": typical(explained(runs, "balanced"), low)}
    return Found({letter: answered(claims.below(share, half)) for letter, share in shares.items()}, numbers)


@decides(runs=RECORD)
def ht_83(runs, *, least, units, share):
    """The reading of a convolution decides whether it differs from noise."""
    found = {reading: sides(distance, units) for reading, distance in distances(runs, least).items()}
    differ = stats.share(found["flat"] != found["slices"])
    low = {f"low, {reading}": float((signs < 0).mean()) for reading, signs in found.items()}
    numbers = {"differ": differ, "convolutions": len(found["flat"]), **low}
    return Found(answered(differ.exceeds(share)), numbers)


@decides(runs=RECORD)
def ht_84(runs, *, least, units, majority):
    """Without the largest eigenvalues, a tenth of all or more, the exponents are still low."""
    low = below(runs, least, units)
    still = over_models(
        lambda model: runs.trimmed_units.sel(model=model).values[low.sel(model=model).values] < -units, runs.model
    )
    medians = {
        "distance": runs.hill_units,
        "distance, trimmed": runs.trimmed_units,
        "taken": runs.taken / runs["rank"],
    }
    numbers: dict = {name: float(of.where(low).median()) for name, of in medians.items()}
    numbers |= {"share": still, "top tenth": typical(runs.top_tenth, low)}
    return Found(answered(still.exceeds(majority)), numbers)
