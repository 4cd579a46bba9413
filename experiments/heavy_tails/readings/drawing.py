"""Drawings of the losses with a tuned ridge, on axes that they are given."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.heavy_tails.readings import gains
from experiments.heavy_tails.teacher_student import FEATURES

TITLES = {"code": r"features of the program, $\tanh(Wx/d)$", "text": r"features of the text, $\tanh(Wx/\sqrt{d})$"}
#: Label, colour, marker and line of each network.
NETWORKS = {
    "size": ("size alone", "0.45", "s", ":"),
    "direction": ("size and direction", "#0072B2", "o", "--"),
    "trained": ("size, direction and spectrum: trained", "#D55E00", "D", "-"),
}
GAP = 0.6  # between the places of the two optimisers


def by_rate(axes: tuple[Axes, Axes], record: xr.Dataset, *, top: float = 12.0) -> None:
    """Test loss against the untrained network of the draw, in per cent, by rate; a panel for each kind of features.

    Means with 95 % intervals over draws; every network has its own ridge constant.  The axis ends at `top`.
    """
    optimisers = {name: gains.runs_of(record, name) for name in ("GD", "Adam")}
    width = {"GD": 1.35, "Adam": 1.0}  # of a rate; the numbers of GD are longer
    start = {"GD": 0.0, "Adam": width["GD"] * len(optimisers["GD"]) + GAP / 2}
    for ax, features in zip(axes, FEATURES):
        for k, (network, (label, colour, marker, line)) in enumerate(NETWORKS.items()):
            for name, runs in optimisers.items():
                places = start[name] + width[name] * np.arange(len(runs)) + 0.14 * (k - 1)
                found = [
                    gains.relative(*(gains.losses(record, run, one, features) for one in (network, gains.UNTRAINED)))
                    for run in runs
                ]
                ax.plot(
                    places,
                    [100 * one.estimate for one in found],
                    marker + line,
                    color=colour,
                    ms=4,
                    lw=1.1,
                    label=label if name == "Adam" else None,
                )
                ax.vlines(
                    places, [100 * one.low for one in found], [100 * one.high for one in found], color=colour, lw=1.4
                )
        ax.axhline(0, color="0.2", lw=0.9)
        every = [
            (start[name] + width[name] * j, run) for name, runs in optimisers.items() for j, run in enumerate(runs)
        ]
        ax.set_xticks([place for place, _ in every], [f"{gains.rate_of(run):g}" for _, run in every], fontsize="x-small")
        for name, runs in optimisers.items():
            ax.annotate(
                name,
                (start[name] + width[name] * (len(runs) - 1) / 2, 0.99),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="top",
                fontsize="small",
            )
        ax.axvline(start["Adam"] - 0.8, color="0.75", lw=0.8)
        ax.set_title(TITLES[features], fontsize="medium")
        ax.set(xlabel=r"learning rate $\eta$", ylim=(-5, top))
        ax.grid(False, axis="x")
    axes[0].set_ylabel("test loss against untrained, %")
