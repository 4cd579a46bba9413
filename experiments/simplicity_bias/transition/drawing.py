"""Drawings of the transition for its page and for the chapter's story, on the axes that they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


#: Settings of :mod:`.leaks` by the first leak: open, closed.
SETTINGS = {False: "Figure 1", True: "margin"}
CONTROL = ", as many at random removed"


def cases(runs: xr.Dataset, culled: xr.Dataset) -> dict[str, xr.Dataset]:
    """Training losses after the finish, and those of least squares, in the four cases of the leaks and the controls."""
    found = {}
    for start, removed in (("as it is", None), ("late taken away", "late"), ("as it is", "random")):
        for margin, setting in SETTINGS.items():
            name = CLOSED[margin, start][0]
            if removed is None:
                whole = runs.sel(setting=setting, n=culled.n.values)
                found[name] = whole[["ols"]].assign(train=whole.settled_train)
            else:
                name += CONTROL * (removed == "random")
                found[name] = culled.sel(setting=setting, removed=removed)[["train", "ols"]]
    return found


def four_cases(axes: Sequence[Axes], found: Mapping[str, xr.Dataset], runs: xr.Dataset) -> None:
    """Loss over least squares of :func:`cases`, a mark for each draw, lines through means; an axis for the first leak.

    Dotted: the two fits.  The legend stands above the axes.
    """
    for ax, (margin, setting) in zip(axes, SETTINGS.items(), strict=True):
        names = {name: look for (first, _), (name, look) in CLOSED.items() if first == margin}
        control = names | {CLOSED[margin, "as it is"][0] + CONTROL: {"color": "0.6"}}
        for aside, (name, look) in zip((0.98, 1.02, 1), control.items(), strict=True):
            share = (found[name].train / found[name].ols).transpose("n", "seed")
            look = {"ls": "-", "lw": 1.6} | look
            ax.plot(share.n, share.mean("seed"), label=name if name in names else "as many at random", **look)
            ax.plot(aside * share.n, share, "o", ms=3, mfc="none", mew=0.7, color=look["color"])
        fits = leaks.of_two_fits(runs.sel(n=share.n.values), setting)
        ax.plot(fits.n, fits, "k:", lw=1.2, label="two fits")
        ax.axhline(0.5, color="0.6", ls="--", lw=0.9)
        ax.set(xscale="log", xlabel="samples $n$", ylim=(-0.05, 1.08))
        ax.set_title(f"first leak {'closed' if margin else 'open'}")
        ax.set_xticks(share.n.values, [str(n) for n in share.n.values])
        ax.minorticks_off()
    axes[0].set_ylabel("loss / least squares")
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    order = [*(name for name, _ in CLOSED.values()), "as many at random", "two fits"]
    found = {label: handles[label] for label in order}
    axes[0].figure.legend(found.values(), found.keys(), loc="outside upper center", ncols=3, fontsize="small")
