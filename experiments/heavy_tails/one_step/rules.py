"""Rules on the first step (Section 4.1; Figures 2, 3, 15, 19 and 20): HT-07 to HT-13 and HT-52.

The runs of a number of points become sweeps by optimiser and reading, {"GD code": ..., ...}: Datasets over seed and
rate with the eigenvalues (k), losses and alignments of :func:`teacher_student.measure`; rate 0 is the untrained student
of the same draw.  Every mean over draws is compared with its threshold by Student's interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes, teacher_student
from experiments.heavy_tails.readings import gains
from experiments.heavy_tails.shapes import SPIKE_RATIO
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY, RATES
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import marchenko_pastur
from shallow.stats import Interval

Sweeps = Mapping[str, xr.Dataset]
GRID = list(RATES)
SMALL, LARGE, BENIGN = GRID[:6], GRID[4:], [0.01, 0.1, 1.0]  # up to 100, from 10 on, of the claims
#: Runs by number of points, with more draws in the reading of the code.
RECORDS = {
    2000: ("heavy_tails/one_step", "heavy_tails/one_step_more"),
    4000: ("heavy_tails/one_step_4000", "heavy_tails/one_step_4000_more"),
    8000: ("heavy_tails/one_step_8000", "heavy_tails/one_step_8000_more"),
}
POINTS = tuple(RECORDS)
FIRST_SPIKE = "heavy_tails/first_update/first_spike"  # learning rates of the first spike, of five draws
#: Rates of the grid on both sides of the first spike, with those of the untrained student.
BESIDE = {"GD": [0.0, 100.0, 1000.0, 2000.0], "Adam": [0.0, 0.01, 0.1]}
WIDTH, INPUTS = 1500, 1000


def sweeps(records: Sequence[xr.Dataset]) -> dict[str, xr.Dataset]:
    """Recorded runs with one number of points, by optimiser and reading."""
    runs = [record.sel(penalty=PENALTY) for record in records]
    return {
        rule: xr.concat([one.sel(rule=rule, drop=True) for one in runs if rule in one.rule], "seed")
        for rule in teacher_student.RULES
    }


# Means over draws, and what is asked of them.


def mean(values: xr.DataArray) -> Interval:
    """Mean over the draws with Student's interval."""
    return stats.student(values.values)


def change(sweep: xr.Dataset, of: str, rate: float, *, over: float = 0.0, features: str = "code") -> Interval:
    """Mean relative change of a loss or alignment from one learning rate to another, on the same draws."""
    values = sweep[of].sel(features=features) if "features" in sweep[of].dims else sweep[of]
    return mean(values.sel(rate=rate) / values.sel(rate=over) - 1)


def percent(found: Mapping[str, Interval]) -> dict[str, Interval]:
    """Intervals in per cent, by their names with the unit."""
    parts = {name: (each.estimate, each.low, each.high) for name, each in found.items()}
    return {f"{name}, %": Interval(*(100 * value for value in three)) for name, three in parts.items()}


def gap(eigenvalues: xr.DataArray, place: int = 1) -> xr.DataArray:
    """Ratio of the eigenvalue at a place, 1 the largest, and the next; eigenvalues (..., k) descend."""
    return eigenvalues.isel(k=place - 1) / eigenvalues.isel(k=place)


def single_spike(eigenvalues: xr.DataArray) -> bool | None:
    """Whether the largest eigenvalue stands apart from the second, and the second not from the third."""
    return claims.all_of(
        mean(gap(eigenvalues)).exceeds(SPIKE_RATIO), claims.below(mean(gap(eigenvalues, 2)), SPIKE_RATIO)
    )


def jump(values: xr.DataArray, still: float, before: float, *, sign: int) -> bool | None:
    """A jump at rate 2000: next to nothing up to 100 (a share `still` of it), less than `before` of it at 1000.

    Args:
        values: (seed, rate), rate 0 untrained.   sign: -1 for a quantity that falls, 1 for one that rises.
    """
    moved = sign * (values - values.sel(rate=0))
    at = moved.sel(rate=2000)
    small = [mean(still * at + side * moved.sel(rate=rate)).exceeds(0) for rate in SMALL for side in (-1, 1)]
    return claims.all_of(mean(at).exceeds(0), mean(before * at - moved.sel(rate=1000)).exceeds(0), *small)


