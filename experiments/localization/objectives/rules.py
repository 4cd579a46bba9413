r"""Rules on the note's probabilities (6) to (14): LO-27 to LO-31, LO-33, LO-34, LO-38 to LO-43.

Intervals are Student's over seeds, of networks or of draws of pairs.  Where a record has the standard error of a draw,
the draws of its seeds are pooled, which is a normal interval over all their pairs: :func:`pooled`.
"""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

from experiments.localization.data.rules import all_within, each, farthest
from experiments.localization.objectives import cells as objectives
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

ON_AVERAGE = "localization/bumps/filters_on_average"
ROUNDING, QUADRATURE = 1e-10, 1e-8  # of an identity, and of a line of the chain
SEARCHED = 1e-6  # what a search may find beyond an extreme


def pooled(values: xr.DataArray | np.ndarray, errors: xr.DataArray | np.ndarray) -> Interval:
    """Mean over the seeds of estimates from pairs of their own, with a normal interval from their standard errors."""
    mean, error = float(values.mean()), float(np.sqrt((errors.astype(float) ** 2).sum()) / errors.size)
    return Interval(mean, mean - 1.96 * error, mean + 1.96 * error)


def graded(holds: bool | None, fails: bool | None) -> bool | str:
    """By two conditions that exclude each other: where one is open undecided, where both fail partly."""
    return True if holds else False if fails else "undecided" if None in (holds, fails) else "partly"


def outside(gap: Interval, size: float) -> bool | None:
    """Whether a difference is larger than a size in modulus."""
    return claims.any_of(gap.exceeds(size), claims.below(gap, -size))


@decides(runs="localization/balance")
def lo_27(runs):
    """Equation (6): how near one it comes for the learned fields; the note asks for it ideally."""
    averages = objectives.learned(runs.isel(step=-1))
    found = {float(g): stats.student(averages.sel(gain=g).values) for g in averages.gain.values}
    return Found(
        "answered",
        {f"(6) at g = {g:g}": one for g, one in found.items()}
        | {"mean": {f"{g:g}": one.estimate for g, one in found.items()}},
    )


@decides(runs=ON_AVERAGE)
def lo_28(runs, *, same, other):
    """After (6): the condition is equivalent to a large spread of the one class relative to the other."""
    names = [str(name) for name in runs["filter"].values if str(name).startswith("bump as ")]
    pairs = {name: runs.sel(filter=name, rival=name.removeprefix("bump as ")) for name in names}
    gaps = {
        float(g): [pooled(one.lead.sel(gain=g), one.lead_error.sel(gain=g)) for one in pairs.values()]
        for g in runs.gain.values
    }
    equal = claims.all_of(*(claims.within(gap, -same, same) for at in gaps.values() for gap in at))
    differ = claims.all_of(*(claims.any_of(*(outside(gap, other) for gap in at)) for at in gaps.values()))
    return Found(
        "undecided" if True not in (equal, differ) and None in (equal, differ) else "answered",
        {f"{name} over it, g = {g:g}": gap for g, at in gaps.items() for name, gap in zip(names, at)}
        | {"least and largest lead": {f"g = {g:g}": _ends(at) for g, at in gaps.items()}, "bumps": len(names)},
    )


def _ends(intervals: list[Interval]) -> list[float]:
    return [pick(one.estimate for one in intervals) for pick in (min, max)]


def rivals(runs: xr.Dataset) -> tuple[str, str, Interval]:
    """Of one gain: the best filter of (7), the best in (6), and the lead in (6) of the second over the first.

    Every seed's pair of filters is chosen by the values of the others.
    """
    names, chosen, leads = runs["filter"].values, [], []
    for seed in runs.seed.values:
        rest = runs.drop_sel(seed=seed)
        point, ring = (str(names[rest[name].mean("seed").values.argmax()]) for name in ("point", "average"))
        one = runs.sel(seed=seed, filter=ring, rival=point)
        chosen.append((point, ring))
        leads.append((float(one.lead), float(one.lead_error)))
    point, ring = (max(kind, key=list(kind).count) for kind in zip(*chosen, strict=True))
    return point, ring, pooled(*map(np.array, zip(*leads, strict=True)))


def spelled(name: str) -> str:
    """Name of a filter of the record in words."""
    kind, *numbers = name.split()
    if kind == "gabor":
        return f"Gabor function ({numbers[0]} pixels, {numbers[1]} cycles)"
    return f"bump of {numbers[0]} pixels" if kind == "bump" and len(numbers) == 1 else name


