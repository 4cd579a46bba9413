"""Drawings of the chapter, for its pages alone: on the axes that they are given, returning nothing."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.cyclic_labels import laboratory, loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.kernel import kernel_spectra, modes
from experiments.cyclic_labels.variance import heatmaps, initialisation
from shallow import checks, stats
from shallow.book import figures


def variance(ax: Axes, record: xr.Dataset, *, low: float | None = None, high: float | None = None) -> None:
    """Variance of a heatmap record (its first set) over n and epoch, on the document's scale: 10 V, colours by log."""
    heatmap(ax, heatmaps.TEN * _first(record.variance), "$10\\,V$", low=low, high=high)


def loss(ax: Axes, record: xr.Dataset, which: str, *, low: float | None = None, high: float | None = None) -> None:
    """Loss of a heatmap record (its first set) over n and epoch as a sum over ten models, colours by log.

    Args:
        which: "train", the hinge summed over the n training points, with white dots at the epoch at which half of the
            models of a size have come to zero; or "test", the mean hinge on the grid.
    """
    checks.one_of(("train", "test"), which=which)
    label = {"train": "summed hinge, 10 models", "test": "mean hinge, 10 models"}[which]
    heatmap(ax, _first(heatmaps.on_ten(record, f"{which}_loss")), label, low=low, high=high)
    if which == "train":
        half = _first(record.zero_epoch).fillna(np.inf).median("model") / 1000
        ax.plot(half.n, half.where(half < np.inf), "w.", ms=4, markeredgecolor="k", markeredgewidth=0.3)


def heatmap(
    ax: Axes, values: xr.DataArray, label: str, *, log: bool = True, low: float | None = None, high: float | None = None
) -> None:
    """Values (n, epoch) as a heatmap; colours by log begin at the second percentile of those after epoch 0."""
    values = values.transpose("epoch", "n")
    if log and low is None:
        low = float(values.where((values > 0) & (values.epoch > 0)).quantile(0.02))
    figures.heatmap(ax, values, values.n, values.epoch / 1000, label, log=log, low=low, high=high)
    ax.set(xlabel="sample size $n$", ylabel="epoch (thousands)")


def _first(values: xr.DataArray) -> xr.DataArray:
    return values.isel(base=0) if "base" in values.dims else values


def spectrum(ax: Axes, width: int = 512, seed: int = 0, n: int = 50) -> None:
    """The eigenvalues of one kernel at initialisation, largest first, on a logarithmic scale; five of them filled.

    Eigenvalues below 1e-12 of the largest are rounding errors and left out.
    """
    values = kernel_spectra.spectrum(seed, width=width, n=n).eigenvalues.values
    rank = np.arange(1, n + 1)[values > 1e-12 * values[0]]
    ax.semilogy(rank[5:], values[rank[5:] - 1], "o", ms=4, mfc="white", color=figures.COLOURS["live"])
    ax.semilogy(rank[:5], values[:5], "o", ms=5, color=figures.COLOURS["live"], label="the five plotted modes")
    for k, share in enumerate(np.cumsum(values)[:2] / values.sum(), start=1):
        ax.annotate(f"  $E({k})$ = {share:.3f}", (k, values[k - 1]), va="center", fontsize="small")
    ax.set(xlabel="rank $i$", ylabel=r"eigenvalue $\lambda_i$", xlim=(0, n + 1))


def projections(
    axes: Sequence[Axes], width: int, seed: int | None = None, *, design: str = "two_rightmost", step: float = 0.001
) -> None:
    r"""Losses, projections $\beta_1, \dots, \beta_5$ at every epoch, moving sizes of eight modes; low and peak marked.

    Args:
        axes: two or three, above one another; the third shows the rms of each projection over 400 epochs.
        seed: of the run; by default that of :func:`modes.drawn`, which is for two_rightmost.
    """
    seed = modes.drawn(width, step) if seed is None else seed
    losses = loss_curves.run(seed, design=design, width=width, step=step)
    found = bumps.slow(losses.expand_dims(seed=[seed])).isel(seed=0)
    beta = modes.every_epoch(seed, design=design, width=width, step=step)
    size = modes.moving_rms(beta, modes.WINDOW * modes.EVERY)[:: modes.EVERY]
    figures.losses(axes[0], losses.epoch, losses.train_loss / losses["count"].sum(), losses.test_loss)
    axes[0].set(ylim=(0, None), xlabel="", ylabel="mean hinge loss")
    for i, style in enumerate(figures.mode_styles(modes.MODES)):
        if i < 5:
            colour = {"color": style["color"], "label": f"{i + 1}"}
            axes[1].plot(beta[:, i], lw=0.5, zorder=2 + i / 10, rasterized=True, **colour)
        if len(axes) > 2:
            thickness = {"lw": 1.6 - (i > 4)}
            axes[2].plot(modes.EVERY * np.arange(len(size)), size[:, i], label=f"{i + 1}", **style | thickness)
    axes[1].set(ylabel=r"$\beta_1, \dots, \beta_5$")
    axes[-1].set(xlabel="epoch")
    for ax in axes:
        for name, style in (("low", ":"), ("peak", "--")) if found.recovers else ():
            ax.axvline(float(found[name]), color="0.3", lw=1, ls=style, zorder=4)


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


def first_preset() -> Figure:
    """The first preset's run as a figure, for readers without scripts: the network at the end, and both losses."""
    *_, chosen = laboratory.PRESETS[0]
    sample, run = laboratory.train(chosen)
    figure, (network, curves) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    figures.clusters(network, 3)
    network.plot(loss_curves.GRID, run.predictions[-1], color=figures.COLOURS["live"])
    figures.sample(network, sample.x, sample.y)
    network.set(xlabel="x", ylabel="f(x)", title=f"after {loss_curves.EPOCHS:,} epochs")
    figures.losses(curves, run.epochs, **laboratory.losses(chosen, run))
    return figure
