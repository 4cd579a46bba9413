"""What the pages on localised receptive fields draw several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.localization import (
    dominance,
    filters,
    gabor,
    laboratory,
    networks,
    objectives,
    populations,
    processes,
    proofs,
    reductions,
    ring_average,
)
from experiments.localization.rules import beginning as beginning_rules
from experiments.localization.rules import fields as field_rules
from experiments.localization.rules import populations as population_rules
from shallow import committee, receptive_fields, stats
from shallow.book import figures
from shallow.data import nlgp
from shallow.stats import Interval, stream
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
    left.imshow(scaled, cmap="RdBu", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
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


def closure_on_signs(ax: Axes) -> None:
    r"""(9) of the filter $(\epsilon, 1, \epsilon)$ on sign data: exact, by the closure, and by the variances alone."""
    weights = np.geomspace(0.03, 0.49, 25)
    shares = [proofs.agreeing(process) for process in networks.pair(np.inf)]
    moments = np.array([[proofs.side_moments(share, w) for w in weights] for share in shares])
    ratio = moments[0, :, 0] / moments[1, :, 0]
    closed = [reductions.saturated_dominance(*one) for one in zip(ratio, *moments[:, :, 1], strict=True)]
    ax.axhline(proofs.side_value(*shares), color=figures.COLOURS["live"], label="exact")
    ax.plot(weights, closed, "--", color=figures.COLOURS["test"], label="variances and kurtoses")
    ax.plot(weights, dominance.at_a_point(ratio), ":", color=figures.COLOURS["train"], label="variances alone")
    ax.set(
        xlabel=r"side weight $\epsilon$",
        ylabel="(9)",
        ylim=(0.48, 1.02),
        title=r"signs, filter $(\epsilon, 1, \epsilon)$",
    )


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


# Data and the loss before training.


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


def one_place(left: Axes, right: Axes, measures: xr.DataArray) -> None:
    """Values of one place: densities with histograms, and measures of the distance from normal against the gain.

    Args:
        measures: of :func:`experiments.localization.processes.marginals`.
    """
    z = stream("localization", "marginal", 0).standard_normal(200_000)
    for gain, style in zip((0.1, 0.5**0.5, 1.0, 3.0), figures.mode_styles(4), strict=True):
        law, reach = nlgp.Process(40, 2.0, gain), min(processes.largest_value(gain), 3.5)
        grid = np.linspace(-reach, reach, 401)[1:-1]
        left.hist(law.observed(z), np.linspace(-reach, reach, 61), density=True, histtype="step", ls="-", color="0.7")
        left.plot(grid, law.density(grid), label=f"$g = {gain:.2g}$", **style)
    left.set(xlabel="value $x$", ylabel="density", xlim=(-3.4, 3.4), ylim=(0, 1.25))
    left.legend(fontsize="x-small", loc="upper center", handlelength=1.5)
    fine = np.geomspace(0.01, 100, 60)
    kurtosis = [nlgp.Process(40, 2.0, gain).excess_kurtosis for gain in fine]
    distance = [processes.exact_distance(gain) for gain in fine]
    part = [processes.nonlinear_part(gain) for gain in fine]
    curves = {"excess kurtosis": (kurtosis, "excess kurtosis", "test", "o", "-")}
    curves["distance"] = (distance, "distance from $N(0, 1)$", "train", "s", "--")
    curves["nonlinear"] = (part, "part not linear in $Z$", "label_plus", "^", "-.")
    for name, (values, label, colour, marker, line) in curves.items():
        look = {"color": figures.COLOURS[colour], "label": label, "ms": 4}
        right.plot(measures.gain, measures.sel(measure=name).mean("seed"), marker, **look)
        right.plot(fine, values, line, color=figures.COLOURS[colour], lw=1.2)
    right.axhline(0, color="k", lw=0.6)
    right.set(xscale="log", xlabel="gain $g$", ylabel="measure", ylim=(-2.15, 1.6))
    right.legend(fontsize="small", loc="upper left")


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
            for gain in change.gain.values:
                interval = stats.student(change.sel(gain=gain).values)
                half = (interval.high - interval.low) / 2
                ax.errorbar(gain, interval.estimate, half, fmt="o", color=figures.COLOURS["live"], ms=3, capsize=2)
            ax.set_xscale("log")
            ax.set_xticks([0.01, 1, 100], ["0.01", "1", "100"])
        row[0].set_ylabel(f"{'ReLU' if activation == 'relu' else 'erf'}: change, %")
    for ax, name in zip(axes[0], curves.normalisation.values, strict=True):
        ax.set_title(f"{name} data", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("gain $g$")
    handles = axes[0, 0].get_legend_handles_labels()
    axes[0, 0].figure.legend(*handles, loc="outside upper center", ncols=3, fontsize="small")


# Populations.


def fields_as_rows(ax: Axes, W: np.ndarray, b: np.ndarray) -> None:
    """Fields of a network (K, n) as rows of colours, each scaled to 1, by population and centre; a line between."""
    order = populations.order(W, b)
    scaled = W[order] / np.abs(W[order]).max(axis=1, keepdims=True)
    ax.imshow(scaled, cmap="PuOr", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.axhline((populations.population(b) < 0).sum() - 0.5, color="k", lw=1)
    ax.grid(False)


def two_populations(axes: np.ndarray, runs: xr.Dataset, shown: int = 3) -> None:
    """Fields of one network at either gain (top), bias against mean frequency of some (bottom); runs at one step."""
    for gain, (top, below) in zip(runs.gain.values, axes.T, strict=True):
        one = runs.sel(gain=gain).transpose("seed", "neuron", "pixel")
        fields_as_rows(top, one.W.values[0], one.b.values[0])
        top.set(title=f"$g = {gain:g}$", xlabel="pixel")
        for sign, name, marker in ((-1, "label_minus", "v"), (1, "label_plus", "^")):
            b = one.b.values[:shown]
            chosen = populations.population(b) == sign
            frequency = receptive_fields.mean_frequency(one.W.values[:shown])
            below.plot(frequency[chosen], b[chosen], marker, ms=3.5, color=figures.COLOURS[name], ls="none")
        below.axvline(runs.sizes["pixel"] / 4, color="0.5", ls=":")
        below.axhline(0, color="k", lw=0.6)
        below.set(xlabel="mean frequency, cycles per ring", xlim=(0, 20))
        below.margins(y=0.1)
    axes[0, 0].set_ylabel("neuron")
    axes[1, 0].set_ylabel("bias")


def populations_alone(axes: np.ndarray, runs: xr.Dataset) -> None:
    """Loss over the full one's, accuracy (open: threshold 0) and area of populations alone; runs of arrangements."""
    rows = list(population_rules.ROWS)
    for gain, shift, colour in ((0.01, -0.17, "train"), (3.0, 0.17, "test")):
        style = {"color": figures.COLOURS[colour], "ls": "none", "ms": 4}
        for ax, measure in zip(axes, ("loss", "accuracy_refitted", "area"), strict=True):
            values = population_rules.row_values(runs, measure, gain)
            full = values["full"] if measure == "loss" else 1
            for row, name in enumerate(rows):
                each = values[name] / full
                ax.plot(each, np.full(len(each), row + shift), "o", **style, label=None if row else f"$g = {gain:g}$")
        at_zero = population_rules.row_values(runs, "accuracy", gain)
        for row, name in enumerate(rows):
            if "cut out" not in name:
                axes[1].plot(at_zero[name], np.full(len(at_zero[name]), row + shift), "o", **style, mfc="none")
    axes[0].axvline(1.1, color="0.5", ls=":")
    for ax, label in zip(axes, ("loss over that of the full network", "accuracy", "area under ROC curve"), strict=True):
        ax.set_xlabel(label)
        ax.grid(True, axis="y", lw=0.4)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].invert_yaxis()


