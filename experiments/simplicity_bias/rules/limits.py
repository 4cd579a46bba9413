"""Rules on what stopping short of interpolation brings, and whether it lasts: SB-01, 22, 24, 26, 29.

Source: Boursier and Flammarion, abstract and Sections 1 and 4.1.

Losses are mean squares without 1/2, in units of the noise where a rule says so.  Runs of Figure 1 have 1008 neurons and
three draws, and end after the rate has decayed.  Intervals over draws are Student's, of the logarithm for positive
quantities that spread over factors.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from experiments.simplicity_bias import decoupling, two_fits
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data.teachers import NOISE
from shallow.stats import Interval

LEARNT = 1000  # step at which all runs of Figure 1 from n = 1000 on have learned the linear part
SETTLED = (2000, 5000, 10_000)  # sample sizes clearly above the threshold


def typical(values: np.ndarray | xr.DataArray) -> Interval:
    """Geometric mean of positive numbers over draws, with Student's interval of the logarithms."""
    one = stats.student(np.log(np.ravel(values)))
    return Interval(*np.exp([one.estimate, one.low, one.high]))


def mean(values: np.ndarray | xr.DataArray) -> Interval:
    """Mean over draws, with Student's interval."""
    return stats.student(np.ravel(values))


def graded(holds: Iterable[bool | None], fails: Iterable[bool | None]) -> str:
    """reproduced if all hold, contradicted if all fail, undecided if it is open of each whether it holds; else partly.

    Args:
        holds, fails: for each case whether it is on the good side of one limit, and on the bad side of another.
    """
    holds = list(holds)
    if claims.all_of(*fails):
        return "contradicted"
    return "reproduced" if claims.all_of(*holds) else "undecided" if set(holds) == {None} else "partly"


@functools.cache
def narrow() -> xr.Dataset:
    """Figure 1 with 1008 neurons, over n, seed and step, with ends after the rate has decayed."""
    return records.load("simplicity_bias/figure_1_narrow").drop_vars("heaviest")


@functools.cache
def theorem_2() -> xr.Dataset:
    """Ten runs in the setting of Theorem 2, n = 1000: distance from the two fits and excess risk, over seed, time."""
    times = np.geomspace(0.05, 8000, 120)
    return xr.concat([decoupling.waiting(seed, 1000, times=times) for seed in range(10)], "seed")


# What stopping short of interpolation brings.


@functools.cache
def stopped_and_driven() -> dict[str, xr.Dataset]:
    """Excess risks of networks from small weights (stopped) and of interpolating ones (driven) on the same data."""
    few = records.load("simplicity_bias/driven").excess.isel(stage=-1, drop=True)
    many = records.load("simplicity_bias/interpolating").solved_excess.isel(step=-1, drop=True)
    million = records.load("simplicity_bias/stopped").excess.isel(step=-1, drop=True)
    pairs = {"1008 neurons": (narrow().decayed_excess, few), "10,000 neurons": (million, many)}
    if (whole := whole_budget()) is not None:
        pairs["10,000 neurons, whole budget"] = (whole, many)
    return {
        name: xr.Dataset(dict(zip(("stopped", "driven"), xr.align(one, other, join="inner"))))
        for name, (one, other) in pairs.items()
    }


def whole_budget() -> xr.DataArray | None:
    """Excess risk of 10,000 neurons after the whole budget and a decayed rate, if that is recorded."""
    try:
        return records.load("simplicity_bias/figure_1_decayed").decayed_excess
    except records.RecordError:
        return None