def best_inside(test: xr.DataArray) -> float:
    """The learning rate strictly between 0.001 and 100 with the least mean test loss (seed, rate)."""
    return float(test.sel(rate=[0.01, 0.1, 1.0, 10.0]).mean("seed").idxmin())


def interior_best(test: xr.DataArray) -> bool | None:
    """Whether some learning rate between 0.001 and 100 has a lower test loss than both, on the same draws."""
    least = test.sel(rate=best_inside(test))
    return claims.all_of(*(mean(test.sel(rate=end) - least).exceeds(0) for end in (0.001, 100.0)))


def told(parts: Mapping[str, bool | None]) -> dict[str, str]:
    """What comes of parts in a reading beside the one that decides, in words for a finding."""
    return {name: {True: "holds", False: "fails", None: "is open"}[holds] for name, holds in parts.items()}


# Spectra.


@decides(runs=RECORDS[2000])
def ht_07(runs, *, close, like_noise):
    """Figures 2 (a-c) and 15 (a-c): small steps of GD change nothing; GD at 2000 and Adam at 1 make a spike."""
    runs = sweeps(runs)

    def holds(reading: str) -> dict[str, bool | None]:
        gd, adam = (runs[f"{name} {reading}"].eigenvalues for name in ("GD", "Adam"))
        return {
            "a": claims.all_of(*(claims.below(mean(moved(gd, rate)), close) for rate in (0.1, 1.0, 10.0))),
            "b": claims.all_of(single_spike(gd.sel(rate=2000)), claims.below(mean(from_noise(gd, 2000)), like_noise)),
            "c": single_spike(adam.sel(rate=1)),
        }

    gd, adam = runs["GD code"].eigenvalues, runs["Adam code"].eigenvalues
    return Found(
        holds("code"),
        {
            "GD at 10, largest change of an eigenvalue": mean(moved(gd, 10)),
            "GD at 2000, first over second": mean(gap(gd.sel(rate=2000))),
            "GD at 2000, second over third": mean(gap(gd.sel(rate=2000), 2)),
            "GD at 2000, distance of the rest from noise": mean(from_noise(gd, 2000)),
            "Adam at 1, first over second": mean(gap(adam.sel(rate=1))),
            "Adam at 1, second over third": mean(gap(adam.sel(rate=1), 2)),
            "Adam at 1, distance of the rest from noise": mean(from_noise(adam, 1)),
            "text": told(holds("text")),
        },
    )


def moved(eigenvalues: xr.DataArray, to: float, along: str = "rate") -> xr.DataArray:
    """Largest relative change of the first 99 % of the eigenvalues from the start to a rate or step, by draw."""
    pairs = eigenvalues.sel({along: [0, to]}).transpose("seed", along, "k").values
    return xr.DataArray([shapes.change(last, first) for first, last in pairs.astype(float)], dims="seed")


def from_noise(eigenvalues: xr.DataArray, rate: float) -> xr.DataArray:
    """Distance from a Marchenko-Pastur law of fitted scale of all eigenvalues but the largest, by draw."""
    spectra = eigenvalues.sel(rate=rate).transpose("seed", "k").values.astype(float)
    found = [marchenko_pastur.fitted_distance(values[1:], WIDTH, INPUTS) for values in spectra]
    return xr.DataArray(found, dims="seed")