def out_of_balance(axes: np.ndarray, runs: xr.Dataset) -> None:
    """Loss, accuracies and final number of positive biases against the number clamped or begun; rows are gains."""
    width = runs.sizes["neuron"]
    counts = (4, 10, 20, 30, 36)
    series = (
        ("clamped", "o", "train", {0: "minus only", **{m: f"clamped {m}" for m in counts}, width: "plus only"}),
        ("begun so", "s", "test", {0: "begun at -0.5", **{m: f"begun {m}" for m in counts}, width: "begun at +0.5"}),
    )  # fmt: skip
    for row, gain in zip(axes, (3.0, 0.01), strict=True):
        there = runs.sel(gain=gain)
        b = there.b.transpose("seed", "network", "neuron").values
        there = there.assign(positive=(("seed", "network"), populations.balance(b).plus))
        for label, marker, colour, names in series:
            look = {"marker": marker, "color": figures.COLOURS[colour], "ms": 4, "capsize": 2, "lw": 1}
            for ax, measure, style in (
                (row[0], "loss", "-"), (row[1], "accuracy", "-"), (row[1], "accuracy_refitted", "--"),
                (row[2], "positive", "-"),
            ):  # fmt: skip
                values = there[measure].sel(network=list(names.values())).transpose("seed", "network").values
                middle = values.mean(axis=0)
                reach = np.abs(np.stack([values.min(axis=0), values.max(axis=0)]) - middle)
                face = None if style == "-" else "none"
                ax.errorbar(list(names), middle, reach, ls=style, mfc=face, label=label, **look)
        for ax, measure in zip(row, ("loss", "accuracy", "positive"), strict=True):
            ax.axhline(float(there[measure].sel(network="free").mean()), color="0.5", ls=":", lw=1)
        row[2].plot([0, width], [0, width], color="k", lw=0.6)
        for ax, label in zip(row, (f"loss, $g = {gain:g}$", "accuracy", "positive at the end"), strict=True):
            ax.set_ylabel(label)
    for ax in axes[1]:
        ax.set(xlabel="positive of 40", xticks=[0, 10, 20, 30, 40])


