"""Rules on what training ends at and why it stops there: SB-01, 13, 22 to 24, 26, 29, 32, 38 and 42 to 44.

Source: Boursier and Flammarion, abstract, Sections 1, 3, 4.1 and 5, Figure 2 and Appendix A.2.

Losses are mean squares without 1/2, in units of the noise where a rule says so.  Runs of Figure 1 have 1008 neurons and
three draws, and end after the rate has fallen from 0.01 to 1.5e-5 within two million steps.  Intervals over draws are
Student's, of the logarithm for positive quantities that spread over factors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.phases import decoupling
from experiments.simplicity_bias.transition import cells as transition
from shallow import clusters, stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data.teachers import NOISE
from shallow.nets import TwoLayer
from shallow.stats import Interval
from shallow.train import minibatch

FIGURE_1 = "simplicity_bias/transition/figure_1_narrow"
ANATOMY = "simplicity_bias/limits/anatomy"
LEARNT = 1000  # step at which all runs of Figure 1 from n = 1000 on have learned the linear part
SETTLED = (2000, 5000, 10_000)  # sample sizes clearly above the threshold
GROUPS = {"1000 to 1500": (1000, 1250, 1500), "2000 to 3000": (2000, 3000), "5000 to 10,000": (5000, 10_000)}


def typical(values: np.ndarray | xr.DataArray) -> Interval:
    """Geometric mean of positive numbers over draws, with Student's interval of the logarithms."""
    return stats.geometric(np.ravel(values))


def mean(values: np.ndarray | xr.DataArray) -> Interval:
    """Mean over draws, with Student's interval."""
    return stats.student(np.ravel(values))


def by_n(values: xr.DataArray, interval: Callable[[xr.DataArray], Interval] = mean) -> dict[int, Interval]:
    """An interval for each sample size."""
    return {int(n): interval(values.sel(n=n)) for n in values.n.values}


def graded(holds: Iterable[bool | None], fails: Iterable[bool | None]) -> str:
    """reproduced if all hold, contradicted if all fail, undecided if it is open of each whether it holds; else partly.

    Args:
        holds, fails: for each case whether it is on the good side of one limit, and on the bad side of another.
    """
    holds = list(holds)
    if claims.all_of(*fails):
        return "contradicted"
    return "reproduced" if claims.all_of(*holds) else "undecided" if set(holds) == {None} else "partly"


def above(intervals: Iterable[Interval], good: float, bad: float) -> str:
    """:func:`graded` of intervals that should lie above `good`, and fail below `bad`."""
    intervals = list(intervals)
    return graded([one.exceeds(good) for one in intervals], [claims.below(one, bad) for one in intervals])


def below(intervals: Iterable[Interval], good: float, bad: float) -> str:
    """:func:`graded` of intervals that should lie below `good`, and fail above `bad`."""
    intervals = list(intervals)
    return graded([claims.below(one, good) for one in intervals], [one.exceeds(bad) for one in intervals])


# What stopping short of interpolation brings.


MILLION = "10,000 neurons, a million steps"


def stopped_and_driven(figure_1, driven, interpolating, stopped, decayed) -> dict[str, xr.DataArray]:
    """Excess risk of networks from small weights over that of interpolating ones on the same data, over n and seed."""
    few = driven.excess.isel(stage=-1, drop=True)
    many = interpolating.solved_excess.isel(step=-1, drop=True)
    return {
        "1008 neurons": figure_1.decayed_excess / few,
        MILLION: stopped.excess.isel(step=-1, drop=True) / many,
        "10,000 neurons": decayed.decayed_excess / many,
    }


def costs_by_budget(wide: xr.Dataset, interpolating: xr.Dataset) -> xr.DataArray:
    """Excess risk of interpolation over that of stopping after so many steps, 10,000 neurons, one draw; n and step."""
    many = interpolating.solved_excess.isel(step=-1, drop=True).sel(seed=wide.seed)
    return (many / wide.excess.sel(n=[2000, 5000], step=slice(1_000_000, None))).isel(seed=0, drop=True)


