"""Drawings of the chapter, for its pages alone: on the axes that they are given; one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.simplicity_bias import laboratory, two_fits
from shallow import alignment, stats
from shallow.book import figures
from shallow.data import teachers
from shallow.data.teachers import NOISE
from shallow.nets import TwoLayer
from shallow.train import flow


def with_test(ends: xr.Dataset) -> xr.Dataset:
    """The losses at the end of runs: train, test, ols and ols_test, from excess risks."""
    return ends[["train", "ols"]].assign(test=ends.excess + NOISE, ols_test=ends.ols_excess + NOISE)


def mean_and_range(values: xr.DataArray) -> list[stats.Interval]:
    """Mean, least and largest value over the draws (`seed`), for each place of the other dimension."""
    return [stats.Interval(*map(float, (one.mean(), one.min(), one.max()))) for one in values.transpose(..., "seed")]


def against_size(ax: Axes, ends: xr.Dataset) -> None:
    """Training and test loss against n: draws as points, medians as lines; least squares dotted, the noise dashed."""
    for name, other, marker in (("train", "ols", "o"), ("test", "ols_test", "s")):
        colour = figures.COLOURS[name]
        ax.plot(ends.n, ends[name].transpose("n", "seed"), marker, color=colour, ms=2.5, mfc="none", mew=0.7)
        ax.plot(ends.n, ends[name].median("seed"), color=colour, lw=1.3, label=f"{name} loss")
        ax.plot(ends.n, ends[other].median("seed"), ":", color=colour, lw=1)
    ax.axhline(NOISE, color="k", ls="--", lw=0.8)
    ax.set(xscale="log", yscale="log", xlabel="samples $n$", ylabel="mean square")
    ax.set_yticks(np.logspace(-12, 0, 5))


def along_training(ax: Axes, runs: xr.Dataset, two_fits_excess: float) -> None:
    """Training loss and excess risk over the noise against steps, every draw; dotted: that expected of two fits."""
    runs = runs.sel(step=slice(100, None))
    kinds = {"training loss": (runs.train, "-", "train"), "excess risk": (runs.excess, "--", "test")}
    for name, (values, style, kind) in kinds.items():
        colour = figures.COLOURS[kind]
        lines = ax.plot(runs.step, (values / NOISE).transpose("step", "seed"), style, color=colour, lw=1.1)
        lines[0].set_label(name)
    ax.axhline(two_fits_excess / NOISE, color=figures.COLOURS["test"], ls=":", lw=1.2, label="two neurons fitted")
    ax.axhline(1, color="k", ls="--", lw=0.8)
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="loss / noise level", title="2000 samples")
    ax.legend(fontsize="x-small", loc="upper right", bbox_to_anchor=(1, 0.97))


def angles(ax: Axes, networks: Mapping[str, TwoLayer]) -> None:
    """Histograms of the angle between a network's neurons and the teacher e_1, by name; from light to dark."""
    bins, colours = np.linspace(0, 180, 46), ("0.7", "0.45", "k")
    for (label, network), colour, style in zip(networks.items(), colours, (":", "--", "-"), strict=True):
        angle = np.degrees(np.arccos(network.W[:, 0] / np.linalg.norm(network.W, axis=1)))
        ax.hist(angle, bins, histtype="step", lw=1.4, ls=style, color=colour, label=label)
    ax.set(xlabel="angle to the teacher (degrees)", ylabel="neurons", yscale="log", xticks=range(0, 181, 45))
    ax.legend(fontsize="small", ncols=3, loc="upper center")


def pulls_around(ax: Axes, sizes: Sequence[int]) -> None:
    """The pull D_n(w) of a sample of each size in the plane, while w goes once around the circle."""
    around = np.linspace(0, 2 * np.pi, 2401)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    for n, style in zip(sizes, figures.mode_styles(len(sizes)), strict=True):
        sample = teachers.gaussian(stats.stream("loop", n), teachers.first_axis(2), n)
        ax.plot(*alignment.vector(*sample, circle).T, lw=1, label=f"$n = {n}$", **style)
    ax.plot(0.5, 0, "+", color="k", ms=10, mew=2)
    ax.set(xlabel="first coordinate of $D(w)$", ylabel="second coordinate", aspect="equal", adjustable="datalim")
    ax.legend(fontsize="x-small")