def starts_and_ends(axes: np.ndarray, runs: xr.Dataset) -> None:
    """Share of positive biases at the end against that at the start, and loss above the best start; one gain."""
    left, right = axes
    for starts, marker, label in (
        (population_rules.EXTREME, "o", "extreme"),
        (population_rules.MODERATE, "s", "moderate"),
    ):
        ends = [population_rules.shares(runs.sel(network=name)) for name in starts]
        for i, (begun, end) in enumerate(zip(starts.values(), ends, strict=True)):
            strong = "2" in list(starts)[i]
            face = "none" if strong else figures.COLOURS["train"]
            name = (label + (" (biases ±2)" if strong else "")) if i in (0, 2) else None
            left.plot(np.full(len(end), begun), end, marker, ms=4, mfc=face, color=figures.COLOURS["train"], label=name)
    left.plot([0, 1], [0, 1], color="k", lw=0.6)
    left.axhline(population_rules.shares(runs.sel(network="free")).mean(), color="0.5", ls=":")
    left.set(xlabel="share positive at the start", ylabel="share positive at the end", ylim=(0, 1))
    left.legend(fontsize="small")
    over = population_rules.excess(runs)
    names = sorted(over, key=lambda name: 0.0 if name == "free" else float(name[9:]))
    for row, name in enumerate(names):
        low, middle, high = (100 * value for value in (over[name].low, over[name].estimate, over[name].high))
        right.errorbar(row, middle, [[middle - low], [high - middle]], fmt="o", ms=4, capsize=3, color="k")
    right.axhline(5, color=figures.COLOURS["threshold"], ls=":")
    right.set_xticks(range(len(names)), ["0" if name == "free" else name[9:] for name in names])
    right.set(xlabel="all biases at the start", ylabel="loss above the best start, %")