@decides(
    figure_1=FIGURE_1,
    driven="simplicity_bias/limits/driven",
    interpolating="simplicity_bias/limits/interpolating",
    stopped="simplicity_bias/limits/stopped",
    decayed="simplicity_bias/transition/figure_1_decayed",
    wide="simplicity_bias/transition/figure_1",
)
def sb_01(figure_1, driven, interpolating, stopped, decayed, wide, *, markedly):
    """Abstract: a network that stops short has a markedly smaller test loss than one that interpolates.

    The whole budget decides; shorter ones, and the one draw of 10,000 neurons on 5000 points, are shown.
    """
    ratios = stopped_and_driven(figure_1, driven, interpolating, stopped, decayed)
    found = {(name, n): one for name, ratio in ratios.items() for n, one in by_n(ratio, typical).items()}
    least = min(driven.excess.isel(stage=-1).min(), interpolating.solved_excess.isel(step=-1).min())
    costs = costs_by_budget(wide, interpolating)
    return Found(
        {
            f"{name}, n = {n}": below([one], markedly, 1)
            for (name, n), one in found.items()
            if n >= SETTLED[0] and name != MILLION
        },
        {f"{name}, n = {n}": one for (name, n), one in found.items()}
        | {f"cost by budget, n = {n}": costs.sel(n=n).values.tolist() for n in costs.n.values}
        | {f"cost, n = {n}": float(costs.sel(n=n)[-1]) for n in costs.n.values}
        | {"least excess": float(least) / NOISE, "cost, 1008 neurons": typical(1 / ratios["1008 neurons"].sel(n=2000))},
    )


@decides(solved="simplicity_bias/limits/capacity")
def sb_23(solved, *, fitted):
    """Section 4.1: output weights on random directions that fit all labels; over n and seed, 10,000 neurons."""
    upper = solved.sel(n=[1000, 2000, 5000])
    return Found(
        bool((upper["rank"] == upper.n).all() and (upper.train <= fitted).all()),
        {
            "largest train": float(upper.train.max()),
            "draws": upper.train.size,
            "condition": float(upper.condition.max()),
            "excess": [float(upper.excess.min()) / NOISE, float(upper.excess.max()) / NOISE],
        },
    )


# Whether it stays so: widths, steps, time.


def fits_by_width() -> xr.DataArray:
    """Loss over that of the two fits in the setting of Theorem 2, over width and seed; NaN where there is no draw."""
    seeds = {8: 3, 32: 3, 128: 3, 1024: 3, 10_000: 1}
    ratio = np.full((len(seeds), 3), np.nan)
    for row, (m, draws) in zip(ratio, seeds.items()):
        row[:draws] = [two_fits.outcome(seed, 1000, m=m, both_signs=True).loss_ratio for seed in range(draws)]
    return xr.DataArray(ratio, {"width": list(seeds), "seed": range(3)})


@decides(fits=fits_by_width, widths="simplicity_bias/transition/widths")
def sb_22(fits, widths, *, equal, least, level):
    """Section 4.1: non-interpolation above the threshold persists however large the width."""
    train = widths.train.isel(step=-1) / NOISE
    by_width = {int(m): mean(train.sel(width=m)) for m in train.width.values}
    last = train.isel(width=[-2, -1])
    slope = mean(last.diff("width").isel(width=0) / np.log2(float(last.width[1] / last.width[0])))
    worst = float(abs(fits - 1).max())
    return Found(
        {
            "Theorem 2": worst <= equal,
            "Figure 1, not interpolated": claims.all_of(*(one.exceeds(least) for one in by_width.values())),
            "Figure 1, level": claims.within(slope, -level, level),
        },
        {f"train / noise, {m} neurons": one for m, one in by_width.items()}
        | {"per doubling": slope, "within": worst, "widths": [int(m) for m in fits.width.values[[0, -1]]]},
    )


def small_rates(figure_1, rates, smaller, full_batch) -> dict[str, float]:
    """Train loss / noise at equal flow time for falling rates and full batches, one draw of data and weights."""
    found = {}
    for n, time, others in ((2000, 2e4, rates), (5000, 2e4, rates), (2000, 8e4, smaller)):
        name = f"n = {n}, time {time:,.0f}"
        for rate in (0.05, transition.RATE, 0.003, 0.001):
            if rate == transition.RATE:
                one = figure_1.train.sel(n=n, seed=0, step=round(time / (2 * rate)))
            else:
                one = others.train.sel(n=n, rate=rate, time=time)
            found[f"{name}, rate {rate:g}"] = float(one.squeeze()) / NOISE
        if time in full_batch.time:
            found[f"{name}, full batch"] = float(full_batch.train.sel(n=n, time=time).squeeze()) / NOISE
    return found


