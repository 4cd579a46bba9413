"""Drawings of the chapter, for its pages alone, on the axes that they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.cyclic_labels import laboratory, loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.variance import ensembles, heatmaps, initialisation
from shallow import stats
from shallow.book import figures


def ten_models(record: xr.Dataset) -> xr.Dataset:
    """Of a record of :func:`.heatmaps.models`, what the document draws: 10 V and both losses summed over the models."""
    V = ensembles.variance(heatmaps.unpack(record.gram.transpose("n", "epoch", "pair").values))
    sums = record[["train_loss", "test_loss"]].sum("model")
    return sums.assign(variance=(("n", "epoch"), heatmaps.TEN * V))


def forty_models(record: xr.Dataset) -> xr.Dataset:
    """Of a record of :func:`.heatmaps.heatmap` (its first set), the same, as means over its models times ten."""
    found = {name: heatmaps.on_ten(record, name) for name in ("train_loss", "test_loss")}
    return xr.Dataset({k: _first(v) for k, v in found.items()} | {"variance": heatmaps.TEN * _first(record.variance)})


#: What a map of the document shows: the title of its colours, and where they end in all maps, above every value.
MAPPED = {"variance": ("$10\\,V$", 5000), "train_loss": ("training loss", 2100), "test_loss": ("test loss", 30)}


def maps(shown: dict[str, tuple[xr.Dataset, str]]) -> Figure:
    """Maps of :func:`ten_models` or :func:`forty_models` by title, each with the name of what it shows, side by side.

    The colours go from zero to an end that all maps share, by the cube root: few values are large, none is cut off, and
    zeros, which a logarithm could not show, have their place.

    Raises:
        ValueError: for a value beyond the end of its colours.
    """
    figure, axes = plt.subplots(1, len(shown), figsize=(7, 2.9), layout="constrained", sharey=True)
    for ax, (title, (record, name)) in zip(axes, shown.items(), strict=True):
        label, end = MAPPED[name]
        values = record[name].transpose("epoch", "n")
        if not values.max() <= end:
            raise ValueError(f"{name} must not exceed {end}, got {float(values.max())}")
        scale = PowerNorm(1 / 3, 0, end)
        mesh = ax.pcolormesh(values.n, values.epoch / 1000, values, norm=scale, shading="nearest", rasterized=True)
        ticks = [0, *(s * 10**k for k in range(4) for s in (1, 2, 5) if end / 200 < s * 10**k <= end)]
        figure.colorbar(mesh, ax=ax, label=label, pad=0.02, ticks=ticks).minorticks_off()
        ax.grid(False)
        ax.set(xlabel="sample size $n$", ylabel="epoch (thousands)")
        ax.set_title(title, fontsize="medium")
        ax.label_outer()
    return figure


def _first(values: xr.DataArray) -> xr.DataArray:
    return values.isel(base=0) if "base" in values.dims else values


def odd_curves(ax: Axes, seed: int, *, n: int, step: float, agop: float) -> None:
    """Mean training and test loss of one run on n random points; low and peak of a bump marked by verticals."""
    trained = loss_curves.run(seed, n=n, step=step, agop=agop)
    found = bumps.slow(trained.expand_dims(seed=[seed])).isel(seed=0)
    figures.losses(ax, trained.epoch, trained.train_loss / n, trained.test_loss)
    for name, style in (("low", ":"), ("peak", "--")):
        if found.diverging:
            ax.axvline(found[name], color="0.4", ls=style, lw=1)
    ax.set(ylabel="mean hinge loss", ylim=(0, 1.05), title=rf"$n = {n}$, $\lambda = {agop:g}$")


#: What the antisymmetric network changes, one thing at a time; all but the first two of width 1024.
CHANGES = {
    "antisymmetric": "antisymmetric",
    "wide": "twice the width",
    "scale": "and the scale $2^{-1/4}$",
    "step": r"or the step $\eta/\sqrt{2}$",
    "step, longer": r"with $\sqrt{2}$ the epochs",
    "matched": "or both",
    "half step": r"or the step $\eta/2$",
    "half kernel": "or the scale $2^{-1/2}$",
}


def changes(ax: Axes, networks: dict[str, xr.Dataset], of: str) -> None:
    """Ratios of "variance" or "error" to the plain network for each of `CHANGES`, and what chance does, shaded.

    networks: the records `antisymmetric_forty_models` and `initialisation_controls` by network.
    """
    plain, rows = networks["plain"], range(len(CHANGES))
    null = initialisation.split_null(plain, name="plain")[of]
    ax.axvspan(*np.exp(stats.percentiles(null)), color=figures.COLOURS["null"], alpha=0.25)
    found = [heatmaps.ratio(networks[name], plain, name=name, paired=True, of=of) for name in CHANGES]
    ax.hlines(rows, [each.low for each in found], [each.high for each in found], color="k", lw=1.5)
    ax.plot([each.estimate for each in found], rows, "o", color="k", ms=4)
    ax.axvline(1, color="0.3", lw=0.8)
    ax.set_yticks(rows, list(CHANGES.values()))
    ax.grid(False, axis="y")
    ax.set(ylim=(len(CHANGES) - 0.5, -0.5), xlim=(0, None), xlabel=f"{of} over plain")


def watched_losses(ax: Axes, run: xr.Dataset, low: int, peak: int) -> None:
    """Both mean losses of a run, the running median of its test loss, and the low and the peak of its bump."""
    figures.losses(ax, run.epoch, run.train_loss / run["count"].sum(), run.test_loss)
    ax.plot(run.epoch, bumps.smooth(run.test_loss.values[None])[0], color="k", ls="-", lw=1)
    for epoch, style in ((low, ":"), (peak, "--")):
        ax.axvline(epoch, color="0.4", ls=style, lw=1)
    ax.set(ylabel="mean hinge loss", ylim=(0, None))


def output(ax: Axes, run: xr.Dataset, epoch: int) -> Line2D:
    """The output of a run at one epoch with its training points, on a frame for all epochs; its line, to be moved."""
    figures.clusters(ax, 3)
    (line,) = ax.plot(loss_curves.GRID, run.predictions.sel(epoch=epoch), color="k", ls="-", lw=1.2)
    figures.sample(ax, run.x, run.y)
    room = 0.05 * float(run.predictions.max() - run.predictions.min())
    ax.set(xlabel="$x$", ylabel="output $f(x)$")
    ax.set_ylim(float(run.predictions.min()) - room, float(run.predictions.max()) + room)
    return line


def first_preset() -> Figure:
    """The opening run as a figure, for readers without scripts: the network at the end, and both losses."""
    chosen = next(preset[-1] for preset in laboratory.PRESETS if preset[0] == laboratory.OPENING)
    sample, run = laboratory.train(chosen)
    figure, (network, curves) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    figures.clusters(network, 3)
    network.plot(loss_curves.GRID, run.predictions[-1], color=figures.COLOURS["live"])
    figures.sample(network, sample.x, sample.y)
    network.set(xlabel="x", ylabel="f(x)", title=f"after {loss_curves.EPOCHS:,} small steps")
    figures.losses(curves, run.epochs, **laboratory.losses(chosen, run))
    curves.set_xlabel("step")
    return figure
