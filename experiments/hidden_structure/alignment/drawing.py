"""Drawings of what a network knows along its training, for the chapter's story."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.alignment import rules
from experiments.hidden_structure.runs import first_epoch
from shallow.book import figures

#: Learners of the record who_leads that the story shows: colour, line and name.
SHOWN = {
    "network": ("test", "o-", "network"),
    "output, all": ("train", "s--", "output layer, solved"),
    "full": ("live", "D-", "full kernel"),
    "dealt": ("null", "x:", "signs dealt"),
}


def lead(axes: Sequence[Axes], paths: xr.Dataset, parts: xr.Dataset, outputs: xr.Dataset, degree: int = 7) -> None:
    """By epoch: what the output depends on and share of aligned neurons; R_c of network and machines; the loss."""
    epochs = rules.epochs_of(paths)
    tasks = [polynomials.problem("independent", degree, int(run)) for run in paths.run.values]
    constant = [np.abs(t.y[t.rows["validation"]] - np.median(t.y[t.rows["train"]])).mean() for t in tasks]
    aligned, loss = (
        paths[name].sel(epoch=epochs).transpose("epoch", "run") for name in ("path_aligned", "path_validation")
    )
    share = outputs.share.sel(degree=degree).transpose("epoch", "run")
    axes[0].plot(share.epoch, share, "o", ms=2.5, mfc="none", alpha=0.5, color=figures.COLOURS["test"])
    axes[0].plot(share.epoch, share.median("run"), "o-", ms=3.5, color=figures.COLOURS["test"])
    axes[0].text(6, 0.86, "output's variance", fontsize="small", color=figures.COLOURS["test"])
    axes[0].text(6, 0.3, "neurons aligned", fontsize="small")
    for ax, values, label in ((axes[0], aligned, "share"), (axes[2], loss / constant, "loss / constant's")):
        ax.plot(epochs, values, "-", color=figures.COLOURS["recorded"], lw=0.6, alpha=0.6)
        ax.plot(epochs, values.median("run"), "-", color=figures.COLOURS["live"], lw=1.8)
        ax.set(xlabel="epoch", ylabel=label, xlim=(0, 20))
    inside = parts.r2.sel(range="bulk")
    for learner, (colour, style, name) in SHOWN.items():
        fit = inside.sel(learner=learner).transpose("epoch", "run")
        axes[1].plot(parts.epoch, fit, style[0], ms=2.5, mfc="none", alpha=0.5, color=figures.COLOURS[colour])
        axes[1].plot(parts.epoch, fit.median("run"), style, ms=3.5, lw=1.4, color=figures.COLOURS[colour], label=name)
    axes[1].set(xlabel="epoch", ylabel="$R_c$", ylim=(-0.15, 1.05))


def turning(ax: Axes, shifted: xr.Dataset, bare: xr.Dataset, unsigned: xr.Dataset) -> None:
    """Epoch at which the first neurons have turned, by target, each run a dot; filled where the sign correlates with v.

    A run that never gets there within 20 epochs is drawn at 21.
    """
    targets = {
        "degree 5": (bare.sel(linear=True), True),
        "degree 5, no linear part": (bare.sel(linear=False), True),
        "degree 6, roots shifted": (shifted.isel(shift=-1), True),
        "degree 6": (shifted.isel(shift=0), False),
        "degree 5, no correlation": (unsigned, False),
    }
    for row, (runs, correlated) in enumerate(targets.values()):
        epochs = np.minimum(first_epoch(runs.path_aligned).values, 21)
        colour = figures.COLOURS["live" if correlated else "test"]
        at = row + figures.swarm(epochs, 0.5, step=0.1, half=0.3)
        ax.plot(epochs, at, "o", ms=4, color=colour, mfc=colour if correlated else "none")
    ax.set_yticks(range(len(targets)), targets)
    ax.set_xticks([1, 5, 10, 15, 21], ["1", "5", "10", "15", "later"])
    ax.invert_yaxis()
    ax.set(xlabel="epoch at which the first neurons have turned", xlim=(0, 22))
