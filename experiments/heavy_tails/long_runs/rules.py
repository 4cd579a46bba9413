"""Rules on how many steps the widening of the bulk takes (Kothapalli et al., Tables 1, 3 to 5): HT-17 to HT-77.

Tables of shapes are those of :func:`shapes.shape_table` over the draws (seed) and the steps, by learning rate.  A bulk
is *wide* or *widened* where its exponent falls below noise, and its distance from the Marchenko-Pastur law reaches
above 0, by two limits; one draw is compared as it is, several by Student's interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.long_runs import cells as long_runs
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

Tables = Mapping[float, xr.Dataset]
NOISE, SPIKE = shapes.noise_hill(1500, 1000), shapes.SPIKE_RATIO
LAST = 10_000
GD_RATE = 2000.0  # of the runs of GD that have one rate


def _records(*names: str) -> tuple[str, ...]:
    return tuple(f"heavy_tails/long_runs/{name}" for name in names)


#: Adam in the base setting up to step 100; five draws for rate 1, two for 0.1, one for the others.
EARLY = _records("hundred_adam", "hundred_adam_more", "hundred_adam_small", "hundred_adam_large")
LATE = _records("full_adam", "half_adam")  # to step 10000, one draw in the base setting and two at half the size
QUARTER = _records("quarter_adam", "quarter_adam_small", "quarter_adam_scaled", "quarter_adam_large")  # of the size
#: GD in the base setting: five draws of rate 2000 up to step 20, one of the smaller rates up to 100.
GD = ("heavy_tails/route/route_gd", *_records("merging_gd"))
GD_EARLY = (*GD, *_records("hundred_gd_small"))
GD_LATE = _records("quarter_gd", "quarter_gd_small", "quarter_gd_smaller", "quarter_gd_scaled")  # to step 10000
ONSET_FIRST = "heavy_tails/long_runs/onset_first"  # the first spike changed by hand, at rates 0.2, 0.3, 0.5 and 1


def tables(runs: Sequence[xr.Dataset]) -> dict[float, xr.Dataset]:
    """Shapes of runs by learning rate, with `moved` and `loss` where they have them; more draws add up."""
    found: dict[float, list[xr.Dataset]] = {}
    for run in runs:
        if "rule" in run.dims:
            run = run.sel(rule="Adam code" if "Adam code" in run.rule else "GD code", drop=True)
        if "rate" not in run.dims:
            run = run.expand_dims(rate=[GD_RATE])
        count = run.sizes["k"]
        table = shapes.shape_table(run.eigenvalues, 3 * count // 2, count, initial="step")
        table = table.assign({other: run[other] for other in ("moved", "loss") if other in run})
        for rate in run.rate.values:
            found.setdefault(float(rate), []).append(table.sel(rate=rate, drop=True))
    return {rate: xr.concat(some, "seed", join="inner") for rate, some in sorted(found.items())}


def of_draws(values: np.ndarray) -> Interval:
    """Mean of draws with Student's interval; one draw is a point."""
    values = np.asarray(values, dtype=float)
    return stats.student(values) if len(values) > 1 else Interval(*[float(values[0])] * 3)


def as_wide(table: xr.Dataset, fall: float, away: float) -> bool | None:
    """Whether a bulk is wide or widened over the draws: its exponent so far below that of noise, and its distance."""
    fallen, distance = of_draws(NOISE - table.hill_excl.values), of_draws(table.d_mp.values)
    return claims.all_of(fallen.exceeds(fall), distance.exceeds(away))


def beyond(table: xr.Dataset, step: int, limits: Sequence[float]) -> bool | None:
    """:func:`as_wide` at a step, by the two limits."""
    return as_wide(table.sel(step=step), *limits)


def never(table: xr.Dataset, steps: Sequence[int], limits: Sequence[float]) -> bool | None:
    """Whether the bulk is within the limits at all of these steps."""
    return claims.all_of(*(claims.opposite(beyond(table, t, limits)) for t in steps))


def means(table: xr.Dataset, step: int) -> dict[str, float]:
    """Exponent and distance at a step, means of the draws."""
    one = table.sel(step=step).mean("seed")
    return {"exponent": float(one.hill_excl), "distance": float(one.d_mp)}


