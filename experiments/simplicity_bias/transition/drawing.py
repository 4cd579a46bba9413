"""Drawings of the transition for its page and for the chapter's story, on the axes that they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.simplicity_bias.transition import leaks
from shallow.book import figures

#: Settings of :mod:`.leaks` in the words of the story.
LEAKS = {
    "Figure 1": "both open",
    "margin": "margin",
    "(8)": "dominated start",
    "(8), small": "small dominated start",
    "(8), margin": "margin and dominated start",
}


def where_mass_points(ax: Axes, weights: xr.DataArray, sizes: Sequence[int]) -> None:
    r"""Share of the mass $|a_j| \|w_j\|$ by angle to e_1 for some sample sizes, over all draws; grey: uniform."""
    bins = np.linspace(0, 180, 31)
    for n, style in zip(sizes, figures.mode_styles(len(sizes)), strict=True):
        W, a = np.split(weights.sel(n=n).values.reshape(-1, weights.sizes["coordinate"]), [-1], axis=1)
        length = np.linalg.norm(W, axis=1)
        share, _ = np.histogram(np.degrees(np.arccos(W[:, 0] / length)), bins, weights=np.abs(a[:, 0]) * length)
        ax.stairs(share / share.sum(), bins, label=f"$n = {n}$", lw=1.4, **style)
    uniform = np.sin(np.radians((bins[1:] + bins[:-1]) / 2)) ** 3  # in five dimensions
    ax.stairs(uniform / uniform.sum(), bins, color="0.6", label="uniform")
    ax.set(
        xlabel="angle to the teacher (degrees)", ylabel="share of the mass", xticks=range(0, 181, 45), ylim=(0, 0.11)
    )
    ax.legend(fontsize="small", ncols=4, loc="upper center")


#: Runs of :mod:`.which_leak` by margin and start, with a name and a look.
CLOSED = {
    (False, "as it is"): ("both open", {"color": "k"}),
    (True, "as it is"): ("first closed", {"color": figures.ORANGE, "ls": "-."}),
    (False, "late taken away"): ("second closed", {"color": figures.BLUE, "ls": "--"}),
    (True, "late taken away"): ("both closed", {"color": figures.GREEN, "lw": 2}),
}


def leaks_closed(axes: Sequence[Axes], runs: xr.Dataset) -> None:
    """Share of the mass outside, and training loss over that of least squares, from step 1000 on, every draw."""
    runs = runs.sel(step=slice(1000, None))
    for (margin, start), (name, look) in CLOSED.items():
        one = runs.sel(margin=margin, start=start)
        for ax, values in zip(axes, (one.outside, one.train / one.ols), strict=True):
            lines = ax.plot(runs.step, values.transpose("step", "seed"), **{"ls": "-", "lw": 1.1} | look)
            lines[0].set_label(name)
    for ax, title, limits in zip(axes, ("mass elsewhere", "training loss"), ((-0.04, 1.04), (0.76, 1.02)), strict=True):
        ax.set(xscale="log", xlabel="steps", title=title, ylim=limits)


#: The two leaks open or closed: rows by the margin, columns by the start.
PANELS = (("Figure 1", "(8)"), ("margin", "(8), margin"))
ELSEWHERE = 0.1  # share of the mass outside the two directions


def two_by_two(axes: np.ndarray, runs: xr.Dataset) -> None:
    """Transitions with batches for both starts, without and with margin: a mark for each draw, filled if mass left.

    Dotted: the two fits.
    """
    runs = runs.sel(steps="batches of 32")
    for row, settings in zip(axes, PANELS, strict=True):
        for ax, setting in zip(row, settings, strict=True):
            one = runs.sel(setting=setting)
            share = (one.settled_train / one.ols).transpose("n", "seed").values
            torn = (one.settled_outside > ELSEWHERE).transpose("n", "seed").values
            at = np.repeat(one.n.values[:, None], share.shape[1], axis=1)
            for what, fill, name in ((torn, figures.COLOURS["train"], "mass elsewhere"), (~torn, "none", "mass kept")):
                look = {"color": figures.COLOURS["train"], "mfc": fill, "mew": 0.8, "alpha": 0.8}
                ax.plot(at[what], share[what], "o", ms=3.4, label=name, **look)
            fits = leaks.of_two_fits(runs, setting)
            ax.plot(fits.n, fits, "k:", lw=1.3, label="two fits")
            ax.axhline(0.5, color="0.6", ls="--", lw=0.9)
    for ax, title in zip(axes[0], ("normal start", "dominated start"), strict=True):
        ax.set_title(title)
    for ax, words in zip(axes[:, 0], ("no margin", "margin"), strict=True):
        ax.set_ylabel(f"{words}\nloss / least squares")
    for ax in axes[1]:
        ax.set(xscale="log", xlabel="samples $n$", ylim=(-0.05, 1.08))
        ax.set_xticks(runs.n.values, [str(n) for n in runs.n.values])
        ax.minorticks_off()


def removed(axes: Sequence[Axes], runs: xr.Dataset, culled: xr.Dataset) -> None:
    """Loss over least squares when neurons were taken away early: the late ones, or as many at random; line: none.

    An axis for each setting of `culled`; a mark for each draw, lines through the means.
    """
    kinds = (
        ("late", "late neurons", "o-", figures.ORANGE),
        ("random", "as many at random", "s--", figures.COLOURS["train"]),
    )
    for ax, setting in zip(axes, culled.setting.values, strict=True):
        one = culled.sel(setting=setting)
        for taken, name, style, colour in kinds:
            share = (one.train / one.ols).sel(removed=taken).transpose("n", "seed")
            ax.plot(one.n, share.mean("seed"), style, ms=0, color=colour)
            ax.plot(one.n, share, style[0], ms=3.4, mfc="none", mew=0.8, color=colour)
            ax.plot([], [], style, ms=3.4, mfc="none", color=colour, label=name)
        whole = runs.sel(steps="batches of 32", setting=setting, n=one.n)
        ax.plot(one.n, (whole.settled_train / whole.ols).mean("seed"), "k:", lw=1.3, label="none")
        ax.set(xscale="log", xlabel="samples $n$", ylim=(-0.05, 1.08))
        ax.set_xticks(one.n.values, [str(n) for n in one.n.values])
        ax.minorticks_off()
    axes[0].set_ylabel("loss / least squares")
    axes[-1].legend(title="removed", title_fontsize="small", fontsize="small", loc="lower right")


def after_decay(ax: Axes, runs: xr.Dataset) -> None:
    """Share of the training loss left when the rate has decayed, against n from 750 on, every draw."""
    runs = runs.sel(n=slice(750, None))
    left = (runs.decayed_train.isel(restart=-1) / runs.train.isel(step=-1)).transpose("n", "seed")
    ax.plot(runs.n, left, "o", ms=4, mfc="none", color=figures.COLOURS["train"])
    ax.plot(runs.n, left.median("seed"), color=figures.COLOURS["train"], lw=1.1)
    ax.set(xscale="log", xlabel="samples $n$", ylabel="share of the loss left", ylim=(0, 1.05))
    ticks = [n for n in runs.n.values if n not in (750, 1250, 1500)]  # too close to be written
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.minorticks_off()