@decides(runs=RECORDS[2000])
def ht_08(runs, *, shallow):
    """Figures 2 (d) and 15 (d): two modes after one large step of Adam, on logarithms of the eigenvalues."""
    runs = sweeps(runs)

    def holds(reading: str) -> dict[str, bool | None]:
        values = runs[f"Adam {reading}"].eigenvalues
        whole = {rate: valley(values, rate, first=0) for rate in (1.0, 10.0, 100.0, 2000.0)}
        two = [claims.below(mean(whole[rate]), shallow) for rate in (10.0, 100.0, 2000.0)]
        return {
            "a": claims.all_of(claims.below(mean(whole[10.0] - whole[1.0]), 0), claims.any_of(*two)),
            "b": claims.below(mean(valley(values, 2000.0)), shallow),
        }

    adam = runs["Adam code"].eigenvalues
    return Found(
        holds("code"),
        {f"valley at {rate:g}": mean(valley(adam, rate)) for rate in (1.0, 10.0, 2000.0)}
        | {"lower mode at 2000": mean(lower_share(adam, 2000.0))}
        | {"valley at 10, no logarithms": mean(valley(adam, 10.0, logs=False)), "text": told(holds("text"))},
    )


def valley(eigenvalues: xr.DataArray, rate: float, *, first: int = 1, logs: bool = True) -> xr.DataArray:
    """Density in the valley over that of the lower mode (1: one mode) without the first so many, by draw."""
    return xr.DataArray([found.valley for found in modes(eigenvalues, rate, first, logs)], dims="seed")


def lower_share(eigenvalues: xr.DataArray, rate: float) -> xr.DataArray:
    """Share of the eigenvalues in the lowest mode, without the largest, by draw."""
    return xr.DataArray([found.masses[0] for found in modes(eigenvalues, rate)], dims="seed")


def modes(eigenvalues: xr.DataArray, rate: float, first: int = 1, logs: bool = True) -> list[shapes.Modes]:
    """Modes of the spectrum at a rate, or of its logarithms, without the first so many eigenvalues, by draw."""
    spectra = eigenvalues.sel(rate=rate).transpose("seed", "k").values.astype(float)[:, first:]
    return [shapes.modes(np.log10(values) if logs else values) for values in spectra]


@decides(found=FIRST_SPIKE)
def ht_09(found, *, orders):
    """Section 4.1 and Tables 3 and 4, one step: Adam's spike needs a rate smaller by orders of magnitude."""
    by_rule = found.threshold
    ratios = {
        f"GD {one} over Adam {other}": mean(by_rule.sel(rule=f"GD {one}") / by_rule.sel(rule=f"Adam {other}"))
        for one in ("code", "text")
        for other in ("code", "text")
    }

    def spike(rule: str, rate: float) -> bool | None:
        return mean(found.ratio.sel(rule=rule, rate=rate)).exceeds(SPIKE_RATIO)

    def single(rule: str, rate: float) -> bool | None:
        return claims.all_of(spike(rule, rate), claims.below(mean(found.second.sel(rule=rule, rate=rate)), SPIKE_RATIO))

    def holds(reading: str) -> dict[str, bool | None]:
        gd, adam = f"GD {reading}", f"Adam {reading}"
        none_to_100 = [claims.opposite(spike(gd, rate)) for rate in (0.1, 1.0, 10.0, 100.0)]
        none_at_1000 = claims.opposite(spike(gd, 1000.0))
        return {
            "a": claims.all_of(*(each.exceeds(orders) for each in ratios.values())),
            "b": claims.all_of(single(adam, 0.1), *none_to_100, none_at_1000, single(gd, 2000.0)),
            "c": claims.all_of(*none_to_100, spike(gd, 2000.0)),
            "d": claims.all_of(claims.opposite(spike(adam, 0.01)), *(spike(adam, r) for r in (0.1, 1.0, 10.0, 100.0))),
        }

    at = {rule: mean(by_rule.sel(rule=rule)) for rule in teacher_student.RULES}
    return Found(
        holds("code"),
        {f"first spike, {rule}": each for rule, each in at.items()}
        | ratios
        | {"smallest ratio": min(ratios.values(), key=lambda each: each.estimate)}
        | {"Adam at 10, second over third": mean(found.second.sel(rule="Adam code", rate=10.0))}
        | {"rate": {name: at[f"{name} code"].estimate for name in ("GD", "Adam")}}
        | {"text": told(holds("text"))},
    )


# Losses and alignments.


def gd_and_adam(runs: Sweeps, reading: str, features: str) -> list[xr.Dataset]:
    """The sweeps of GD and Adam in one reading of the optimisers and one of the features."""
    return [runs[f"{name} {reading}"].sel(features=features) for name in ("GD", "Adam")]


