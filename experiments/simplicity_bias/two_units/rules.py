r"""Rules on what the margin and the start (8) are for: SB-30, SB-31; and what becomes of neurons in two groups.

A *group* is the neurons of one output sign.  It *stays* if at the end all of them are within 0.05 rad of its centre,
the tolerance of the chapter's clusters.  Intervals of shares are Wilson's, over draws Student's, of slopes of medians
bootstrap intervals over the draws.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

TIGHT = 0.05
SMALL = 1e-3  # scales at which a group is narrower than the gaps between hyperplanes
ONE = 1e-4  # angle within a group below which its neurons have turned to one direction; steps leave up to 5e-5


def stays(runs: xr.Dataset) -> xr.DataArray:
    """Whether both groups are tight when the rate has decayed."""
    return (runs.radius.sel(time="end") <= TIGHT).all("sign")


def share_staying(runs: xr.Dataset) -> Interval:
    """Share of the runs that end as two tight groups."""
    return stats.share(stays(runs).values)


FATES = ("no pattern can change", "not cut", "cut")


def fates(runs: xr.Dataset, time: str) -> dict[str, tuple[int, int]]:
    """Runs by their state at a time (:data:`FATES`): how many there are, and how many of them end as two groups."""
    now, end = runs.sel(time=time), stays(runs)
    whole = (now.cuts == 0).all("sign")
    states = (now.room > 0, whole & (now.room <= 0), ~whole)
    return {name: (int(state.sum()), int((state & end).sum())) for name, state in zip(FATES, states)}


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


@decides(angles="simplicity_bias/two_units/extremal_angles")
def sb_30(angles, *, some, slopes, two):
    """Section 4.1: without the margin more extremal vectors, all near the two; over margin, n and draw."""
    large, last = 200, int(angles.n.max())
    free, kept = angles.sel(margin=0.0), angles.number.sel(margin=0.5)
    more = {int(n): stats.share((free.number.sel(n=n) > 2).values) for n in free.n.values}
    fall = slope_of_medians(free.angle)
    exactly = [stats.share((kept.sel(n=n) == 2).values) for n in kept.n.values if n >= large]
    holds = claims.all_of(
        claims.any_of(*(share.exceeds(some) for share in more.values())),
        claims.within(fall, *slopes),
        *(share.exceeds(two) for share in exactly),
    )
    fails = fall.exceeds(0)
    return Found(
        True if holds else False if fails else None if None in (holds, fails) else "partly",
        {f"share with more than two, n = {n}": more[n] for n in (large, last)}
        | {"power of n in the angle": fall}
        | {"share with exactly two, with margin": min(exactly, key=lambda share: share.low)},
    )


@decides(runs="simplicity_bias/unaligned")
def sb_31(runs, *, few, many):
    """Section 4.1: Gaussian weights of any small scale leave few neurons unaligned; a part for each scale."""
    left = runs.fraction.sel(exponent=1 / 3, method="nearest").sortby("deviation", ascending=False)
    left = left.transpose("n", "deviation", "seed")
    drops = [stats.student(drop).exceeds(0) for of_n in -np.diff(left, axis=1) for drop in of_n]
    parts = {}
    for scale in left.deviation.values[1:]:  # at the largest lambda is 1, which leaves no time to align
        shares = [stats.student(left.sel(n=n, deviation=scale).values) for n in left.n.values]
        rare = claims.all_of(*(claims.below(share, few) for share in shares))
        many_left = claims.any_of(*(share.exceeds(many) for share in shares))
        verdict = True if rare else False if many_left else None if rare is None else "partly"
        parts[f"deviation {scale:.0e}"] = verdict
    mean = left.isel(n=-1).mean("seed")
    last = np.log(mean.isel(deviation=[-2, -1]))
    at_last = {int(n): stats.student(left.sel(n=n).isel(deviation=-1).values) for n in left.n.values}
    return Found(
        parts | {"falls with the scale": claims.all_of(*drops)},
        {f"unaligned at the smallest scale, n = {n}": share for n, share in at_last.items()}
        | {
            "unaligned": {f"{scale:.0e}": float(mean.sel(deviation=scale)) for scale in mean.deviation.values},
            "power of the scale": float(np.diff(last)[0] / np.diff(np.log(last.deviation))[0]),
            "at the start": float(runs.fraction.sel(exponent=0).mean()),
        },
    )
