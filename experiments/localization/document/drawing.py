"""Figures of the document's page: the two that the note leaves blank, and its announced test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization import drawing
from experiments.localization.document import cells
from experiments.localization.objectives.rules import pooled
from experiments.localization.populations import cells as populations
from shallow.book import figures


def arrangements(axes: np.ndarray, names: Mapping[str, str], runs: xr.Dataset) -> None:
    """Fields of arrangements, rows by gain, with loss and refitted accuracy of all seeds.

    Args:
        names: words for each arrangement, one for each column.
        runs: the record of arrangements at its last step.
    """
    for row, gain in zip(axes, runs.gain.values, strict=True):
        networks = cells.arranged(list(names), float(gain))
        for ax, (name, words), W, b in zip(row, names.items(), networks.W, networks.b, strict=True):
            one = runs.sel(gain=gain, network=name)
            loss, accuracy = (float(one[measure].mean()) for measure in ("loss", "accuracy_refitted"))
            positive = int((populations.population(b) > 0).sum())
            drawing.fields_as_rows(ax, W, b)
            counted = f"{positive} of {len(b)} positive\nloss {loss:.2f}, accuracy {accuracy:.2f}"
            ax.set_title(f"{words}, $g = {gain:g}$\n{counted}", fontsize="small")
        row[0].set_ylabel("neuron")
    for ax in axes[-1]:
        ax.set_xlabel("place")


def leads(ax: Axes, runs: xr.Dataset, rival: str, label: str, style: str, colour: str) -> None:
    """Lead of the best bump or Gabor function over the constant in (9) against the gain, with intervals.

    Args:
        runs: a record of filters at a point, for one number of places.
    """
    one = runs.sel(rival=rival)
    intervals = [pooled(one.lead.sel(gain=gain), one.lead_error.sel(gain=gain)) for gain in runs.gain.values]
    look = {"fmt": style, "ms": 4, "lw": 1, "capsize": 3, "color": figures.COLOURS[colour]}
    figures.errorbars(ax, runs.gain, intervals, label=label, **look)


def announced_test(left: Axes, right: Axes, coarse: xr.Dataset, fine: xr.Dataset) -> None:
    """The test with which Section 2 ends: (9) of waves, right of it what bumps and Gabor functions gain.

    Args:
        coarse, fine: records of filters at a point, for 40 and for 400 places.
    """
    drawing.by_cycles(left, fine)
    for runs, n, style, colour in ((coarse, 40, "o-", "train"), (fine, 400, "s--", "test")):
        leads(right, runs, "gabor", f"Gabor function, $n = {n}$", style, colour)
    leads(right, fine, "bump", "bump, $n = 400$", "x", "live")
    right.axhline(0, color="0.5", lw=0.8)
    right.set(xscale="log", xlabel="gain $g$", ylabel="lead over the constant in (9)")
