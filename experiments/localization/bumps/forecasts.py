r"""What networks learn on pairs of laws against what objectives say of bumps: statements of the page, no claims.

Records of :mod:`.contest` at one step, with or without an axis pair; a *cell* is a pair of laws at a gain, and its
interval is over networks.  A cell is *local* if its inverse participation ratio is above `LOCAL`, two deviations above
the mean of white noise.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.bumps import contest
from experiments.localization.dominance import at_a_point
from shallow import receptive_fields, stats
from shallow.stats import Interval

Cell = tuple[str, float]
_NOISE = receptive_fields.noise_level(networks.N)
LOCAL = _NOISE.mean + 2 * _NOISE.deviation
#: The bump of 1.6 pixels in the family: the width of the learned ones at g = 3.
BUMP = contest.FAMILY.index("bump 1.6")
#: The bump that is compared with its own waves out of phase.
RIVAL = "bump 2.9"
_FIRST_BUMP = 1 + len(contest.COSINES)


def intervals(values: xr.DataArray) -> dict[Cell, Interval]:
    """Student's interval over the networks that have the population, by cell; values (pair, gain, seed)."""
    found = {}
    for pair in values.pair.values:
        for gain in values.gain.values:
            each = values.sel(pair=pair, gain=gain).values
            found[str(pair), float(gain)] = stats.student(each[np.isfinite(each)])
    return found


def side(found: Interval) -> str:
    """Local, not local or undecided."""
    return "local" if found.above(LOCAL) else "not local" if found.below(LOCAL) else "undecided"


def concentration() -> np.ndarray:
    """Inverse participation ratios of the filters of the family, shape (18,)."""
    return receptive_fields.inverse_participation_ratio(contest.family())


def preferred(runs: xr.Dataset, objective: str, of: np.ndarray | None = None) -> xr.DataArray:
    """Inverse participation ratio, or another number of shape (18,), of the filter that an objective prefers.

    "tiled" is a loss; "linear" and "select", of (9), are largest.
    """
    values = runs[objective].transpose(..., "filter")
    best = values.argmin("filter") if objective == "tiled" else values.argmax("filter")
    return best.copy(data=(concentration() if of is None else of)[best.values])


def by_objective(runs: xr.Dataset) -> dict[Cell, Interval]:
    """Ratios of the filter best in (9) among the constant and bumps, by gain over draws; of `filters_at_a_point`."""
    one, ratios = runs.sel(draw="select"), np.delete(concentration(), slice(1, 1 + len(contest.COSINES)))
    values = [one.waves.sel(mode=0), *(one.gabors.sel(carrier=0, width=width) for width in one.width.values)]
    best = xr.concat(values, "filter", coords="minimal", compat="override").argmax("filter")
    chosen = best.copy(data=ratios[best.values]).expand_dims(pair=["light/light"])
    return intervals(chosen.transpose("pair", "gain", "seed"))


def phases(runs: xr.Dataset) -> xr.DataArray:
    """Loss that tiles lose when their waves are moved against each other, for the filter best with both in mind."""
    tiled, scrambled = (runs[name].transpose(..., "filter") for name in ("tiled", "scrambled"))
    best = (tiled + scrambled).argmin("filter")
    return (scrambled - tiled).isel(filter=best).drop_vars("filter")


def in_phase(neurons: xr.Dataset, field: str = RIVAL) -> xr.DataArray:
    """What one neuron wins with a field over what it wins with its waves out of phase; of :mod:`.one_neuron`."""
    return (neurons.in_phase / neurons.out_of_phase).sel(filter=field, drop=True)


def beyond_variance(objective: xr.Dataset, place: int = BUMP) -> xr.DataArray:
    r"""$E(w) - E(1)$ of a bump, what it has in (9) beyond the law of the variances and the constant has not, (D)."""
    excess = objective.value - at_a_point(objective.ratio)
    return (excess.isel(filter=place) - excess.isel(filter=0)).mean("seed")


