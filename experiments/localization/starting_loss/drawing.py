"""What the page on the loss before training draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from shallow import stats
from shallow.book import figures


def starting_losses(axes: np.ndarray, curves: xr.DataArray, dots: Mapping[tuple[str, str], xr.DataArray]) -> None:
    """Change of the loss before training with the gain: rows erf and ReLU, columns the normalisations.

    Args:
        curves: losses (activation, normalisation, neurons, scale, gain, seed), exact averages over the weights.
        dots: losses (gain, seed) of random networks by activation and normalisation, the first gain the reference.
    """
    for row, activation in zip(axes, curves.activation.values, strict=True):
        for ax, name in zip(row, curves.normalisation.values, strict=True):
            one = curves.sel(activation=activation, normalisation=name, scale="2/(n+K)").mean("seed")
            for K, style in zip(curves.neurons.values, figures.mode_styles(3), strict=True):
                curve = one.sel(neurons=K)
                ax.plot(curves.gain, 100 * (curve / curve[0] - 1), label=f"$K = {K}$", **style)
            drawn = dots[activation, name]
            change = 100 * (drawn / drawn.isel(gain=0) - 1).isel(gain=slice(1, None))
            intervals = map(stats.student, change.transpose("gain", "seed").values)
            figures.errorbars(ax, change.gain, intervals, fmt="o", color=figures.COLOURS["live"], ms=3)
            ax.set_xscale("log")
            ax.set_xticks([0.01, 1, 100], ["0.01", "1", "100"])
        row[0].set_ylabel(f"{'ReLU' if activation == 'relu' else 'erf'}: change, %")
    for ax, name in zip(axes[0], curves.normalisation.values, strict=True):
        ax.set_title(f"{name} data", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("gain $g$")
    handles = axes[0, 0].get_legend_handles_labels()
    axes[0, 0].figure.legend(*handles, loc="outside upper center", ncols=3, fontsize="small")
