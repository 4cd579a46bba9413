"""Pictures of the exponents of real layers, for the page alone: on the axes that they are given."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.heavy_tails.real_layers import rules
from shallow.book import figures
from shallow.spectra.layers import Layer
from shallow.spectra.marchenko_pastur import MarchenkoPastur

NULLS = {"shuffled": "all in\nrandom order", "within_columns": "random order\nin columns"}
NULLS |= {"lengths": "noise of\nthese lengths", "balanced": "gone at\nequal lengths"}
MARKS = "os^vDPX*"


def layers(runs: xr.Dataset, chosen: xr.DataArray) -> list[Layer]:
    """The chosen rows (model, row) of the record as the library's layers, with what an overview of them shows."""
    rows = []
    for model, row in zip(*np.nonzero(chosen.values)):
        one = runs.isel(model=model, row=row)
        counts = {key: int(one[key]) for key in ("h", "d", "matrices", "rank")}
        numbers = {key: float(one[key]) for key in ("hill", "hill_noise", "hill_scatter", "hill_units")}
        rows.append(Layer(str(one.name.item()), str(one.reading.item()), **counts, **numbers))
    return rows


def explained(ax: Axes, runs: xr.Dataset, low: xr.DataArray) -> None:
    """The share of the distance from noise that each null has, or takes away: a point a layer, a mark a model."""
    for column, null in enumerate(NULLS):
        share = rules.explained(runs, null).clip(-0.35, 1.35)
        values = share.values[low.values]
        ax.plot(column + figures.swarm(values, 0.02), values, "o", color="0.75", ms=2.5, zorder=1)
        for i, (model, mark) in enumerate(zip(runs.model.values, MARKS)):
            own = share.sel(model=model).values[low.sel(model=model).values]
            if len(own):
                place, label = column + (i - 3.5) * 0.08, model if not column else None
                ax.plot(place, np.median(own), mark, color=figures.mode_styles(8)[i]["color"], ms=6, mec="k", mew=0.5)
                ax.plot([], [], mark, color=figures.mode_styles(8)[i]["color"], mec="k", mew=0.5, label=label)
    for level in (0, 1):
        ax.axhline(level, color="k", lw=0.8)
    ax.set_xticks(range(len(NULLS)), NULLS.values())
    ax.axvline(len(NULLS) - 1.5, color="0.7", lw=0.8)
    ax.set(ylabel="share of the distance", ylim=(-0.4, 1.4), xlim=(-0.5, len(NULLS) - 0.5))


def both_readings(ax: Axes, runs: xr.Dataset, least: int, units: float) -> None:
    """Units of scatter below noise of each convolution as one matrix and position by position; grey, within noise."""
    found = {reading: np.maximum(-distance, 1.0) for reading, distance in rules.distances(runs, least).items()}
    ends = [1.0, 2 * max(map(np.max, found.values()))]
    ax.axhspan(1, units, color="0.9", lw=0)
    ax.axvspan(1, units, color="0.9", lw=0)
    ax.plot(ends, ends, "k:", lw=1)
    ax.plot(found["flat"], found["slices"], "o", color=figures.BLUE, mfc="none", ms=5)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    ax.set(xlabel="units below noise, as one matrix", ylabel="position by position")


def quantiles(ax: Axes, runs: xr.Dataset, model: str, name: str) -> None:
    """The eigenvalues of one layer over their median by the share above, beside those of noise of its shape."""
    table = runs.sel(model=model)
    row = int(np.flatnonzero((table.name == name) & table.reading.isin(rules.WHOLE))[0])
    one = table.isel(row=row)
    share = one.share.values
    law = MarchenkoPastur(int(one.h), int(one.d))
    middle = float(np.interp(0.5, share, one["quantile"]))
    ax.plot(share, one["quantile"] / middle, "o-", color=figures.BLUE, ms=3, label=f"{int(one.h)} x {int(one.d)}")
    ax.plot(share, law.quantile(1 - share) / law.quantile(np.array(0.5)), "k--", lw=1, label="noise")
    ax.set(xscale="log", yscale="log", xlabel="share of eigenvalues above")
    ax.set_xticks([0.01, 0.1, 0.5], ["1 %", "10 %", "50 %"])
    ax.minorticks_off()
    ax.legend(title=model)