@decides(runs=ON_AVERAGE, wave=objectives.exact_waves)
def lo_29(runs, wave, *, tie, loses):
    """(6) to (7): the average over the ring replaced by one place leaves the best filter what it is."""
    best, other = wave  # values of (6) for Gaussian data: of the best wave in (7), and of the best of all waves
    found = {f"g = {g:g}": rivals(runs.sel(gain=g)) for g in runs.gain.values}
    leads = {name: lead for name, (*_, lead) in found.items()}
    fails = claims.any_of(other - best > loses, *(lead.exceeds(loses) for lead in leads.values()))
    holds = claims.all_of(other - best <= tie, *(claims.below(lead, tie) for lead in leads.values()))
    return Found(
        graded(holds, fails),
        {"exact lead": other - best, "lead": leads, "wave best in (7)": best, "wave best in (6)": other}
        | {"best in (7)": {name: spelled(point) for name, (point, *_) in found.items()}}
        | {"best in (6)": {name: spelled(ring) for name, (_, ring, _) in found.items()}},
    )


@decides(runs="localization/fields/planted_fields")
def lo_30(runs, *, local, same):
    """Which objective training follows where (6) and (9) disagree; a question of ours."""
    gaussian, signs = runs.sel(gain=0.01), runs.sel(gain=3.0).isel(step=-1)
    end = gaussian.isel(step=-1)
    spread, low = (stats.student(end[name].sel(begin="bumps").values) for name in ("spread", "low"))
    apart = stats.student((end.loss.sel(begin="bumps") / end.loss.sel(begin="random") - 1).values)
    leaves = claims.all_of(claims.below(spread, local), claims.within(apart, -same, same))
    return Found(
        "undecided" if leaves is None else "answered",
        {"bumps at the end, g = 0.01": spread, "loss over that of random starts": apart, "leaves the bumps": leaves}
        | {"bumps at the start": float(gaussian.spread.sel(begin="bumps").isel(step=0).mean()), "modes up to 2": low}
        | {
            f"{name} at the end, g = 3": stats.student(signs.spread.sel(begin=name).values)
            for name in ("waves", "bumps")
        },
    )


@decides(draws=objectives.steps)
def lo_31(draws, *, margin):
    """(7) to (8), (8) to (9), (9) to (10)."""
    differ = int(draws.differ.sum())
    return Found(
        {"a": differ == 0, "b": all_within(draws.moved, -margin, margin), "c": bool(draws.squares.all())},
        {"pairs decided otherwise": differ, "(8) minus (9), farthest": farthest(draws.moved)}
        | {"tied": float(draws.tied.max())},
    )


@decides(runs="localization/bumps/filters_at_a_point")
def lo_33(runs, *, gap):
    """After (10): the aim is a large variance of the one class relative to the other."""
    bumps = {g: runs.isel(n=0).sel(gain=g, rival="bump") for g in (0.01, 1.0, 3.0, 100.0)}
    leads = {f"g = {g:g}": pooled(one.lead, one.lead_error) for g, one in bumps.items()}
    largest = all(float(one.ratio.isel(mode=0).min()) >= float(one.gabor_ratio.max()) for one in bumps.values())
    return Found(
        {name: claims.below(lead, gap) for name, lead in leads.items()},
        {"lead of the bump": leads, "the constant has the largest variance ratio": largest},
    )


def missed(runs: xr.Dataset, name: str = "value") -> xr.DataArray:
    """Share of what there is to gain in (9) over 1/2 that the learned fields leave."""
    return (runs.best - runs[name]) / (runs.best - 0.5)


@decides(runs="localization/bumps/learned_filters", signs="localization/objectives/learned_on_signs")
def lo_34(runs, signs, *, share):
    """Understanding the model: (9) is the problem that the network solves; at the largest gain by more networks."""
    shares = [missed(runs).sel(gain=g) for g in runs.gain.values[:-1]] + [missed(signs).isel(gain=0)]
    found = {
        name: {f"g = {g:g}": stats.student(one.sel(sign=sign).values) for g, one in zip(runs.gain.values, shares)}
        for sign, name in ((-1, "negative"), (1, "positive"))
    }
    return Found(
        {
            name: claims.all_of(*(claims.below(one, share) for one in by_gain.values()))
            for name, by_gain in found.items()
        },
        {"missed": found, "networks at the largest gain": signs.sizes["seed"]}
        | {"least before training": float(min(missed(one, "start").min() for one in (runs, signs)))},
    )


def dip_rows(dips: xr.Dataset) -> list[list[str]]:
    """What fields with and without their dips miss of (9), and their loss; differences paired by seed."""
    rows = []
    for part, name in (("missed", "share of (9) missed"), ("loss", "loss")):
        whole, cut = (dips[part].sel(shape=shape).values for shape in ("whole", "cut"))
        rows.append([name, *(f"{stats.student(values):.3f}" for values in (whole, cut, whole - cut))])
    return rows


def drawn_apart(integrals: xr.Dataset) -> list[Interval]:
    """The share of won pairs minus the first line of the chain, in each case, with Wilson's interval."""
    shares = [stats.wilson(int(wins), int(integrals.pairs)) for wins in integrals.wins.values]
    lines = integrals.value.isel(line=0).values
    return [Interval(*(one - line for one in vars(share).values())) for share, line in zip(shares, lines, strict=True)]


