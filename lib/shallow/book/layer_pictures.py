"""Pictures of the spectra of a model's layers: all exponents over the line of noise, and each layer by itself."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shallow.book import figures
from shallow.spectra.layers import Layer
from shallow.spectra.marchenko_pastur import MarchenkoPastur

MARKS = {"matrix": ("o", figures.BLUE), "flat": ("s", figures.ORANGE), "slices": ("^", figures.GREEN)}


def overview(layers: Sequence[Layer], ax: Axes | None = None) -> Figure:
    """PL_Alpha_Hill of every layer that has one, by its shape, over the line of noise of a large matrix.

    The stroke at each point leads to the mean of noise of that very shape; the axis of shapes is max(h, d) / min(h, d).
    """
    if ax is None:
        with plt.style.context(figures.STYLE):
            ax = plt.figure().add_subplot()
            return overview(layers, ax)
    shown = [one for one in layers if np.isfinite(one.hill)]
    ratios = np.array([max(one.h, one.d) / min(one.h, one.d) for one in shown])
    fine = np.geomspace(1, max(ratios.max(initial=1), 2), 60)
    ax.plot(fine, [MarchenkoPastur(round(1000 * ratio), 1000).hill for ratio in fine], "k", lw=1, label="noise")
    ax.vlines(ratios, [one.hill for one in shown], [one.hill_noise for one in shown], color="0.7", lw=0.8)
    for reading, (mark, colour) in MARKS.items():
        chosen = [i for i, one in enumerate(shown) if one.reading == reading]
        values = [shown[i].hill for i in chosen]
        if chosen:
            ax.plot(ratios[chosen], values, mark, color=colour, ls="", ms=4, mfc="none", label=reading)
    ax.set(xscale="log", yscale="log", xlabel="aspect ratio of the matrix", ylabel="PL_Alpha_Hill")
    figures.log_ticks(ax.xaxis)
    figures.log_ticks(ax.yaxis)
    ax.legend()
    return ax.figure


def single(layer: Layer) -> Figure:
    """The spectrum of a layer: left its density with the fitted bulk and outliers, right the largest with the tail.

    Right is the share of eigenvalues above each one, with the two power laws: PL_Alpha_Hill from the median on, and
    PL_Alpha_KS from its own cut on.  A layer without an exponent shows its eigenvalues alone.
    """
    values = layer.eigenvalues[layer.eigenvalues > 0]
    with plt.style.context(figures.STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.3))
        figure.suptitle(f"{layer.name}, {layer.reading}, {layer.h} x {layer.d}")
        if len(values):
            _density(left, layer, values)
            _tail(right, layer, values)
        else:
            left.set_title(layer.notes)
    return figure


def _density(ax: Axes, layer: Layer, values: np.ndarray) -> None:
    unit = float(np.mean(values))
    end = values[0]
    if np.isfinite(layer.variance):
        law = layer.law
        end = min(values[0], 1.6 * law.edges[1])
        x = np.linspace(*law.edges, 300)
        ax.plot(x / unit, law.density(x) * unit, "k", lw=1, label="noise, fitted")
        ax.axvline(law.edges[1] / unit, color="k", ls=":", lw=1)
        beyond = values[values > end]
        ax.set_title(f"{layer.outliers} beyond the edge" + (f", {len(beyond)} beyond the plot" if len(beyond) else ""))
    inside = values[values <= end] / unit
    counts, edges = np.histogram(inside, bins=min(60, 5 + len(inside) // 8))
    ax.stairs(counts / (len(values) * np.diff(edges)), edges, fill=True, color=figures.BLUE, alpha=0.5)
    ax.plot(inside, np.zeros_like(inside), "|", color=figures.BLUE, ms=6, clip_on=False)
    ax.set(xlabel="eigenvalue over the mean", ylabel="density")


def _tail(ax: Axes, layer: Layer, values: np.ndarray) -> None:
    unit, share = float(np.mean(values)), np.arange(1, len(values) + 1) / len(values)
    ax.plot(values / unit, share, ".", color=figures.BLUE, ms=3)
    if np.isfinite(layer.hill):
        sizes = {"Hill": (layer.hill, len(values) - len(values) // 2), "KS": (layer.ks, layer.ks_size or 2)}
        for (name, (alpha, size)), line in zip(sizes.items(), ("--", "-")):
            above = values[:size]
            fitted = size / len(values) * (above / above[-1]) ** (1 - alpha)
            ax.plot(above / unit, fitted, "k", ls=line, lw=1, label=f"{name}: {alpha:.2f}")
        ax.set_title(f"noise: {layer.hill_noise:.2f} ± {layer.hill_scatter:.2f}")
        ax.legend()
    ax.set(xscale="log", yscale="log", xlabel="eigenvalue over the mean", ylabel="share of eigenvalues above")