def sb_01(pairs: Mapping[str, xr.Dataset] | None = None) -> Outcome:
    """Abstract: a network that stops short has a markedly smaller test loss than one that interpolates.

    Args:
        pairs: excess risks stopped and driven over n and seed, by kind of run.
    """
    markedly, above = 1 / 2, 2000
    pairs = stopped_and_driven() if pairs is None else pairs
    ratios = {name: (one.stopped / one.driven).transpose("n", "seed") for name, one in pairs.items()}
    found = {name: {int(n): typical(one.sel(n=n)) for n in one.n.values} for name, one in ratios.items()}
    parts = {
        f"{name}, n = {n}": graded([claims.below(one, markedly)], [one.exceeds(1)])
        for name, by_n in found.items() for n, one in by_n.items() if n >= above
    }  # fmt: skip
    least = min(float(one.driven.min()) for one in pairs.values()) / NOISE
    near = [f"{one} at n = {n}" for n, one in found.get("1008 neurons", {}).items() if n < above]
    steps = {"10,000 neurons": ", a million steps,"}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: above the threshold the network that stops has less than half of the excess risk of "
            "one that interpolates the same data.",
            "contradicted": "No: networks that interpolate the same data are no worse.",
            "otherwise": "Mostly: well above the threshold stopping is several times better; close to it, wide "
            "networks gain little or nothing.",
        },
        finding="excess risk from small weights over that of an interpolating network with the same data and width: "
        + "; ".join(f"{name}{steps.get(name, '')} {told(by_n, above)}" for name, by_n in found.items())
        + (f"; just at the threshold, 1008 neurons, {near[0]}" if near else "")
        + f"; no interpolating network at any n has less than {least:.2g} times the noise",
        evidence={f"{name}, n = {n}": one for name, by_n in found.items() for n, one in by_n.items()},
    )


def told(by_n: Mapping[int, Interval], least: int = 0) -> str:
    """Intervals by sample size in words."""
    return ", ".join(f"{one} (n = {n})" for n, one in by_n.items() if n >= least)


# Whether it stays so: widths, steps, time.


@functools.cache
def widths() -> tuple[xr.DataArray, xr.DataArray]:
    """Loss over that of the two fits in the setting of Theorem 2 by width, and train loss / noise of Figure 1."""
    sizes = (8, 32, 128, 1024, 10_000)
    ratio = [
        [float(two_fits.outcome(seed, 1000, m=m, both_signs=True).loss_ratio) for seed in range(3 if m < 5000 else 1)]
        for m in sizes
    ]
    ratio = [one + [np.nan] * (3 - len(one)) for one in ratio]
    theirs = xr.DataArray(ratio, {"width": list(sizes), "seed": range(3)})
    return theirs, records.load("simplicity_bias/widths").train.isel(step=-1) / NOISE


def sb_22(fits: xr.DataArray | None = None, train: xr.DataArray | None = None) -> Outcome:
    """Section 4.1: non-interpolation above the threshold persists however large the width.

    Args:
        fits: loss over that of the two fits under Theorem 2.   train: loss / noise of Figure 1, over width and seed.
    """
    equal, above, level = 1e-6, 1 / 2, 0.02
    fits, train = (one if given is None else given for one, given in zip(widths(), (fits, train)))
    by_width = {int(m): mean(train.sel(width=m)) for m in train.width.values}
    last = train.isel(width=[-2, -1])
    slope = mean(last.diff("width").isel(width=0) / np.log2(float(last.width[1] / last.width[0])))
    worst = float(abs(fits - 1).max())
    return Outcome(
        parts={
            "Theorem 2": worst <= equal,
            "Figure 1, not interpolated": claims.all_of(*(one.exceeds(above) for one in by_width.values())),
            "Figure 1, level": claims.all_of(slope.exceeds(-level), claims.below(slope, level)),
        },
        answer={
            "reproduced": "Yes: no width interpolates, and wider networks end at the same loss.",
            "contradicted": "No: wide networks interpolate.",
            "otherwise": "Under Theorem 2's assumptions, yes; in the setting of Figure 1 no width interpolates, but "
            "wider networks fit more of the noise.",
        },
        finding=f"loss over that of the two fits under Theorem 2: one within {worst:.0e} for widths of "
        f"{int(fits.width[0])} to {int(fits.width[-1]):,}; Figure 1 with 5000 points: train loss / noise "
        + ", ".join(f"{one} ({m} neurons)" for m, one in by_width.items())
        + f", so that a doubling of the largest width changes it by {slope:.3f}",
        evidence={**{f"train / noise, {m} neurons": one for m, one in by_width.items()}, "per doubling": slope},
    )


