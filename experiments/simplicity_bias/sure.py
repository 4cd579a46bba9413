"""How sure the numbers of the paper are: its table of intervals, read off the records by the means of the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import xarray as xr

from experiments.simplicity_bias.limits import rules as limits
from experiments.simplicity_bias.theorem_2 import rules as theorem_2
from experiments.simplicity_bias.transition import cells as transition
from experiments.simplicity_bias.transition import rules
from experiments.simplicity_bias.two_units import rules as two_units
from shallow import stats
from shallow.book import claims, records
from shallow.stats import Interval
from shallow.train import minibatch


def spelled(values: Iterable, spec: str = "") -> str:
    """Values in a row, with commas."""
    return ", ".join(format(value, spec) for value in values)


def figure_1() -> xr.Dataset:
    """The runs of Figure 1 with 1008 neurons."""
    return records.load(rules.FIGURE_1)


def reached() -> tuple[int, int, Interval]:
    """Runs with 1000 and 10,000 samples that end at the two fits, of how many, and their share."""
    found = theorem_2.sb_17().numbers
    share, tried = found["at the two fits"], found["runs"]
    return round(share.estimate * tried), tried, share


def needed() -> tuple[str, Interval, str]:
    """Samples that Theorem 2 needs, by dimension; their exponent in d; and the runs behind them, in words."""
    runs = records.load("simplicity_bias/two_fits_cones").succeeded.sel(whiten=True).transpose("seed", "d", "n")
    sizes = spelled(theorem_2.needed(runs.values, runs.n.values), ".0f")
    words = f"{runs.seed.size} draws at each of {runs.n.size} sizes, $d$ = {spelled(runs.d.values)}"
    return sizes, theorem_2.exponent(runs, "whitened"), words


def excess() -> tuple[float, float, str]:
    """Excess risk under Theorem 2 over what is expected of one fit and of two; and the runs, in words."""
    runs = records.load("simplicity_bias/two_fits_excess")
    words = f"{runs.seed.size} draws at each of {runs.n.size} sizes, $d$ = {spelled(runs.d.values)}"
    return *theorem_2.over_expected(runs), words


def ends() -> dict[int | str, Interval]:
    """Where interpolation ends, by dimension for 1008 neurons, and for 10,000 neurons in five dimensions."""
    narrow, wide, ten = figure_1(), *(tuple(map(records.load, names)) for names in (rules.WIDER, rules.TEN))
    runs = rules.dimensions(narrow, ten) | {rules.WIDE: rules.joined(wide)}
    return {name: rules.geometric(rules.interpolation_ends(run)) for name, run in runs.items()}


def cost(width: str, n: int) -> Interval:
    """Excess risk of networks that interpolate over that of those that stop."""
    data = (records.load(name) for name in limits.sb_01.records[:5])
    return limits.typical(1 / limits.stopped_and_driven(*data)[width].sel(n=n))


def whole() -> np.ndarray:
    """Whether full-batch runs without a margin stay whole."""
    return two_units.stays(records.load("simplicity_bias/two_units/gathering").sel(noise="full batch")).values.ravel()


def always() -> np.ndarray:
    """Whether samples let no full-batch run be torn, at any scale up to 0.001."""
    return two_units.staying_draws(records.load("simplicity_bias/two_units/gathering_sizes")).values.ravel()


def unaligned(steps: int, draws: int = 7) -> str:
    """Least and largest share of unaligned neurons after so many steps, n = 2000."""
    found = []
    for seed in range(draws):
        _, sample, start = transition.drawn(seed, 2000)
        early = minibatch.train(*sample, start, rate=0.01, steps=steps, rng=stats.stream("try")).network
        found.append((transition.alignment_cosine(early, sample) < 0.9).mean())
    return f"{min(found):.1%} to {max(found):.1%}"


def gap(n: int = 30_000) -> np.ndarray:
    """Excess risk at the end over that of least squares, by draw."""
    runs = figure_1().sel(n=n)
    return (runs.decayed_excess / runs.ols_excess).values


def kept() -> str:
    """Share of the mass that clusters hold together, by size, as the ledger has it."""
    return re.search("hold (.*) together", claims.Ledger("simplicity_bias")["SB-13"].finding)[1]


def left() -> tuple[list[float], Interval]:
    """Share of the training loss that the decay leaves at n = 1000, 1500, 2000 and 10,000, and at 2000 and 3000."""
    paths = limits.restarts(figure_1())
    share = paths.isel(restart=-1) / paths.isel(restart=0)
    return share.mean("seed").sel(n=[1000, 1500, 2000, 10_000]).values, limits.mean(share.sel(n=[2000, 3000]))