@decides(early=EARLY, late=LATE, small=QUARTER, text=_records("hundred_adam_text"))
def ht_17(early, late, small, text, *, wide, widened):
    """Tables 1 and 4: how many steps of Adam a heavy tail takes, by learning rate."""
    early, late, small, text = map(tables, (early, late, small, text))
    one, slow = early[1.0], never(early[0.1], (1, 10, 100), wide)
    at_end, begun = (beyond(late[0.1], LAST, limits) for limits in (wide, widened))
    parts = {
        "a": claims.all_of(
            bool(one.single_spike.sel(step=1).all()),
            *(beyond(one, step, wide) for step in (10, 100)),
            beyond(late[1.0], LAST, wide),
        ),
        "b": "reproduced" if slow and at_end else "contradicted" if slow is False or begun is False else "partly",
        "c": claims.all_of(
            bool((early[0.01].spike_ratio.sel(step=1) < SPIKE).all()),
            never(early[0.01], (1, 10, 100), widened),
            never(small[0.01], [LAST], widened),
        ),
        "d": claims.all_of(*(beyond(early[rate], 10, wide) for rate in (10.0, 100.0))),
    }
    at = {"base": early, "base and half": late, "quarter": small, "text": text}
    told = {"base": [(1.0, 10), (1.0, 100), (0.1, 100), (10.0, 10), (100.0, 10)], "text": [(0.1, 100)]}
    told |= {"base and half": [(1.0, LAST), (0.1, LAST)], "quarter": [(1.0, LAST), (0.1, LAST), (0.01, LAST)]}
    return Found(
        parts,
        {
            "distance, rate 1, step 10": of_draws(one.d_mp.sel(step=10).values),
            "distance, rate 1, step 10000": of_draws(late[1.0].d_mp.sel(step=LAST).values),
            "distance, rate 0.1, step 10000": of_draws(late[0.1].d_mp.sel(step=LAST).values),
            "limits of a wide and a widened bulk": f"{wide[1]} and {widened[1]}",
            "noise": NOISE,
        }
        | {f"{size}, {rate:g}, {t}": means(at[size][rate], t) for size, some in told.items() for rate, t in some},
    )


def steps_of(found: xr.Dataset) -> xr.DataArray:
    """Steps to the widened bulk of runs of :func:`long_runs.until_onset`, infinity where there is none."""
    return long_runs.steps_to_onset(found).fillna(np.inf)


@decides(rates="heavy_tails/long_runs/onset_rates", first=ONSET_FIRST)
def ht_18(rates, first, *, strong, most):
    """Section 5.1: the farther the first spike, the fewer steps; along the rates, and with the spike cut out."""
    gap, steps = rates.spike_ratio.sel(check=1), steps_of(rates)
    links = [stats.rank_correlation(gap.sel(seed=s).values, steps.sel(seed=s).values) for s in rates.seed.values]
    link = stats.student(links)
    clean, own, cut = (first.steps.sel(first=name).values.ravel() for name in ("clean", "1", "0"))
    decided = np.isfinite(clean) | np.isfinite(own)
    later = stats.share((clean > own)[decided])
    return Found(
        {"a": claims.below(link, strong), "b": later.exceeds(most)},
        {
            "rank correlation along the rates": link,
            "later without the first spike": later,
            "rates": rates.sizes["rate"],
            "from rate": float(rates.rate.min()),
            "to rate": float(rates.rate.max()),
            "runs": int(decided.sum()),
            "later": int((clean > own).sum()),
            "sooner": int((clean < own).sum()),
            "cut after Adam, later": int((cut > own).sum()),
            "cut after Adam, sooner": int((cut < own).sum()),
        },
    )


def fallen(table: xr.Dataset, first: int, last: int) -> Interval:
    """How much the exponent without the largest eigenvalue is lower at a step than at an earlier one."""
    return of_draws((table.hill_excl.sel(step=first) - table.hill_excl.sel(step=last)).values)