@functools.cache
def small_rates() -> dict[str, float]:
    """Train loss / noise at equal flow time for falling rates and full batches, one draw of data and weights."""
    half, long = records.load("simplicity_bias/rates"), records.load("simplicity_bias/small_rates")
    batch = records.load("simplicity_bias/full_batch")
    found = {}
    for n, time in ((2000, 2e4), (5000, 2e4), (2000, 8e4)):
        for rate in (0.05, 0.01, 0.003, 0.001):
            if rate == 0.01:
                one = narrow().train.sel(n=n, seed=0, step=round(time / (2 * rate)))
            else:
                one = (half if time == 2e4 else long).train.sel(n=n, rate=rate, time=time)
            found[f"n = {n}, time {time:,.0f}, rate {rate:g}"] = float(one.squeeze()) / NOISE
        if time == 2e4:
            found[f"n = {n}, time {time:,.0f}, full batch"] = float(batch.train.sel(n=n, time=time).squeeze()) / NOISE
    return found


def sb_24(
    decayed: xr.DataArray | None = None, slow: xr.DataArray | None = None, equal: Mapping[str, float] | None = None
) -> Outcome:
    """Sections 4.1 and A.2: above the threshold interpolation is absent for arbitrarily small learning rates.

    Args:
        decayed: train loss / noise over n and seed after the rate has fallen to 1.5e-5.   slow: after 8 million further
        steps at 0.001, over n and seed.   equal: at equal flow time, by the name of the run.
    """
    interpolated = 1 / 10
    decayed = narrow().decayed_train.isel(restart=-1).sel(n=list(SETTLED)) / NOISE if decayed is None else decayed
    if slow is None:
        slow = records.load("simplicity_bias/continued").slow_loss.isel(slow=-1).sel(n=[2000]) / NOISE
    equal = small_rates() if equal is None else equal
    rates = {name: {int(n): typical(one.sel(n=n)) for n in one.n.values}
             for name, one in (("decayed", decayed), ("slow", slow))}  # fmt: skip
    longest = {name.rpartition("rate ")[2]: one for name, one in equal.items() if "80,000" in name}
    return Outcome(
        parts={
            "rate falling to 1.5e-5": claims.all_of(*(one.exceeds(interpolated) for one in rates["decayed"].values())),
            "rate 0.001": claims.all_of(*(one.exceeds(interpolated) for one in rates["slow"].values())),
        },
        answer={
            "reproduced": "Yes: at no rate does the loss come near zero above the threshold; but small steps fit more "
            "of the noise than large ones.",
            "contradicted": "No: with small steps the network interpolates.",
            "otherwise": "Not with all small rates.",
        },
        finding=f"train loss / noise after the rate has decayed: {told(rates['decayed'])}; after 8 million more steps "
        f"at 0.001: {told(rates['slow'])}; n = 2000 at equal flow time 80,000, one draw: "
        + ", ".join(f"{one:.2f} (rate {rate})" for rate, one in longest.items())
        + f"; smallest of all rates and full batches at two sizes {min(equal.values()):.2f}",
        evidence={f"{name}, n = {n}": one for name, by_n in rates.items() for n, one in by_n.items()} | dict(equal),
    )


def sb_26(theirs: xr.Dataset | None = None, ours: xr.Dataset | None = None, late: xr.Dataset | None = None) -> Outcome:
    """Section 4.1: after the linear estimator is learned nothing further happens, however long one waits.

    Args:
        theirs: distance over seed and time under Theorem 2.   ours: train over n, seed and step, and decayed_train.
        late: one draw over n to four times the steps.
    """
    close, times, nothing, interpolated = two_fits.CLOSE, 20, 0.02, 1 / 10
    theirs = theorem_2() if theirs is None else theirs
    ours = narrow().sel(n=[5000, 10_000, 30_000]) if ours is None else ours
    late = records.load("simplicity_bias/late") if late is None else late
    reached = theirs.time.where(theirs.distance <= close).min("time")
    stays = theirs.distance.where((theirs.time >= reached) & (theirs.time <= times * reached)).max("time") <= close
    end = ours.decayed_train.isel(restart=-1) / NOISE
    fall = ours.train.sel(step=LEARNT) / NOISE - end
    falls, ends = ({int(n): mean(one.sel(n=n)) for n in ours.n.values} for one in (fall, end))
    on = (late.train.isel(step=-1) - late.train.sel(step=8_000_000)).squeeze("seed") / NOISE
    return Outcome(
        parts={
            "Theorem 2": bool(stays.all()),
            "Figure 1, no interpolation": claims.all_of(*(one.exceeds(interpolated) for one in ends.values())),
            "Figure 1, nothing more": graded(
                [claims.below(one, nothing) for one in falls.values()], [one.exceeds(nothing) for one in falls.values()]
            ),
        },
        answer={
            "reproduced": "Yes: once the linear function is learned the network does not change any more.",
            "contradicted": "No: interpolation begins later.",
            "otherwise": "Under Theorem 2's assumptions, yes; in Figure 1 interpolation never begins either, but the "
            "network goes on fitting noise.",
        },
        finding=f"under Theorem 2 all {theirs.sizes['seed']} runs stay within 1e-6 of the two fits to {times} times "
        "the time at which they got there; Figure 1: from the learned linear part to the decayed end the train loss "
        f"falls by {told(falls)} times the noise and ends at {told(ends)}; from 8 to 32 million steps, constant rate "
        f"and one draw, it changes by {', '.join(f'{float(on.sel(n=n)):+.3f} (n = {n})' for n in late.n.values)}",
        evidence={f"fall / noise, n = {n}": one for n, one in falls.items()},
    )


