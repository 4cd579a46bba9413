r"""Rules on the fields themselves: LO-25, LO-26, LO-35, LO-36, LO-37, LO-47.

A network is one replicate: its fields enter by their median, or by a share, over one population.  Intervals are
Student's over networks, or over draws of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.data.rules import all_above, all_below, by_gain, each
from experiments.localization.populations import cells as populations
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

TRAINED = "step 2000"  # of the ten standard networks
SHAPES = "localization/fields/shapes_at_ends"
SIDES = {"negative": -1, "positive": 1}
STEPS = [0, 200, 400, 1000, 2000, 4000]
EARLY = 1000  # a quarter of the training


def of_sign(values: xr.DataArray, b: xr.DataArray, sign: int) -> xr.DataArray:
    """The values of the neurons whose bias has a sign, beyond the dead zone; NaN elsewhere."""
    return values.where(sign * b > populations.DEAD_ZONE)


def medians(runs: xr.Dataset, name: str, sign: int) -> xr.DataArray:
    """Median of a measure over the trained fields of one sign, by network."""
    end = runs.sel(of=TRAINED)
    return of_sign(end[name], end.b, sign).median("neuron")


@decides(shapes=SHAPES)
def lo_25(shapes, *, local, most, least):
    """Section 2: the negative fields are localised, the positive ones not; ten networks at g = 3."""
    runs = shapes.sel(gain=3.0)
    ipr, window = (
        {side: stats.student(medians(runs, name, sign).values) for side, sign in SIDES.items()}
        for name in ("ipr", "window")
    )
    return Found(
        claims.all_of(
            ipr["negative"].exceeds(local),
            claims.below(ipr["positive"], local),
            window["negative"].exceeds(most),
            claims.below(window["positive"], least),
        ),
        {"inverse participation ratio": ipr, "best quarter": window}
        | {f"white noise, {name}": float(runs[name].sel(of="noise").median()) for name in ("ipr", "window")},
    )


def gain_medians(runs: xr.Dataset) -> xr.Dataset:
    """ipr and frequency (gain, seed, sign): medians over the fields of one sign; runs with W and b at one step."""
    measures = {"ipr": fields.inverse_participation_ratio, "frequency": fields.mean_frequency}
    runs, signs = runs.transpose("gain", "seed", "neuron", "pixel"), [-1, 1]
    table = {}
    for name, measure in measures.items():
        values = xr.DataArray(measure(runs.W.values), runs.b.coords, runs.b.dims)
        table[name] = xr.concat([of_sign(values, runs.b, sign).median("neuron") for sign in signs], "sign")
    return xr.Dataset(table).assign_coords(sign=signs)


@decides(gains="localization/gains")
def lo_26(gains, *, wave, slow, local, slack):
    """Section 2: negative fields are localised or long waves, as the gain has it; three networks at seven gains."""
    table = gain_medians(gains.isel(step=-1)).sortby("gain").transpose("sign", "gain", "seed")
    minus, first = table.sel(sign=-1), table.sel(sign=-1).isel(gain=0)
    waves = claims.all_of(all_below(first.ipr, wave), all_below(first.frequency, networks.N / slow))
    bumps = all_above(minus.ipr.sel(gain=slice(1, None)), local)
    holds = claims.all_of(waves, bumps, all_above(minus.ipr.sel(gain=slice(None, 3)).diff("gain"), -slack))
    return Found(
        "partly" if holds is False and False not in (waves, bumps) else holds,
        {
            "inverse participation ratio": by_gain(minus.ipr),
            "mean frequency, negative, smallest gain": stats.student(first.frequency.values),
            "mean frequency, positive": by_gain(table.frequency.sel(sign=1)),
        },
    )


def alike(conditions: Sequence[bool | None]) -> bool | str | None:
    """Conditions as one: None if one is open, "partly" if some hold and others do not."""
    return None if None in conditions else conditions[0] if len(set(conditions)) == 1 else "partly"


@decides(scaled="localization/fields/scaled_bumps")
def lo_35(scaled, *, some):
    """A cheat: is the bias held fixed from (7) to (8) (a), and what does scaling raise: (8) (b), the loss (c)?"""
    rise = scaled.isel(norm=-1) - scaled.isel(norm=0)
    point, ring, fall = each(rise.point), each(rise.ring), each(-rise.loss)
    differ = int(scaled.differ.sum())
    return Found(
        {
            "a": differ > 0,
            "b": alike([one.exceeds(some) for one in point]),
            "c": alike([one.exceeds(some) for one in fall]),
        },
        {
            "pairs decided otherwise": differ,
            "settings": scaled.differ.size,
            "largest rise of (8)": max(point, key=lambda one: one.high),
            "largest rise of (6)": max(ring, key=lambda one: one.high),
            "least fall of the loss": min(fall, key=lambda one: one.low),
            "rise of (8)": point,
            "rise of (6)": ring,
            "fall of the loss": fall,
        },
    )


@decides(split="localization/fields/shape_and_scale")
def lo_36(split, *, half):
    """A cheat, the question: is the shape essential, is the scale; three networks at two gains."""
    start, both = split.kept.sel(change="start"), split.kept.sel(change="both")
    kept = (start - split.kept) / (start - both)  # of the reduction of the loss
    found = {
        f"{name} alone, g = {gain:g}": stats.student(kept.sel(change=change, gain=gain).values)
        for name, change in (("norms", "scale"), ("shapes", "shape"))
        for gain in split.gain.values
    }
    sure = all(one.exceeds(half) is not None for one in found.values())
    return Found("answered" if sure else "undecided", found)


def over_time(runs: xr.Dataset, name: str) -> xr.DataArray:
    """Median modulus of a measure over the neurons that end with a negative bias, by network and step."""
    return of_sign(np.abs(runs[name]), runs.b.isel(step=-1), -1).median("neuron")


def shaped(runs: xr.Dataset, similar: float = 0.9) -> xr.DataArray:
    """First recorded step at which the median negative field has such a cosine with its end, by network."""
    return (over_time(runs, "cosine") >= similar).idxmax("step")


@decides(growth="localization/fields/growth", fine="localization/fields/growth_400")
def lo_37(growth, fine, *, grown, similar, small, smoother):
    """A cheat: norms and biases grow (a), the shape comes early (b), and is smoothed after (c); ten networks."""
    sizes = xr.Dataset({name: over_time(growth, name) for name in ("norm", "b")}).to_array().sel(step=STEPS)
    late = each(sizes.isel(step=-1) / sizes.isel(step=-2))
    steep = growth.sel(gain=3.0)
    cosine, norm = over_time(steep, "cosine"), over_time(steep, "norm")
    cosine = stats.student(cosine.sel(step=EARLY).values)
    size = stats.student((norm.sel(step=EARLY) / norm.isel(step=-1)).values)
    cases = {f"g = {gain:g}": growth.sel(gain=gain) for gain in sorted(growth.gain.values, reverse=True)}
    cases["400 pixels"] = fine.isel(gain=0)
    when = {name: shaped(runs, similar) for name, runs in cases.items()}
    high = {name: over_time(runs, "high") for name, runs in cases.items()}
    falls = {
        name: stats.geometric((share.sel(step=when[name]) / share.isel(step=-1)).values) for name, share in high.items()
    }
    return Found(
        {
            "a": claims.all_of(all_above(sizes.diff("step"), 0), *(one.exceeds(grown) for one in late)),
            "b": claims.all_of(cosine.exceeds(similar), claims.below(size, small)),
        }
        | {f"c at {name}": one.exceeds(smoother) for name, one in falls.items()},
        {"cosine with the end at step 1000": cosine, "norm over its end": size, "fall of the high share": falls}
        | {"growth of norms and biases": late}
        | {f"shape there, {name}": [int(steps.min()), int(steps.max())] for name, steps in when.items()}
        | {"initial noise": stats.student(over_time(cases["400 pixels"], "noise").isel(step=-1).values)},
    )


def fitted(end: xr.Dataset, model: str, sign: int, good: float) -> Interval:
    """Share of the fields of one sign that a model fits with at least this R^2, over networks."""
    r2 = of_sign(end[model], end.b, sign)
    return stats.student((r2 >= good).where(r2.notnull()).mean("neuron").values)


@decides(shapes=SHAPES)
def lo_47(shapes, *, good, most):
    """Section 2: the fields look like Gabor functions; negative fields of ten networks, at both gains."""
    ends = {f"g = {gain:g}": shapes.sel(of=TRAINED, gain=gain) for gain in shapes.gain.values}
    negative = {gain: fitted(end, "gabor", -1, good) for gain, end in ends.items()}
    adds = {gain: of_sign(end.gabor - end.bump, end.b, -1).median("neuron") for gain, end in ends.items()}
    return Found(
        {gain: negative[gain].exceeds(most) for gain in reversed(ends)},
        {
            "negative": negative,
            "negative, bump": {gain: fitted(end, "bump", -1, good) for gain, end in ends.items()},
            "positive": {gain: fitted(end, "gabor", 1, good).estimate for gain, end in ends.items()},
            "positive, bump": {gain: fitted(end, "bump", 1, good).estimate for gain, end in ends.items()},
            "carrier adds": {gain: stats.student(one.values) for gain, one in adds.items()},
            "white noise": float((shapes.gabor.sel(of="noise") >= good).mean()),
        },
    )
