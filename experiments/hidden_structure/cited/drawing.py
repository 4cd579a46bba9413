"""What the page on others' work draws."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.axes import Axes

from shallow.book import figures

SCALES = {1.0: (figures.COLOURS["recorded"], "-"), 0.1: (figures.COLOURS["test"], "--")}


def alignment_against_loss(ax: Axes, runs: xr.Dataset, scale: float) -> None:
    """Alignment of a kernel (run, step) against the share of the loss that has gone; thin runs, a thick median run."""
    colour, dashes = SCALES[scale]
    gone = 1 - runs.loss / runs.loss.isel(step=0)
    name = next(dim for dim in runs.alignment.dims if dim != "step")
    for one in range(runs.sizes[name]):
        ax.plot(gone.isel({name: one}), runs.alignment.isel({name: one}), color=colour, ls=dashes, lw=0.8, alpha=0.6)
    ax.plot([], [], color=colour, ls=dashes, label=f"start times {scale:g}")


def silent_panels(axes: Sequence[Axes], runs: xr.Dataset, shuffled: xr.Dataset) -> None:
    """Six panels: alignment against the share of the loss gone for each task, and grey on labels dealt at random."""
    for ax, task in zip(axes, runs.task.values.tolist(), strict=False):
        for scale in SCALES:
            alignment_against_loss(ax, runs.sel(task=task, scale=scale), scale)
        if task in shuffled.task.values:
            null = float(shuffled.alignment.sel(task=task).mean("run").max())
            ax.axhline(null, color=figures.COLOURS["null"], lw=1.2)
        case, degree = task.split()
        ax.set_title(f"degree {degree}, {case}", fontsize="medium")
    for task, dashes in zip(shuffled.task.values.tolist(), ("-", "--", ":"), strict=False):
        one = shuffled.sel(task=task)
        gone, case = 1 - one.loss / one.loss.isel(step=0), task.split()
        look = {"color": figures.COLOURS["null"], "ls": dashes, "lw": 1}
        for run in one.run.values:
            axes[-1].plot(gone.sel(run=run), one.alignment.sel(run=run), **look)
        axes[-1].plot([], [], label=f"degree {case[1]}, {case[0]}", **look)
    axes[-1].set_title("labels dealt at random", fontsize="medium")
    axes[-1].legend(fontsize="x-small")
    axes[0].legend(fontsize="x-small", loc="lower right")
    for ax in axes:
        ax.axvline(0.3, color="k", ls=":", lw=1)
        ax.set(xlim=(-0.05, 1), ylim=(0, None))