# What is lost by waiting.


def waiting(path: xr.DataArray, end: xr.DataArray, over: str = "step") -> xr.DataArray:
    """Excess risk at the end (seed) over that at the best moment of a path (seed, `over`), by seed.

    The smallest of many noisy numbers is too small; so each seed's moment is the one that is best for the others.
    """
    values, ratio = path.transpose("seed", over).values, end.copy(data=np.empty(end.sizes["seed"]))
    for i, own in enumerate(values):
        ratio[i] = end[i] / own[np.delete(values, i, axis=0).mean(axis=0).argmin()]
    return ratio


@functools.cache
def waited() -> tuple[xr.DataArray, xr.DataArray]:
    """What waiting costs, by seed under Theorem 2, and by n and seed in Figure 1."""
    runs = theorem_2().assign_coords(seed=range(theorem_2().sizes["seed"]))
    theirs = waiting(runs.excess, runs.excess.isel(time=-1, drop=True), "time")
    path = narrow().excess.sel(step=slice(LEARNT, None), n=slice(100, None))
    ours = [waiting(path.sel(n=n), narrow().decayed_excess.sel(n=n)) for n in path.n.values]
    return theirs, xr.concat(ours, path.n)


def sb_29(theirs: xr.DataArray | None = None, ours: xr.DataArray | None = None) -> Outcome:
    """Section 4.1: above the threshold no early stopping is needed, below it it would help; answered on both settings.

    Args:
        theirs: final over smallest excess risk by seed under Theorem 2.   ours: in Figure 1, over n and seed.
    """
    little, much, too_much, top, bottom = 2, 3, 5, (10_000,), (100, 200, 350, 500)
    theirs, ours = (one if given is None else given for one, given in zip(waited(), (theirs, ours)))
    theorem, by_n = typical(theirs), {int(n): typical(ours.sel(n=n)) for n in ours.n.values}
    tops, bottoms = ([by_n[n] for n in sizes] for sizes in (top, bottom))
    worst = max(by_n, key=lambda n: by_n[n].estimate)
    shown = sorted({min(by_n), worst, 2000, *top, max(by_n)} & set(by_n))
    return Outcome(
        parts={
            "Theorem 2": graded([claims.below(theorem, little)], [theorem.exceeds(too_much)]),
            "Figure 1, above": graded(
                [claims.below(one, little) for one in tops], [one.exceeds(too_much) for one in tops]
            ),
            "Figure 1, below": claims.all_of(*(one.exceeds(much) for one in bottoms)),
        },
        answer={
            "reproduced": "Yes: above the threshold the end is as good as the best moment, below it stopping early "
            "helps.",
            "contradicted": "No: stopping early helps at every sample size.",
            "otherwise": "Under Theorem 2's assumptions, yes; in the setting of Figure 1 the best moment comes early "
            "at every sample size.",
        },
        finding=f"final excess risk over that of the best moment: {theorem} under Theorem 2; in Figure 1 with 1008 "
        f"neurons {', '.join(f'{by_n[n]:.1f} (n = {n})' for n in shown)}",
        evidence={"Theorem 2": theorem} | {f"Figure 1, n = {n}": one for n, one in by_n.items()},
    )
