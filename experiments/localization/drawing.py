"""What the pages on localised receptive fields draw several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.localization import dominance, laboratory, networks
from experiments.localization.beginning import rules as beginning_rules
from experiments.localization.bumps import filters
from experiments.localization.data import cells as processes
from experiments.localization.fields import gabor
from experiments.localization.populations import alone
from experiments.localization.populations import cells as populations
from experiments.localization.theory import cells as proofs
from shallow import committee, receptive_fields, stats
from shallow.book import figures
from shallow.data import nlgp
from shallow.stats import Interval
from shallow.train import online


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


def bias_drift(ax: Axes, v1: float = 4.0, v0: float = 2.0) -> None:
    """Velocity of a bias in the flow of the absolute loss, for a field and for one with the variances exchanged."""
    b = np.linspace(-5, 5, 401)
    for (first, second), style, colour, name in (
        ((v1, v0), "-", "label_minus", f"$v_1 = {v1:g}$, $v_0 = {v0:g}$"),
        ((v0, v1), "--", "label_plus", f"$v_1 = {v0:g}$, $v_0 = {v1:g}$"),
    ):
        weights = [np.exp(-(b**2) / (2 + 2 * v)) / (1 + v) ** 0.5 for v in (first, second)]
        ax.plot(b, (weights[0] - weights[1]) / 2, style, color=figures.COLOURS[colour], label=name)
        rest = np.sign(second - first) * proofs.reversal(first, second)
        ax.plot(rest, 0, "o", color=figures.COLOURS[colour])
    ax.axhline(0, color="k", lw=0.6)
    ax.set(xlabel="bias $b$", ylabel=r"drift, units of $\sqrt{2/\pi}/K$", ylim=(-0.09, 0.13))


def trained_thresholds(ax: Axes, runs: xr.Dataset, gains: Sequence[float] = (0.01, 3.0)) -> None:
    """Biases of trained neurons against the rest points of their own fields; runs at one step, dims gain and seed."""
    for gain, marker, colour in zip(gains, "ox", ("train", "test"), strict=True):
        one = runs.sel(gain=gain).transpose("seed", "neuron", "pixel")
        rest = proofs.resting(one.W.values, one.b.values, gain).predicted
        ax.plot(
            rest.ravel(), one.b.values.ravel(), marker, ms=3, color=figures.COLOURS[colour], label=f"$g = {gain:g}$"
        )
    ends = np.array([-7.5, 7.5])
    ax.plot(ends, ends, color="0.5", lw=0.8)
    ax.set(xlabel=r"rest point of the field, $\mp b_*$", ylabel="trained bias", xlim=ends, ylim=ends)


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


def slow_and_fast(axes: np.ndarray) -> None:
    """A sample of each class, nearly Gaussian and at gain 3, from the same Gaussian numbers."""
    for ax, word, xi in zip(axes, ("slow", "fast"), networks.LENGTHS, strict=True):
        z = nlgp.Process(40, xi, 1.0).latent(stats.stream("localization", "two samples", xi), 1)
        for gain, style in ((0.01, "--"), (3.0, "-")):
            x = nlgp.Process(40, xi, gain).observed(z)[0]
            ax.plot(x, style, lw=1.3, color=figures.COLOURS["test" if gain > 1 else "train"], label=f"$g = {gain:g}$")
        ax.axhline(0, color="k", lw=0.5)
        ax.set(title=word, xlabel="place on the ring", ylim=(-2.5, 4))
    axes[0].set_ylabel("value")
    axes[1].legend(fontsize="small", loc="upper right", ncols=2)


def crossing_densities(ax: Axes, u1: float = 4.0, u0: float = 1.5) -> None:
    """Two normal densities of responses, slow and fast, and where they cross."""
    h = np.linspace(-6, 6, 301)
    for u, label, style, colour in ((u1, "slow", "-", "train"), (u0, "fast", "--", "test")):
        ax.plot(
            h, np.exp(-(h**2) / (2 * u)) / np.sqrt(2 * np.pi * u), style, color=figures.COLOURS[colour], label=label
        )
    crossing = abs(proofs.reversal(u1, u0))
    for place in (-crossing, crossing):
        ax.axvline(place, color="0.5", ls=":", lw=1)
    ax.set(xlabel="response", ylabel="density", ylim=(0, None), xticks=[-crossing, 0, crossing])
    ax.set_xticklabels(["$-b_*$", "0", "$b_*$"])
    ax.legend(fontsize="small")


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
    ax.set(xlabel="mean frequency, cycles per ring", xlim=(0, 20))
    ax.margins(y=0.1)


def two_populations(axes: np.ndarray, runs: xr.Dataset) -> None:
    """Fields of one network at either gain (top), bias against mean frequency of some (bottom); runs at one step."""
    for gain, (top, below) in zip(runs.gain.values, axes.T, strict=True):
        one = runs.sel(gain=gain).transpose("seed", "neuron", "pixel")
        fields_as_rows(top, one.W.values[0], one.b.values[0])
        top.set(title=f"$g = {gain:g}$", xlabel="pixel")
        biases_by_frequency(below, one)
    axes[0, 0].set_ylabel("neuron")
    axes[1, 0].set_ylabel("bias")


def populations_alone(axes: np.ndarray, runs: xr.Dataset, outputs: xr.Dataset | None = None) -> None:
    """Loss over the full one's, accuracy (open: threshold 0) and area of populations alone.

    Runs of arrangements, and of outputs with trained constants in the place of those that are held.
    """
    rows = list(alone.row_values(runs, "loss", 3.0, outputs))
    for gain, shift, colour in ((0.01, -0.17, "train"), (3.0, 0.17, "test")):
        style = {"color": figures.COLOURS[colour], "ls": "none", "ms": 4}
        for ax, measure in zip(axes, ("loss", "accuracy_refitted", "area"), strict=True):
            values = alone.row_values(runs, measure, gain, outputs)
            full = values["full"] if measure == "loss" else 1
            for row, name in enumerate(rows):
                each = values[name] / full
                ax.plot(each, np.full(len(each), row + shift), "o", **style, label=None if row else f"$g = {gain:g}$")
        at_zero = alone.row_values(runs, "accuracy", gain, outputs)
        for row, name in enumerate(rows):
            if "cut out" not in name:
                axes[1].plot(at_zero[name], np.full(len(at_zero[name]), row + shift), "o", **style, mfc="none")
    axes[0].axvline(1.1, color="0.5", ls=":")
    for ax, label in zip(axes, ("loss over that of the full network", "accuracy", "area under ROC curve"), strict=True):
        ax.set_xlabel(label)
        ax.grid(True, axis="y", lw=0.4)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].invert_yaxis()


# Tiling.


def fine_fields(axes: np.ndarray, run: xr.Dataset, cut: int = 20) -> None:
    """One network on a fine ring: its fields, their pairwise similarities, and the centres of the negative ones."""
    rows, middle, right = axes
    W, b = receptive_fields.low_pass(run.W.values, cut), run.b.values
    signs = populations.population(b)
    fields_as_rows(rows, W, b)
    rows.set(xlabel="pixel", ylabel="neuron")
    bins = np.linspace(0, 1, 41)
    for sign, name, label in ((-1, "label_minus", "negative"), (1, "label_plus", "positive")):
        similar = populations.pairs(populations.match(W[signs == sign]).similarity)
        middle.hist(similar, bins, histtype="stepfilled", color=figures.COLOURS[name], alpha=0.7, label=label)
    middle.axvline(0.9, color="0.5", ls=":")
    middle.set(xlabel="similarity of two fields", ylabel="pairs", yscale="log")
    middle.legend(fontsize="small", loc="upper left")
    chosen = W[signs == -1]
    angles = 2 * np.pi * receptive_fields.centre(chosen).position / run.sizes["pixel"]
    for peak, marker in ((1, "^"), (-1, "v")):
        of = receptive_fields.peak_sign(chosen) == peak
        radius = 1 if peak > 0 else 0.85
        label = f"peak {'+' if peak > 0 else '−'}"
        look = {"ms": 5, "color": figures.COLOURS["label_minus"], "mfc": None if peak > 0 else "none"}
        right.plot(radius * np.cos(angles[of]), radius * np.sin(angles[of]), marker, label=label, **look)
    right.add_patch(plt.Circle((0, 0), 0.92, fill=False, lw=0.6, color="0.5"))
    right.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=[], yticks=[], title="centres on the ring")
    right.grid(False)
    right.legend(fontsize="small", loc="center")


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


def rivals(ax: Axes, runs: xr.Dataset, fine: xr.Dataset, gain: float) -> None:
    """(9) of bumps and of the best Gabor function against their width, beside the constant and the best cosine.

    Args:
        runs, fine: records on 40 and on 400 points.
    """
    one = runs.sel(gain=gain)
    best = one.gabors.sel(draw="evaluate").isel(carrier=one.gabors.sel(draw="select").argmax("carrier")).mean("seed")
    bumps, waves = (one[name].sel(draw="evaluate").mean("seed") for name in ("gabors", "waves"))
    ax.plot(one.width, bumps.sel(carrier=0), "o-", ms=3, color=figures.COLOURS["train"], label="bump")
    ax.plot(one.width, best, "x", ms=5, color=figures.COLOURS["test"], label="Gabor function")
    finer = fine.sel(gain=gain).gabors.sel(draw="evaluate", carrier=0).mean("seed")
    ax.plot(one.width, finer, "--", lw=1, color=figures.COLOURS["train"], label="bump, 400 points")
    ax.axhline(waves.sel(mode=0), color="k", lw=1, label="constant")
    ax.axhline(waves.sel(mode=slice(1, None)).max(), color="k", ls=":", lw=1, label="best cosine")
    _widths(ax)
    ax.set(title=f"$g = {gain:g}$")


def kurtosis_of_bumps(ax: Axes, runs: xr.Dataset) -> None:
    """Excess kurtosis of the responses of bumps against their width, by class; means of a record at one gain."""
    for label, name, style, colour in (("slow", 1, "o-", "train"), ("fast", 0, "s--", "test")):
        values = runs.kurtosis.sel({"class": name})
        ax.plot(filters.WIDTHS, values, style, ms=3, color=figures.COLOURS[colour], label=f"{label} class")
    _widths(ax)
    ax.set(title="excess kurtosis of the response, $g = 3$")


def twin_leads(ax: Axes, leads: Mapping[str, Sequence[Interval]]) -> None:
    """Leads of bumps over the constant by width, for data of one covariance with light, Gaussian and heavy tails."""
    looks = {"light": ("o-", "train"), "Gaussian": ("-", "live"), "heavy": ("s--", "test")}
    for tails, (style, colour) in looks.items():
        look = {"fmt": style, "ms": 4, "lw": 1.2, "capsize": 0, "color": figures.COLOURS[colour]}
        figures.errorbars(ax, filters.WIDTHS, leads[tails], label=tails, **look)
    ax.axhline(0, color=figures.COLOURS["null"], lw=0.8)
    _widths(ax)


def _widths(ax: Axes) -> None:
    """A logarithmic axis of widths in pixels of a ring of 40."""
    ticks = [0.7, 1, 2, 5, 10]
    ax.set(xscale="log", xticks=ticks, xticklabels=ticks, xlabel="width $a$, pixels of 40")
    ax.minorticks_off()


# Localised fields.


def localisation_by_gain(left: Axes, right: Axes, table: xr.Dataset) -> None:
    """Median localisation and mean frequency of negative and positive fields by gain, a point for a network."""
    level = receptive_fields.noise_level(networks.N)
    left.axhspan(level.mean - 2 * level.deviation, level.mean + 2 * level.deviation, color="0.88", lw=0)
    for sign, marker, name in ((-1, "v", "minus"), (1, "^", "plus")):
        colour, label = figures.COLOURS[f"label_{name}"], "negative" if sign < 0 else "positive"
        for ax, measure in ((left, "ipr"), (right, "frequency")):
            values = table[measure].sel(sign=sign).transpose("gain", "seed")
            ax.plot(table.gain, values.mean("seed"), "-" if sign < 0 else "--", color=colour, label=label)
            ax.plot(table.gain, values, marker, ms=3.5, color=colour)
    left.set(xscale="log", xlabel="gain $g$", ylabel="inverse participation ratio", ylim=(0, 0.42))
    right.set(xscale="log", xlabel="gain $g$", ylabel="mean frequency, cycles", ylim=(0, 20))


def negative_fields_by_gain(ax: Axes, runs: xr.Dataset, gains: Sequence[float] = (0.01, 1.0, 100.0)) -> None:
    """The negative field of middling localisation of one network at some gains, with the bump and the Gabor function.

    Dots: the field over its largest weight, moved to the middle; dashed: the best bump; line: the best Gabor function.
    """
    for row, gain in enumerate(gains):
        one = runs.sel(gain=gain).isel(seed=0)
        W = one.W.values[populations.population(one.b.values) < 0]
        w = W[np.argsort(receptive_fields.inverse_participation_ratio(W))[len(W) // 2]]
        w = np.roll(w * receptive_fields.peak_sign(w) / np.abs(w).max(), networks.N // 2 - int(np.abs(w).argmax()))
        for model, style in (("bump", "--"), ("gabor", "-")):
            ax.plot(gabor.fit(w, model).curve() - 1.6 * row, style, color=figures.COLOURS["train"], lw=1)
        ax.plot(w - 1.6 * row, ".", ms=3, color="k")
    ax.set_yticks([-1.6 * row for row in range(len(gains))], [f"{gain:g}" for gain in gains])
    ax.set(xlabel="pixel", ylabel="negative field at gain $g$", ylim=(-1.6 * len(gains) + 0.8, 1.3))
    ax.grid(False)


# The beginning of training.


def bias_paths(ax: Axes, run: online.Run, gaps: np.ndarray) -> None:
    """Biases of one network over time, coloured by the sign of v0 - v1 at the start."""
    for path, gap in zip(run.b[0].T, gaps, strict=True):
        colour, dashes = ("label_plus", "--") if gap > 0 else ("label_minus", "-")
        ax.plot(run.steps, path, dashes, lw=0.9, color=figures.COLOURS[colour])
    ax.set(xscale="symlog", xlabel="step", ylabel="bias", xlim=(0, run.steps[-1]))
    ax.set_xticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])


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


def known_signs(ax: Axes, fates: xr.Dataset) -> None:
    """Share of signs of biases that the first step, the coupled flow and a second run know, by gain, with intervals."""
    shares = beginning_rules.signs_known(fates)
    rows = {
        "first step": "first step",
        "flow": "coupled flow",
        "second run": "second run",
        "flow, shuffled": "flow, shuffled",
    }
    for shift, gain, marker in zip((-0.2, 0, 0.2), fates.gain.values, "so^", strict=True):
        for row, name in enumerate(rows):
            found = stats.student(shares[name].sel(gain=gain).values)
            colour = figures.COLOURS["null" if "shuffled" in name else "live"]
            ax.plot([found.low, found.high], [row + shift] * 2, "-", color=colour, lw=1.3)
            ax.plot(
                found.estimate, row + shift, marker, color=colour, ms=4, label=f"$g = {gain:g}$" if not row else None
            )
    ax.set_yticks(range(len(rows)), rows.values())
    ax.set(xlabel="share of signs known", ylim=(len(rows) - 0.5, -0.5), xlim=(0.45, 1.0))