@decides(
    figure_1=FIGURE_1,
    continued="simplicity_bias/limits/continued",
    rates="simplicity_bias/transition/rates",
    smaller="simplicity_bias/transition/small_rates",
    full_batch="simplicity_bias/transition/full_batch",
)
def sb_24(figure_1, continued, rates, smaller, full_batch, *, interpolated):
    """Sections 4.1 and A.2: above the threshold interpolation is absent for arbitrarily small learning rates."""
    decayed = by_n(figure_1.decayed_train.isel(restart=-1).sel(n=list(SETTLED)) / NOISE, typical)
    slow = by_n(continued.slow_loss.isel(slow=-1).sel(n=[2000]) / NOISE, typical)
    equal = small_rates(figure_1, rates, smaller, full_batch)
    return Found(
        {
            "rate falling to 1.5e-5": claims.all_of(*(one.exceeds(interpolated) for one in decayed.values())),
            "rate 0.001": claims.all_of(*(one.exceeds(interpolated) for one in slow.values())),
        },
        {f"decayed, n = {n}": one for n, one in decayed.items()}
        | {f"slow, n = {n}": one for n, one in slow.items()}
        | equal
        | {"smallest": min(equal.values())},
    )


@functools.cache
def theorem_2() -> xr.Dataset:
    """Ten runs in the setting of Theorem 2, n = 1000: distance from the two fits and excess risk, over seed, time."""
    times = np.geomspace(0.05, 8000, 120)
    return xr.concat([decoupling.waiting(seed, 1000, times=times) for seed in range(10)], "seed")