@decides(runs=RECORDS[2000], tuned=gains.FIRST)
def ht_10(runs, tuned, *, still, before, same, same_alignment, random, gain, worse):
    """Figure 3 (a, b): GD's losses fall at 2000; Adam has a best rate, above which only the training loss falls."""
    runs = sweeps(runs)

    def higher(values: xr.DataArray, rate: float, than: float) -> bool | None:
        return mean(values.sel(rate=rate) - values.sel(rate=than)).exceeds(0)

    def holds(reading: str, features: str) -> dict[str, bool | None]:
        gd, adam = gd_and_adam(runs, reading, features)
        test, best = adam.test, adam.test.sel(rate=best_inside(adam.test))
        return {
            "a": claims.all_of(*(jump(loss, still, before, sign=-1) for loss in (gd.test, gd.train))),
            "b": claims.all_of(
                claims.within(change(adam, "test", 0.001), -same, same),
                claims.within(change(adam, "alignment", 0.001), -same_alignment, same_alignment),
                claims.below(mean(adam.similarity.sel(rate=0.001)), random),
            ),
            "c": claims.all_of(
                higher(test, 0.01, 0.1), higher(test, 0.1, 1.0), claims.below(change(adam, "test", 1.0), -gain)
            ),
            "d, test": claims.all_of(higher(test, 10.0, 1.0), higher(test, 100.0, 1.0)),
            "d, training": claims.all_of(*(higher(adam.train, 1.0, rate) for rate in LARGE)),
            "e": claims.all_of(interior_best(test), mean(test.sel(rate=3000) - (1 + worse) * best).exceeds(0)),
        }

    parts, others = holds("code", "code"), {"features": holds("code", "text"), "optimisers": holds("text", "code")}
    shown = [("GD", rate, "test") for rate in (1000.0, 2000.0)] + [("Adam", rate, "test") for rate in (0.1, 1.0, 10.0)]
    shown += [("Adam", rate, "train") for rate in (1.0, 10.0)]
    found = {
        f"{name} at {rate:g}, {of.replace('train', 'training')}": change(runs[f"{name} code"], of, rate)
        for name, rate, of in shown
    }
    held = {name: sum(one is True for one in each.values()) for name, each in others.items()}
    pairs = {f"{run}, {what}": (run, what) for run in map(str, tuned.run.values[1:]) for what in ("size", "training")}
    own = {f"tuned ridge, {f}, {name}": gains.effect(tuned, *pair, f) for name, pair in pairs.items() for f in FEATURES}
    own |= {f"tuned ridge, {f}, Adam from 1 to 10": gains.change(tuned, "Adam 10", "Adam 1", f) for f in FEATURES}
    return Found(parts, found | percent(found) | own | {"hold in the text's": held, "parts": len(parts)})


@decides(runs=RECORDS[2000])
def ht_11(runs, *, still, before, same, most):
    """Figure 3 (c): the kernel target alignment rises at 2000 with GD, from 0.01 to 1 with Adam, then turns."""
    runs = sweeps(runs)

    def holds(reading: str) -> dict[str, bool | None]:
        gd, adam = (one.alignment for one in gd_and_adam(runs, reading, "code"))
        at = {rate: adam.sel(rate=rate) for rate in (0.01, 0.1, 1.0, 10.0)}
        return {
            "a": jump(gd, still, before, sign=1),
            "b": claims.all_of(
                claims.within(mean(adam.sel(rate=0.001) / adam.sel(rate=0) - 1), -same, same),
                mean(at[0.1] - at[0.01]).exceeds(0),
                mean(at[1.0] - at[0.1]).exceeds(0),
                claims.below(mean(at[10.0] - at[1.0]), 0),
                mean(at[10.0] - most * at[1.0]).exceeds(0),
            ),
        }

    gd, adam = (one.alignment for one in gd_and_adam(runs, "code", "code"))
    found = {f"Adam at {rate:g}": mean(adam.sel(rate=rate)) for rate in (0.0, 0.01, 0.1, 1.0, 10.0)}
    found |= {f"GD at {rate:g}": mean(gd.sel(rate=rate)) for rate in (1000.0, 2000.0)}
    found |= {"Adam from 1 to 10, change": mean(adam.sel(rate=10.0) / adam.sel(rate=1.0) - 1)}
    return Found(holds("code"), found | percent(found) | {"text": told(holds("text"))})