@decides(early=GD_EARLY, late=GD_LATE, on=_records("hundred_gd"), text=_records("hundred_gd_text"))
def ht_48(early, late, on, text, *, wide, widened, fall, further):
    """Table 3: GD at small and large rates; early and on: base setting; late: a quarter of the size."""
    early, late, on, text = map(tables, (early, late, on, text))
    slow, large, on, far = (0.1, 1.0, 10.0), early[GD_RATE], on[GD_RATE], late[GD_RATE]
    first = fallen(large, 1, 10)
    later = {"to 20": fallen(large, 10, 20), "to 100": fallen(on, 10, 100), "to 10000": fallen(far, 10, LAST)}
    parts = {
        "a, small": claims.all_of(
            *(never(early[rate], (1, 10, 100), widened) for rate in slow),
            *(never(late[rate], [LAST], widened) for rate in slow),
        ),
        "a, 2000 widened": beyond(large, 20, widened),
        "a, 2000 wide": beyond(large, 20, wide),
        "b, to 10": first.exceeds(fall),
        "b, beyond": claims.any_of(*(one.exceeds(further) for one in later.values())),
    }
    return Found(
        parts,
        {
            "fall from 1 to 10": first,
            "distance at 20": of_draws(large.d_mp.sel(step=20).values),
            **{f"fall from 10 {name}": one for name, one in later.items()},
            "distance of small rates at most": max(float(late[rate].d_mp.max()) for rate in slow),
            "distance at the start": float(far.d_mp.sel(step=0).max()),
            "loss at 100": float(on.loss.sel(step=100).mean()),
            "quarter, 500": means(late[500.0], LAST),
            "quarter, 2000": means(far, LAST),
            "text, 2000": means(text[GD_RATE], 100),
        },
    )


def smallest_rates(by_rate: Tables, limits: Sequence[float]) -> dict[str, float]:
    """The smallest rate whose first step makes a spike, on the mean, and the smallest with a wide bulk at some step."""
    spiked = [rate for rate, one in by_rate.items() if one.spike_ratio.sel(step=1).mean() >= SPIKE]
    at = {rate: one[["hill_excl", "d_mp"]].mean("seed") for rate, one in by_rate.items()}
    wide = [r for r, one in at.items() if ((one.hill_excl <= NOISE - limits[0]) & (one.d_mp >= limits[1])).any()]
    return {"spike": min(spiked, default=np.inf), "wide": min(wide, default=np.inf)}


@decides(cut="heavy_tails/route/cut_gaps", adam=QUARTER, gd=GD_LATE, first=ONSET_FIRST)
def ht_49(cut, adam, gd, first, *, wide):
    """Appendices H, E: a spike after the first step is necessary; long training at a small rate does not help."""
    cut, clean = cut.squeeze("cut", drop=True).astype(float), first.sel(first="clean")
    spikeless = clean.gap < SPIKE
    widens = spikeless & np.isfinite(clean.steps)
    gap = float(cut.spike_ratio.max())
    at_once = beyond(cut, 10, wide) if gap < SPIKE else None
    smallest = {name: smallest_rates(tables(runs), wide) for name, runs in (("Adam", adam), ("GD", gd))}
    return Found(
        {
            "a": claims.opposite(claims.any_of(at_once, bool(widens.any()))),
            "b": all(rates["wide"] >= rates["spike"] for rates in smallest.values()),
        },
        {
            "exponent without spikes, step 10": of_draws(cut.hill_excl.sel(step=10).values),
            "distance without spikes, step 10": of_draws(cut.d_mp.sel(step=10).values),
            "largest gap": gap,
            "draws": cut.sizes["seed"],
            "runs that widen": int(widens.sum()),
            "runs without a spike": int(spikeless.sum()),
            **smallest,
        },
    )


@decides(runs=_records("million"))
def ht_50(runs, *, widened, distance, exponent):
    """Table 5: a million steps of Adam at rate 0.01, and at tiny rates; at a tenth of the base size, one draw."""
    by_rate, late, limits = tables(runs), [10_000, 100_000, 1_000_000], {"d_mp": distance, "hill": exponent}
    tiny, short = sorted(by_rate)[:2], sorted(by_rate)[2:]
    raised, begins, strayed = {}, {}, {}
    for rate in short:
        one = by_rate[rate]
        raised[rate] = float((one.spike_ratio.sel(step=1) / one.spike_ratio.sel(step=0)).max())
        begins[rate] = [t for t in one.step.values[1:] if beyond(one, t, widened)]
    for rate in tiny:
        away = np.abs(by_rate[rate][list(limits)].sel(step=late) - by_rate[rate][list(limits)].sel(step=0))
        strayed[f"{rate:g}"] = {name: float(away[name].max()) for name in limits}
    ended = [begins[rate][-1:] == late[-1:] for rate in short]
    agreed = True if all(ended) else None if any(ended) else False
    one_draw = by_rate[short[0]].sizes["seed"] == 1
    begun = claims.all_of(all(one < SPIKE for one in raised.values()), agreed)
    return Found(
        {
            "a": "partly" if begun and one_draw else begun,
            "b": all(away[name] <= limit for away in strayed.values() for name, limit in limits.items()),
        },
        {
            f"rate {rate:g}": f"first widened at step {found[0]}" if found else "never widened"
            for rate, found in begins.items()
        }
        | {f"gap raised by the first step, rate {rate:g}": f"{one:.3f}" for rate, one in raised.items()}
        | {"start": means(by_rate[short[0]], 0)}
        | {f"end, {rate:g}": means(by_rate[rate], late[-1]) for rate in short}
        | {"strayed": strayed},
    )