def widest(gaps: list[Interval]) -> Interval:
    """The interval that reaches farthest from 0."""
    return max(gaps, key=lambda one: max(abs(one.low), abs(one.high)))


@decides(responses=objectives.responses, integrals=objectives.integrals)
def lo_38(responses, integrals, *, variance, distance, margin):
    """Gaussian data: the law of a response (a), and the chain down to the integral of erf (b)."""
    apart = float(np.abs(integrals.value.diff("line") / integrals.value.isel(line=slice(1, None))).max())
    drawn = drawn_apart(integrals)
    normal = claims.all_of(
        all_within(responses.variance, 1 - variance, 1 + variance),
        *(claims.below(one, distance) for one in each(responses.distance)),
    )
    return Found(
        {"a": normal, "b": claims.all_of(apart < QUADRATURE, *(claims.within(one, -margin, margin) for one in drawn))},
        {"variance over the formula": farthest(responses.variance, 1.0), "distance": farthest(responses.distance)}
        | {"draws": widest(drawn), "lines agree to 1e-8": apart < QUADRATURE},
    )


@decides(integrals=objectives.integrals)
def lo_39(integrals, *, margin):
    """The last integral, which the note leaves: a closed form."""
    equal = float(np.abs(integrals.integral - integrals.closed).max()) < ROUNDING
    drawn = drawn_apart(integrals)
    near = claims.all_of(equal, *(claims.within(one, -margin, margin) for one in drawn))
    return Found(
        "answered" if near else claims.verdict(near),
        {"draws minus the law": widest(drawn), "ratios": integrals.sizes["ratio"], "within 1e-10": equal},
    )


def goes_beyond(extremes: xr.Dataset) -> bool:
    """Whether a search finds a filter beyond the best or the worst one."""
    sign = xr.DataArray([1.0, -1.0], {"end": ["largest", "smallest"]})
    return float(((extremes.found - extremes.predicted) * sign).max()) > SEARCHED


@decides(extremes=objectives.extremes)
def lo_40(extremes):
    """Gaussian data: the best and the worst filter in (9), which the note does not give."""
    beyond, ends = goes_beyond(extremes), {}
    for case, end in itertools.product(extremes.case.values, extremes.end.values):
        one = extremes.sel(case=case, end=end)
        ends |= {f"{case}, {end}": float(one.predicted), f"{case}, {end} at": int(one.mode)}
    return Found("contradicted" if beyond else "answered", {"a search goes beyond by 1e-6": beyond} | ends)


@decides(draws=objectives.polar)
def lo_41(draws, *, one_in):
    """(11), (12) and footnote 4."""
    pairs = int(draws.pairs) * draws.sizes["gain"] * draws.sizes["seed"]
    first, second = (int(draws.differ.sel(form=form).sum()) for form in ("(11)", "(12)"))
    few = [count * one_in <= pairs for count in (first, second)]
    return Found({"a": few[0], "b": few[1], "c": all(few)}, {"pairs": {"all": pairs, "(11)": first, "(12)": second}})


@decides(draws=objectives.cosines)
def lo_42(draws, *, gap, free):
    """After (12): as parallel as possible to the one class and as orthogonal as possible to the other, a trade-off."""
    behind = {
        choice: {f"g = {g:g}": stats.student(draws.behind.sel(choice=choice, gain=g).values) for g in draws.gain.values}
        for choice in objectives.CHOICES[1:]
    }
    norms = {f"g = {g:g}": stats.student(draws.norms.sel(gain=g).values) for g in draws.gain.values}
    decide = [one for name, one in behind["cosines compared"].items() if norms[name].above(free)]
    near = claims.all_of(*(claims.below(one, gap) for one in decide))
    far = claims.all_of(*(one.exceeds(gap) for one in decide))
    return Found(graded(near, far), behind | {"norms fluctuate": norms, "gains that decide": len(decide)})


@decides(draws=objectives.fourier, extremes=objectives.extremes)
def lo_43(draws, extremes, *, free, bound):
    """(13), (14) and footnote 5 (a); whether Fourier series are needed (b), or helpful (c)."""
    unitary = float(draws.apart) < ROUNDING and int(draws.differ.sum()) == 0
    gaussian, *others = (draws.moduli.sel(gain=g) for g in draws.gain.values)
    needed = claims.all_of(
        float(draws.off.max()) < ROUNDING,
        all_within(gaussian, -free, free),
        *(outside(one, bound) for values in others for one in each(values)),
    )
    return Found(
        {
            "a": unitary,
            "b": "answered" if needed else "undecided",
            "c": "undecided" if goes_beyond(extremes) else "answered",
        },
        {"correlation of moduli, g = 0.01": farthest(gaussian), "g = 3 and 100": list(map(farthest, others))},
        verdict=unitary,
    )