@decides(runs=RECORDS[2000])
def ht_12(runs, *, aligned, not_aligned, absent):
    """Figure 3 (d): the spike's right singular vector points along the teacher's direction."""
    runs = sweeps(runs)

    def holds(reading: str) -> dict[str, bool | None]:
        both = [runs[f"{name} {reading}"] for name in ("GD", "Adam")]
        gd, adam = ({rate: mean(one.similarity.sel(rate=rate)) for rate in GRID} for one in both)
        together = []
        for one, cosine in zip(both, (gd, adam)):
            apart = gap(one.eigenvalues).transpose("seed", "rate") >= SPIKE_RATIO
            together += [cosine[rate].exceeds(aligned) for rate in GRID if apart.sel(rate=rate).all()]
            together += [claims.below(cosine[rate], not_aligned) for rate in GRID if not apart.sel(rate=rate).any()]
        random = [claims.below(gd[rate], not_aligned) for rate in GRID[:7]]
        return {
            "a": claims.all_of(*together),
            "b": claims.all_of(gd[2000.0].exceeds(aligned), *random),
            "c": claims.all_of(claims.below(adam[0.001], absent), *(adam[r].exceeds(aligned) for r in (0.1, 1.0))),
        }

    places = [("GD", 1000.0), ("GD", 2000.0), *(("Adam", rate) for rate in (0.001, *BENIGN))]
    found = {f"{name} at {rate:g}": mean(runs[f"{name} code"].similarity.sel(rate=rate)) for name, rate in places}
    return Found(holds("code"), found | {"text": told(holds("text"))})


@decides(runs=RECORDS[2000], near_gd="heavy_tails/one_step_near_gd", near_adam="heavy_tails/one_step_near_adam")
def ht_13(runs, near_gd, near_adam, *, little):
    """Section 4.1: a spike after the first step goes together with a lower test loss.

    near_gd, near_adam: runs at finer rates on both sides of the first spike.
    """
    runs = sweeps(runs)
    between = {"GD code": near(near_gd, runs, "GD"), "Adam code": near(near_adam, runs, "Adam")}

    def holds(features: str, *by_rule: Sweeps) -> dict[str, bool | None]:
        lowered, unmoved = [], []
        for each in by_rule:
            for rule, most in (("GD code", 3000.0), ("Adam code", 1.0)):
                for rate in each[rule].rate.values[(each[rule].rate > 0) & (each[rule].rate <= most)]:
                    spike = mean(gap(each[rule].eigenvalues.sel(rate=rate))).exceeds(SPIKE_RATIO)
                    found = change(each[rule], "test", rate, features=features)
                    lowered += [claims.below(found, 0)] if spike else []
                    unmoved += [claims.within(found, -little, little)] if spike is False else []
        return {"with a spike": claims.all_of(*lowered), "without a spike": claims.all_of(*unmoved)}

    grid = (("GD", 1000.0), ("GD", 2000.0), ("Adam", 0.01), ("Adam", 0.1), ("Adam", 1.0))
    found = {f"{name} at {rate:g}": change(runs[f"{name} code"], "test", rate) for name, rate in grid}
    found |= {"GD at 1250": change(between["GD code"], "test", 1250.0)}
    found |= {"Adam at 0.05": change(between["Adam code"], "test", 0.05)}
    return Found(holds("code", runs, between), found | percent(found) | {"text": told(holds("text", runs))})


# More points.


