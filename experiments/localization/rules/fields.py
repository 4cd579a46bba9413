r"""Rules on the fields themselves: LO-25, LO-26, LO-35, LO-36, LO-37, LO-47.

A network is one replicate: its fields enter by their median, or by a share, over one population.  Intervals are
Student's over networks, or over draws of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import xarray as xr

from experiments.localization import networks, populations
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

TRAINED = "step 2000"  # of the ten standard networks
LOCALISED = 0.15  # inverse participation ratio, twice that of white noise on 40 pixels
STEPS = (0, 200, 400, 1000, 2000, 4000)

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


def of_sign(values: xr.DataArray, b: xr.DataArray, sign: int) -> xr.DataArray:
    """The values of the neurons whose bias has a sign, beyond the dead zone; NaN elsewhere."""
    return values.where(sign * b > populations.DEAD_ZONE)


def medians(runs: xr.Dataset, name: str, sign: int) -> xr.DataArray:
    """Median of a measure over the trained fields of one sign, by network."""
    end = runs.sel(of=TRAINED)
    return of_sign(end[name], end.b, sign).median("neuron")


def each(values: xr.DataArray) -> list[Interval]:
    """Intervals over `seed`, one for every place of the other axes."""
    rows = values.transpose(..., "seed").values
    return [stats.student(row) for row in rows.reshape(-1, rows.shape[-1])]


def all_above(values: xr.DataArray, value: float) -> bool | None:
    """Whether every mean over `seed` lies above a value."""
    return claims.all_of(*(one.exceeds(value) for one in each(values)))


def all_below(values: xr.DataArray, value: float) -> bool | None:
    """Whether every mean over `seed` lies below a value."""
    return claims.all_of(*(claims.below(one, value) for one in each(values)))


def spans(intervals: Iterable[Interval], spec: str = ".2f") -> str:
    """Estimates as one number, or from the least to the largest."""
    numbers = sorted(one.estimate for one in intervals)
    low, high = (format(number, spec) for number in (numbers[0], numbers[-1]))
    return low if low == high else f"{low} to {high}"


def lo_25(shapes: xr.Dataset | None = None) -> Outcome:
    """Section 2: the negative fields are localised, the positive ones not; ten networks at g = 3.

    Args:
        shapes: b, ipr, window (gain, seed, of, neuron).
    """
    most, least = 0.9, 0.7
    shapes = load("localization/shapes_at_ends") if shapes is None else shapes
    runs = shapes.sel(gain=3.0)
    found = {
        (name, sign): stats.student(medians(runs, name, sign).values) for name in ("ipr", "window") for sign in (-1, 1)
    }
    noise = {name: float(runs[name].sel(of="noise").median()) for name in ("ipr", "window")}
    holds = claims.all_of(
        found["ipr", -1].exceeds(LOCALISED),
        claims.below(found["ipr", 1], LOCALISED),
        found["window", -1].exceeds(most),
        claims.below(found["window", 1], least),
    )
    return Outcome(
        verdict=holds,
        answer={
            "reproduced": "Yes: on strongly non-Gaussian data fields with negative bias sit at one place, those with "
            "positive bias spread over the ring.",
            "contradicted": "No: fields with negative bias are not localised, or those with positive bias are.",
            "otherwise": "Open: too few networks to say whether the two kinds of fields differ in this way.",
        },
        finding=f"inverse participation ratio, median over the fields, mean over ten networks at g = 3: negative "
        f"{found['ipr', -1]:.3f}, positive {found['ipr', 1]:.3f}, white noise {noise['ipr']:.3f}; share of the energy "
        f"in the best quarter of the ring: negative {found['window', -1]:.3f}, positive {found['window', 1]:.2f}, "
        f"white noise {noise['window']:.2f}",
        evidence={
            "inverse participation ratio, negative": f"{found['ipr', -1]:.3f}",
            "inverse participation ratio, positive": f"{found['ipr', 1]:.3f}",
            "best quarter, negative": f"{found['window', -1]:.3f}",
            "best quarter, positive": f"{found['window', 1]:.3f}",
        },
    )


@cache
def by_gain() -> xr.Dataset:
    """Medians of the recorded fields by gain: :func:`gain_medians` of the networks at seven gains."""
    return gain_medians(load("localization/gains").isel(step=-1))


def gain_medians(runs: xr.Dataset) -> xr.Dataset:
    """ipr and frequency (gain, seed, sign): medians over the fields of one sign; runs with W and b."""
    measures = {"ipr": fields.inverse_participation_ratio, "frequency": fields.mean_frequency}
    runs, signs = runs.transpose("gain", "seed", "neuron", "pixel"), [-1, 1]
    table = {}
    for name, measure in measures.items():
        values = xr.DataArray(measure(runs.W.values), runs.b.coords, runs.b.dims)
        table[name] = xr.concat([of_sign(values, runs.b, sign).median("neuron") for sign in signs], "sign")
    return xr.Dataset(table).assign_coords(sign=signs)


def lo_26(table: xr.Dataset | None = None) -> Outcome:
    """Section 2: negative fields are localised or long waves, as the gain has it; three networks at seven gains.

    Args:
        table: ipr, frequency (gain, seed, sign).
    """
    wave, slow, slack = 0.1, networks.N / 8, -0.05
    table = by_gain() if table is None else table
    minus, gains = table.sel(sign=-1).sortby("gain"), np.sort(table.gain.values)
    first = minus.sel(gain=gains[0])
    waves = claims.all_of(all_below(first.ipr, wave), all_below(first.frequency, slow))
    bumps = all_above(minus.ipr.sel(gain=gains[gains >= 1]), LOCALISED)
    rises = all_above(minus.ipr.sel(gain=gains[gains <= 3]).transpose("gain", "seed").diff("gain"), slack)
    holds = claims.all_of(waves, bumps, rises)
    levels = {float(gain): stats.student(minus.ipr.sel(gain=gain).values) for gain in gains}
    fast = each(table.frequency.sel(sign=1).transpose("gain", "seed"))
    return Outcome(
        verdict=True if holds else None if holds is None else False if waves is False or bumps is False else "partly",
        answer={
            "reproduced": "Yes: on nearly Gaussian data fields with negative bias are long waves; as the gain grows "
            "they become bumps.",
            "contradicted": "No: the shape of the fields with negative bias does not follow the gain in this way.",
            "otherwise": "In part, or open: waves and bumps are there, but not clearly in this order of the gain.",
        },
        finding="inverse participation ratio of negative fields (medians, mean over three networks) "
        + ", ".join(f"{one:.3f} at g = {gain:g}" for gain, one in levels.items())
        + f"; their mean frequency at the smallest gain {stats.student(first.frequency.values):.1f} cycles; of "
        f"positive fields {spans(fast, '.0f')} at all gains",
        evidence={f"inverse participation ratio, g = {gain:g}": f"{one:.3f}" for gain, one in levels.items()},
    )


def lo_35(scaled: xr.Dataset | None = None) -> Outcome:
    """A cheat: is the bias held fixed from (7) to (8) (a), and what does scaling raise: (8) (b), the loss (c)?

    Args:
        scaled: point, ring, loss (seed, width, slope, norm); differ, tied (seed, size, bias).
    """
    some = 0.02
    scaled = load("localization/scaled_bumps") if scaled is None else scaled
    changes = {name: scaled[name].isel(norm=-1) - scaled[name].isel(norm=0) for name in ("point", "ring", "loss")}
    point, ring, gain = each(changes["point"]), each(changes["ring"]), each(-changes["loss"])
    differ = int(scaled.differ.sum())

    def rise(intervals: list[Interval]) -> bool | str | None:
        """True if all exceed what counts, False if all are below."""
        over = [one.exceeds(some) for one in intervals]
        return True if claims.all_of(*over) else False if not claims.any_of(*over) and None not in over else (
            None if None in over else "partly")  # fmt: skip

    parts = {"a": differ > 0, "b": rise(point), "c": rise(gain)}
    return Outcome(
        parts=parts,
        answer={
            "partly": "In part: scaling up leaves the probability as it is, but the loss that is trained does fall.",
            "reproduced": "Yes: a larger scale raises the probability, and lowers the loss.",
            "contradicted": "No: neither the probability nor the loss gains from a larger scale.",
            "otherwise": "Open: too few draws to say what a larger scale changes.",
        },
        finding=f"bias and norm change the decision of {differ} pairs in {scaled.differ.size} settings, ties by "
        f"rounding apart; from norm 0.5 to 8 with b/|w| fixed, (8) changes by {spans(point, '.3f')}, (6) by "
        f"{spans(ring, '.3f')}, and the best loss falls by {spans(gain, '.3f')}",
        evidence={
            "pairs decided otherwise": differ,
            "largest rise of (8)": f"{max(point, key=lambda one: one.high):.3f}",
            "largest rise of (6)": f"{max(ring, key=lambda one: one.high):.3f}",
            "least fall of the loss": f"{min(gain, key=lambda one: one.low):.3f}",
        },
    )


def kept_share(split: xr.Dataset, change: str) -> xr.DataArray:
    """Share of the reduction of the loss that "shape" or "scale" alone keeps, by network."""
    kept = split.kept
    start, both = kept.sel(change="start"), kept.sel(change="both")
    return (start - kept.sel(change=change)) / (start - both)


def lo_36(split: xr.Dataset | None = None) -> Outcome:
    """A cheat, the question: is the shape essential, is the scale; three networks at two gains.

    Args:
        split: kept (gain, seed, change).
    """
    half = 0.5
    split = load("localization/shape_and_scale") if split is None else split
    without = {"shape": kept_share(split, "scale"), "scale": kept_share(split, "shape")}
    found = {
        (name, float(gain)): stats.student(share.sel(gain=gain).values)
        for name, share in without.items() for gain in split.gain.values
    }  # fmt: skip
    needed = {name: claims.all_of(*(claims.below(one, half) for (of, _), one in found.items() if of == name))
              for name in without}  # fmt: skip
    sure = all(one.exceeds(half) is not None for one in found.values())
    words = {
        (True, True): "Both: training shapes the fields and also needs their larger norms, the shape more than the "
        "norms.",
        (True, False): "It shapes the fields: without the trained shapes little is gained, without the larger norms "
        "most is.",
        (False, True): "It scales up the fields: the initial shapes at the larger norms do most of the work.",
        (False, False): "Either change alone does most of the work.",
    }
    return Outcome(
        verdict="answered" if sure else "undecided",
        answer=words[bool(needed["shape"]), bool(needed["scale"])] if sure else "Open: too few networks to tell.",
        finding="; ".join(
            f"g = {gain:g}: initial directions at the final norms keep {found['shape', gain]} of the reduction of the "
            f"loss, final directions at the initial norms {found['scale', gain]}"
            for gain in map(float, split.gain.values)
        ),
        evidence={
            f"{'norms' if name == 'shape' else 'shapes'} alone, g = {gain:g}": one
            for (name, gain), one in found.items()
        },
    )


def over_time(runs: xr.Dataset, name: str) -> xr.DataArray:
    """Median modulus of a measure over the neurons that end with a negative bias, by network and step."""
    return of_sign(np.abs(runs[name]), runs.b.isel(step=-1), -1).median("neuron")


SIMILAR = 0.9  # cosine with the final field from which on a field has its shape


def shaped(runs: xr.Dataset) -> xr.DataArray:
    """First recorded step at which the median negative field has its shape, by network."""
    return (over_time(runs, "cosine") >= SIMILAR).idxmax("step")


def smoothing(runs: xr.Dataset, name: str = "high") -> Interval:
    """Factor by which a share falls from the step at which the shape is there to the end; geometric, over networks."""
    share = over_time(runs, name)
    one = stats.student(np.log(share.sel(step=shaped(runs)) / share.isel(step=-1)).values)
    return Interval(*(float(np.exp(value)) for value in (one.estimate, one.low, one.high)))


def lo_37(runs: xr.Dataset | None = None, fine: xr.Dataset | None = None) -> Outcome:
    """A cheat: norms and biases grow (a), the shape comes early (b), and is smoothed after (c); ten networks.

    Args:
        runs: norm, b, cosine, high (gain, seed, step, neuron).
        fine: the same and noise for five networks on the ring of 400 pixels, one gain.
    """
    growth, small, smoother, early = 1.1, 0.75, 2.0, 1000
    runs = load("localization/growth") if runs is None else runs
    fine = load("localization/growth_400") if fine is None else fine
    grown = [over_time(runs, name).sel(step=list(STEPS)).transpose("gain", "seed", "step") for name in ("norm", "b")]
    late = [one.isel(step=-1) / one.isel(step=-2) for one in grown]
    steep = runs.sel(gain=3.0)
    cosine = stats.student(over_time(steep, "cosine").sel(step=early).values)
    norm = over_time(steep, "norm")
    size = stats.student((norm.sel(step=early) / norm.isel(step=-1)).values)
    cases = {f"g = {gain:g}": runs.sel(gain=gain) for gain in sorted(map(float, runs.gain.values), reverse=True)}
    cases["400 pixels"] = fine.isel(gain=0)
    shrinks = {name: smoothing(one) for name, one in cases.items()}
    when = {name: shaped(one).values for name, one in cases.items()}
    left = stats.student(over_time(fine.isel(gain=0), "noise").isel(step=-1).values)
    steps = [all_above(one.diff("step").transpose(..., "seed"), 0) for one in grown]
    parts = {
        "a": claims.all_of(*steps, *(all_above(one, growth) for one in late)),
        "b": claims.all_of(cosine.exceeds(SIMILAR), claims.below(size, small)),
        **{f"c at {name}": one.exceeds(smoother) for name, one in shrinks.items()},
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: fields and biases keep growing, the shape comes early, the field is smoothed after.",
            "contradicted": "No: neither growth, nor an early shape, nor smoothing is found.",
            "otherwise": "In part: norms and biases grow and the shape comes early; smoothing after it depends on gain "
            "and ring.",
        },
        finding=f"(a) norms and biases of negative neurons are {spans(sum(map(each, late), []))} times larger at 4000 "
        f"than at 2000 steps; (b) at step 1000 and g = 3 the cosine with the end is {cosine:.3f} and the norm {size} "
        "of its end; (c) from the step with a cosine of 0.9 on the share of the energy above n/4 at 40 pixels, or the "
        "same 10 cycles at 400, falls by a factor "
        + "; ".join(
            f"{one:.1f} at {name} (steps {int(when[name].min())} to {int(when[name].max())})"
            for name, one in shrinks.items()
        )
        + f"; on 400 pixels {left} of the energy of a trained field is initial noise that the data do not excite",
        evidence={"cosine with the end at step 1000": f"{cosine:.3f}", "norm over its end": size}
        | {f"fall of the high share, {name}": f"{one:.2f}" for name, one in shrinks.items()},
    )


def lo_47(shapes: xr.Dataset | None = None) -> Outcome:
    """Section 2: the fields look like Gabor functions; negative fields of ten networks, at both gains.

    Args:
        shapes: b, bump, gabor (gain, seed, of, neuron).
    """
    good, most = 0.9, 0.8
    shapes = load("localization/shapes_at_ends") if shapes is None else shapes
    shares = {
        (float(gain), sign, model): stats.student(good_share(shapes.sel(gain=gain), sign, model, good).values)
        for gain in shapes.gain.values for sign in (-1, 1) for model in ("gabor", "bump")
    }  # fmt: skip
    more = {float(gain): stats.student(carrier_gain(shapes.sel(gain=gain)).values) for gain in shapes.gain.values}
    return Outcome(
        parts={f"g = {gain:g}": shares[gain, -1, "gabor"].exceeds(most) for gain in sorted(more, reverse=True)},
        answer={
            "reproduced": "Yes: Gabor functions fit nearly all fields with negative bias well, at either gain.",
            "contradicted": "No: Gabor functions do not fit the fields with negative bias.",
            "otherwise": "In part: at large gain Gabor functions fit, but a plain bump does as well; at small gain "
            "half of the fields fit.",
        },
        finding="share of fields that a Gabor function fits with R² of at least 0.9 (a bump without carrier): "
        + "; ".join(
            f"negative at g = {gain:g} {shares[gain, -1, 'gabor']} ({shares[gain, -1, 'bump']}), positive "
            f"{shares[gain, 1, 'gabor'].estimate:.2f} ({shares[gain, 1, 'bump'].estimate:.2f})"
            for gain in more
        )
        + "; median R² that the carrier adds for negative fields "
        + ", ".join(f"{one:.3f} at g = {gain:g}" for gain, one in more.items())
        + f"; white noise {float((shapes.gabor.sel(of='noise') >= good).mean()):.2f}",
        evidence={f"negative, g = {gain:g}": shares[gain, -1, "gabor"] for gain in more}
        )  # fmt: skip


def good_share(runs: xr.Dataset, sign: int, model: str, good: float = 0.9) -> xr.DataArray:
    """Share of the fields of one sign with at least this R^2, by network."""
    end = runs.sel(of=TRAINED)
    values = of_sign(end[model], end.b, sign)
    return (values >= good).where(values.notnull()).mean("neuron")


def carrier_gain(runs: xr.Dataset) -> xr.DataArray:
    """Median over the negative fields of the R^2 that a Gabor function has more than a bump, by network."""
    end = runs.sel(of=TRAINED)
    return of_sign(end.gabor - end.bump, end.b, -1).median("neuron")
