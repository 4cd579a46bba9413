"""What the pages on localised receptive fields draw several times."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.localization import dominance, laboratory, networks
from experiments.localization.bumps import filters
from experiments.localization.data import cells as processes
from experiments.localization.populations import cells as populations
from experiments.localization.theory import cells as proofs
from shallow import committee, receptive_fields
from shallow.book import figures
from shallow.data import nlgp


def laboratory_picture() -> Figure:
    """The laboratory's first preset as a figure, for readers without scripts: all fields, and how they localise."""
    *_, chosen = laboratory.PRESETS[0]
    run = laboratory.train(chosen)
    W, b = run.last.W[0], run.last.b[0]
    values = laboratory.measured(run)
    order = populations.order(W, b)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    scaled = (W / np.abs(W).max(axis=1, keepdims=True))[order]
    left.imshow(scaled, cmap="PuOr", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    left.axhline((populations.population(b) < 0).sum() - 0.5, color="k", lw=1)
    left.set(xlabel="pixel", ylabel="field, negative biases above the line")
    left.grid(False)
    for name, sign in (("minus", "negative"), ("plus", "positive")):
        ratio = [np.nan if value is None else value for value in values[f"ipr_{name}"]]
        right.plot(run.steps[1:], ratio[1:], color=figures.COLOURS[f"label_{name}"], label=f"{sign} biases")
    right.axhline(3 / 42, color="0.5", ls=":", label="white noise")
    right.set(xscale="log", xlabel="step", ylabel="median inverse participation ratio", ylim=(0, 0.4))
    right.legend()
    return figure


# Theory.


def folded_terms(ax: Axes, bias: float) -> None:
    """The two terms of a pair of neurons of either sign against the modulus of the response."""
    h = np.linspace(0, 7, 200)
    sigma = committee.ACTIVATIONS["erf"]
    ax.plot(h, sigma(h + bias), "-", color=figures.COLOURS["train"], label=r"$\sigma(|h| + b)$, kept in (5)")
    ax.plot(h, sigma(bias - h), "--", color=figures.COLOURS["test"], label=r"$\sigma(b - |h|)$, dropped")
    ax.set(xlabel="modulus of the response $|h|$", title=f"bias $b = {bias:g}$", ylim=(-1.15, 1.15))


def closure_on_bumps(ax: Axes, runs: xr.Dataset) -> None:
    """(9) of bumps, from the means of a record over its draws at one gain: measured, and by the same two rules."""
    values, ratio = runs.gabors.sel(draw="evaluate", carrier=0), runs.gabor_ratio.sel(carrier=0)
    ax.semilogx(runs.width, values, "o", ms=4, color=figures.COLOURS["live"], label="measured")
    ax.semilogx(
        runs.width, proofs.closed_bumps(runs), "--", color=figures.COLOURS["test"], label="variances and kurtoses"
    )
    ax.semilogx(runs.width, dominance.at_a_point(ratio), ":", color=figures.COLOURS["train"], label="variances alone")
    ticks = [0.7, 1, 2, 5, 10]
    ax.set(xlabel="width $a$ of the bump, pixels", xticks=ticks, xticklabels=ticks, ylabel="(9)", ylim=(0.5, 0.7))
    ax.minorticks_off()


# Data.


def figure_1(axes: np.ndarray) -> None:
    """Figure 1 anew: three samples on 400 points in every panel, rows by gain, columns by length scale."""
    for column, (xi, z) in zip(axes.T, processes.picture(0).items(), strict=True):
        for ax, gain in zip(column, processes.PICTURE_GAINS, strict=True):
            for x, style in zip(nlgp.Process(400, xi, gain).observed(z), figures.mode_styles(3), strict=True):
                ax.plot(x, lw=1.1, **style)
            ax.axhline(0, color="k", lw=0.5)
            ax.set_title(f"$g = {gain:g}$", fontsize="small", loc="left")
        crossed = ", ".join(str(count) for count in nlgp.crossings(z))
        column[0].set_title(rf"$\xi = {xi:g}$; crossings {crossed}", fontsize="small", loc="right")
        column[-1].set_xlabel("place $t$ on the ring")
    for ax in axes[:, 0]:
        ax.set_ylabel("$X(t)$")


# Populations.


def crossing_densities(ax: Axes, u1: float = 4.0, u0: float = 1.5) -> None:
    """Two normal densities of responses, slow and fast, and where they cross."""
    h = np.linspace(-6, 6, 301)
    for u, label, style, colour in ((u1, "slow", "-", "train"), (u0, "fast", "--", "test")):
        ax.plot(
            h, np.exp(-(h**2) / (2 * u)) / np.sqrt(2 * np.pi * u), style, color=figures.COLOURS[colour], label=label
        )
    crossing = abs(proofs.reversal(u1 - 1, u0 - 1))
    for place in (-crossing, crossing):
        ax.axvline(place, color="0.5", ls=":", lw=1)
    ax.set(xlabel="response", ylabel="density", ylim=(0, None), xticks=[-crossing, 0, crossing])
    ax.set_xticklabels(["$-b_*$", "0", "$b_*$"])
    ax.legend(fontsize="small")


def above_threshold(ax: Axes, u1: float = 4.0, u0: float = 1.5) -> None:
    """The densities of :func:`crossing_densities` and what a neuron with a negative bias sees of them."""
    h, threshold = np.linspace(-6, 6, 301), abs(proofs.reversal(u1 - 1, u0 - 1))
    for u, label, style, name in ((u1, "slow noise", "-", "train"), (u0, "fast noise", "--", "test")):
        density = np.exp(-(h**2) / (2 * u)) / np.sqrt(2 * np.pi * u)
        ax.plot(h, density, style, color=figures.COLOURS[name], label=label)
        ax.fill_between(h, density, where=h >= threshold, color=figures.COLOURS[name], alpha=0.25, lw=0)
    ax.axvline(threshold, color="k", lw=1)
    ax.text(threshold + 0.3, 0.17, "above the\nthreshold", fontsize="small", va="center")
    ax.set(xlabel="response of a slow field", ylabel="density", ylim=(0, 0.4), xticks=[0], yticks=[])
    ax.legend(fontsize="small", loc="upper left")


def fields_as_rows(ax: Axes, W: np.ndarray, b: np.ndarray) -> None:
    """Fields of a network (K, n) as rows of colours, each scaled to 1, by population and centre; a line between."""
    order = populations.order(W, b)
    scaled = W[order] / np.abs(W[order]).max(axis=1, keepdims=True)
    ax.imshow(scaled, cmap="PuOr", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.axhline((populations.population(b) < 0).sum() - 0.5, color="k", lw=1)
    ax.grid(False)


def one_of_each(ax: Axes, W: np.ndarray, b: np.ndarray) -> None:
    """A field of either population as a curve, scaled to 1: those in the middle of the order of their centres."""
    rows, signs = populations.order(W, b), populations.population(b)
    for sign, name, word, style in (
        (-1, "label_minus", "negative bias", "-"),
        (1, "label_plus", "positive bias", "--"),
    ):
        chosen = [k for k in rows if signs[k] == sign]
        w = W[chosen[len(chosen) // 2]]
        ax.plot(w / np.abs(w).max(), style, color=figures.COLOURS[name], lw=1.5, label=word)
    ax.axhline(0, color="k", lw=0.5)


def biases_by_frequency(ax: Axes, runs: xr.Dataset, shown: int = 3) -> None:
    """Bias against mean frequency of the neurons of some networks, by population; runs at one gain and step."""
    one = runs.transpose("seed", "neuron", "pixel").isel(seed=slice(shown))
    b, frequency = one.b.values, receptive_fields.mean_frequency(one.W.values)
    for sign, name, marker in ((-1, "label_minus", "v"), (1, "label_plus", "^")):
        chosen = populations.population(b) == sign
        ax.plot(frequency[chosen], b[chosen], marker, ms=3.5, color=figures.COLOURS[name], ls="none")
    ax.axvline(runs.sizes["pixel"] / 4, color="0.5", ls=":")
    ax.axhline(0, color="k", lw=0.6)
    ax.set(xlabel="mean frequency of the field, cycles per ring", ylabel="bias at the end", xlim=(0, 20))
    ax.set_xticks(range(0, 21, 5))
    ax.margins(y=0.1)


def average_and_place(axes: Sequence[Axes], runs: xr.Dataset, gain: float) -> None:
    """(6) and (9) of waves, left, and of bumps, right, at one gain; means over the draws of a record, with laws."""
    one = runs.sel(gain=gain).mean("seed")
    names = [["constant", *(f"cosine {k}" for k in range(1, 21))], [f"bump {a:.2g}" for a in filters.WIDTHS]]
    for ax, chosen, places in zip(axes, names, (np.arange(21), filters.WIDTHS), strict=True):
        styles = (("average", "o-", "train", "ring, (6)"), ("point", "s--", "test", "one place, (9)"))
        for name, style, colour, label in styles:
            ax.plot(places, one[name].sel(filter=chosen), style, ms=3, color=figures.COLOURS[colour], label=label)
        ax.axhline(0.5, color=figures.COLOURS["null"], lw=0.8)
        ax.set(ylim=(0, 1))
    if gain < 0.1:
        first, second = (process.spectrum for process in networks.pair(0.0))
        for law, last in ((dominance.on_average(first, second), 8), (dominance.at_a_point(first / second), 21)):
            axes[0].plot(np.arange(last), law[:last], "o", mfc="none", mec="k", ms=6, mew=0.7)
    constant = one.point.sel(filter="constant")
    axes[1].axhline(constant, color=figures.COLOURS["test"], ls=":", lw=1, label="constant")
    axes[0].set_ylabel(f"probability, $g = {gain:g}$")


def spectra(ax: Axes, gain: float, n: int = 40, highest: int = 20) -> None:
    """Spectra of both classes and their difference against the frequency."""
    first, second = (process.spectrum[: highest + 1] for process in networks.pair(gain, n, (n / 20, n / 40)))
    curves = (
        (first, "-", "train", r"$\lambda_1$"),
        (second, "--", "test", r"$\lambda_0$"),
        (first - second, ":", "live", r"$\lambda_1 - \lambda_0$"),
    )
    for values, style, colour, label in curves:
        ax.plot(np.arange(highest + 1), values, style, lw=1.4, color=figures.COLOURS[colour], label=label)
    ax.axhline(0, color=figures.COLOURS["null"], lw=0.8)
    ax.set(xlabel="cycles per ring $k$", title=f"spectra, $n = {n}$, $g = {gain:g}$")


def spectral_ratio(ax: Axes, n: int = 40, highest: int = 20, gains: Sequence[float] = (0.0, 3.0)) -> None:
    r"""$\lambda_1(k)/\lambda_0(k)$ where both exceed the cut of :mod:`.dominance`, for Gaussian data and a gain."""
    for gain, (face, label) in zip(gains, (("k", "Gaussian"), ("w", f"$g = {gains[-1]:g}$")), strict=True):
        first, second = (process.spectrum for process in networks.pair(gain, n, (n / 20, n / 40)))
        kept = np.minimum(first / first.max(), second / second.max())[: highest + 1] > dominance.CUT
        k = np.flatnonzero(kept)
        ax.semilogy(k, (first[k] / second[k]), "o-", ms=3, lw=1, color="k", mfc=face, label=label)
    ax.set(xlabel="cycles per ring $k$", title=rf"$\lambda_1 / \lambda_0$, $n = {n}$")


def by_cycles(ax: Axes, runs: xr.Dataset, gains: Sequence[float] = (0.01, 1.0, 3.0, 100.0)) -> None:
    """(9) of the constant and of cosines by their cycles, means over the draws; the constant is k = 0."""
    for gain, style in zip(gains, figures.mode_styles(len(gains)), strict=True):
        waves = runs.waves.sel(gain=gain, draw="evaluate").mean("seed")
        ax.plot(waves.mode, waves, marker="o", ms=3, label=f"$g = {gain:g}$", **style)
    ax.axhline(0.5, color=figures.COLOURS["null"], lw=0.8)
    ax.set(xlabel="cycles per ring $k$", ylim=(0, 0.7))


def kurtosis_of_bumps(ax: Axes, runs: xr.Dataset) -> None:
    """Excess kurtosis of the responses of bumps against their width, by class; means of a record at one gain."""
    for label, name, style, colour in (("slow", 1, "o-", "train"), ("fast", 0, "s--", "test")):
        values = runs.kurtosis.sel({"class": name})
        ax.plot(filters.WIDTHS, values, style, ms=3, color=figures.COLOURS[colour], label=f"{label} class")
    _widths(ax)
    ax.set(title="excess kurtosis of the response, $g = 3$")


def _widths(ax: Axes) -> None:
    """A logarithmic axis of widths in pixels of a ring of 40."""
    ticks = [0.7, 1, 2, 5, 10]
    ax.set(xscale="log", xticks=ticks, xticklabels=ticks, xlabel="width $a$, pixels of 40")
    ax.minorticks_off()


# The beginning of training.


def ends_against_first_steps(ax: Axes, runs: xr.Dataset) -> None:
    """Biases at the end against v0 - v1 at the start, for networks at one gain; right predictions in the shade."""
    gap = (runs.v.sel(label=-1) - runs.v.sel(label=1)).transpose("seed", "neuron").values.ravel()
    b = runs.b.isel(step=-1, run=0).transpose("seed", "neuron").values.ravel()
    right = gap * b > 0
    ax.plot(gap[right], b[right], "o", ms=2, alpha=0.4, mew=0, color=figures.COLOURS["live"], label="as sent")
    ax.plot(gap[~right], b[~right], "x", ms=4, color=figures.COLOURS["test"], label="turned")
    ends = np.array([*ax.get_xlim(), *ax.get_ylim()])
    ax.fill_between([ends[0], 0], ends[2], 0, color=figures.COLOURS["shade"], zorder=0)
    ax.fill_between([0, ends[1]], 0, ends[3], color=figures.COLOURS["shade"], zorder=0)
    ax.set(xlabel="$v_0 - v_1$ at the start", ylabel="bias at the end", xlim=ends[:2], ylim=ends[2:])
