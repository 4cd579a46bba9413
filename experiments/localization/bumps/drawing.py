"""What the page on bumps and their rivals draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from experiments.localization import networks
from experiments.localization.bumps import contest, forecasts, laws
from shallow import stats
from shallow.book import figures
from shallow.stats import Interval

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


def middle_fields(axes: np.ndarray, runs: xr.Dataset, gain: float, sign: int = -1, ratios: bool = False) -> None:
    """The field of middling localisation of one network for each of nine pairs of tails, over its largest weight.

    With `ratios` each title has the mean over networks of the median inverse participation ratio.
    """
    for row, slow in zip(axes, laws.TAILS, strict=True):
        for ax, fast in zip(row, laws.TAILS, strict=True):
            w = runs.field.sel(pair=f"{slow}/{fast}", gain=gain, sign=sign).isel(seed=0).values
            place = int(np.abs(w).argmax())
            ax.plot(np.roll(w / w[place], networks.N // 2 - place), color=figures.COLOURS["label_minus"], lw=1.3)
            ax.axhline(0, color="k", lw=0.5)
            mean = float(runs.ipr.sel(pair=f"{slow}/{fast}", gain=gain, sign=sign).mean("seed"))
            ax.set_title(f"slow {slow}, fast {fast}" + f": {mean:.3f}" * ratios, fontsize="x-small")
            ax.set(ylim=(-1.1, 1.15), xticks=[0, 20, 40])
    for ax in axes[-1]:
        ax.set_xlabel("pixel")


def against(ax: Axes, forecast: Mapping[forecasts.Cell, float], learned: Mapping[forecasts.Cell, Interval]) -> None:
    """Learned inverse participation ratios against a forecast, a point for each pair of laws and gain."""
    kinds = (("tails", laws.TAILS, "o", "train"), ("linear", laws.OTHERS[:2], "s", "test"))
    kinds += (("elliptical", laws.OTHERS[2:], "^", "live"),)
    for label, members, marker, colour in kinds:
        cells = [cell for cell in learned if set(cell[0].split("/")) - {"Gaussian"} <= set(members)]
        if label != "tails":
            cells = [cell for cell in cells if cell[0] != "Gaussian/Gaussian"]
        x, shown = [forecast[cell] for cell in cells], [learned[cell] for cell in cells]
        look = {"ms": 4, "lw": 1, "capsize": 0, "mfc": "none", "color": figures.COLOURS[colour]}
        figures.errorbars(ax, x, shown, label=label, fmt=marker, **look)
    ax.axhline(forecasts.LOCAL, color="0.6", ls=":", lw=1)
    ax.set(yscale="log", ylim=(0.02, 1.1), yticks=[0.03, 0.1, 0.3, 1], yticklabels=["0.03", "0.1", "0.3", "1"])
    ax.minorticks_off()


def responses(axes: Sequence[Axes], title: str, pair: str, gain: float = 3.0, count: int = 200_000) -> None:
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
        words = " and ".join(f"{100 * share:.0f} %" for share in beyond[best])
        ax.set(yticks=[], xticks=[0], title=f"{title}, {name}:\n{words} beyond", ylim=(0, None))
        ax.title.set_fontsize("small")


def in_phase(ax: Axes, width: float = 2.9) -> None:
    """A bump, and the same waves moved by random phases."""
    bump = np.exp(-(((np.arange(networks.N) - networks.N / 2) / width) ** 2))
    moved = contest.scrambled(bump, stats.stream("localization", "out of phase"))
    ax.plot(bump, "-", color=figures.COLOURS["label_minus"], lw=1.5, label="in phase")
    ax.plot(moved, "--", color="0.4", lw=1.2, label="out of phase")
    ax.set(xlabel="pixel", title="the same waves", ylim=(None, 1.6))
    ax.legend(fontsize="small")


def by_phases(ax: Axes, networks: Sequence[xr.Dataset], neurons: Sequence[xr.Dataset]) -> None:
    """:func:`against` what one neuron wins with a bump in phase over out of phase, of records of both."""
    learned = {cell: one for runs in networks for cell, one in forecasts.intervals(runs.ipr.sel(sign=-1)).items()}
    won = {cell: one for runs in neurons for cell, one in forecasts.intervals(forecasts.in_phase(runs)).items()}
    for cell, one in won.items():
        ax.hlines(learned[cell].estimate, one.low, one.high, color="0.6", lw=0.8)
    won = {cell: one.estimate for cell, one in won.items()}
    against(ax, won, learned)
    ax.axvline(1, color="0.6", lw=0.8)
    for words, cell, place in (
        ("shocks\nin both", ("sparse/sparse", 0.5), (0.8, 0.2)),
        ("original, $g = 1/2$", ("light/light", 0.5), (1.3, 0.12)),
        ("original, $g = 3$", ("light/light", 3.0), (1.5, 0.25)),
    ):
        ax.annotate(words, (won[cell], learned[cell].estimate), place, fontsize="x-small", va="center", **_ARROW)
    ax.set(xlabel="won by one neuron in phase\nover out of phase", ylabel="learned inverse participation ratio")
    ax.legend(fontsize="small", loc="lower right")


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
