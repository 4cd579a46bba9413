"""Drawings of the losses with a tuned ridge, on axes that they are given."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.heavy_tails.drawing import ADAM, GD
from experiments.heavy_tails.readings import gains
from shallow.book import figures
from shallow.spectra.marchenko_pastur import MarchenkoPastur

GAP = 0.6  # between the places of the two optimisers


def against_exponent(ax: Axes, record: xr.Dataset, features: str) -> None:
    """Test loss of each run against the untrained network, in per cent, against its exponent; words are the rates."""
    for name, marker, colour in (("GD", "o", GD), ("Adam", "D", ADAM)):
        runs = gains.runs_of(record, name)
        exponents = [float(record.hill.sel(run=run).mean()) for run in runs]
        found = [gains.effect(record, run, "training", features) for run in runs]
        figures.errorbars(ax, exponents, found, scale=100, fmt=marker, color=colour, ms=5, capsize=0, label=name)
        for run, x, one in zip(runs, exponents, found, strict=True):
            side = {"ha": "right" if x > 2.3 and run != "GD 1000" else "left", "va": "center"}
            shift = (-6, 0) if side["ha"] == "right" else (6, 0)
            at = x, 100 * one.estimate
            ax.annotate(f"{gains.rate_of(run):g}", at, shift, textcoords="offset points", fontsize="x-small", **side)
    ax.axvspan(2, 2.5, color=figures.COLOURS["shade"], zorder=0)
    ax.axvline(MarchenkoPastur(1500, 1000).hill, color="k", ls="--", lw=0.9)
    ax.axhline(0, color="0.2", lw=0.9)
    ax.set(xlabel="exponent", ylabel="test loss against untrained, %")
    ax.legend(fontsize="small", loc="upper right")


#: Label and colour of the effect of each change.
PARTS = {"size": ("size", "0.6"), "direction": ("direction", "#0072B2"), "spectrum": ("spectrum", "#E69F00")}


def parts(ax: Axes, record: xr.Dataset, features: str) -> None:
    """What each change does to the test loss, in per cent, by rate: bars with 95 % intervals."""
    runs = {name: gains.runs_of(record, name) for name in ("GD", "Adam")}
    start = {"GD": 0.0, "Adam": len(runs["GD"]) + GAP}
    places = {name: start[name] + np.arange(len(some)) for name, some in runs.items()}
    every, at = sum(runs.values(), []), np.concatenate(list(places.values()))
    for shift, (what, (label, colour)) in zip((-0.26, 0, 0.26), PARTS.items(), strict=True):
        found = [gains.effect(record, run, what, features) for run in every]
        ax.bar(at + shift, [100 * one.estimate for one in found], 0.24, color=colour, label=label)
        figures.errorbars(ax, at + shift, found, scale=100, fmt="none", ecolor="k", elinewidth=0.8, capsize=0)
    for name, where in places.items():
        ax.annotate(name, (where.mean(), 0.97), xycoords=("data", "axes fraction"), ha="center", va="top")
    ax.axhline(0, color="0.2", lw=0.9)
    ax.axvline(start["Adam"] - (1 + GAP) / 2, color="0.75", lw=0.8)
    ax.set_xticks(at, [f"{gains.rate_of(run):g}" for run in every], fontsize="x-small")
    ax.set(xlabel=r"learning rate $\eta$", ylabel="change of the test loss, %", ylim=(-4.5, 8.2))
    ax.grid(False, axis="x")
