"""What the page on the fields themselves draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization.fields import rules
from shallow.book import figures


def gabor_against_bump(ax: Axes, runs: xr.Dataset, of: str) -> None:
    """R^2 of the best Gabor function against that of the best bump, a point for a field; white noise in grey."""
    ax.plot([0, 1], [0, 1], color="k", lw=0.6)
    noise, end = runs.sel(of="noise"), runs.sel(of=of)
    ax.plot(noise.bump.values.ravel(), noise.gabor.values.ravel(), ".", ms=2.5, color="0.7", label="white noise")
    for sign, marker, name, label in ((1, "^", "plus", "positive"), (-1, "v", "minus", "negative")):
        chosen = sign * end.b.values > 0
        look = {"ms": 3, "alpha": 0.6, "mew": 0, "color": figures.COLOURS[f"label_{name}"]}
        ax.plot(end.bump.values[chosen], end.gabor.values[chosen], marker, label=label, **look)
    ax.axhline(0.9, color=figures.COLOURS["threshold"], ls=":", lw=1)
    ax.set(xlabel="$R^2$ of a bump", xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))


def shapes_at_norms(ax: Axes, runs: xr.Dataset) -> None:
    """Test loss of initial and of trained directions at scaled norms with new biases, means over networks."""
    for gain, colour in zip(runs.gain.values, ("live", "train"), strict=True):
        for shape, style in (("initial", "s--"), ("final", "o-")):
            curve = runs.swept.sel(gain=gain, shape=shape).mean("seed")
            name = "trained" if shape == "final" else "initial"
            look = {"ms": 3.5, "lw": 1.1, "color": figures.COLOURS[colour]}
            ax.plot(curve.factor, curve, style, label=f"{name}, $g = {gain:g}$", **look)
    ax.set(xscale="log", xlabel="norms over the trained norms", ylabel="test loss")
    ax.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
    ax.minorticks_off()


def growth(axes: Sequence[Axes], runs: xr.Dataset, fine: xr.Dataset) -> None:
    """Norm, cosine with the end and high frequencies of negative fields over time, means over networks of medians.

    Step 0 is drawn at step 5.
    """
    cases = {
        "$g = 0.01$": (runs.sel(gain=0.01), "live", "o-"),
        "$g = 3$": (runs.sel(gain=3.0), "train", "^-"),
        "$g = 3$, 400 pixels": (fine.isel(gain=0), "test", "s--"),
    }
    for ax, name in zip(axes, ("norm", "cosine", "high"), strict=True):
        for label, (one, colour, style) in cases.items():
            curve = rules.over_time(one, name).mean("seed")
            ax.plot(np.maximum(curve.step, 5), curve, style, ms=3, lw=1.1, color=figures.COLOURS[colour], label=label)
        ax.set(xscale="log", xlabel="step")
