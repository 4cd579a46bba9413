"""Drawings of what a network knows along its training, for the chapter's story."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.alignment import rules
from shallow.book import figures

#: Learners of the record who_leads that the story shows: colour, line and name.
SHOWN = {
    "network": ("test", "o-", "network"),
    "output, all": ("train", "s--", "output layer, solved"),
    "full": ("live", "D-", "full kernel"),
    "dealt": ("null", "x:", "signs dealt"),
}


def lead(axes: Sequence[Axes], paths: xr.Dataset, parts: xr.Dataset, degree: int = 7) -> None:
    """Share of aligned neurons, R_c of the network and of machines on its gradients, loss of the network; by epoch."""
    epochs = rules.epochs_of(paths)
    tasks = [polynomials.problem("independent", degree, int(run)) for run in paths.run.values]
    constant = [np.abs(t.y[t.rows["validation"]] - np.median(t.y[t.rows["train"]])).mean() for t in tasks]
    aligned, loss = (
        paths[name].sel(epoch=epochs).transpose("epoch", "run") for name in ("path_aligned", "path_validation")
    )
    for ax, values, label in ((axes[0], aligned, "neurons aligned"), (axes[2], loss / constant, "loss / constant's")):
        ax.plot(epochs, values, "-", color=figures.COLOURS["recorded"], lw=0.6, alpha=0.6)
        ax.plot(epochs, values.median("run"), "-", color=figures.COLOURS["live"], lw=1.8)
        ax.set(xlabel="epoch", ylabel=label, xlim=(0, 20))
    inside = parts.r2.sel(range="bulk")
    for learner, (colour, style, name) in SHOWN.items():
        fit = inside.sel(learner=learner).transpose("epoch", "run")
        axes[1].plot(parts.epoch, fit, style[0], ms=2.5, mfc="none", alpha=0.5, color=figures.COLOURS[colour])
        axes[1].plot(parts.epoch, fit.median("run"), style, ms=3.5, lw=1.4, color=figures.COLOURS[colour], label=name)
    axes[1].set(xlabel="epoch", ylabel="$R_c$", ylim=(-0.15, 1.05))
