"""What the pages on symmetry and hidden directions draw several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.hidden_structure import laboratory, shells
from shallow import stats
from shallow.book import figures

# Where learning from x ends.


def strip(
    ax: Axes,
    values: Sequence[float],
    at: float,
    *,
    colour: str,
    marker: str = "o",
    low: float = -0.2,
    half: float = 0.2,
) -> None:
    """Runs (n,) as dots in a column, the median as a bar; values below `low` are drawn there."""
    shown = np.maximum(np.asarray(values, float), low)
    jitter = np.linspace(-half / 2, half / 2, len(shown))
    ax.plot(at + jitter, shown, marker, ms=3.5, color=colour, alpha=0.6, mew=0)
    ax.hlines(np.median(shown), at - half, at + half, color=colour, lw=1.4)


#: Colour and marker of the kinds of runs in :func:`strips`.
KINDS = (
    (figures.COLOURS["live"], "o"),
    (figures.COLOURS["train"], "^"),
    (figures.COLOURS["label_plus"], "D"),
    (figures.COLOURS["label_minus"], "s"),
)


def strips(
    ax: Axes, degrees: Sequence[int], kinds: Mapping[str, Mapping[int, np.ndarray]], level: float | None = 0.8
) -> None:
    """Runs of up to four kinds side by side above each degree; `kinds` maps a label to runs (n,) by degree."""
    shifts = 0.22 * (np.arange(len(kinds)) - (len(kinds) - 1) / 2)
    for (label, runs), (colour, marker), shift in zip(kinds.items(), KINDS, shifts, strict=False):
        for column, degree in enumerate(degrees):
            if degree in runs:
                strip(ax, runs[degree], column + shift, colour=colour, marker=marker, half=0.08)
        ax.plot([], [], marker, ms=4, color=colour, label=label)
    if level is not None:
        ax.axhline(level, color=figures.COLOURS["threshold"], ls=":", lw=1.2)
    ax.set_xticks(range(len(degrees)), degrees)


def figure_3(axes: Sequence[Axes], curves: xr.Dataset, points: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> None:
    """The document's Figure 3 on four axes, test points above, training points below; grey dots are the labels.

    `curves` has degree, `prediction` at the test points and `learnt` at the training points; `points` maps a degree to
    v and y of the training points.
    """
    for column, degree in enumerate(curves.degree.values):
        one = curves.sel(degree=degree)
        shown = {
            "test": (one.v.values, one.y.values, one.prediction.values),
            "training": (*points[int(degree)], one.learnt.values),
        }
        for row, (part, (v, y, f)) in enumerate(shown.items()):
            ax, colour = axes[2 * row + column], figures.COLOURS["test" if part == "test" else "train"]
            ax.plot(v, y, ".", ms=1.8, color=figures.COLOURS["null"], label="true value", rasterized=True)
            ax.plot(v, f, ".", ms=1.5, color=colour, label=f"network, {part}", rasterized=True)
            ax.set(xlim=(-2, 2), ylim=(-3, 3), title=f"degree {int(degree)}, {part} points")
            ax.legend(fontsize="x-small", markerscale=4, loc="lower right")


# Networks on orthants.

EMPTY, ELSEWHERE = "#D55E00", "#0072B2"
BY_DEPTH = [
    dict(style, marker=marker, ms=4) for style, marker in zip(figures.mode_styles(5), "osD^v", strict=True)
]  # of one to five hidden layers


def against_width(ax: Axes, sizes: Mapping[int, xr.Dataset], name: str = "learned") -> None:
    """Against the width, by depth: the share of runs that learn the empty orthant, or the mean class-0 match."""
    for (depth, found), style in zip(sizes.items(), BY_DEPTH, strict=True):
        if name == "learned":
            empty = found.empty
            shares = [stats.wilson((empty.sel(width=m).dropna("run") >= 0.75).values) for m in found.width.values]
            values = np.array([share.estimate for share in shares])
            if depth == 3:
                ends = np.abs([[s.low, s.high] for s in shares] - values[:, None]).T
                ax.errorbar(found.width, values, ends, fmt="none", color=style["color"], capsize=2, lw=1)
        else:
            values = found.match.sel(label=0).mean("run").values
        ax.plot(found.width, values, label=f"{depth}", **style)
    shown = [8, 32, 128, 512, 2048]
    ax.set(xlabel="width", xscale="log", ylim=(-0.04, 1.04))
    ax.set_xticks(shown, map(str, shown))
    ax.minorticks_off()


def neighbours_emptied(ax: Axes, fewer: xr.Dataset, one: np.ndarray) -> None:
    """Accuracy in the empty orthant of every run, against how many further ones are empty, neighbours or any.

    The legend stands above the axes: dots fill them.

    Args:
        fewer: last weights by kind, removed and run; one: the same runs with one empty orthant, (run,).
    """
    for (kind, name), at, marker, colour in zip(
        {"random": "any orthants", "neighbours": "neighbours"}.items(),
        (-0.17, 0.17),
        "s^",
        (ELSEWHERE, EMPTY),
        strict=True,
    ):
        columns = [one, *(fewer.empty.sel(kind=kind, removed=k).values for k in fewer.removed.values)]
        for place, values in enumerate(columns):
            ax.plot(place + at + figures.swarm(values, 0.02, half=0.1), values, marker, color=colour, ms=3.5, alpha=0.6)
        means = [stats.student(values) for values in columns]
        ends = np.array([[m.estimate - m.low, m.high - m.estimate] for m in means]).T
        look = {"color": colour, "marker": marker, "ms": 6, "capsize": 2, "lw": 1.2}
        ax.errorbar(np.arange(len(means)) + at, [m.estimate for m in means], ends, label=name, **look)
    ax.axhline(0.5, color="k", ls=":", lw=0.8)
    ax.set_xticks(range(1 + fewer.sizes["removed"]), [0, *fewer.removed.values])
    ax.set(xlabel="further orthants emptied", ylabel="accuracy in the empty orthant", ylim=(0.46, 1.03))
    ax.grid(False, axis="x")
    ax.legend(fontsize="small", title="emptied", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))


# Kernel machines on orthants.

REGION_COLOURS = {"empty": "#D55E00", "neighbour": "#0072B2", "distant": "#009E73"}


def radial_profiles(axes: Sequence[Sequence[Axes]], learners: Mapping[str, xr.DataArray]) -> None:
    """Figure 2 of the document: class 1 along the radius, a row for each learner, a column for each orthant.

    Args:
        axes: as many rows as learners, three columns.
        learners: profiles by run, region and radius; thin lines are runs, the thick one their mean.
    """
    for row, (name, profile) in zip(axes, learners.items(), strict=True):
        for ax, (region, colour) in zip(row, REGION_COLOURS.items(), strict=True):
            curves = profile.sel(region=region).transpose("run", "radius")
            for shell in shells.RADII:
                ax.axvline(shell, color="k", ls=":", lw=0.8)
            ax.plot(curves.radius, curves.T, "-", color=colour, lw=0.7, alpha=0.6)
            ax.plot(curves.radius, curves.mean("run"), "k-", lw=2)
            ax.set(xlim=(0.5, 2.5), ylim=(-0.04, 1.04), xticks=[0.5, 1, 1.5, 2, 2.5])
        row[0].set_ylabel(name, fontsize="small")
    for ax, region in zip(axes[0], REGION_COLOURS, strict=True):
        ax.set_title(f"{region} orthant", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("radius")


# Alignment and kernels along training; frozen first layers; the hidden coordinate given.

TRAINING, TEST = "#D55E00", "#009E73"  # the document's red and green, apart for all eyes


def moment_rows(axes: np.ndarray, seen: xr.Dataset, moments: Mapping[int, str]) -> None:
    """Figures 10 to 19 of the document: a row (a), (b), (c) for each moment, on three columns of axes.

    `seen` is one run with `cosine` (moment, unit), `prediction` (moment, point) of the tangent kernel's machine, and
    `final` of the network, `v`, `y`, `is_test` (point).  Machine against network: training points orange, test points
    green, in an order of their own, so that neither kind hides the other; over the polynomial: test points alone.
    """
    test = seen.is_test.values.astype(bool)
    order = stats.stream("hidden structure", "order of dots").permutation(len(test))
    colours = np.where(test, TEST, TRAINING)[order]
    dots = {"marker": ".", "ls": "none", "ms": 2.2, "mew": 0, "rasterized": True}
    for (left, middle, right), (moment, name) in zip(axes, moments.items(), strict=True):
        one = seen.sel(moment=moment)
        cosine = one.cosine.values[np.isfinite(one.cosine.values)]
        left.plot(cosine, **dots, color=figures.COLOURS["live"])
        left.set(ylabel=r"$|\cos(w_j, \mathbf{1})|$", ylim=(0, 1.03))
        left.set_title(name, loc="left", fontsize="medium")
        middle.plot([-3, 3], [-3, 3], color=figures.COLOURS["null"], lw=0.8)
        middle.scatter(one.final[order], one.prediction[order], s=2.5, lw=0, c=colours, rasterized=True)
        middle.set(xlim=(-3, 3), ylim=(-3, 3), ylabel="tangent kernel")
        right.plot(one.v.values[test], one.y.values[test], **dots, color=figures.COLOURS["null"])
        right.plot(one.v.values[test], one.prediction.values[test], **dots, color=TEST)
        right.set(xlim=(-2, 2), ylim=(-3, 3), ylabel="$y$")
    for ax, label in zip(axes[-1], ("hidden unit $j$", "network at the end", "$v$"), strict=True):
        ax.set_xlabel(label)
    _name_dots(axes[0][1], {"training": TRAINING, "test": TEST})
    _name_dots(axes[0][2], {"true": figures.COLOURS["null"], "machine": TEST})


def _name_dots(ax: Axes, colours: Mapping[str, str]) -> None:
    """A legend above the axes for dots that are too small to show their colours there."""
    for label, colour in colours.items():
        ax.plot([], [], "o", ms=4, color=colour, label=label)
    look = {"fontsize": "small", "ncols": 2, "columnspacing": 0.8, "handlelength": 1}
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), **look)


def cosine_rows(axes: np.ndarray, rows: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Figures 8 and 9: cosines (unit,) of all hidden units, a row of axes for each name, a panel for each moment."""
    for row, (name, panels) in zip(axes, rows.items(), strict=True):
        for ax, (moment, cosine) in zip(row, panels.items(), strict=True):
            ax.plot(cosine[np.isfinite(cosine)], ".", ms=2.2, mew=0, color=figures.COLOURS["live"], rasterized=True)
            ax.set(title=moment, ylim=(0, 1.03), xlabel="hidden unit $j$")
        row[0].set_ylabel(f"{name}\n" + r"$|\cos(w_j, \mathbf{1})|$")


