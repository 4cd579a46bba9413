r"""Rules on mean squares, the constant and its rivals: LO-44, LO-45, LO-46, LO-48, LO-49, LO-50.

Intervals as in :mod:`.objectives`: over the seeds, or over all pairs of the draws.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from experiments.localization.bumps import mean_squares
from experiments.localization.data.rules import all_within, by_gain, farthest
from experiments.localization.objectives.rules import pooled
from experiments.localization.populations import cells as populations
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

RINGS = {  # (9) on 40 and on 400 points
    "coarse": "localization/bumps/filters_at_a_point",
    "fine": "localization/bumps/filters_at_a_point_400",
}


@decides(apart=mean_squares.forms, beyond=mean_squares.beyond)
def lo_44(apart, beyond, *, margin):
    """The identity for the mean squares (a), and the leading eigenvector as the maximum (b)."""
    return Found(
        {"a": all_within(apart, -margin, margin), "b": bool(beyond.max() <= 1e-8)},
        {"missed, farthest": farthest(apart), "cases": apart.isel(seed=0).size},
    )


@decides(changed=mean_squares.scaled, modes=mean_squares.best_modes, behind=mean_squares.behind)
def lo_45(changed, modes, behind, *, gap):
    """The norm does not matter and may be fixed (a); the difference in means is another problem than (10) (b)."""
    found = {case: stats.student(behind.sel(case=case).values) for case in behind.case.values}
    agree = bool((modes.mode == modes.mode.isel(objective=0)).all())
    return Found(
        {
            "a": "contradicted" if changed else "reproduced" if agree else "partly",
            "b": claims.all_of(*(one.exceeds(gap) for one in found.values())),
        },
        {
            "behind": found,
            "pairs that change": changed,
            "largest at": {lengths: modes.mode.sel(lengths=lengths).values for lengths in modes.lengths.values},
            "exactly": modes.value.isel(lengths=-1).values,
        },
    )


@decides(leaders=mean_squares.leaders)
def lo_46(leaders):
    """The leading eigenvector of K1 - K0 is the constant, where the first class is the slow one, as in the note."""
    slow_first = [f"({one:g}, {other:g})" for _, (one, other) in mean_squares.CASES if one > other]
    constant = (leaders.sel(case=slow_first) == 0).all("gain")
    return Found(
        "partly" if constant.any() and not constant.all() else bool(constant.all()),
        {"leading mode": {case: leaders.sel(case=case).values for case in leaders.case.values}},
    )


def low_shares(runs: xr.Dataset, cut: int = 2) -> xr.DataArray:
    """Share of the energy of negative fields in modes up to a frequency, mean over these fields (gain, seed)."""
    negative = populations.population(runs.b.values) == -1
    shares = fields.low_share(runs.W.values, cut)
    means = np.where(negative, shares, 0).sum(axis=-1) / negative.sum(axis=-1)
    return xr.DataArray(means, {"gain": runs.gain, "seed": runs.seed})


@decides(balance="localization/balance")
def lo_48(balance, *, low):
    """The constant is inconsistent with the fields that training finds."""
    found = by_gain(low_shares(balance.isel(step=-1)))
    return Found({gain: claims.below(one, low) for gain, one in found.items()}, {"share": found})


def compared(lead: Interval, margin: float) -> str:
    """Better, equal, worse or undecided, by a margin."""
    if lead.above(margin):
        return "better"
    return "worse" if lead.below(-margin) else "equal" if lead.inside(-margin, margin) else "undecided"


def leads(runs: xr.Dataset, rival: str) -> dict[float, Interval]:
    """Of one ring: leads in (9) by gain over all pairs; of "gabor over bump" over the bump, else over the constant."""
    of = {float(gain): runs.sel(gain=gain, rival=rival) for gain in runs.gain.values}
    return {gain: pooled(one.lead, one.lead_error) for gain, one in of.items()}


def named(found: Mapping[int, Mapping[float, object]]) -> dict[str, dict[str, object]]:
    """With the names of numbers of points and of gains."""
    return {f"n = {n}": {f"g = {gain:g}": one for gain, one in gains.items()} for n, gains in found.items()}


@decides(**RINGS)
def lo_49(coarse, fine, *, near):
    """The announced test: how the constant does in (9) against the best filter of all families."""
    rings, gains = {40: coarse, 400: fine}, (0.01, 1.0, 3.0, 100.0)
    rivals = {n: [leads(runs, family) for family in ("gabor", "cosine")] for n, runs in rings.items()}
    behind = {
        n: {g: max((one[g] for one in families), key=lambda lead: lead.estimate) for g in gains}
        for n, families in rivals.items()
    }
    good = {
        n: [claims.all_of(*(claims.below(one[g], near) for one in families)) for g in gains]
        for n, families in rivals.items()
    }
    agree = all(other in (None, one) for one, other in zip(good[40], good[400]))
    return Found(
        "answered" if agree and None not in good[40] else "undecided", {"lead over the constant": named(behind)}
    )


@decides(**RINGS)
def lo_50(coarse, fine, *, margin):
    """The question whether Gabor functions are better, and whether they need their carrier."""
    rings = {40: coarse, 400: fine}
    bump, carrier = ({n: leads(runs, rival) for n, runs in rings.items()} for rival in ("bump", "gabor over bump"))
    words = {gain: compared(lead, margin) for gain, lead in bump[40].items()}
    return Found(
        "undecided" if "undecided" in words.values() else "answered",
        {
            "bump over constant": named(bump),
            "Gabor over bump": named(carrier),
            "better from": min((gain for gain, word in words.items() if word == "better"), default=np.nan),
            "Gabor over bump, at most": max(lead.high for one in carrier.values() for lead in one.values()),
        },
    )