@decides(fewer=RECORDS[2000], some=RECORDS[4000], many=RECORDS[8000])
def ht_52(fewer, some, many, *, still, begun, sure):
    """Figures 19 and 20: the curves of one step with 4000 and 8000 points, and what more points do."""
    by_n = {n: sweeps(records) for n, records in zip(POINTS, (fewer, some, many))}

    def holds(reading: str) -> dict[str, bool | None]:
        both = {n: gd_and_adam(by_n[n], reading, "code") for n in POINTS[1:]}
        shape = {f"a, {n}": claims.all_of(falls(gd, still), interior_best(adam.test)) for n, (gd, adam) in both.items()}
        return shape | {
            f"b, {n}": claims.all_of(*(begins_together(one, begun, sure) for one in each)) for n, each in both.items()
        }

    asserted = holds("code")
    return Found(
        asserted | {"c": "answered"},
        {
            f"{title}, {n} minus {n // 2} points": more_points(by_n, title, n, n // 2)
            for title in ("test loss", "gap", "alignment with the teacher")
            for n in POINTS[1:]
        }
        | {"text": told(holds("text"))},
        verdict=claims.combine({name: claims.verdict(one) for name, one in asserted.items()}),
    )


def falls(gd: xr.Dataset, still: float) -> bool | None:
    """Whether both losses of GD are lower at 3000 than untrained, and change by less than a share of that up to 100."""
    found = []
    for loss in (gd.test, gd.train):
        fall = loss.sel(rate=0) - loss
        at = fall.sel(rate=3000)
        found.append(mean(at).exceeds(0))
        found += [mean(still * at + side * fall.sel(rate=rate)).exceeds(0) for rate in SMALL for side in (-1, 1)]
    return claims.all_of(*found)


def begins_together(sweep: xr.Dataset, begun: float, sure: float) -> bool | None:
    """Whether test loss, kernel and teacher alignment begin to improve within one step of the grid of each other.

    One begins at the first rate at which its mean improvement exceeds the share `begun` of the largest.  The draws are
    resampled; None unless a share `sure` of the resamples agree.
    """
    better = [
        sign * (sweep[name].sel(rate=GRID) - sweep[name].sel(rate=0)).transpose("seed", "rate").values
        for name, sign in (("test", -1), ("alignment", 1), ("similarity", 1))
    ]
    seeds = sweep.sizes["seed"]
    rows = stats.stream("bootstrap", "begins", seeds).integers(0, seeds, (stats.RESAMPLES, seeds))
    means = np.array([values[rows].mean(axis=1) for values in better])
    places = np.argmax(means > begun * means.max(axis=-1, keepdims=True), axis=-1)
    agree = float(np.mean(np.ptp(places, axis=0) <= 1))
    return True if agree >= sure else False if agree <= 1 - sure else None


def more_points(by_n: Mapping[int, Sweeps], title: str, n: int, fewer: int, rate: float = 1.0) -> Interval:
    """Test loss, gap between test and training loss, or alignment of Adam with n points minus that with fewer."""
    some, many = (
        by_n[size]["Adam code"].sel(features="code", rate=rate)[["test", "train", "similarity"]] for size in (fewer, n)
    )
    some, many = xr.align(some, many, join="inner")
    quantity = {
        "test loss": lambda one: one.test,
        "gap": lambda one: one.test - one.train,
        "alignment with the teacher": lambda one: one.similarity,
    }[title]
    return mean(quantity(many) - quantity(some))


def near(between: xr.Dataset, runs: Sweeps, name: str) -> xr.Dataset:
    """Runs of "GD" or "Adam" with learning rates on both sides of the first spike, and with those of the grid there."""
    between = between.sel(rule=f"{name} code", penalty=PENALTY, drop=True)
    beside = runs[f"{name} code"].sel(seed=between.seed, rate=BESIDE[name])
    return xr.concat([beside, between.sel(rate=between.rate > 0)], "rate").sortby("rate")


def seen(sweep: xr.Dataset, rates: Sequence[float]) -> list[tuple[float, Interval, Interval, Interval]]:
    """Rate, gap, change of the test loss and cosine with the teacher at some rates."""
    return [
        (
            rate,
            mean(gap(sweep.eigenvalues.sel(rate=rate))),
            change(sweep, "test", rate),
            mean(sweep.similarity.sel(rate=rate)),
        )
        for rate in rates
    ]
