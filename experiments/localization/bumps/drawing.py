"""What the page on bumps and their rivals draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from experiments.localization.populations import cells as populations


def torus_fields(figure: Figure, runs: xr.Dataset, gains: Sequence[float] = (0.01, 3.0), count: int = 4) -> None:
    """Fields of one network on the torus by gain and sign of the bias, each scaled to its largest weight."""
    axes = figure.subplots(
        2, 2 * count + 1, gridspec_kw={"wspace": 0.05, "width_ratios": [1] * count + [0.3] + [1] * count}
    )
    for half, gain in enumerate(gains):
        one = runs.sel(gain=gain, seed=0)
        for row, sign in enumerate((-1, 1)):
            shown = one.W.values[populations.population(one.b.values) == sign][:count]
            for ax, w in zip(axes[row, half * (count + 1) :], shown):
                ax.imshow(w / np.abs(w).max(), cmap="PuOr", vmin=-1, vmax=1, interpolation="nearest")
            name = "negative" if sign < 0 else "positive"
            axes[row, half * (count + 1)].set_title(f"$g = {gain:g}$, {name}", fontsize="small", loc="left")
    for ax in axes.flat:
        ax.set_axis_off()
