"""What the page on networks against kernels on the polynomial draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure.drawing import LEARNERS
from shallow.book import figures


def against_inputs(ax: Axes, r2: xr.DataArray, ceiling: Sequence[float], linear: float) -> None:
    """R2 (inputs, run) of the Gaussian machine against the number of inputs, its ceiling, and a straight line's R2."""
    _, colour, marker = LEARNERS["gaussian"]
    for run in r2.run.values:
        ax.semilogx(r2.inputs, r2.sel(run=run), marker, ms=4, color=colour, alpha=0.7)
    ax.semilogx(r2.inputs, ceiling, "--", color=figures.COLOURS["label_minus"], lw=1.6)
    ax.axhline(linear, color=figures.COLOURS["null"], lw=1.2)  # of all runs together
    ax.set_xticks(r2.inputs.values, [str(p) for p in r2.inputs.values])
    ax.minorticks_off()
    ax.set(xlabel="inputs $p$", ylim=(-0.25, 1.05))


def figure_5(axes: Sequence[Axes], fits: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Predictions against v as in the document's Figures 3 and 5: `fits` maps titles to v, y and predictions."""
    for ax, (title, (v, y, prediction)) in zip(axes, fits.items(), strict=True):
        ax.plot(v, y, ".", ms=2, color=figures.COLOURS["null"], label="true values", rasterized=True)
        ax.plot(v, prediction, ".", ms=2, color=figures.COLOURS["train"], label="predictions", rasterized=True)
        ax.set_title(title, fontsize="medium")
        ax.set(xlim=(-2.1, 2.1))


def error_ratios(
    ax: Axes, runs: xr.DataArray, seventh: np.ndarray, first: Mapping[int, float], logged: Mapping[int, float]
) -> None:
    """Error of the machine on the final NTK over its network's by degree: 2,500 points, all points, author's log."""
    degrees, blue = runs.degree.values, figures.COLOURS["train"]
    x = np.repeat(degrees - 0.2, runs.sizes["run"])
    few = runs.transpose("degree", "run").values.ravel()
    ax.plot(x, few, "o", ms=4, mfc="none", color=figures.COLOURS["null"], label="2,500 points")
    ax.plot(list(first), list(first.values()), "s", ms=5, color=blue, label="all 8,000 points")
    ax.plot(np.full(len(seventh), 7.0), seventh, "s", ms=5, color=blue)
    shown = {d: ratio for d, ratio in logged.items() if d <= 7}
    x = np.array(list(shown)) + 0.2
    ax.plot(x, list(shown.values()), "D", ms=5, color=figures.COLOURS["test"], label="author's log")
    ax.axhline(1, color="k", lw=0.8)
    ax.set(yscale="log", xlabel="degree $d$", xticks=degrees)
    ticks = (0.3, 0.5, 1, 2, 3, 5)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