def figure_4(axes: np.ndarray, ends: Mapping[int, xr.Dataset], points: Mapping[int, tuple]) -> None:
    """Figure 4: networks given v, training points above, test points below, a column for each degree, y cut at 1.

    `ends` has `v`, `y`, `prediction` of the test points and `learnt` at the training points; `points` their v and y.
    """
    for column, (degree, one) in enumerate(ends.items()):
        parts = {"training": (*points[degree], one.learnt, TRAINING), "test": (one.v, one.y, one.prediction, TEST)}
        for ax, (part, (v, y, f, colour)) in zip(axes[:, column], parts.items(), strict=True):
            ax.plot(v, y, ".", ms=2.2, mew=0, color=figures.COLOURS["null"], label="true value", rasterized=True)
            ax.plot(v, f, ".", ms=2.2, mew=0, color=colour, label=f"network, {part} points", rasterized=True)
            ax.set(xlim=(-2, 2), ylim=(-1, 1), xlabel="$v$", ylabel="$y$", title=f"$d$ = {degree}")
            ax.legend(fontsize="x-small", markerscale=4, loc="upper center")


# Networks against kernel machines on the polynomial.

LEARNERS = {
    "network": ("network", figures.COLOURS["live"], "o"),
    "last": ("its tangent machine", figures.BLUE, "s"),
    "initial": ("tangent machine before training", figures.ORANGE, "^"),
    "gaussian": ("Gaussian kernel", figures.GREEN, "v"),
}


