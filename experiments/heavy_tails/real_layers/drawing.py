"""Pictures of the exponents of real layers, for the page alone: on the axes that they are given."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.heavy_tails.real_layers import rules
from shallow.book import figures
from shallow.spectra.layers import Layer

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
