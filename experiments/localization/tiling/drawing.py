"""What the page on the average over the ring draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization.populations import cells as populations
from experiments.localization.tiling import cells as ring_average
from shallow import committee, stats
from shallow.book import figures


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
        look = {"color": figures.COLOURS[colour], "marker": marker, "ms": 4, "lw": 1.2}
        figures.errorbars(ax, list(measured), map(stats.student, each), ls=style, label=label, **look)
    ax.axhline(1 / 3, color="0.5", ls=":")
    ax.set(xscale="log", xlabel="neurons $K$", title=f"$g = {gain:g}$", ylim=(0, None))
    ax.set_xticks(list(measured), [str(width) for width in measured])
    ax.minorticks_off()


def formulas(axes: np.ndarray, W: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Four formulas against the output of one network, by class."""
    values, output = ring_average.values(W, b, x), committee.Committee(W[None], b[None]).forward(x)[0]
    shown = {
        "(4) as printed": ("(4), template", "halves"),
        "(4), true shares": ("(4), template", "shares"),
        "(5) as printed": ("(5), own", "halves"),
        "(5) corrected": ("corrected, own", "shares"),
    }
    for ax, (title, key) in zip(axes, shown.items(), strict=True):
        for label, sign, name, marker in ((1, "+", "label_plus", "^"), (-1, "−", "label_minus", "v")):
            of = y == label
            style = {"ms": 2, "alpha": 0.5, "mew": 0, "color": figures.COLOURS[name], "ls": "none"}
            ax.plot(output[of], values[key][of], marker, label=f"class {sign}1", **style)
        ax.plot([-0.6, 0.6], [-0.6, 0.6], color="k", lw=0.8)
        ax.axhline(0, color="0.5", lw=0.6)
        ax.set(title=title, xlabel="output of the network")