# Tiling.


def bundle(ax: Axes, W: np.ndarray) -> None:
    """Fields of a population, moved and flipped to lie on one another, with their mean (black) and that stretched."""
    lined, n = populations.aligned(W), W.shape[-1]
    mean = lined.mean(axis=0)
    move, sign = n // 2 - int(np.abs(mean).argmax()), np.sign(mean[np.abs(mean).argmax()])
    stretch = np.linalg.norm(W, axis=1).mean() / np.linalg.norm(mean)
    offsets = np.arange(n) - n // 2
    ax.plot(offsets, sign * np.roll(lined, move, axis=1).T, "-", color="#56B4E9", lw=0.5)
    ax.plot(offsets, sign * np.roll(mean, move), "-", color="k", lw=1.6, label="mean")
    ax.plot(offsets, sign * stretch * np.roll(mean, move), "--", color="#D55E00", lw=1.2, label="stretched mean")
    ax.set_xlabel("pixels from the centre")


def ring_errors(ax: Axes, measured: Mapping[int, xr.Dataset], gain: float) -> None:
    """Error of (4) against the number of neurons, by template and weights, means and ranges over networks."""
    forms = {
        ("(4), template", "halves"): ("as printed, equal halves", "test", "s", "-"),
        ("(4), template", "shares"): ("true shares", "train", "o", "-"),
        ("(4), own", "shares"): ("true shares, own averages", "train", "o", "--"),
        ("(4), mean", "shares"): ("true shares, unstretched mean", "null", "^", ":"),
    }
    for (form, weights), (label, colour, marker, style) in forms.items():
        each = np.stack([one.error.sel(form=form, weights=weights, gain=gain).values for one in measured.values()])
        intervals = [stats.student(values) for values in each]
        middle = np.array([one.estimate for one in intervals])
        reach = [middle - [one.low for one in intervals], [one.high for one in intervals] - middle]
        look = {"color": figures.COLOURS[colour], "marker": marker, "ms": 4, "lw": 1.2, "capsize": 2}
        ax.errorbar(list(measured), middle, reach, ls=style, label=label, **look)
    ax.axhline(1 / 3, color="0.5", ls=":")
    ax.set(xscale="log", xlabel="neurons $K$", title=f"$g = {gain:g}$", ylim=(0, None))
    ax.set_xticks(list(measured), [str(width) for width in measured])
    ax.minorticks_off()