def gd_gaps(runs: Sequence[xr.Dataset]) -> xr.DataArray:
    """The ratio of the two largest eigenvalues along twenty steps of GD at 2000 (seed, step)."""
    found = xr.concat([one.eigenvalues.sel(step=runs[-1].step) for one in runs], "seed")
    return found.isel(k=0) / found.isel(k=1)


@decides(early=EARLY, gd=GD)
def ht_72(early, gd, *, level, part):
    """Table 4, Appendix G: the spike comes back to the bulk."""
    adam, gaps = tables(early)[1.0], gd_gaps(gd)
    nearer = of_draws((adam.spike_ratio.sel(step=100) - adam.spike_ratio.sel(step=10)).values)
    lift = {name: np.abs(adam[name] - adam[f"{name}_excl"]) for name in ("hill", "ks")}
    less = {name: of_draws((one.sel(step=100) - one.sel(step=10)).values) for name, one in lift.items()}
    back = of_draws((gaps.sel(step=20) / gaps.sel(step=0)).values)
    share = of_draws((gaps.sel(step=20) / gaps.max("step")).values)
    return Found(
        {
            "a": claims.below(nearer, 0),
            "b": claims.all_of(claims.below(back, level), claims.below(share, part)),
            "c, Hill": claims.below(less["hill"], 0),
            "c, KS": claims.below(less["ks"], 0),
        },
        {
            "gap of Adam, step 100 minus 10": nearer,
            "weight in PL_Alpha_Hill, 100 minus 10": less["hill"],
            "weight in PL_Alpha_KS, 100 minus 10": less["ks"],
            "gap of GD at 20 over start": back,
            "gap of GD at 20 over its maximum": share,
            "gap of Adam": {t: float(adam.spike_ratio.sel(step=t).mean()) for t in (10, 100)},
            "moved by": {name: [float(one.sel(step=t).mean()) for t in (10, 100)] for name, one in lift.items()},
        },
    )


@decides(first=ONSET_FIRST)
def ht_77(first, *, fall, alike):
    """Appendix H: does the gap after the first step, not the learning rate, set the number of steps?

    Two tests on runs with the first spike changed by hand, medians of the draws: within a rate, do the steps never rise
    with the gap and fall by more than a factor; and at about one gap, do they differ between the rates?
    """
    order = ["clean", "0.5", "1", "2", "4"]
    gap, steps = (first[name].sel(first=order).median("seed") for name in ("gap", "steps"))
    by_cut = first.steps.median("seed").sel(first="0")
    ordered, shown = {}, {}
    for rate in first.rate.values:
        one = steps.sel(rate=rate).values
        ordered[f"rate {rate:g}"] = bool((one[1:] <= one[:-1]).all() and one.max() > fall * one.min())
        shown[f"rate {rate:g}"] = ", ".join("none in 200" if np.isinf(t) else f"{t:g}" for t in one)
    common, at_one_gap = gap.sel(rate=first.rate.max(), first="0.5"), {}
    for name, rate in (("slow", first.rate.min()), ("quick", first.rate.max())):
        k = int(np.abs(np.log(gap.sel(rate=rate) / common)).values.argmin())
        numbers = {"rate": rate, "gap": gap.sel(rate=rate)[k], "steps": steps.sel(rate=rate)[k]}
        at_one_gap[name] = {what: float(one) for what, one in numbers.items()}
    slow, quick = (one["steps"] for one in at_one_gap.values())
    return Found(
        "answered",
        {"steps": shown, "set by the gap": ordered, "rates differ at one gap": slow >= alike * quick}
        | {"cut after Adam": {f"rate {rate:g}": float(by_cut.sel(rate=rate)) for rate in first.rate.values}}
        | at_one_gap,
    )
