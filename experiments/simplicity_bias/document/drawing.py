"""The document's three figures on linear axes, in units of the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import xarray as xr
from matplotlib.axes import Axes

from shallow.book import figures
from shallow.data.teachers import NOISE

NAMES = {"train": "training loss", "test": "test loss"}


def losses(axes: Sequence[Axes], by_width: Mapping[str, xr.Dataset]) -> None:
    """Figure 1: training and test loss over the noise against n; draws as points, medians as lines, OLS dotted."""
    for ax, (name, ends) in zip(axes, by_width.items(), strict=True):
        kinds = {"train": (ends.train, ends.ols), "test": (ends.excess + NOISE, ends.ols_excess + NOISE)}
        for (kind, (values, ols)), marker in zip(kinds.items(), "os", strict=True):
            colour = figures.COLOURS[kind]
            ax.plot(ends.n, (values / NOISE).transpose("n", "seed"), marker, color=colour, ms=3, mfc="none", mew=0.8)
            ax.plot(ends.n, (values / NOISE).median("seed"), color=colour, lw=1.3, label=NAMES[kind])
            ax.plot(ends.n, (ols / NOISE).median("seed"), ":", color=colour, lw=1)
        ax.axhline(1, color="k", ls="--", lw=0.8)
        ax.set(xscale="log", xlabel="samples $n$", title=name, ylim=(0, 7))
    axes[0].set_ylabel(r"mean square / $\sigma^2$")
    axes[0].legend(fontsize="small", loc="upper right")


def restart(ax: Axes, runs: xr.Dataset, sizes: Sequence[int]) -> None:
    """Figure 2: training loss against steps after the restart, every draw, by sample size."""
    for n, style in zip(sizes, figures.mode_styles(len(sizes)), strict=True):
        for seed in runs.seed.values:
            path = runs.decayed_train.sel(n=n, seed=seed)
            ax.plot(path.restart / 1e6, path, lw=1.1, label=f"$n = {n}$" if seed == 0 else None, **style)
    ax.axhline(NOISE, color="k", ls="--", lw=0.8)
    ax.set(xlabel="million steps after the restart", ylabel="training loss", ylim=(0, 0.1))
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))


def teachers(axes: Sequence[Axes], ends: xr.Dataset) -> None:
    """Figure 3: training and test loss over the noise against n, one teacher on each axis."""
    for ax, teacher in zip(axes, ends.seed.values, strict=True):
        one = ends.sel(seed=teacher)
        for kind, values, marker in (("train", one.train, "o-"), ("test", one.excess + NOISE, "s-")):
            ax.plot(one.n, values / NOISE, marker, ms=3, lw=1.2, color=figures.COLOURS[kind], label=NAMES[kind])
        ax.axhline(1, color="k", ls="--", lw=0.8)
        ax.set(xscale="log", xlabel="samples $n$", title=f"teacher {str(teacher).split()[1]}", ylim=(0, 9))
    axes[0].set_ylabel(r"mean square / $\sigma^2$")
    axes[0].legend(fontsize="small", loc="upper right")