def formulas(axes: np.ndarray, W: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Four formulas against the output of one network, by class."""
    values, output = ring_average.values(W, b, x), committee.Committee(W[None], b[None]).forward(x)[0]
    shown = {
        "(4) as printed": ("(4), template", "halves"), "(4), true shares": ("(4), template", "shares"),
        "(5) as printed": ("(5), own", "halves"), "(5) corrected": ("corrected, own", "shares"),
    }  # fmt: skip
    for ax, (title, key) in zip(axes, shown.items(), strict=True):
        for label, sign, name, marker in ((1, "+", "label_plus", "^"), (-1, "−", "label_minus", "v")):
            of = y == label
            style = {"ms": 2, "alpha": 0.5, "mew": 0, "color": figures.COLOURS[name], "ls": "none"}
            ax.plot(output[of], values[key][of], marker, label=f"class {sign}1", **style)
        ax.plot([-0.6, 0.6], [-0.6, 0.6], color="k", lw=0.8)
        ax.axhline(0, color="0.5", lw=0.6)
        ax.set(title=title, xlabel="output of the network")


def centres(ax: Axes, runs: xr.Dataset) -> None:
    """Centres of the negative fields of every network, one row each, by the sign of the peak."""
    for row, seed in enumerate(runs.seed.values):
        one = runs.sel(seed=seed)
        W = one.W.values[populations.population(one.b.values) == -1]
        places, peaks = receptive_fields.centre(W).position, receptive_fields.peak_sign(W)
        for peak, marker, face in ((1, "^", None), (-1, "v", "none")):
            label = f"peak {'+' if peak > 0 else '−'}" if row == 0 else None
            at = places[peaks == peak]
            look = {"color": figures.COLOURS["label_minus"], "mfc": face, "ms": 5, "ls": "none"}
            ax.plot(at, np.full(len(at), row - 0.1 * peak), marker, label=label, **look)
    ax.set(xlabel="pixel", ylabel="network", yticks=range(runs.sizes["seed"]), xlim=(-0.5, runs.sizes["pixel"] + 5.5))
    ax.legend(fontsize="small", loc="center right")


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
        right.plot(radius * np.cos(angles[of]), radius * np.sin(angles[of]), marker, ms=5, label=label,
                   color=figures.COLOURS["label_minus"], mfc=None if peak > 0 else "none")  # fmt: skip
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


def planted(ax: Axes, runs: xr.Dataset, gain: float) -> None:
    """Localisation over time of negative biases from three beginnings; step 0 is drawn at step 5."""
    styles = {"bumps": ("train", "o-"), "waves": ("test", "s--"), "random": ("live", "^:")}
    for begin, (colour, style) in styles.items():
        for seed in runs.seed.values:
            one = runs.spread.sel(gain=gain, begin=begin, seed=seed)
            label = begin if seed == runs.seed.values[0] else None
            ax.plot(np.maximum(one.step, 5), one, style, ms=3, lw=1, color=figures.COLOURS[colour], label=label)
    ax.axhline(receptive_fields.noise_level(40).mean, color=figures.COLOURS["null"], ls=":", lw=1)
    ax.set(xscale="log", xlabel="step", title=f"$g = {gain:g}$", ylim=(0, 0.42))


def arctan_law(ax: Axes, draws: xr.Dataset) -> None:
    """(9) for Gaussian data against the ratio of the standard deviations; dots are shares of won pairs."""
    r = np.geomspace(0.01, 100, 200)
    ax.semilogx(r, dominance.at_a_point(r**2), color="k", lw=1.2)
    for (s1, s0), wins in zip(objectives.PAIRS, draws.wins.values, strict=True):
        ax.plot(s1 / s0, wins / int(draws.pairs), "o", color=figures.COLOURS["train"])
    ax.set(xlabel="$s_1 / s_0$", title="(9), Gaussian data")


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
    """Leads over the constant of bumps by width on data with one covariance and three kinds of tails.

    Args:
        leads: by "light", "Gaussian" and "heavy".
    """
    looks = {"light": ("o-", "train"), "Gaussian": ("-", "live"), "heavy": ("s--", "test")}
    for tails, (style, colour) in looks.items():
        found = leads[tails]
        values = [one.estimate for one in found]
        errors = [[one.estimate - one.low for one in found], [one.high - one.estimate for one in found]]
        ax.errorbar(filters.WIDTHS, values, errors, fmt=style, ms=4, lw=1.2, color=figures.COLOURS[colour], label=tails)
    ax.axhline(0, color=figures.COLOURS["null"], lw=0.8)
    _widths(ax)


def localisation_by_tails(ax: Axes, values: Mapping[str, tuple[np.ndarray, Sequence[Interval]]]) -> None:
    """Median inverse participation ratio of negative fields against the gain, by the tails of the data.

    Args:
        values: gains and intervals by "light", "Gaussian" and "heavy".
    """
    looks = {"light": ("v-", "train"), "Gaussian": ("D-", "live"), "heavy": ("s--", "test")}
    level = receptive_fields.noise_level(networks.N)
    ax.axhspan(level.mean - 2 * level.deviation, level.mean + 2 * level.deviation, color="0.88", lw=0)
    ax.axhline(1 / networks.N, color=figures.COLOURS["null"], ls="--", lw=1)
    for tails, (style, colour) in looks.items():
        gains, found = values[tails]
        middle = [one.estimate for one in found]
        errors = [[one.estimate - one.low for one in found], [one.high - one.estimate for one in found]]
        ax.errorbar(gains, middle, errors, fmt=style, ms=5, lw=1.2, color=figures.COLOURS[colour], label=tails)
    ax.set(xscale="log", xlabel="gain $g$", ylabel="inverse participation ratio", ylim=(0, None))


def torus_fields(figure: Figure, runs: xr.Dataset, gains: Sequence[float] = (0.01, 3.0), count: int = 4) -> None:
    """Fields of one network on the torus by gain and sign of the bias, each scaled to its largest weight."""
    axes = figure.subplots(
        2, 2 * count + 1, gridspec_kw={"wspace": 0.05, "width_ratios": [1] * count + [0.3] + [1] * count}
    )
    for half, gain in enumerate(gains):
        one = runs.sel(gain=gain, seed=0)
        for row, sign in enumerate((-1, 1)):
            shown = one.W.values[populations.population(one.b.values) == sign][:count]
            for ax, w in zip(axes[row, half * (count + 1) :], shown):
                ax.imshow(w / np.abs(w).max(), cmap="PuOr", vmin=-1, vmax=1, interpolation="nearest")
            name = "negative" if sign < 0 else "positive"
            axes[row, half * (count + 1)].set_title(f"$g = {gain:g}$, {name}", fontsize="small", loc="left")
    for ax in axes.flat:
        ax.set_axis_off()


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


def every_field(ax: Axes, runs: xr.Dataset, of: str) -> None:
    """Localisation of every field of some networks at one gain by two measures, with white noise."""
    noise, end = runs.sel(of="noise"), runs.sel(of=of)
    ax.plot(noise.ipr.values.ravel(), noise.window.values.ravel(), ".", ms=2.5, color="0.7", label="white noise")
    for sign, marker, name in ((1, "^", "plus"), (-1, "v", "minus")):
        chosen = sign * end.b.values > 0
        label = "negative" if sign < 0 else "positive"
        ax.plot(end.ipr.values[chosen], end.window.values[chosen], marker, ms=3, alpha=0.6, mew=0,
                color=figures.COLOURS[f"label_{name}"], label=label)  # fmt: skip
    ax.set(xlabel="inverse participation ratio", xlim=(0, 0.5), ylim=(0.2, 1.03))


def gabor_against_bump(ax: Axes, runs: xr.Dataset, of: str) -> None:
    """R^2 of the best Gabor function against that of the best bump, a point for a field, at one gain."""
    ax.plot([0, 1], [0, 1], color="k", lw=0.6)
    noise, end = runs.sel(of="noise"), runs.sel(of=of)
    ax.plot(noise.bump.values.ravel(), noise.gabor.values.ravel(), ".", ms=2.5, color="0.7", label="white noise")
    for sign, marker, name in ((1, "^", "plus"), (-1, "v", "minus")):
        chosen = sign * end.b.values > 0
        label = "negative" if sign < 0 else "positive"
        ax.plot(end.bump.values[chosen], end.gabor.values[chosen], marker, ms=3, alpha=0.6, mew=0,
                color=figures.COLOURS[f"label_{name}"], label=label)  # fmt: skip
    ax.axhline(0.9, color=figures.COLOURS["threshold"], ls=":", lw=1)
    ax.set(xlabel="$R^2$ of a bump", xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))


def scaling_up(axes: Sequence[Axes], runs: xr.Dataset) -> None:
    """(8), (6) and the loss of bumps against their norm, bias in proportion; means over draws, a line for a ratio."""
    for ax, name, title in zip(axes, ("point", "ring", "loss"), ("(8)", "(6)", "best loss"), strict=True):
        for width, style in zip(runs.width.values, ("-", "--"), strict=True):
            for slope, colour, marker in zip(runs.slope.values, ("train", "live", "test"), "o^s", strict=True):
                label = f"{slope:g}" if style == "-" else None
                values = runs[name].sel(width=width, slope=slope).mean("seed")
                ax.plot(runs.norm, values, style, marker=marker, ms=4, lw=1.1, color=figures.COLOURS[colour],
                        label=label)  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set(xlabel="norm of the bump", title=title, xticks=runs.norm.values)
        ax.set_xticklabels([f"{norm:g}" for norm in runs.norm.values])


def shapes_at_norms(ax: Axes, runs: xr.Dataset) -> None:
    """Test loss of initial and of trained directions at scaled norms with new biases, means over networks."""
    for gain, colour in zip(runs.gain.values, ("live", "train"), strict=True):
        for shape, style in (("initial", "s--"), ("final", "o-")):
            curve = runs.swept.sel(gain=gain, shape=shape).mean("seed")
            name = "trained" if shape == "final" else "initial"
            ax.plot(curve.factor, curve, style, ms=3.5, lw=1.1, color=figures.COLOURS[colour],
                    label=f"{name}, $g = {gain:g}$")  # fmt: skip
    ax.set(xscale="log", xlabel="norms over the trained norms", ylabel="test loss")
    ax.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
    ax.minorticks_off()


def growth(axes: Sequence[Axes], runs: xr.Dataset, fine: xr.Dataset) -> None:
    """Norm, cosine with the end and high frequencies of negative fields over time, means over networks of medians.

    Step 0 is drawn at step 5.
    """
    cases = {
        "$g = 0.01$": (runs.sel(gain=0.01), "live", "o-"),
        "$g = 3$": (runs.sel(gain=3.0), "train", "^-"),
        "$g = 3$, 400 pixels": (fine.isel(gain=0), "test", "s--"),
    }
    for ax, name in zip(axes, ("norm", "cosine", "high"), strict=True):
        for label, (one, colour, style) in cases.items():
            curve = field_rules.over_time(one, name).mean("seed")
            ax.plot(np.maximum(curve.step, 5), curve, style, ms=3, lw=1.1, color=figures.COLOURS[colour], label=label)
        ax.set(xscale="log", xlabel="step")


def fine_spectra(ax: Axes, fine: xr.Dataset, steps: Sequence[int] = (0, 200, 1000, 4000)) -> None:
    """Mean power of the negative fields by frequency at some steps, ring of 400 pixels, over networks."""
    for step, style in zip(steps, figures.mode_styles(len(steps)), strict=True):
        power = fine.power.isel(gain=0).sel(side=-1, shown=step).mean("seed")
        ax.semilogy(power.k, power, lw=1.2, label=f"step {step}", **style)
    ax.axvline(10, color="0.5", ls=":", lw=0.8)
    ax.set(xlabel="cycles per ring $k$", ylabel="share of the power", xlim=(0, 90), ylim=(1e-5, 0.3))


def fine_field(axes: Sequence[Axes], fine: xr.Dataset, some: int = 0, cut: int = 60) -> None:
    """One negative field of 400 pixels at as many steps as there are axes, whole (grey) and up to `cut` cycles."""
    one = fine.example.isel(gain=0, seed=0, some=some)
    steps = [0, 200, 1000, 4000][-len(axes) :]
    places = np.arange(one.sizes["pixel"])
    for ax, step in zip(axes, steps, strict=True):
        w = one.sel(shown=step).values.astype(float)
        ax.plot(places, w, "-", color="0.75", lw=0.6, label="whole field")
        ax.plot(places, receptive_fields.low_pass(w, cut), "-", color=figures.COLOURS["train"], lw=1.2,
                label=f"up to {cut} cycles")  # fmt: skip
        ax.set(title=f"step {step}", xlabel="pixel")


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


def descent_beside_flow(left: Axes, right: Axes, steps: xr.Dataset) -> None:
    """Biases after 400 steps against the two flows at g = 0.01, and relative errors by step for both gains."""
    run = steps.sel(loss="square", gain=0.01, seed=0).isel(step=-1)
    for flow, colour, marker in (("alone", "test", "^"), ("coupled", "train", "o")):
        look = {"color": figures.COLOURS[colour], "marker": marker}
        left.plot(run.b_flow.sel(flow=flow), run.b, ls="none", ms=2.5, alpha=0.6, label=flow, **look)
        for gain, dashes in ((0.01, "-"), (3.0, "--")):
            errors = beginning_rules.early_errors(steps, gain, flow)
            right.plot(errors.step, errors.mean("seed"), ls=dashes, ms=3, lw=1.1, label=f"{flow}, $g = {gain:g}$",
                       **look)  # fmt: skip
    end = float(np.abs(run.b).max())
    left.plot([-end, end], [-end, end], "k-", lw=0.6)
    left.set(xlabel="bias in the flow", ylabel="bias in training")
    right.set(xscale="log", yscale="log", xlabel="step", ylabel="relative difference")


def known_signs(ax: Axes, fates: xr.Dataset) -> None:
    """Share of signs of biases that the first step, the coupled flow and a second run know, by gain, with intervals."""
    shares = beginning_rules.signs_known(fates)
    rows = {"first step": "first step", "flow": "coupled flow", "second run": "second run",
            "flow, shuffled": "flow, shuffled"}  # fmt: skip
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


def bump_distances(ax: Axes, found: Mapping[str, xr.Dataset]) -> None:
    """Share of the bumps that lie within a distance of where a guess puts them."""
    styles = {"second run": ("live", "--"), "flow": ("train", "-"), "shuffled": ("null", ":")}
    for name, (colour, dashes) in styles.items():
        shares = [float((found[name].distance <= d).mean()) for d in range(21)]
        label = "coupled flow" if name == "flow" else name
        ax.step(range(21), shares, dashes, where="post", color=figures.COLOURS[colour], label=label)
    ax.set(xlabel="distance in pixels, at most", ylabel="share of the bumps", ylim=(0, 1.02), xlim=(0, 20))


def bias_over_rest(left: Axes, right: Axes, run: online.Run, gain: float, style: str = "-") -> None:
    """Of one network over time: median of |b| over the rest point of its field, and the share in the feedback's domain.

    By the sign of the bias at the end; before step 5 biases are small and their fields rest.
    """
    later = run.steps >= 5
    found = proofs.resting(run.W[0, later], run.b[0, later], gain)
    b, end = run.b[0, later], run.last.b[0]
    for sign, name in ((-1, "minus"), (1, "plus")):
        of, colour = sign * end > 0, figures.COLOURS[f"label_{name}"]
        label = f"{'negative' if sign < 0 else 'positive'}, $g = {gain:g}$"
        ratio = np.median(np.abs(b / found.predicted)[:, of], axis=1)
        left.plot(run.steps[later], ratio, style, color=colour, lw=1.2, label=label)
        right.plot(run.steps[later], (found.sided & found.inside & found.feeds)[:, of].mean(axis=1), style,
                   color=colour, lw=1.2)  # fmt: skip
    for ax in (left, right):
        ax.set(xscale="log", xlabel="step")


def frequency_and_bias(ax: Axes, runs: xr.Dataset) -> None:
    """Mean frequency against the bias of every neuron of some networks at one gain, after the last step."""
    end = runs.isel(step=-1)
    for sign, marker, name in ((-1, "v", "minus"), (1, "^", "plus")):
        of = sign * end.b.values > 0
        ax.plot(end.b.values[of], end.frequency.values[of], marker, ms=3, alpha=0.6, mew=0,
                color=figures.COLOURS[f"label_{name}"])  # fmt: skip
    ax.axhline(networks.N / 4, color="0.5", ls=":", lw=1)
    ax.axvline(0, color="k", lw=0.6)
    ax.set(xlabel="bias", ylim=(0, 20))
