"""Drawings of the transition for its page and for the chapter's story; each returns a figure."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from experiments.simplicity_bias.transition import noise, rules
from shallow.book import figures
from shallow.data.teachers import NOISE

MARKERS = {0.04: "o", 0.01: "s", 0.0025: "^"}  # of rates


def figure_1(by_width: Mapping[str, xr.Dataset], constant: xr.Dataset) -> Figure:
    """Losses over the noise on a linear axis, after the decay; crosses: one draw of the wide network, constant rate.

    The band is all that three draws say of the end of interpolation with 10,000 neurons.
    """
    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained", sharey=True)
    for ax, name in zip(axes, (rules.NARROW, rules.WIDE), strict=True):
        final, line = by_width[name], "-" if name == rules.NARROW else ":"
        for loss, marker, values in (("train", "o", final.train), ("test", "s", final.excess + NOISE)):
            shown, colour = (values / NOISE).transpose("n", "seed"), figures.COLOURS[loss]
            ax.plot(final.n, shown, marker, ms=3, mfc="none", mew=0.8, color=colour)
            ax.plot(final.n, shown.median("seed"), line, color=colour, lw=1.3, label=f"{loss} loss")
        for ols, loss in (("ols", "train"), ("ols_test", "test")):
            values = final.ols_excess + NOISE if ols == "ols_test" else final.ols
            ax.plot(final.n, (values / NOISE).median("seed"), "-.", lw=0.9, color=figures.COLOURS[loss])
        ax.axhline(1, color="k", ls="--", lw=0.8)
        ax.set(xscale="log", xlabel="samples $n$", title=name, ylim=(0, 7))
    last = constant.isel(step=-1, seed=0)
    for loss, values in (("train", last.train), ("test", last.excess + NOISE)):
        axes[1].plot(last.n, values / NOISE, "x", ms=4, mew=0.9, color=figures.COLOURS[loss])
    axes[1].axvspan(500, 2000, color="0.9", lw=0, zorder=0)
    axes[0].set_ylabel(r"mean square / $\sigma^2$")
    axes[0].legend(fontsize="small", loc="upper right")
    return figure


def batch_noise(every: xr.Dataset, more: xr.Dataset) -> Figure:
    """Training loss after the common finish: against n by setting, two draws; and of every draw at two sizes."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.5), layout="constrained")
    share = noise.ends(every).train / NOISE
    noises = sorted({float(one) for one in every.noise.values if one > 0})
    shades = dict(zip(noises, plt.cm.viridis(np.linspace(0, 0.9, len(noises)))))
    for i in range(every.sizes["setting"]):
        rate, size = float(every.rate[i]), float(every.noise[i])
        look = {"color": shades.get(size, "k"), "lw": 1.0 if size else 2.0, "marker": MARKERS[rate], "ms": 3.5}
        batch = int(every.batch[i]) if size else "full"
        left.plot(every.n, share.isel(setting=i).mean("seed"), label=f"{rate:g}, {batch}", **look)
    left.set(xscale="log", xlabel="samples $n$", ylabel=r"training loss / $\sigma^2$")
    left.set_xticks(every.n.values, [str(n) for n in every.n.values])
    left.minorticks_off()
    left.legend(title="rate, batch", fontsize="x-small", title_fontsize="x-small", loc="upper left")
    of_draws = noise.left(every, more)
    names = [noise.name(more, i).replace(", ", "\n").replace("batches", "batch") for i in range(more.sizes["setting"])]
    for n, colour, fill in zip(of_draws.n.values, ("#0072B2", "#D55E00"), ("none", "#D55E00"), strict=True):
        values = of_draws.sel(n=n).transpose("setting", "seed")
        right.plot(range(len(names)), values, "o-", color=colour, mfc=fill, ms=4, lw=0.5, alpha=0.6)
        right.plot(range(len(names)), values.mean("seed"), "o-", color=colour, mfc=fill, lw=2, label=f"$n = {n}$")
    right.set_xticks(range(len(names)), names, fontsize="x-small")
    right.set(ylabel=r"training loss / $\sigma^2$", xlim=(-0.4, len(names) - 0.6), ylim=(0, None))
    right.legend(fontsize="small")
    return figure