def turning_and_growing(axes: Sequence[Axes], path, pull: np.ndarray) -> None:
    """Along a path of :func:`.early_alignment.path`: cosines of the neurons to their pulls, and sums of a^2 by sign."""
    sign = np.sign(path.v[0])
    cosine = np.einsum("tmd,md->tm", path.W, pull) / np.linalg.norm(path.W, axis=2)
    for side, name, style in ((1, "label_plus", "-"), (-1, "label_minus", "--")):
        part, colour = sign == side, figures.COLOURS[name]
        axes[0].plot(path.times[1:], cosine[1:, part], color=colour, lw=0.4, alpha=0.5)
        label = f"$a_j {'><'[side < 0]} 0$"
        axes[1].plot(path.times[1:], (path.v[1:, part] ** 2).sum(1), style, color=colour, label=label)
    axes[0].set(xscale="log", xlabel="time", ylabel="cosine to the pull")
    axes[1].set(xscale="log", yscale="log", xlabel="time", ylabel=r"$\sum a_j^2$")
    axes[1].legend(fontsize="small")


def distances(ax: Axes, x: np.ndarray, y: np.ndarray, start: TwoLayer) -> None:
    """Relative distance of a network from the two fits and from the one fit along its training."""
    run = flow.train(x, y, start, step=0.05, steps=3000, records=40)
    whole = np.linalg.lstsq(x, y)[0]
    for label, target, style in (("two fits", two_fits.fits(x, y), "-"), ("one fit", np.stack([whole, whole]), "--")):
        fitted = two_fits.as_network(target)
        apart = [two_fits.distance(TwoLayer(W, start.b, v), fitted, x) for W, v in zip(run.W, run.v)]
        ax.plot(0.05 * run.steps, apart, style, color="k", label=f"from the {label}")
    ax.set(yscale="log", xlabel="time", ylabel="relative distance")
    ax.legend(fontsize="small")


def cut_group(axes: Sequence[Axes]) -> None:
    """A sketch on two axes: a group of neurons beside the hyperplane of a sample, and cut by it."""
    degrees = np.linspace(-14, 14, 8)
    for ax, hyperplane, title in zip(axes, (24, 0), ("beside the group", "through the group"), strict=True):
        for angle in np.radians(degrees):
            tip = np.cos(angle), np.sin(angle)
            felt = hyperplane == 0 and angle > 0
            look = {"arrowstyle": "->", "color": figures.COLOURS["label_plus"], "lw": 2 if felt else 1}
            ax.annotate("", tip, (0, 0), arrowprops=look)
            if felt:
                pushed = tip[0] - 0.03, tip[1] + 0.09
                ax.annotate("", pushed, tip, arrowprops={"arrowstyle": "->", "color": "k", "lw": 0.8})
        line = np.radians(hyperplane)
        ax.plot([0, 1.15 * np.cos(line)], [0, 1.15 * np.sin(line)], "k--", lw=1)
        ax.set(xlim=(0, 1.2), ylim=(-0.28, 0.5), aspect="equal", title=title)
        ax.title.set_fontsize("medium")
        ax.set_axis_off()


def first_preset() -> Figure:
    """The laboratory's first preset as a figure, for readers without scripts: its two plots."""
    *_, chosen = laboratory.PRESETS[0]
    values, network = laboratory.train(chosen)
    drawn = laboratory.draw(chosen)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for angle in degrees_aside(drawn.x[:, ::-1] * [-1, 1])[0]:  # of the borders
        left.axvline(angle, color="0.8", lw=0.6, zorder=0)
    for one, style in ((drawn.network, {"alpha": 0.35, "ms": 3}), (network, {"ms": 4})):
        angle, half = degrees_aside(one.W)
        size = half * (5 + np.log10(np.abs(one.v) * np.linalg.norm(one.W, axis=1)))
        for sign, colour in ((1, figures.COLOURS["label_plus"]), (-1, figures.COLOURS["label_minus"])):
            left.plot(angle[sign * one.v > 0], size[sign * one.v > 0], "o", color=colour, **style)
    left.set_xscale("asinh", linear_width=1)
    ticks = [-90, -20, -5, -1, 0, 1, 5, 20, 90]
    left.set(
        xlabel=r"degrees from $\pm\beta^*$", xlim=(-90, 90), xticks=ticks, xticklabels=ticks, yticks=[], ylim=(-6, 6)
    )
    left.set_ylabel(r"size towards $\beta^*$ (up), $-\beta^*$ (down)")
    steps = laboratory.log_spaced(chosen["steps"], laboratory.DECADE)
    ratio = np.array(values["train"]) / laboratory.references(drawn, chosen)[0]["train"]
    right.loglog(steps[1:], values["groups"][1:], color="k", label="neurons to which it amounts")
    right.loglog(steps[1:], ratio[1:], color=figures.COLOURS["train"], label="training loss over that of least squares")
    right.set(xlabel="step", ylim=(0.5, 80))
    right.legend()
    return figure


def degrees_aside(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Degrees of w, or of -w where that is nearer to the first axis, and 1 or -1 for which; rows of w are vectors."""
    half = np.where(w[:, 0] < 0, -1, 1)
    return np.degrees(np.arctan2(half * w[:, 1], half * w[:, 0])), half