@decides(theorem=theorem_2, figure_1=FIGURE_1, late="simplicity_bias/transition/late")
def sb_26(theorem, figure_1, late, *, close, times, nothing, interpolated):
    """Section 4.1: after the linear estimator is learned nothing further happens, however long one waits.

    `late` holds one draw to four times the steps.
    """
    reached = theorem.time.where(theorem.distance <= close).min("time")
    within = (theorem.time >= reached) & (theorem.time <= times * reached)
    stays = theorem.distance.where(within).max("time") <= close
    ours = figure_1.sel(n=[5000, 10_000, 30_000])
    end = ours.decayed_train.isel(restart=-1) / NOISE
    falls, ends = by_n(ours.train.sel(step=LEARNT) / NOISE - end), by_n(end)
    on = (late.train.isel(step=-1) - late.train.sel(step=8_000_000)).squeeze("seed") / NOISE
    return Found(
        {
            "Theorem 2": bool(stays.all()),
            "Figure 1, no interpolation": claims.all_of(*(one.exceeds(interpolated) for one in ends.values())),
            "Figure 1, nothing more": below(falls.values(), nothing, nothing),
        },
        {f"fall / noise, n = {n}": one for n, one in falls.items()}
        | {f"end, n = {n}": one for n, one in ends.items()}
        | {f"late, n = {n}": float(on.sel(n=n)) for n in late.n.values}
        | {"runs": theorem.sizes["seed"]},
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


def waited(theorem: xr.Dataset, figure_1: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """What waiting costs, by seed under Theorem 2, and by n and seed in Figure 1."""
    theorem = theorem.assign_coords(seed=range(theorem.sizes["seed"]))
    path = figure_1.excess.sel(step=slice(LEARNT, None), n=slice(100, None))
    ours = [waiting(path.sel(n=n), figure_1.decayed_excess.sel(n=n)) for n in path.n.values]
    return waiting(theorem.excess, theorem.excess.isel(time=-1, drop=True), "time"), xr.concat(ours, path.n)


@decides(theorem=theorem_2, figure_1=FIGURE_1)
def sb_29(theorem, figure_1, *, little, much, too_much):
    """Section 4.1: above the threshold no early stopping is needed, below it it would help; both settings."""
    theirs, ours = waited(theorem, figure_1)
    theirs, ours = typical(theirs), by_n(ours, typical)
    worst = max(ours, key=lambda n: ours[n].estimate)
    return Found(
        {
            "Theorem 2": below([theirs], little, too_much),
            "Figure 1, above": below([ours[10_000]], little, too_much),
            "Figure 1, below": claims.all_of(*(ours[n].exceeds(much) for n in (100, 200, 350, 500))),
        },
        {"Theorem 2": theirs}
        | {f"Figure 1, n = {n}": one for n, one in ours.items()}
        | {"largest": ours[worst], "largest at": worst},
    )


# What the networks are made of in the end.


def components(figure_1: xr.Dataset) -> xr.Dataset:
    """The decayed ends from n = 1500 on: losses over those of least squares, and the share of mass outside."""
    ends = figure_1.sel(n=slice(1500, None))
    test = (NOISE + ends.decayed_excess) / (NOISE + ends.ols_excess)
    return xr.Dataset(
        {"train": ends.decayed_train.isel(restart=-1) / ends.ols, "test": test, "outside": ends.decayed_outside}
    )


@decides(figure_1=FIGURE_1)
def sb_32(figure_1, *, most, comparable, few):
    """Section 4.1: without margin and (8) a few small components are added, with a comparable test loss."""
    ends = {name: by_n(values) for name, values in components(figure_1).items()}
    parts = {
        n: {
            "a": claims.all_of(train.exceeds(most), claims.below(train, 1)),
            "b": claims.below(ends["test"][n], comparable),
            "c": claims.below(ends["outside"][n], few),
        }
        for n, train in ends["train"].items()
    }
    return Found(
        parts[max(parts)],
        {f"{name}, n = {n}": one for name, of in ends.items() for n, one in of.items()}
        | {"largest n": max(parts), "losses as asked": [n for n, one in parts.items() if one["a"] and one["b"]]},
    )


def kept_clusters(figure_1: xr.Dataset) -> xr.Dataset:
    """Clusters (0.05 rad) of the moment when the linear part is learned, in the same runs at their end; n and seed.

    `kept`: share of the mass after 8 million steps that its early cluster holds together; `first`, `last`: clusters
    with 99 % of the mass, when learned and after the rate has decayed.
    """
    runs = figure_1.sel(n=list(SETTLED))
    kept, first = np.empty((2, runs.sizes["n"], runs.sizes["seed"]))
    for place in np.ndindex(kept.shape):
        early = clusters.find(as_learnt(int(runs.n[place[0]]), int(runs.seed[place[1]])))
        weights = runs.weights[place].values.astype(float)
        late = clusters.find(TwoLayer(weights[:, :-1], np.zeros(len(weights)), weights[:, -1]))
        kept[place], first[place] = clusters.purity(early.labels, late.labels, late.mass), early.number()
    return xr.Dataset({"kept": (("n", "seed"), kept), "first": (("n", "seed"), first), "last": runs.decayed_clusters})


def as_learnt(n: int, seed: int) -> TwoLayer:
    """The first thousand steps of a run of Figure 1 again."""
    _, sample, start = transition.drawn(seed, n)
    rng = stats.stream("simplicity bias", "batches", 5, n, transition.NARROW, seed)
    options = {"batch": transition.BATCH, "rng": rng, "dtype": np.float32}
    return minibatch.train(*sample, start, rate=transition.RATE, steps=LEARNT, **options).network


@decides(figure_1=FIGURE_1, anatomy=ANATOMY)
def sb_13(figure_1, anatomy, *, all_kept, mostly, few, many):
    """Section 3 and footnote 1: clusters are mostly preserved, splitting adds only a very small number.

    Beside it shorter runs, from the learned linear part to flow time 2000, with and without margin and the start (8).
    """
    runs = kept_clusters(figure_1)
    kept, growth = by_n(runs.kept), by_n(runs["last"] / runs["first"], typical)
    others = anatomy.isel(time=-1).sel(tolerance=0.05, moment="learnt")
    return Found(
        {
            "mostly preserved": above(kept.values(), all_kept, mostly),
            "very small number": below(growth.values(), few, many),
        },
        {f"kept, n = {n}": one for n, one in kept.items()}
        | {f"growth, n = {n}": one for n, one in growth.items()}
        | {f"{name}, n = {n}": float(runs[name].sel(n=n).mean()) for name in ("first", "last") for n in kept}
        | {f"kept, {name}": mean(others.kept.sel(setting=name)) for name in others.setting.values}
        | {
            f"growth, {name}": typical((others.number / others.number_then).sel(setting=name))
            for name in others.setting.values
        },
    )


def shrinking(gap: xr.DataArray, one: str, other: str) -> Interval:
    """Mean gap in one setting over that in another, bootstrap over the draws."""
    pairs = np.stack([gap.sel(setting=name).values.ravel() for name in (one, other)], axis=1)
    return stats.bootstrap(pairs, lambda v, axis: np.divide(*v.mean(axis)), name=f"gap {other}")


@decides(anatomy=ANATOMY, calmer="simplicity_bias/limits/anatomy_noise")
def sb_38(anatomy, calmer, *, account, factor):
    """Section 5: the gap to least squares is due to few neurons that early alignment leaves unaligned.

    In `calmer` the steps are small or the batches full; it is compared at its end, n = 2000.
    """
    runs = anatomy.isel(time=-1).sel(n=[2000, 5000])
    gained = runs.ols_train - runs.train
    undone, by_chance = ((one - runs.train) / gained for one in (runs.without, runs.without_random))
    own, chance = (one.sel(setting="Figure 1", moment="aligned") for one in (undone, by_chance))
    each = (undone - by_chance) / runs.unaligned
    gap = {"test": runs.excess - runs.ols_excess, "train": gained}
    shrinks = {name: shrinking(one, "Figure 1", "(8)") for name, one in gap.items()}
    ends = [one.sel(n=2000, time=float(calmer.time[-1])) for one in (anatomy, calmer)]
    pairs = zip(ends, ("(8)", "(8), full batch"))
    noisy, calm = ((one.halves_train - one.train).sel(setting=name).values for one, name in pairs)
    a, c = mean(own).exceeds(account), shrinks["test"].exceeds(factor)
    return Found(
        {
            "a": "partly" if a is False and mean(own - chance).exceeds(0) else a,
            "c": "partly" if c is False and shrinks["test"].exceeds(1) else c,
        },
        {"a, undone": mean(own), "at random": mean(chance)}
        | {f"c, {name}": one for name, one in shrinks.items()}
        | {"undone, learnt": mean(undone.sel(setting="Figure 1", moment="learnt"))}
        | {
            f"{what}, {setting}, {moment}": mean(of.sel(setting=setting, moment=moment))
            for what, of in (("net", undone - by_chance), ("per neuron", each), ("unaligned", runs.unaligned))
            for setting in ("Figure 1", "margin")
            for moment in ("aligned", "learnt")
        }
        | {f"margin, {moment}": mean(undone.sel(setting="margin", moment=moment)) for moment in ("aligned", "learnt")}
        | {"batches": mean(noisy), "full batch": mean(calm), "smaller": int((calm < noisy).sum()), "draws": len(calm)}
        | {"outside": float(runs.outside.sel(setting="(8), margin").max())},
    )


# The restart with a decaying rate.


def restarts(figure_1: xr.Dataset) -> xr.DataArray:
    """Train loss along the restart of Figure 1's runs from n = 1000 to 10,000, over n, seed and restart."""
    return figure_1.decayed_train.sel(n=slice(1000, 10_000))


@decides(figure_1=FIGURE_1)
def sb_42(figure_1, *, near, rest, positive):
    """Figure 2: on a restart with a decaying rate the train loss stays near its level and settles above zero."""
    paths = restarts(figure_1)
    end, drift = paths.isel(restart=-1), paths.sel(restart=slice(0.75 * float(paths.restart[-1]), None))
    left = end / paths.isel(restart=0)
    still = float((abs(drift.isel(restart=0) / end - 1)).max())
    shares = {name: mean(left.sel(n=list(sizes))) for name, sizes in GROUPS.items()}
    return Found(
        {"settles above zero": still <= rest and bool((end / NOISE > positive).all())}
        | {f"stays near, n = {name}": above([one], near, near) for name, one in shares.items()},
        {f"share left, n = {name}": one for name, one in shares.items()}
        | {"last quarter": still}
        | {f"end, n = {n}": one for n, one in by_n(end / NOISE, typical).items()}
        | {f"left, n = {n}": float(left.sel(n=n).mean()) for n in left.n.values},
    )


@decides(continued="simplicity_bias/limits/continued")
def sb_43(continued, *, small, unchanged, moved, stable):
    """Appendix A.2: the limit is a stationary point and no artefact of unstable steps."""
    left = continued.gradient.sel(moment="end") / continued.gradient.sel(moment="restart")
    ends = {"b": continued.full_loss.isel(full=-1), "d": continued.slow_loss.isel(slow=-1)}
    falls = {name: by_n((continued.loss.sel(moment="end") - one) / NOISE) for name, one in ends.items()}
    curved = by_n(continued.sharpness.sel(moment="end") * transition.RATE)
    at_rest = {name: below(of.values(), unchanged, moved) for name, of in falls.items()}
    return Found(
        {
            "a": claims.all_of(*(claims.below(one, small) for one in by_n(left, typical).values())),
            "b": at_rest["b"],
            "c": below(curved.values(), stable, stable),
            "d": at_rest["d"],
        },
        {f"{name}, n = {n}": one for name, of in falls.items() for n, one in of.items()}
        | {f"c, n = {n}": one for n, one in curved.items()}
        | {"gradient left": float(left.max()), "time": float((continued.full_rate * continued.full[-1]).min())},
    )


@decides(figure_1=FIGURE_1)
def sb_44(figure_1, *, most, little):
    """Appendix A.2: most of the change under the decaying rate happens at its beginning."""
    paths = restarts(figure_1).sel(n=list(SETTLED))
    early = paths.sel(restart=0.25 * float(paths.restart[-1]), method="nearest", drop=True)
    first, last = paths.isel(restart=0, drop=True), paths.isel(restart=-1, drop=True)
    each = np.ravel((first - early) / (first - last))
    share = mean(each)
    return Found(
        above([share], most, little),
        {"share in the first quarter": share, "runs": each.size, "least": each.min(), "largest": each.max()},
    )