def agreement(forecast: dict[Cell, float], learned: dict[Cell, Interval], bar: float = LOCAL) -> tuple[int, int]:
    """Decided cells that are local just where the forecast exceeds a bar, and all decided ones."""
    decided = [cell for cell in learned if side(learned[cell]) != "undecided"]
    right = sum((forecast[cell] > bar) == (side(learned[cell]) == "local") for cell in decided)
    return right, len(decided)


# Rows of tables.


def other_rows(objective: xr.Dataset, runs: xr.Dataset, gain: float) -> list[list[str]]:
    """Of linear and elliptical data: kurtoses of the bump and of the constant, E(w) - E(1), learned ratios."""
    ahead, rows = beyond_variance(objective), []
    for (pair, g), negative in intervals(runs.ipr.sel(sign=-1)).items():
        if g == gain:
            one = objective.sel(pair=pair, gain=gain).mean("seed").isel(filter=[BUMP, 0])
            words = [f"{one.kurtosis.sel({'class': c})[i]:.1f}" for i in (0, 1) for c in (1, 0)]
            positive = intervals(runs.ipr.sel(sign=1, pair=[pair], gain=[gain]))[pair, g]
            rows.append([pair, *words, f"{ahead.sel(pair=pair, gain=gain):+.3f}", f"{negative:.3f}", f"{positive:.3f}"])
    return rows


def rows_of_one_neuron(neurons: list[xr.Dataset], networks: list[xr.Dataset]) -> list[list[str]]:
    """Least and most of :func:`in_phase` over the cells of each side, by bump; a column for each side that occurs."""
    sides = [{cell: side(one) for cell, one in intervals(runs.ipr.sel(sign=-1)).items()} for runs in networks]
    rows = []
    for field in contest.FAMILY[_FIRST_BUMP:]:
        row = [field.removeprefix("bump ")]
        for one, found in zip(neurons, sides, strict=True):
            ratio = in_phase(one, field).mean("seed")
            for which in ("local", "undecided", "not local"):
                values = [float(ratio.sel(pair=pair, gain=gain)) for (pair, gain), of in found.items() if of == which]
                if values:
                    row.append(f"{min(values):.3f} to {max(values):.3f}")
        rows.append(row)
    return rows


def tail_rows(objective: xr.Dataset, tails: xr.Dataset, others: xr.Dataset, gain: float = 0.5) -> list[list[str]]:
    """From tails to fields, a row for each kind of noise.

    By how much the slow response has the lighter tails (excess kurtosis), through a narrow and a wide field; what one
    neuron wins with the best bump over a flat field; :func:`phases` in thousandths; the learned ratio.
    """
    narrow, rows = contest.FAMILY[BUMP], []
    for name, pair in (
        ("original, both light", "light/light"),
        ("both Gaussian", "Gaussian/Gaussian"),
        ("slow Gaussian, fast heavy", "Gaussian/heavy"),
        ("slow Gaussian, fast light", "Gaussian/light"),
        ("both heavy", "heavy/heavy"),
        ("slow Gaussian, fast elliptical", "Gaussian/radial"),
    ):
        slow, fast = (objective.kurtosis.sel({"pair": pair, "gain": gain, "class": one}).mean("seed") for one in (1, 0))
        lighter = [float((fast - slow).sel(filter=field)) for field in (narrow, "constant")]
        runs = (tails if pair in tails.pair else others).sel(pair=[pair], gain=[gain])
        alone = (runs.linear / runs.linear.sel(filter="constant")).mean("seed").isel(filter=slice(_FIRST_BUMP, None))
        saved, learned = (intervals(one)[pair, gain] for one in (1000 * phases(runs), runs.ipr.sel(sign=-1)))
        words = [*(f"{round(value, 1) + 0.0:+.1f}" for value in lighter), f"{float(alone.max()):.2f}"]
        rows.append([name, *words, f"{saved:.1f}", f"{learned:.2f}"])
    return rows
