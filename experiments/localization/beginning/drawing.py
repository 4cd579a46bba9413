"""What the page on the beginning of training draws."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization.beginning import rules
from shallow.book import figures


def descent_beside_flow(left: Axes, right: Axes, steps: xr.Dataset) -> None:
    """Biases after 400 steps against the two flows at g = 0.01, and relative errors by step for both gains."""
    run = steps.sel(loss="square", gain=0.01, seed=0).isel(step=-1)
    for flow, colour, marker in (("alone", "test", "^"), ("coupled", "train", "o")):
        look = {"color": figures.COLOURS[colour], "marker": marker}
        left.plot(run.b_flow.sel(flow=flow), run.b, ls="none", ms=2.5, alpha=0.6, label=flow, **look)
        for gain, dashes in ((0.01, "-"), (3.0, "--")):
            errors = rules.early_errors(steps, gain, flow)
            label = f"{flow}, $g = {gain:g}$"
            right.plot(errors.step, errors.mean("seed"), ls=dashes, ms=3, lw=1.1, label=label, **look)
    end = float(np.abs(run.b).max())
    left.plot([-end, end], [-end, end], "k-", lw=0.6)
    left.set(xlabel="bias in the flow", ylabel="bias in training")
    right.set(xscale="log", yscale="log", xlabel="step", ylabel="relative difference")
    figures.log_ticks(right.yaxis)
