"""Drawings of the chapter, for its pages alone: on the axes that they are given, returning nothing; one figure."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.heavy_tails import laboratory
from shallow.book import figures
from shallow.spectra.marchenko_pastur import MarchenkoPastur

BEFORE, AFTER = "#E3836B", "#2F6DB3"  # the document's red and blue, legible in print and on a dark page
GD, ADAM = "#0072B2", "#D55E00"
BINS = 100


def spectrum(
    ax: Axes, values: np.ndarray, initial: np.ndarray | None = None, *, log: bool = False, cut: float | None = None
) -> None:
    r"""Histogram of eigenvalues as the document draws it: 100 bins over each set's own range, densities of area one.

    A triangle marks a spike, of which a histogram of a thousand eigenvalues shows next to nothing.

    Args:
        values, initial: eigenvalues after and before training; the latter are drawn in red behind the former in blue.
        log: eigenvalues on $\log_{10}$, the density per decade on a logarithmic axis.
        cut: upper end of a linear axis; the bins end there.
    """
    for one, colour in ((initial, BEFORE), (values, AFTER)):
        if one is None:
            continue
        shown = np.log10(one[one > 0]) if log else one[one <= cut] if cut else one
        # One patch, not a hundred; and unlike a filled `hist` it leaves the cycle of line styles where it is.
        ax.stairs(*np.histogram(shown, BINS, density=True), fill=True, color=colour, alpha=0.65)
    first, second = np.sort(values)[[-1, -2]]
    if first > 1.05 * second and not (cut and first > cut):
        place = (np.log10(first) if log else first), 0.03
        ax.plot(*place, "v", color=AFTER, ms=5, transform=ax.get_xaxis_transform())
    ax.set_ylabel("density")
    if log:
        ax.set(xlabel=r"$\log_{10}$ eigenvalue", yscale="log")
        ax.tick_params(axis="y", which="minor", labelleft=False)
    else:
        ax.set_xlabel("eigenvalue", loc="left")  # at the right end stands the power of ten
        ax.locator_params(axis="x", nbins=4)


def on_both_axes(panels: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Figures of the document whose axes we do not know: eigenvalues after and before by title, four in a row.

    Above on logarithmic axes, below on linear ones, as high as the densities after training.
    """
    _, axes = plt.subplots(2, len(panels), figsize=(7.4, 4), layout="constrained")
    for column, (title, (values, initial)) in zip(axes.T, panels.items()):
        for ax, log in zip(column, (True, False)):
            spectrum(ax, values, initial, log=log)
            ax.set_ylabel("density" if ax in axes[:, 0] else "")
        column[0].set_title(title, fontsize="medium")
        column[1].set_ylim(0, 1.15 * np.histogram(values, BINS, density=True)[0].max())
        figures.few_ticks(column[1])


def over_rates(ax: Axes, by_rate: xr.DataArray, label: str, colour: str, marker: str = "o", *, line: str = "-") -> None:
    r"""Mean and standard deviation over seeds of values (seed, rate) against $\eta$; dashed: untrained."""
    rates = by_rate.rate.values[by_rate.rate.values > 0]
    shown = by_rate.sel(rate=rates)
    mean, spread = (one.values for one in (shown.mean("seed"), shown.std("seed")))
    ax.fill_between(rates, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
    ax.plot(rates, mean, line, color=colour, marker=marker, ms=4, lw=1.2, label=label)
    if 0 in by_rate.rate:
        ax.axhline(float(by_rate.sel(rate=0).mean("seed")), color="0.4", ls="--", lw=0.8)
    ax.set(xscale="log", xlabel=r"learning rate $\eta$")


def first_preset() -> Figure:
    """The laboratory's opening run as a figure, for readers without scripts: the spectrum, and what falls with it."""
    chosen = laboratory.opening()
    values, spectra = laboratory.train(chosen)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for one, colour, label in ((spectra[0], BEFORE, "before"), (spectra[-1], AFTER, f"after {chosen['steps']} steps")):
        left.hist(one, np.geomspace(10, 10**4.5, 41), histtype="stepfilled", color=colour, alpha=0.65, label=label)
    left.set(xscale="log", xlabel="eigenvalue", ylabel="number in a bin")
    left.legend()
    right.axhline(MarchenkoPastur(chosen["width"], laboratory.INPUTS).hill, ls="--", color="0.5", label="pure noise")
    right.plot(values["null"], ":", color="0.5", label="entries permuted within columns")
    right.plot(values["exponent"], "o-", color=AFTER, ms=4, label="PL_Alpha_Hill")
    right.set(xlabel="step", ylabel="exponent")
    right.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
    return figure
