"""What the page on the two populations draws."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization.populations import cells as populations
from experiments.localization.populations import rules
from shallow import stats
from shallow.book import figures


def out_of_balance(axes: np.ndarray, runs: xr.Dataset) -> None:
    """Loss, accuracies and final number of positive biases against the number clamped or begun; rows are gains."""
    width = runs.sizes["neuron"]
    counts = (4, 10, 20, 30, 36)
    clamped = {0: "minus only", **{m: f"clamped {m}" for m in counts}, width: "plus only"}
    begun = {0: "begun at -0.5", **{m: f"begun {m}" for m in counts}, width: "begun at +0.5"}
    series = (("clamped", "o", "train", clamped), ("begun so", "s", "test", begun))
    curves = ((0, "loss", "-"), (1, "accuracy", "-"), (1, "accuracy_refitted", "--"), (2, "positive", "-"))
    for row, gain in zip(axes, (3.0, 0.01), strict=True):
        there = runs.sel(gain=gain)
        b = there.b.transpose("seed", "network", "neuron").values
        there = there.assign(positive=(("seed", "network"), populations.balance(b).plus))
        for label, marker, colour, names in series:
            look = {"marker": marker, "color": figures.COLOURS[colour], "ms": 4, "capsize": 2, "lw": 1}
            for place, measure, style in curves:
                values = there[measure].sel(network=list(names.values())).transpose("seed", "network").values
                middle = values.mean(axis=0)
                reach = np.abs(np.stack([values.min(axis=0), values.max(axis=0)]) - middle)
                face = None if style == "-" else "none"
                row[place].errorbar(list(names), middle, reach, ls=style, mfc=face, label=label, **look)
        for ax, measure in zip(row, ("loss", "accuracy", "positive"), strict=True):
            ax.axhline(float(there[measure].sel(network="free").mean()), color="0.5", ls=":", lw=1)
        row[2].plot([0, width], [0, width], color="k", lw=0.6)
        for ax, label in zip(row, (f"loss, $g = {gain:g}$", "accuracy", "positive at the end"), strict=True):
            ax.set_ylabel(label)
    for ax in axes[1]:
        ax.set(xlabel="positive of 40", xticks=[0, 10, 20, 30, 40])


def starts_and_ends(axes: np.ndarray, runs: xr.Dataset, outputs: xr.Dataset | None = None) -> None:
    """Share of positive biases at the end against that at the start, and loss above the best start; one gain."""
    left, right = axes
    for starts, marker, label in ((rules.EXTREME, "o", "extreme"), (rules.MODERATE, "s", "moderate")):
        ends = [rules.shares(runs.sel(network=name)) for name in starts]
        for i, (begun, end) in enumerate(zip(starts.values(), ends, strict=True)):
            strong = "2" in list(starts)[i]
            face = "none" if strong else figures.COLOURS["train"]
            name = (label + (" (biases ±2)" if strong else "")) if i in (0, 2) else None
            left.plot(np.full(len(end), begun), end, marker, ms=4, mfc=face, color=figures.COLOURS["train"], label=name)
    if outputs is not None:
        for begun, name in zip(rules.CONSTANT.values(), rules.CONSTANT):
            end = outputs["count"].sel(output=name, side="plus") / runs.sizes["neuron"]
            look = {"ms": 5, "mfc": "none", "color": figures.COLOURS["test"]}
            left.plot(np.full(len(end), begun + 0.03), end, "^", label=None if begun else "trained constant", **look)
    left.plot([0, 1], [0, 1], color="k", lw=0.6)
    left.axhline(rules.shares(runs.sel(network="free")).mean(), color="0.5", ls=":")
    left.set(xlabel="share positive at the start", ylabel="share positive at the end", ylim=(0, 1))
    left.legend(fontsize="small")
    over = rules.excess(runs)
    names = sorted(over, key=lambda name: 0.0 if name == "free" else float(name[9:]))
    intervals = [over[name] for name in names]
    figures.errorbars(right, range(len(names)), intervals, scale=100, fmt="o", ms=4, capsize=3, color="k")
    right.axhline(5, color=figures.COLOURS["threshold"], ls=":")
    right.set_xticks(range(len(names)), ["0" if name == "free" else name[9:] for name in names])
    right.set(xlabel="all biases at the start", ylabel="loss above the best start, %")


def biases_at_rest(ax: Axes, outputs: xr.Dataset, against: str = "count") -> None:
    """Biases of negative neurons over the crossing, without a constant and with a trained one.

    Against the number of negative neurons, or the mean of the output ("mean_output").
    """
    names = {"count": "negative neurons of 40", "mean_output": "mean output of the network"}
    for output, face in (("none", "full"), ("constant", "none")):
        for gain, colour in ((0.01, "train"), (3.0, "test")):
            one = outputs.sel(output=output, gain=gain, side="minus")
            word = "no constant" if output == "none" else "trained constant"
            look = {"ls": "none", "fillstyle": face, "ms": 5, "color": figures.COLOURS[colour]}
            ax.plot(one[against], one.crossing, "o", label=f"$g = {gain:g}$, {word}", **look)
    ax.axhline(1, color="0.5", ls=":")
    ax.set(xlabel=names[against], ylabel="$|b|/b_*$, negative neurons")


def kept_shares(left: Axes, right: Axes, outputs: xr.Dataset, runs: xr.Dataset) -> None:
    """Shares of positive biases at the end, and losses over the usual start's, by the start, with a trained constant.

    Crosses are networks without one, of the record of arrangements (`runs`).
    """
    width = int(outputs["count"].isel(output=0, gain=0, seed=0).sum())
    for gain, marker, colour, size in ((0.01, "o-", "train", 8), (3.0, "s--", "test", 3.5)):
        usual = outputs.loss.sel(output="constant", gain=gain)
        look = {"fmt": marker, "ms": 4, "color": figures.COLOURS[colour], "label": f"$g = {gain:g}$"}
        begun = [(int(name.split()[1]) / width, outputs.sel(output=name, gain=gain)) for name in rules.CONSTANT]
        starts = [start for start, _ in begun]
        ends = [stats.student(one["count"].sel(side="plus").values / width) for _, one in begun]
        ratios = [stats.student((one.loss / usual).values) for _, one in begun]
        face = "none" if size > 4 else None  # so that both markers of a place can be seen
        figures.errorbars(left, starts, ends, **look | {"fmt": marker[0], "ms": size, "mfc": face})
        figures.errorbars(right, starts, ratios, **look)
    starts = {name: rules.EXTREME[name] for name in ("begun at -0.5", "begun at +0.5")} | rules.MODERATE
    ends = [rules.shares(runs.sel(network=name)).ravel() for name in starts]
    x, y = np.repeat(list(starts.values()), [len(end) for end in ends]), np.concatenate(ends)
    left.plot(x, y, "x", color="0.5", ms=4, label="no constant")
    left.plot([0, 1], [0, 1], color="0.5", lw=0.8)
    right.axhline(1, color="0.5", ls=":")
    left.set(xlabel="share positive at the start", ylabel="share positive at the end")
    right.set(xlabel="share positive at the start", ylabel="error over that of the usual start")
    left.legend(fontsize="small")


def constants(axes: np.ndarray, outputs: xr.Dataset) -> None:
    r"""Biases of negative neurons and their localisation against their number, and biases against the formula."""
    left, middle, right = axes
    biases_at_rest(left, outputs)
    for output, face in (("none", "full"), ("constant", "none")):
        one = outputs.sel(output=output, gain=3.0, side="minus")
        right.plot(one["count"], one.ipr, "o", ls="none", fillstyle=face, ms=5, color=figures.COLOURS["test"])
    for output, marker in (("none", "o"), ("constant", "s"), ("held +1/4", "^"), ("held -1/4", "v")):
        for gain, colour in ((0.01, "train"), (3.0, "test")):
            one = outputs.sel(output=output, gain=gain)
            one = one.where(one["count"] >= 3)
            look = {"ls": "none", "ms": 4, "fillstyle": "none", "color": figures.COLOURS[colour]}
            name = {"none": "none", "constant": "trained", "held +1/4": "+1/4", "held -1/4": "−1/4"}[output]
            label = name if gain == 3 else None
            middle.plot(one.gaussian.values.ravel(), one.crossing.values.ravel(), marker, label=label, **look)
    middle.plot([0.5, 1.8], [0.5, 1.8], "k-", lw=0.6)
    middle.set(xlabel="formula", ylabel="$|b|/b_*$")
    middle.legend(title="constant", fontsize="small", title_fontsize="small")
    right.set(xlabel="negative neurons of 40", ylabel="inverse participation ratio")
