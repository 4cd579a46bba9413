"""What the page on bumps and their rivals draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from experiments.localization import networks
from experiments.localization.bumps import contest, forecasts, laws
from shallow import stats
from shallow.book import figures
from shallow.stats import Interval

LINEAR = laws.OTHERS[:2]
_ARROW = {"arrowprops": {"arrowstyle": "-", "lw": 0.5, "color": "0.5"}}


def matrix(ax: Axes, learned: Mapping[forecasts.Cell, Interval], gain: float) -> None:
    """Inverse participation ratios of nine pairs of tails at one gain, slow classes in rows; framed where local."""
    for row, slow in enumerate(laws.TAILS):
        for column, fast in enumerate(laws.TAILS):
            one = learned[f"{slow}/{fast}", gain]
            dark = one.estimate > 0.25
            ax.text(column, row, f"{one.estimate:.3f}", ha="center", va="center", color="w" if dark else "k")
            if forecasts.side(one) == "local":
                edge = {"fill": False, "lw": 1.8, "ec": figures.COLOURS["test"]}
                ax.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, **edge))
    values = [[learned[f"{slow}/{fast}", gain].estimate for fast in laws.TAILS] for slow in laws.TAILS]
    ax.imshow(np.sqrt(values), cmap="Greys", vmin=0, vmax=0.8)
    ax.set_xticks(range(3), laws.TAILS, fontsize="small")
    ax.set_yticks(range(3), laws.TAILS, fontsize="small")
    ax.set(xlabel="fast class", title=f"$g = {gain:g}$")
    ax.grid(False)


def samples(axes: np.ndarray, gain: float = 3.0) -> None:
    """A sample of each noise of the nine tasks: slow and fast in rows, tails in columns; from the same numbers."""
    for row, word, xi in zip(axes, ("slow", "fast"), networks.LENGTHS, strict=True):
        for ax, law in zip(row, laws.TAILS, strict=True):
            (x,) = laws.process(law, gain, xi).sample(stats.stream("localization", "six samples", xi), 1)
            ax.plot(x, ".-", lw=1.2, ms=4, color=figures.COLOURS["train" if word == "slow" else "test"])
            ax.axhline(0, color="k", lw=0.5)
        row[0].set_ylabel(word)
    for ax, words in zip(axes[0], ("light tails (original)", "Gaussian", "heavy tails"), strict=True):
        ax.set_title(words, fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("place on the ring")


def middle_fields(axes: np.ndarray, runs: xr.Dataset, gain: float, sign: int = -1) -> None:
    """The field of middling localisation of one network for each of nine pairs of tails, over its largest weight.

    In each panel stands the mean over networks of the median inverse participation ratio; shaded where it is local.
    """
    learned = forecasts.intervals(runs.ipr.sel(sign=sign, gain=[gain]))
    for row, slow in zip(axes, laws.TAILS, strict=True):
        for ax, fast in zip(row, laws.TAILS, strict=True):
            w = runs.field.sel(pair=f"{slow}/{fast}", gain=gain, sign=sign).isel(seed=0).values
            place, one = int(np.abs(w).argmax()), learned[f"{slow}/{fast}", gain]
            ax.plot(np.roll(w / w[place], networks.N // 2 - place), color=figures.COLOURS["label_minus"], lw=1.4)
            ax.axhline(0, color="k", lw=0.5)
            ax.text(0.03, 0.05, f"IPR {one.estimate:.2f}", transform=ax.transAxes, fontsize="small")
            if forecasts.side(one) == "local":
                ax.set_facecolor(figures.COLOURS["shade"])
            ax.set(ylim=(-1.4, 1.2), xticks=[0, 20, 40], yticks=[-1, 0, 1])
        row[0].set_ylabel(f"slow: {slow}", fontsize="small")
    for ax, fast in zip(axes[0], laws.TAILS, strict=True):
        ax.set_title(f"fast: {fast}", fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("pixel")


def against(ax: Axes, forecast: Mapping[forecasts.Cell, float], learned: Mapping[forecasts.Cell, Interval]) -> None:
    """Learned inverse participation ratios against a forecast, by pair of laws and gain; without elliptical noise."""
    for label, members, marker, fill in (("the nine tasks", laws.TAILS, "o", "w"), ("linear noise", LINEAR, "s", "k")):
        cells = [cell for cell in learned if set(cell[0].split("/")) <= {*members, "Gaussian"}]
        if members == LINEAR:
            cells = [cell for cell in cells if cell[0] != "Gaussian/Gaussian"]
        x, shown = [forecast[cell] for cell in cells], [learned[cell] for cell in cells]
        look = {"ms": 5, "lw": 1, "capsize": 0, "mfc": fill, "color": figures.COLOURS["live"]}
        figures.errorbars(ax, x, shown, label=label, fmt=marker, **look)
    ax.axhline(forecasts.LOCAL, color="0.6", ls=":", lw=1)
    ax.set(yscale="log", ylim=(0.02, 1.2), yticks=[0.03, 0.1, 0.3, 1], yticklabels=["0.03", "0.1", "0.3", "1"])
    ax.minorticks_off()


def responses(axes: Sequence[Axes], pair: str, gain: float = 3.0, count: int = 200_000) -> None:
    """Responses of a narrow and a wide bump of norm 1 to both classes, and how often they pass the best threshold."""
    rng, place = stats.stream("localization", "responses", pair), np.arange(networks.N) - networks.N / 2
    samples = [one.sample(rng, count, np.float32) for one in laws.pair(pair, gain)]
    for ax, name, width in zip(axes, ("narrow", "wide"), (1.7, 15.0), strict=True):
        field = np.exp(-((place / width) ** 2))
        slow, fast = (x @ field / np.linalg.norm(field) for x in samples)
        thresholds = np.quantile(slow, np.linspace(0.5, 0.99, 200))
        beyond = np.array([[(h > b).mean() for h in (slow, fast)] for b in thresholds])
        best = np.subtract(*beyond.T).argmax()
        bins = np.linspace(-3.2, 3.2, 49) * slow.std()
        for h, label, style, colour in ((slow, "slow", "-", "train"), (fast, "fast", "--", "test")):
            ax.hist(h, bins, density=True, histtype="step", ls=style, color=figures.COLOURS[colour], label=label)
        ax.axvline(thresholds[best], color="k", lw=1)
        slowly, quickly = (f"{100 * share:.0f} %" for share in beyond[best])
        title = f"{name} field: above the line\n{slowly} of slow, {quickly} of fast noise"
        ax.set(yticks=[], xticks=[0], xlabel="response", title=title, ylim=(0, None))
        ax.title.set_fontsize("small")
    handles = [Line2D([], [], ls=style, color=figures.COLOURS[one]) for style, one in (("-", "train"), ("--", "test"))]
    axes[1].legend(handles, ["slow noise", "fast noise"], fontsize="small", loc="upper right")


def in_phase(ax: Axes, width: float = 2.9) -> None:
    """A bump, and the same waves moved by random phases."""
    bump = np.exp(-(((np.arange(networks.N) - networks.N / 2) / width) ** 2))
    moved = contest.scrambled(bump, stats.stream("localization", "out of phase"))
    ax.plot(bump, "-", color=figures.COLOURS["label_minus"], lw=1.5, label="in phase: the bump")
    ax.plot(moved, "--", color="0.4", lw=1.2, label="out of phase")
    ax.set(xlabel="pixel", ylabel="weight", ylim=(None, 1.7))
    ax.legend(fontsize="small", loc="upper left")


def what_one_wins(ax: Axes, neurons: xr.Dataset, gain: float = 3.0) -> None:
    """What one neuron wins with the bump in phase and out of phase on two tasks; means of a record with intervals."""
    one = neurons.sel(filter=forecasts.RIVAL, gain=gain)
    for shift, name, colour, hatch in ((-0.2, "in_phase", "label_minus", ""), (0.2, "out_of_phase", "null", "//")):
        found = [stats.student(one[name].sel(pair=pair).values) for pair in ("Gaussian/Gaussian", "light/light")]
        heights, label = [each.estimate for each in found], name.replace("_", " ")
        look = {"color": figures.COLOURS[colour], "alpha": 0.6, "hatch": hatch, "edgecolor": "w"}
        ax.bar(np.arange(2) + shift, heights, 0.36, label=label, **look)
        figures.errorbars(ax, np.arange(2) + shift, found, fmt="none", color="k", lw=1)
    ax.set_xticks([0, 1], ["both Gaussian", "original noise"])
    ax.set(ylabel="won by one neuron", ylim=(0, 0.28))
    ax.legend(fontsize="small", loc="upper left", ncols=2)


def by_phases(ax: Axes, networks: Sequence[xr.Dataset], neurons: Sequence[xr.Dataset]) -> None:
    """:func:`against` what one neuron wins with a bump in phase over out of phase, of records of both."""
    learned = {cell: one for runs in networks for cell, one in forecasts.intervals(runs.ipr.sel(sign=-1)).items()}
    won = {cell: one for runs in neurons for cell, one in forecasts.intervals(forecasts.in_phase(runs)).items()}
    for cell, one in won.items():
        if set(cell[0].split("/")) & set(laws.OTHERS[2:]):
            continue
        ax.hlines(learned[cell].estimate, one.low, one.high, color="0.6", lw=0.8)
    won = {cell: one.estimate for cell, one in won.items()}
    against(ax, won, learned)
    ax.axvline(1, color="0.6", lw=0.8)
    for words, cell, place in (
        ("rare shocks\nin both", ("sparse/sparse", 0.5), (0.75, 0.3)),
        ("original, gain one half", ("light/light", 0.5), (1.3, 0.14)),
        ("original, gain 3", ("light/light", 3.0), (1.5, 0.27)),
        ("fast rare shocks,\nslow Gaussian", ("Gaussian/sparse", 3.0), (1.68, 0.75)),
    ):
        ax.annotate(words, (won[cell], learned[cell].estimate), place, fontsize="small", va="center", **_ARROW)
    ax.set(xlabel="won by one neuron: bump over the same waves out of phase", ylabel="IPR of trained networks")
    ax.legend(fontsize="small", loc="lower right")


def copies(ax: Axes, runs: xr.Dataset, gain: float) -> None:
    """Error that networks at one gain, and the same with copies of a field, save over flat copies; paired."""
    one = runs.sel(pair="light/light", gain=gain)
    best, flat = (one.tiled + one.scrambled).mean("seed").argmin("filter"), one.tiled.sel(filter="constant")
    errors = {"trained": one.tested, "bumps": one.tiled[{"filter": best}]}
    errors["out of\nphase"] = one.scrambled[{"filter": best}]
    saved = [stats.student((flat - error).values) for error in errors.values()]
    colours = [figures.COLOURS[name] for name in ("live", "label_minus", "null")]
    for place, (each, colour, hatch) in enumerate(zip(saved, colours, ("", "", "//"), strict=True)):
        ax.bar(place, each.estimate, 0.6, color=colour, alpha=0.6, hatch=hatch, edgecolor="w")
    figures.errorbars(ax, range(len(saved)), saved, fmt="none", color="k", lw=1)
    ax.set_xticks(range(len(saved)), errors)
    words = {0.5: "one half"}.get(gain, f"{gain:g}")
    ax.set(title=f"gain {words}", ylim=(0, None))
    ax.grid(visible=False, axis="x")


def by_gain(ax: Axes, curves: Mapping[str, Mapping[forecasts.Cell, Interval]]) -> None:
    """What is learned (dots with intervals) and what objectives prefer, against the gain, by names of curves."""
    looks = {
        "learned": ("o", "live"),
        "(9)": (":", "label_plus"),
        "linear term": ("--", "train"),
        "whole loss": ("-", "test"),
    }
    for label, found in curves.items():
        (style, colour), shown = looks[label], list(found.values())
        look = {"fmt": style, "ms": 4.5, "lw": 1.5, "elinewidth": 1, "capsize": 0, "color": figures.COLOURS[colour]}
        figures.errorbars(ax, [gain for _, gain in found], shown, label=label, **look)
    ax.set(xscale="log", xlabel="gain $g$", ylim=(0, None))
