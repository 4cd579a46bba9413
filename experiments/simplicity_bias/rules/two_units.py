r"""Rules on what the margin and the start (8) are for: SB-30, SB-31; and what becomes of neurons in two groups.

A *group* is the neurons of one output sign.  It *stays* if at the end all of them are within 0.05 rad of its centre,
the tolerance of the chapter's clusters.  Intervals of shares are Wilson's, over draws Student's, of slopes of medians
bootstrap intervals over the draws.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

TIGHT = 0.05
SMALL = 1e-3  # scales at which a group is narrower than the gaps between hyperplanes
ONE = 1e-4  # angle within a group below which its neurons have turned to one direction; steps leave up to 5e-5

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


def stays(runs: xr.Dataset) -> xr.DataArray:
    """Whether both groups are tight when the rate has decayed."""
    return (runs.radius.sel(time="end") <= TIGHT).all("sign")


def share_staying(runs: xr.Dataset) -> Interval:
    """Share of the runs that end as two tight groups."""
    return stats.wilson(stays(runs).values.ravel())


FATES = ("no pattern can change", "not cut", "cut")


def fates(runs: xr.Dataset, time: str) -> dict[str, tuple[int, int]]:
    """Runs by their state at a time (:data:`FATES`): how many there are, and how many of them end as two groups."""
    now, end = runs.sel(time=time), stays(runs)
    whole = (now.cuts == 0).all("sign")
    states = (now.room > 0, whole & (now.room <= 0), ~whole)
    return {name: (int(state.sum()), int((state & end).sum())) for name, state in zip(FATES, states)}


def radius_power(runs: xr.Dataset, time: str) -> Interval:
    r"""Power p of a group's spread $\propto \lambda^p$ at a time, fitted in every draw, n and sign; Student's."""
    logs = np.log(runs.scale.values)
    spread = np.log(runs.spread.sel(time=time).transpose("scale", ...).values).reshape(len(logs), -1)
    return stats.student(np.polyfit(logs, spread, 1)[0])


def power_of_n(runs: xr.Dataset, time: str) -> Interval:
    """Power of n in the number of hyperplanes that cut both groups at the largest scale; bootstrap over the draws."""
    counts = runs.cuts.sel(time=time).sum("sign").isel(scale=0).transpose("seed", "n").values
    logs = np.log(runs.n.values)
    return stats.bootstrap(
        counts, lambda v, axis: np.polyfit(logs, np.log(np.maximum(v.mean(axis), 0.1)).T, 1)[0], name="power of n"
    )


def staying_draws(runs: xr.Dataset) -> xr.DataArray:
    """Whether a draw (n, seed) ends as two tight groups at every scale up to :data:`SMALL`."""
    small = runs.scale.values[runs.scale.values <= SMALL]
    return stays(runs.sel(scale=small)).all("scale")


def by_directions(before: xr.Dataset, runs: xr.Dataset) -> dict[str, tuple[int, int]]:
    """Draws whose groups turned to one direction each before they grew, or to several: number, and staying draws."""
    one, end = (before.radius <= ONE).all("sign"), staying_draws(runs)
    return {name: (int(of.sum()), int((of & end).sum())) for name, of in (("one each", one), ("several", ~one))}


def radius_by_size(before: xr.Dataset) -> Interval:
    """Power of n in the larger angle within a group before growth, of the draws with several; bootstrap over them."""
    widest = before.radius.max("sign").stack(draw=("n", "seed"))
    widest = widest[widest.values > ONE]
    logs = np.log(np.column_stack([widest.n.values, widest.values]))
    rows = stats.stream("radius by size").integers(0, len(logs), (1000, len(logs)))
    draws = [np.polyfit(*logs[r].T, 1)[0] for r in rows]
    return Interval.from_draws(float(np.polyfit(*logs.T, 1)[0]), draws)


def slope_of_medians(table: xr.DataArray) -> Interval:
    """Slope of the logarithm of the median over draws against log n."""
    rng, logs = stats.stream("slope of extremal angles"), np.log(table.n.values)
    values = table.transpose("draw", "n").values
    rows = rng.integers(0, len(values), (1000, len(values)))
    draws = np.polyfit(logs, np.log(np.median(values[rows], axis=1)).T, 1)[0]
    return Interval.from_draws(float(np.polyfit(logs, np.log(np.median(values, axis=0)), 1)[0]), draws)


def sb_30(angles: xr.Dataset | None = None) -> Outcome:
    """Section 4.1: without the margin more extremal vectors, all near the two; over margin, n and draw."""
    some, slopes, two, large = 0.05, (-0.7, -0.3), 0.99, 200
    angles = load("simplicity_bias/extremal_angles") if angles is None else angles
    free, kept = angles.sel(margin=0.0), angles.sel(margin=0.5)
    more = {int(n): stats.wilson((free.number.sel(n=n) > 2).values) for n in free.n.values}
    fall = slope_of_medians(free.angle)
    exactly = [stats.wilson((kept.number.sel(n=n) == 2).values) for n in kept.n.values if n >= large]
    holds = claims.all_of(
        claims.any_of(*(share.exceeds(some) for share in more.values())),
        claims.all_of(fall.exceeds(slopes[0]), claims.below(fall, slopes[1])),
        *(share.exceeds(two) for share in exactly),
    )
    fails = claims.opposite(claims.below(fall, 0))
    least, last = min(exactly, key=lambda share: share.low), max(more)
    return Outcome(
        verdict=True if holds else False if fails else "undecided" if None in (holds, fails) else "partly",
        answer={
            "reproduced": "Yes: without a margin there are sometimes more than two directions, ever closer to the two "
            "as the sample grows.",
            "contradicted": "No: without a margin other directions do not come closer to the two as the sample grows.",
            "otherwise": "In part: the numbers of directions, or how fast they close in, are not as expected.",
        },
        finding=f"in the plane, without a margin, {more[large]:.2f} of the samples of {large} and {more[last]:.2f} of "
        f"those of {last:,} have more than two extremal vectors; the median of the largest angle to the axis falls "
        f"like n to the power {fall:.2f}; with a margin of 0.5 exactly two in {least:.3f} or more from n = {large} on",
        evidence={
            f"share with more than two, n = {large}": more[large], "power of n in the angle": fall,
            "share with exactly two, with margin": least,
        },
    )  # fmt: skip


def sb_31(runs: xr.Dataset | None = None) -> Outcome:
    """Section 4.1: Gaussian weights of any small scale leave few neurons unaligned; over deviation, n and seed."""
    few, many, moment = 0.05, 0.3, 1 / 3
    runs = load("simplicity_bias/unaligned") if runs is None else runs
    left = runs.fraction.sel(exponent=moment, method="nearest").sortby("deviation", ascending=False)
    at_least = {int(n): stats.student(left.sel(n=n).isel(deviation=-1).values) for n in left.n.values}
    drops = [
        stats.student((left.sel(n=n).isel(deviation=i) - left.sel(n=n).isel(deviation=i + 1)).values).exceeds(0)
        for n in left.n.values for i in range(left.sizes["deviation"] - 1)
    ]  # fmt: skip
    rare = claims.all_of(*(claims.below(share, few) for share in at_least.values()), *drops)
    many_left = claims.any_of(*(share.exceeds(many) for share in at_least.values()))
    largest = max(at_least)
    by_scale = ", ".join(
        f"{float(s):.0e}: {float(left.sel(n=largest, deviation=s).mean()):.1%}" for s in left.deviation.values
    )
    last = left.sel(n=largest).isel(deviation=[-2, -1]).mean("seed")
    power = float((np.diff(np.log(last.values)) / np.diff(np.log(last.deviation.values)))[0])
    return Outcome(
        verdict=True if rare else False if many_left else "undecided" if rare is None else "partly",
        answer={
            "reproduced": "Yes, for very small weights: the share left unaligned falls, but only like "
            "the cube root of the scale.",
            "contradicted": "No: many neurons are still unaligned however small the weights are.",
            "otherwise": "In part: the share of unaligned neurons falls with the scale, but does not become rare.",
        },
        finding=f"unaligned at n = {largest:,} and a standard deviation of {by_scale} (at the smallest "
        f"{at_least[largest]:.3f}); the share falls like the scale to the power {power:.2f}, expected 1/3; at the "
        f"start it is {float(runs.fraction.sel(exponent=0).mean()):.0%}",
        evidence={f"unaligned at the smallest scale, n = {n}": share for n, share in at_least.items()},
    )
