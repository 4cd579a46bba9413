"""Figure of the heights of functions, by where their training points are kept away from."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from experiments.cyclic_labels.variance.heights import PLACED
from shallow.book import figures
from shallow.book.figures import BLUE, GREEN, ORANGE


def heights(levelled: xr.Dataset) -> Figure:
    """Of the record `heights`: height against the sample size, and relative variance over the epochs."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    for how, colour, look in zip(PLACED, (ORANGE, BLUE, GREEN), ("o-", "s--", "^-."), strict=True):
        height = np.sqrt(levelled.power.sel(how=how, refinement=10).isel(epoch=-1)).transpose("n", "repetition")
        spread = 1.96 * height.std("repetition", ddof=1) / height.sizes["repetition"] ** 0.5
        left.errorbar(height.n, height.mean("repetition"), spread, fmt=look, color=colour, ms=4, lw=1.2, label=how)
        part = levelled.relative.sel(how=how, refinement=10, n=100).transpose("epoch", "repetition")
        middle, error = part.mean("repetition"), 1.96 * part.std("repetition", ddof=1) / part.sizes["repetition"] ** 0.5
        figures.fan(right, 10 * part.epoch, middle, middle - error, middle + error, colour=colour, linestyle=look[1:])
    _ = left.set(xlabel="points $n$", ylabel="height of $f$ at the end", yscale="log")
    figures.log_ticks(left.yaxis)
    _ = right.set(xlabel="training time in epochs of 0.001", ylabel="relative variance")
    _ = right.set(xscale="log", ylim=(0, None))
    left.legend(fontsize="small")
    return fig
