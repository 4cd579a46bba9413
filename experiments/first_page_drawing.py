"""One small picture of every story, for the first page; each is drawn on the axis that it is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from experiments.localization.drawing import fields_as_rows
from experiments.simplicity_bias.transition.drawing import CLOSED
from shallow import stats
from shallow.book import figures, records
from shallow.spectra.marchenko_pastur import MarchenkoPastur


def lone_point(ax: Axes) -> None:
    """Share of runs whose test loss climbs, by how the points are spread."""
    runs = records.load("cyclic_labels/bumps/looked_at_from").sel(refinement=10, start=500)
    designs = {"poor(5,1)": "one point\nat the end", "poor(5,2)": "two points\nthere", "strat": "evenly\nspread"}
    shares = [stats.wilson(runs.diverging.sel(design=one).values > 0) for one in designs]
    ax.hlines(range(3), [one.low for one in shares], [one.high for one in shares], color=figures.ORANGE)
    ax.plot([one.estimate for one in shares], range(3), "o", color=figures.ORANGE)
    ax.set_yticks(range(3), designs.values())
    ax.set(xlabel="share of runs with a climb", xlim=(-0.02, 0.62), ylim=(2.5, -0.5))


def known_early(ax: Axes) -> None:
    """What the output depends on, and how well it fits: medians of five runs at degree 7."""
    share = records.load("hidden_structure/alignment/output_of_v").share.sel(degree=7).median("run")
    fit = records.load("hidden_structure/alignment/who_leads").r2.sel(degree=7, range="bulk", learner="network")
    ax.plot(share.epoch, share, "s--", ms=3.5, color=figures.BLUE, label="depends on the sum alone")
    ax.plot(fit.epoch, fit.median("run"), "o-", ms=3.5, color=figures.ORANGE, label="fits the polynomial")
    ax.set(xlabel="epoch", ylabel="the output", xlim=(-0.4, 20.4), ylim=(-0.1, 1.4))
    ax.legend(fontsize="small", loc="upper left")


def two_leaks(ax: Axes) -> None:
    """Training loss over that of least squares along training, with the two leaks open or closed."""
    runs = records.load("simplicity_bias/transition/which_leak").sel(n=2000, step=slice(1000, None)).mean("seed")
    for (margin, start), (name, look) in CLOSED.items():
        one = runs.sel(margin=margin, start=start)
        ax.plot(runs.step, one.train / one.ols, **{"ls": "-"} | look, label=name)
    ax.set(xscale="log", xlabel="steps", ylabel="training loss\nover least squares", ylim=(0.76, 1.02))
    ax.legend(fontsize="small")


def any_labels(ax: Axes) -> None:
    """Spectra of the weights after ten steps of Adam from three kinds of labels, and that of noise."""
    spectra = records.load("heavy_tails/route/overshoot_adam").eigenvalues.sel(rate=1.0, seed=0)
    decades, noise = np.linspace(1.5, 5.6, 80), MarchenkoPastur(1500, 1000)
    ax.plot(decades, noise.density(10**decades) * 10**decades * np.log(10), ":", color="0.5", label="before training")
    looks = {"true": (figures.BLUE, "-"), "permuted": (figures.ORANGE, "--"), "zero": ("k", "-.")}
    for (labels, (colour, line)), name in zip(looks.items(), ("true", "shuffled", "zero"), strict=True):
        look = {"histtype": "step", "density": True, "color": colour, "ls": line, "label": f"{name} labels"}
        ax.hist(np.log10(spectra.sel(labels=labels)), decades, **look)
    ax.set(xlabel=r"$\log_{10}$ eigenvalue", ylabel="density per decade", ylim=(0, 1.05))
    ax.legend(fontsize="x-small", loc="upper right")


def bumps(ax: Axes) -> None:
    """The weights of the forty neurons of a trained network, sorted by their bias and place."""
    one = records.load("localization/balance").sel(gain=3.0, seed=0).isel(step=-1)
    fields_as_rows(ax, one.W.values, one.b.values)
    ax.set(xlabel="place on the ring", ylabel="neuron")


PICTURES: dict[str, Callable[[Axes], None]] = {
    "cyclic_labels": lone_point,
    "hidden_structure": known_early,
    "simplicity_bias": two_leaks,
    "heavy_tails": any_labels,
    "localization": bumps,
}
