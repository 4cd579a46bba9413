"""What the page on others' work draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
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


def parity_paths(axes: Sequence[Axes], networks: xr.Dataset, machines: xr.Dataset) -> None:
    """Accuracy on the uniform half by epoch, a panel for each number of points, with the better kernel machine."""
    best = float(machines.accuracy.sel(half="uniform", learner=["rbf", "ntk"]).mean("seed").max())
    for ax, points in zip(axes, networks.train.values.tolist(), strict=True):
        for decay, style in zip(networks.decay.values.tolist(), figures.mode_styles(networks.sizes["decay"])):
            one = networks.path.sel(train=points, decay=decay)
            for seed in one.seed.values:
                ax.plot(one.epoch, one.sel(seed=seed), lw=0.8, alpha=0.8, **style)
            ax.plot([], [], label=f"weight decay {decay:g}", **style)
        ax.axhline(best, color=figures.COLOURS["null"], lw=1.5, label="kernel machine, 5,000 points")
        ax.set(xlabel="epoch", ylim=(0.4, 1.02))
        ax.set_title(f"{points:,} points", fontsize="medium")


def two_stage_ratios(ax: Axes, theirs: Mapping[str, xr.DataArray], regular: Mapping[str, xr.DataArray]) -> None:
    """Test error of the network over those of kernel machines, by degree; filled with their algorithm, open without."""
    looks = {"final": (figures.COLOURS["train"], "s", -0.08), "initial": (figures.COLOURS["test"], "^", 0.08)}
    for ratios, side, filled in ((theirs, -0.16, True), (regular, 0.16, False)):
        for kernel, ratio in ratios.items():
            colour, marker, shift = looks[kernel]
            x = np.repeat(ratio.degree.values + side + shift, ratio.sizes["run"])
            name = f"over {kernel} NTK" if filled else None
            face = colour if filled else "none"
            ax.semilogy(x, ratio.values.ravel(), marker, ms=4, color=colour, mfc=face, label=name)
    ax.axhline(1, color=figures.COLOURS["null"], lw=1)
    ax.set(xlabel="degree $d$", ylabel="network / kernel, test error", xticks=ratio.degree.values)
