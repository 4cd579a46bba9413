"""Drawings of what training ends at, for the chapter's story."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes

#: Names of the settings of :mod:`.anatomy`, from both leaks open to both closed.
LEAKS = {
    "Figure 1": "no margin, normal start",
    "margin": "margin",
    "(8)": "dominated start",
    "(8), margin": "margin and dominated start",
}


def leaks(ax: Axes, runs: xr.Dataset) -> None:
    """How far training ends below the two fits, by setting, as it is and without late or random neurons."""
    late = {"moment": "aligned"}
    looks = {
        "all neurons": (runs.train, {"marker": "o", "color": "k"}),
        "without late ones": (runs.without.sel(late), {"marker": "D", "color": "#D55E00", "mfc": "none"}),
        "without others": (runs.without_random.sel(late), {"marker": "x", "color": "0.5"}),
    }
    for place, setting in enumerate(LEAKS):
        for shift, (label, (loss, look)) in enumerate(looks.items()):
            if shift and setting.startswith("(8)"):  # no neuron is late there
                continue
            below = 100 * ((runs.halves_train - loss) / runs.ols_train).sel(setting=setting).values
            height = place + 0.22 * (shift - 1)
            ax.plot(below, [height] * len(below), ls="none", ms=4, label=label if place == 0 else None, **look)
            ax.plot([below.mean()] * 2, [height - 0.1, height + 0.1], color=look["color"], lw=1.5)
    ax.axvline(0, color="0.7", lw=0.8)
    ax.set_yticks(range(len(LEAKS)), LEAKS.values())
    ax.set(xlabel="training loss below the two fits (% of least squares)", ylim=(len(LEAKS) - 0.5, -0.5))
    ax.legend(fontsize="small", loc="lower right")
