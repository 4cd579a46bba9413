"""How sure the numbers of the paper are: its table of intervals, read off the records by the means of the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from experiments.simplicity_bias import half_samples, transition
from experiments.simplicity_bias.rules import limits, limits_restart, theorem_2, two_units
from experiments.simplicity_bias.rules import transition as rules
from shallow import stats
from shallow.book import claims, records
from shallow.stats import Interval
from shallow.train import minibatch


def spelled(values: Iterable, spec: str = "") -> str:
    """Values in a row, with commas."""
    return ", ".join(format(value, spec) for value in values)


def reached() -> tuple[int, int, Interval]:
    """Runs with 1000 and 10,000 samples that end at the two fits, of how many, and their share."""
    share, runs = theorem_2.sb_17().evidence["at the two fits"], theorem_2.recorded("two_fits_ends")
    tried = runs.train.sel(n=[1000, 10_000]).isel(time=0).size
    return round(share.estimate * tried), tried, share


def needed() -> tuple[str, Interval, str]:
    """Samples that Theorem 2 needs, by dimension; their exponent in d; and the runs behind them, in words."""
    runs = theorem_2.recorded("two_fits_cones").succeeded.sel(whiten=True).transpose("seed", "d", "n")
    sizes = spelled(theorem_2.needed(runs.values, runs.n.values), ".0f")
    words = f"{runs.seed.size} draws at each of {runs.n.size} sizes, $d$ = {spelled(runs.d.values)}"
    return sizes, theorem_2.exponent(runs, "whitened"), words


def excess() -> tuple[float, float, str]:
    """Excess risk under Theorem 2 over what is expected of one fit and of two; and the runs, in words."""
    risk = theorem_2.recorded("two_fits_excess").excess.transpose("seed", "d", "n")
    expected = [[half_samples.expected_excess(int(n), int(d)) for n in risk.n.values] for d in risk.d.values]
    one, two = (risk.mean("seed").values[..., None] / expected).mean((0, 1))
    return one, two, f"{risk.seed.size} draws at each of {risk.n.size} sizes, $d$ = {spelled(risk.d.values)}"


def ends() -> dict[int | str, Interval]:
    """Where interpolation ends, by dimension for 1008 neurons, and for 10,000 neurons in five dimensions."""
    runs = rules.dimensions() | {rules.WIDE: rules.figure_1()[rules.WIDE]}
    return {name: rules.geometric(rules.per_draw(run).interpolation.values) for name, run in runs.items()}


def cost(width: str, n: int) -> Interval:
    """Excess risk of networks that interpolate over that of those that stop."""
    pair = limits.stopped_and_driven()[width].sel(n=n)
    return limits.typical(pair.driven / pair.stopped)


def whole() -> np.ndarray:
    """Whether full-batch runs without a margin stay whole."""
    return two_units.stays(records.load("simplicity_bias/gathering").sel(noise="full batch")).values.ravel()


def always() -> np.ndarray:
    """Whether samples let no full-batch run be torn, at any scale up to 0.001."""
    return two_units.staying_draws(records.load("simplicity_bias/gathering_sizes")).values.ravel()


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
    runs = limits.narrow().sel(n=n)
    return (runs.decayed_excess / runs.ols_excess).values


def kept() -> str:
    """Share of the mass that clusters hold together, by size, as the ledger has it."""
    return re.search("hold (.*) together", claims.Ledger("simplicity_bias")["SB-13"].finding)[1]


def left() -> tuple[list[float], Interval]:
    """Share of the training loss that the decay leaves at n = 1000, 1500, 2000 and 10,000, and at 2000 and 3000."""
    paths = limits_restart.restarts()
    share = paths.isel(restart=-1) / paths.isel(restart=0)
    return share.mean("seed").sel(n=[1000, 1500, 2000, 10_000]).values, limits.mean(share.sel(n=[2000, 3000]))