def learner_strips(
    ax: Axes, fits: Mapping[str, xr.DataArray], straight: Mapping[int, float] | None = None, low: float = -0.2
) -> None:
    """Fits (degree, run) of the :data:`LEARNERS` side by side above each degree; grey, a linear function's."""
    shifts = 0.2 * (np.arange(len(fits)) - (len(fits) - 1) / 2)
    for shift, (learner, values) in zip(shifts, fits.items()):
        name, colour, marker = LEARNERS[learner]
        for degree in values.degree.values.tolist():
            strip(ax, values.sel(degree=degree), degree + shift, colour=colour, marker=marker, low=low, half=0.09)
        ax.plot([], [], marker, ms=4, color=colour, label=name)
    for degree, level in (straight or {}).items():
        name = "linear function of $x$" if degree == min(straight) else None
        ax.hlines(level, degree - 0.42, degree + 0.42, color=figures.COLOURS["null"], lw=1.2, zorder=0, label=name)
    degrees = next(iter(fits.values())).degree.values
    ax.grid(False, axis="x")
    ax.set(xlabel="degree $d$", ylim=(low - 0.05, 1.05), xticks=degrees)


def first_preset() -> Figure:
    """The laboratory's first preset as a figure, for readers without scripts: accuracy by epoch, empty and others."""
    *_, chosen = laboratory.PRESETS[0]
    values = laboratory.train(chosen).values
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    ax.plot(values["empty"], "o-", ms=3, color=figures.COLOURS["test"], label="empty orthant")
    ax.plot(values["others"], color=figures.COLOURS["train"], label="other orthants")
    ax.set(xlabel="epoch", ylabel="accuracy", ylim=(0.4, 1.02))
    ax.legend()
    return figure
