"""What the page on the beginning of training draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization import networks
from experiments.localization.beginning import rules
from experiments.localization.theory import cells as proofs
from shallow.book import figures
from shallow.train import online


def descent_beside_flow(left: Axes, right: Axes, steps: xr.Dataset) -> None:
    """Biases after 400 steps against the two flows at g = 0.01, and relative errors by step for both gains."""
    run = steps.sel(loss="square", gain=0.01, seed=0).isel(step=-1)
    for flow, colour, marker in (("alone", "test", "^"), ("coupled", "train", "o")):
        look = {"color": figures.COLOURS[colour], "marker": marker}
        left.plot(run.b_flow.sel(flow=flow), run.b, ls="none", ms=2.5, alpha=0.6, label=flow, **look)
        for gain, dashes in ((0.01, "-"), (3.0, "--")):
            errors = rules.early_errors(steps, gain, flow)
            label = f"{flow}, $g = {gain:g}$"
            right.plot(errors.step, errors.mean("seed"), ls=dashes, ms=3, lw=1.1, label=label, **look)
    end = float(np.abs(run.b).max())
    left.plot([-end, end], [-end, end], "k-", lw=0.6)
    left.set(xlabel="bias in the flow", ylabel="bias in training")
    right.set(xscale="log", yscale="log", xlabel="step", ylabel="relative difference")
    figures.log_ticks(right.yaxis)


def bump_distances(ax: Axes, found: Mapping[str, xr.Dataset]) -> None:
    """Share of the bumps that lie within a distance of where a guess puts them."""
    styles = {"second run": ("live", "--"), "flow": ("train", "-"), "shuffled": ("null", ":")}
    for name, (colour, dashes) in styles.items():
        shares = [float((found[name].distance <= d).mean()) for d in range(21)]
        label = "coupled flow" if name == "flow" else name
        ax.step(range(21), shares, dashes, where="post", color=figures.COLOURS[colour], label=label)
    ax.set(xlabel="distance in pixels, at most", ylabel="share of the bumps", ylim=(0, 1.02), xlim=(0, 20))


def bias_over_rest(left: Axes, right: Axes, run: online.Run, gain: float, style: str = "-") -> None:
    """Of one network over time: median of |b| over the rest point of its field, and the share in the feedback's domain.

    By the sign of the bias at the end; before step 5 biases are small and their fields rest.
    """
    later = run.steps >= 5
    found = proofs.resting(run.W[0, later], run.b[0, later], gain)
    b, end = run.b[0, later], run.last.b[0]
    for sign, name in ((-1, "minus"), (1, "plus")):
        of, look = sign * end > 0, {"color": figures.COLOURS[f"label_{name}"], "lw": 1.2}
        label = f"{'negative' if sign < 0 else 'positive'}, $g = {gain:g}$"
        ratio = np.median(np.abs(b / found.predicted)[:, of], axis=1)
        inside = (found.sided & found.inside & found.feeds)[:, of].mean(axis=1)
        left.plot(run.steps[later], ratio, style, label=label, **look)
        right.plot(run.steps[later], inside, style, **look)
    for ax in (left, right):
        ax.set(xscale="log", xlabel="step")


def frequency_and_bias(ax: Axes, runs: xr.Dataset) -> None:
    """Mean frequency against the bias of every neuron of some networks at one gain, after the last step."""
    end = runs.isel(step=-1)
    for sign, marker, name in ((-1, "v", "minus"), (1, "^", "plus")):
        of = sign * end.b.values > 0
        look = {"ms": 3, "alpha": 0.6, "mew": 0, "color": figures.COLOURS[f"label_{name}"]}
        ax.plot(end.b.values[of], end.frequency.values[of], marker, **look)
    ax.axhline(networks.N / 4, color="0.5", ls=":", lw=1)
    ax.axvline(0, color="k", lw=0.6)
    ax.set(xlabel="bias", ylim=(0, 20))
