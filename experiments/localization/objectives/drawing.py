"""What the page on the equations (6) to (14) draws."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization import dominance
from experiments.localization.objectives import cells as objectives
from shallow import receptive_fields
from shallow.book import figures


def planted(ax: Axes, runs: xr.Dataset, gain: float) -> None:
    """Localisation over time of negative biases from three beginnings; step 0 is drawn at step 5."""
    styles = {"bumps": ("train", "o-"), "waves": ("test", "s--"), "random": ("live", "^:")}
    for begin, (colour, style) in styles.items():
        for seed in runs.seed.values:
            one = runs.spread.sel(gain=gain, begin=begin, seed=seed)
            label = begin if seed == runs.seed.values[0] else None
            ax.plot(np.maximum(one.step, 5), one, style, ms=3, lw=1, color=figures.COLOURS[colour], label=label)
    ax.axhline(receptive_fields.noise_level(40).mean, color=figures.COLOURS["null"], ls=":", lw=1)
    ax.set(xscale="log", xlabel="step", title=f"$g = {gain:g}$", ylim=(0, 0.42))


def arctan_law(ax: Axes, draws: xr.Dataset) -> None:
    """(9) for Gaussian data against the ratio of the standard deviations; dots are shares of won pairs."""
    r = np.geomspace(0.01, 100, 200)
    ax.semilogx(r, dominance.at_a_point(r**2), color="k", lw=1.2)
    for (s1, s0), wins in zip(objectives.PAIRS, draws.wins.values, strict=True):
        ax.plot(s1 / s0, wins / int(draws.pairs), "o", color=figures.COLOURS["train"])
    ax.set(xlabel="$s_1 / s_0$", title="(9), Gaussian data")
