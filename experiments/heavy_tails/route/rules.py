"""Rules on the way from one spike to a wide bulk (Kothapalli et al., Sections 5.1, 6, Appendix F.3): HT-19 to HT-57.

Tables of shapes are those of :func:`training_spectra.shapes_of` over the draws and the steps.  A bulk is *wide* where
its exponent is 0.20 below that of noise and its distance from the Marchenko-Pastur law is above 0.10, *widened* at 0.05
and 0.05.  Intervals over draws are Student's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.long_runs.rules import as_wide
from experiments.heavy_tails.route import cells as training_spectra
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

Runs = Sequence[xr.Dataset]
NOISE = shapes.noise_hill(1500, 1000)
ROUTE_ADAM, ROUTE_GD = "heavy_tails/route/route_adam", "heavy_tails/route/route_gd"
ROUTE_TEN = "heavy_tails/route/route_ten"  # Adam at rate 1
GD_2000 = (ROUTE_GD, "heavy_tails/long_runs/merging_gd")  # five draws to step 10
HUNDRED = ("heavy_tails/long_runs/hundred_adam", "heavy_tails/long_runs/hundred_adam_more")  # Adam at rate 1
ADAM_ONE = ("heavy_tails/overlaps/overlaps_adam_one", "heavy_tails/overlaps/overlaps_adam_one_more")
CUT_EVERY = "heavy_tails/route/cut_every"
TRUE_RUNS = ("GD 2000", "GD 3000", "Adam 0.2", "Adam 0.5", "Adam 1", "Adam 10")
COLLAPSES = ("heavy_tails/overlaps/spike_movement", "heavy_tails/route/spike_movement_ten")  # see :func:`overlaps.drop`


def along(record: xr.Dataset) -> xr.Dataset:
    """Shapes along a recorded run, with its similarity to the teacher; a record that holds them is left as it is."""
    if "hill_excl" in record:
        return record
    found = training_spectra.shapes_of(record)
    return found.assign(similarity=record.similarity) if "similarity" in record else found


def change(values: xr.DataArray, first: int, last: int) -> Interval:
    """Mean change of a number from one step to another, paired over the draws."""
    return stats.student((values.sel(step=last) - values.sel(step=first)).values)


def stages(table: xr.Dataset, at_rest: float) -> bool | None:
    """Noise, one spike, then a bulk that is farther from noise and a spike that is nearer, at step 50 as against 1."""
    return claims.all_of(
        claims.below(stats.student(table.d_mp.sel(step=0).values), at_rest),
        bool(table.single_spike.sel(step=1).all()),
        change(table.d_mp, 1, 50).exceeds(0),
        claims.below(change(table.hill_excl, 1, 50), 0),
        claims.below(change(table.spike_ratio, 1, 50), 0),
    )


def first_steps(table: xr.Dataset, flag: str) -> np.ndarray:
    """The first step with a flag of every draw; infinity where there is none."""
    return table.step.where(table[flag]).min("step").fillna(np.inf).values


@decides(
    adam=ROUTE_ADAM,
    gd=ROUTE_GD,
    on="heavy_tails/long_runs/route_adam_on",
    text="heavy_tails/route/route_adam_text",
)
def ht_19(adam, gd, on, text, *, near_noise, after, until, hair, at_rest):
    """Figure 4, Section 5.1: from noise over one spike to a decaying bulk; on: the run of Adam to step 200."""
    adam, gd, on, text = map(along, (adam, gd, on, text))
    first, farthest = first_steps(on, "ht_onset"), stats.student(on.d_mp.max("step").values)
    begins = agreed((first > after) & (first <= until))
    if np.isinf(first).all() and farthest.high >= hair:
        begins = None
    pairs = ((1, 5), (5, 10))
    end = {name: one.sel(step=50) for name, one in (("Adam", adam), ("GD", gd), ("text", text))}
    distance, exponent = ({n: stats.student(end[n][of].values) for n in ("Adam", "GD")} for of in ("d_mp", "hill_excl"))
    return Found(
        {
            "a": claims.all_of(
                bool(adam.single_spike.sel(step=1).all()),
                claims.below(stats.student(adam.d_mp.sel(step=1).values), near_noise),
            ),
            "b, bulk": claims.all_of(
                *(change(adam.d_mp, *pair).exceeds(0) for pair in pairs),
                *(claims.below(change(adam.hill_excl, *pair), 0) for pair in pairs),
            ),
            "b, spike": claims.all_of(*(claims.below(change(adam.spike_ratio, *pair), 0) for pair in pairs)),
            "c": begins,
            "d, Adam": stages(adam, at_rest),
            "d, GD": stages(gd, at_rest),
        },
        {f"distance of {name} after 50 steps": one for name, one in distance.items()}
        | {"gap of Adam, step 10 minus step 5": change(adam.spike_ratio, 5, 10)}
        | {f"exponent of {name} after 50 steps": one for name, one in exponent.items()}
        | {"mean gap of Adam": {t: float(adam.spike_ratio.sel(step=t).mean()) for t in (1, 5, 10, 50)}, "noise": NOISE}
        | {"farthest": farthest, "limit passed": [f"{t:.0f}" if np.isfinite(t) else "none" for t in first]}
        | {"mean distance, text": float(end["text"].d_mp.mean())}
        | {"mean exponent, text": float(end["text"].hill_excl.mean())},
    )


def agreed(flags: Sequence[bool] | np.ndarray) -> bool | None:
    """What all draws say; None where they differ."""
    flags = np.asarray(flags, dtype=bool)
    return True if flags.all() else False if not flags.any() else None


@decides(batches="heavy_tails/route/batches")
def ht_20(batches, *, several):
    """Section 5.1: mini-batches bring several spikes that full batches lack."""
    small, full = (50, 200), 2000
    most = outliers_in_batches(batches).max("step")
    parts = {}
    for rate in most.rate.values:
        of_small = [bool((most.sel(rate=rate, batch=b) >= several).all()) for b in small]
        of_full = bool((most.sel(rate=rate, batch=full) >= several).any())
        parts[f"rate {rate:g}"] = (
            "contradicted" if of_full or not any(of_small) else "reproduced" if all(of_small) else "partly"
        )
    return Found(
        parts,
        {
            f"rate {rate:g}": ", ".join(
                f"{float(most.sel(rate=rate, batch=b).mean()):.1f} ({b})" for b in most.batch.values
            )
            for rate in most.rate.values
        },
    )


def outliers_in_batches(batches: xr.Dataset) -> xr.DataArray:
    """Eigenvalues above the edge of the fitted Marchenko-Pastur law, over batch, rate, seed and step."""
    if "outliers" in batches:
        return batches.outliers
    return xr.apply_ufunc(
        lambda one: training_spectra.outliers(one, 1500, 1000),
        batches.eigenvalues,
        input_core_dims=[["k"]],
        vectorize=True,
    )


def starts(gd_2000: xr.Dataset, gd: xr.Dataset, adam_1: Runs, adam: xr.Dataset) -> dict[str, xr.Dataset]:
    """Shapes and similarity after 1 and 10 steps with true labels, all draws of six runs.

    gd_2000, adam_1: at one rate, the latter in several records; gd, adam: at others.
    """
    kept = ["spike_ratio", "single_spike", "d_mp", "hill_excl", "similarity"]
    found = {"GD 2000": gd_2000, "GD 3000": gd.sel(rate=3000.0, drop=True)}
    found |= {f"Adam {rate:g}": adam.sel(rate=rate, drop=True) for rate in (0.2, 0.5, 10.0)}
    tables = {run: along(table)[kept].rename(end="step") for run, table in found.items()}
    one = xr.concat([along(run)[kept] for run in adam_1], "seed").rename(end="step")
    return {run: one if run == "Adam 1" else tables[run] for run in TRUE_RUNS}


def other_labels(true: dict[str, xr.Dataset], labels_adam: xr.Dataset, labels_gd: xr.Dataset) -> xr.Dataset:
    """The same with true, permuted and Gaussian labels, for the runs that have all three.  true: of :func:`starts`."""
    adam = along(labels_adam)
    found = {"GD 2000": along(labels_gd)} | {f"Adam {rate:g}": adam.sel(rate=rate, drop=True) for rate in (1.0, 10.0)}
    false = xr.concat([one[list(true[run])] for run, one in found.items()], "run")
    paired = xr.concat([true[run].sel(seed=false.seed) for run in found], "run")
    both = xr.concat([paired.expand_dims(labels=["true"]), false], "labels")
    return both.assign_coords(run=list(found))


@decides(
    gd_2000="heavy_tails/overlaps/overlaps_gd_2000",
    gd="heavy_tails/overlaps/overlaps_gd",
    adam_1=ADAM_ONE,
    adam="heavy_tails/overlaps/overlaps_adam",
    labels_adam="heavy_tails/route/labels_adam",
    labels_gd="heavy_tails/route/labels_gd",
    near=("heavy_tails/route/labels_near", "heavy_tails/route/labels_near_8000"),
    long="heavy_tails/route/labels_long",
)
def ht_29(gd_2000, gd, adam_1, adam, labels_adam, labels_gd, near, long, *, fall, away, aligned):
    """Section 6: one spike aligned with the teacher is all that the tail requires."""
    true = starts(gd_2000, gd, adam_1, adam)
    labels = other_labels(true, labels_adam, labels_gd)
    wide = {run: as_wide(table.sel(step=10), fall, away) for run, table in true.items()}
    similar = {run: stats.student(table.similarity.sel(step=1).values) for run, table in true.items()}
    single = {
        run: claims.all_of(bool(table.single_spike.sel(step=1).all()), similar[run].exceeds(aligned))
        for run, table in true.items()
    }
    begun = [run for run in true if single[run]]
    kinds = [(run, kind) for run in labels.run.values for kind in ("permuted", "Gaussian")]
    ended = labels.sel(step=10)
    said_nothing = [as_wide(ended.sel(run=run, labels=kind), fall, away) for run, kind in kinds if wide[run]]
    apart = {
        (run, kind): ended.hill_excl.sel(labels=kind, run=run) - ended.hill_excl.sel(labels="true", run=run)
        for run, kind in kinds
    }
    return Found(
        {
            "a": claims.all_of(*(wide[run] for run in begun)) if begun else None,
            "b": claims.all_of(*map(claims.opposite, said_nothing)) if any(wide.values()) else None,
        },
        {f"exponent, {run}, {kind} minus true": stats.student(one.values) for (run, kind), one in apart.items()}
        | {"wide": [run for run in wide if wide[run]], "one aligned spike": begun, "similarity": similar}
        | {"one aligned spike and wide": [run for run in begun if wide[run]]}
        | {"as wide": sum(flag is True for flag in said_nothing), "cases": len(said_nothing)}
        | {f"near, {name}": one for name, one in near_threshold(*near).items()}
        | {"long": shuffled_minus_true(long, 6000)},
    )


def shuffled_minus_true(run: xr.Dataset, step: int) -> Interval:
    """Exponent with permuted labels minus that with the true ones, at a step, paired over the draws."""
    hill = run.hill_excl.sel(step=step)
    return stats.student((hill.sel(labels="permuted") - hill.sel(labels="true")).values.astype(float))


def near_threshold(*runs: xr.Dataset) -> dict[str, Interval]:
    """:func:`shuffled_minus_true` after ten steps of GD, by the number of points and the rate."""
    return {
        f"{points} points, GD {rate:g}": shuffled_minus_true(run.sel(rate=rate), 10)
        for points, run in zip((2000, 8000), runs, strict=True)
        for rate in run.rate.values
    }


@decides(ten=ROUTE_TEN, hundred=HUNDRED)
def ht_30(ten, hundred, *, factor, half):
    """Section 6: the heavy tail appears long before the loss is low."""
    course, late = first_ten(ten), max(float(run.loss.sel(rate=1.0, step=100).max()) for run in hundred)
    early, at = [], []
    for seed, t in zip(course.seed.values, first_steps(course, "ht")):
        loss = course.loss.sel(seed=seed)
        start, at_first = float(loss.sel(step=0)), float(loss.sel(step=t)) if np.isfinite(t) else np.nan
        done = np.log(start / at_first) / np.log(start / late)
        early.append(bool(np.isfinite(t)) and at_first >= factor * late and done < half)
        at.append(f"{at_first:.1f} at step {t:.0f}" if np.isfinite(t) else "never wide")
    return Found(
        agreed(early),
        {"loss when first wide": ", ".join(at), "loss after 100 steps": f"{late:.1e}", "late": late}
        | {"mean loss at the start": float(course.loss.sel(step=0).mean()), "draws": len(at)},
    )


def first_ten(ten: xr.Dataset) -> xr.Dataset:
    """Shapes and loss along the first nine steps of a run; the loss is recorded before every step."""
    loss = ten.loss.rename(time="step").assign_coords(step=range(10))
    return along(ten).drop_vars("loss", errors="ignore").sel(step=range(10)).assign(loss=loss)


@decides(gd=GD_2000, adam=ROUTE_ADAM, ten=ROUTE_TEN, cut=CUT_EVERY)
def ht_31(gd, adam, ten, cut, *, half):
    """Section 6: the decaying bulk is the spike, spread into the bulk."""
    paid = {name: stats.student(share_paid(table)) for name, table in trace_budgets(gd, adam, ten).items()}
    left = {name: fall_left(cut, name) for name in ("gradient", "update")}
    null = cut.end_hill_excl.sel(form="permuted")
    return Found(
        {f"budget, {name}": share.exceeds(half) for name, share in paid.items()}
        | {f"no large spike, {name}": claims.below(one, half) for name, one in left["gradient"].items()},
        {f"paid by the spike, {name}": share for name, share in paid.items()}
        | {f"fall left by the cut of the {what}, {name}": one for what, of in left.items() for name, one in of.items()}
        | {
            f"exponent of the null, {what}, Adam {rate:g}": stats.student(null.sel(cut=what, rate=rate).values)
            for what in cut.cut.values
            for rate in cut.rate.values
        },
    )


def fall_left(cut: xr.Dataset, what: str) -> dict[str, Interval]:
    """Fall of the exponent in ten steps with something cut out over that of the whole run, by the rate."""
    fall = (cut.hill_excl.sel(step=0) - cut.hill_excl.sel(step=10)).astype(float)
    ratio = fall.sel(cut=what) / fall.sel(cut="nothing")
    return {f"Adam {rate:g}": stats.student(ratio.sel(rate=rate).values) for rate in ratio.rate.values}


def trace_budgets(gd: Runs, adam: xr.Dataset, ten: xr.Dataset) -> dict[str, xr.Dataset]:
    """Steps 1 to 10 of GD at 2000 and Adam at 0.2 and 1."""
    table = xr.concat([along(run).sel(step=range(1, 11)) for run in gd], "seed")
    found = {"GD 2000": table} | {name: along(one) for name, one in (("Adam 0.2", adam), ("Adam 1", ten))}
    return {name: one.sel(step=range(1, 11)) for name, one in found.items()}


def lost_and_gained(table: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """What the largest eigenvalue loses and the others gain, from its highest point to step 10, by draw."""
    highest = table.largest.argmax("step")
    lost = table.largest.isel(step=highest) - table.largest.sel(step=10)
    return lost.values, (table.rest.sel(step=10) - table.rest.isel(step=highest)).values


def share_paid(table: xr.Dataset) -> np.ndarray:
    """Loss of the largest eigenvalue over the gain of the others, by draw."""
    lost, gained = lost_and_gained(table)
    return lost / gained


@decides(found=COLLAPSES, first_spike="heavy_tails/first_update/first_spike")
def ht_57(found, first_spike, *, often, tenfold, many):
    """Appendix F.3, Figure 27: the spike of GD drops tenfold at one step, as its direction is spread."""
    found, step = xr.concat(found, "seed"), 5
    when = stats.share(found.s.values == step)
    factor = stats.geometric((found.top.sel(step=step) / found.top.sel(step=step + 1)).values)
    overlap = stats.student((found.maximum.sel(when="after") - found.maximum.sel(when="before")).values)
    wider = stats.geometric((found.spread.sel(when="after") / found.spread.sel(when="before")).values)
    before, after = (found.spectra.isel(k=0).sel(when=w) ** 0.5 for w in ("before", "after"))
    return Found(
        {
            "a, when": when.exceeds(often),
            "a, tenfold": factor.exceeds(tenfold),
            "b": claims.below(overlap, 0),
            "c": wider.exceeds(many),
        },
        {
            "drop between 5 and 6 is the largest": when,
            "factor": factor,
            "change of the largest left overlap": overlap,
            "spread, after over before": wider,
            "left of the spike by the update": stats.student((np.abs(before + found.slope) / before).values),
            "largest after over second before, minus 1": stats.student((after / found.second - 1).values),
            "times": factor.estimate,
            "largest from 5 to 6": int((found.s == step).sum()),
            "draws": found.sizes["seed"],
            "opposed": int((found.slope < 0).sum()),
            "first spike, GD text": stats.student(first_spike.threshold.sel(rule="GD text").values),
        },
    )
