"""What the page on bumps and their rivals draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from experiments.localization import networks
from experiments.localization.bumps import contest, filters, forecasts, laws
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


def alone(ax: Axes, tails: xr.Dataset, others: xr.Dataset, gain: float = 3.0) -> None:
    """What one neuron wins by the loss's linear term with a bump over that with a flat field, by the width."""
    runs, widths = xr.concat([one.linear.sel(gain=gain) for one in (tails, others)], "pair"), filters.WIDTHS
    for label, pair, look, colour in (
        ("original, both light", "light/light", "o-", "live"),
        ("slow Gaussian, fast heavy", "Gaussian/heavy", "s-", "test"),
        ("both Gaussian", "Gaussian/Gaussian", "-", "label_minus"),
        ("slow Gaussian, fast elliptical", "Gaussian/radial", "--", "train"),
    ):
        won = (runs / runs.sel(filter="constant")).sel(pair=pair).mean("seed").values[-len(widths) :]
        ax.plot(widths, won, look, ms=3, lw=1.4, color=figures.COLOURS[colour], label=label)
    ax.axhline(1, color="0.5", lw=0.8)
    ax.set(xscale="log", xlabel="width of the field, pixels", title="one neuron: won with a bump,\nover a flat field")
    ax.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    ax.minorticks_off()
    ax.title.set_fontsize("small")
    ax.legend(fontsize="x-small", loc="lower right")


def in_phase(ax: Axes, width: float = 2.9) -> None:
    """A bump, and the same waves moved by random phases."""
    bump = np.exp(-(((np.arange(networks.N) - networks.N / 2) / width) ** 2))
    moved = contest.scrambled(bump, stats.stream("localization", "out of phase"))
    ax.plot(bump, "-", color=figures.COLOURS["label_minus"], lw=1.5, label="in phase")
    ax.plot(moved, "--", color="0.4", lw=1.2, label="out of phase")
    ax.set(xlabel="pixel", title="the same waves", ylim=(None, 1.6))
    ax.legend(fontsize="small")


def by_phases(ax: Axes, tails: xr.Dataset, others: xr.Dataset) -> None:
    """:func:`against` the loss that bumps save by the phases of their waves, in thousandths, of both records."""
    saved, learned = {}, {}
    for runs in (tails, others):
        learned |= forecasts.intervals(runs.ipr.sel(sign=-1))
        saved |= forecasts.intervals(1000 * forecasts.phases(runs))
    for cell, one in saved.items():
        ax.hlines(learned[cell].estimate, one.low, one.high, color="0.6", lw=0.8)
    saved = {cell: one.estimate for cell, one in saved.items()}
    against(ax, saved, learned)
    ax.axvline(0, color="0.6", lw=0.8)
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlim(-5, 300)
    shocks = [cell for cell in learned if cell[0] == "sparse/sparse"]
    ax.text(np.mean([saved[cell] for cell in shocks]), 0.28, "shocks\nin both", fontsize="small", ha="center")
    for words, cell, place in (
        ("original, $g = 1/2$", ("light/light", 0.5), (2.6, 0.14)),
        ("original, $g = 3$", ("light/light", 3.0), (0.5, 0.4)),
        ("slow light, fast heavy, $g = 3$", ("light/heavy", 3.0), (0.2, 1.0)),
    ):
        ax.annotate(words, (saved[cell], learned[cell].estimate), place, fontsize="x-small", va="center", **_ARROW)
    ax.set(
        xlabel="error saved in phase, thousandths\n(axis linear up to 1)", ylabel="learned inverse participation ratio"
    )
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
