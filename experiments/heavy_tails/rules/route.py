"""Rules on the way from one spike to a wide bulk (Kothapalli et al., Sections 5.1, 6, Appendix F.3): HT-19 to HT-57.

Tables of shapes are those of :func:`training_spectra.shapes_of` over the draws and the steps.  A bulk is *wide* where
its exponent is 0.20 below that of noise and its distance from the Marchenko-Pastur law is above 0.10, *widened* at 0.05
and 0.05.  Intervals over draws are Student's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes, training_spectra
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

NOISE = shapes.noise_hill(1500, 1000)
WIDE, WIDENED = (0.20, 0.10), (0.05, 0.05)  # fall of the exponent, distance
SPIKE = shapes.SPIKE_RATIO


@functools.cache
def along(name: str) -> xr.Dataset:
    """Shapes along a recorded run of the chapter."""
    return training_spectra.shapes_of(records.load(f"heavy_tails/{name}"))


def change(values: xr.DataArray, first: int, last: int) -> Interval:
    """Mean change of a number from one step to another, paired over the draws."""
    return stats.student((values.sel(step=last) - values.sel(step=first)).values)


def as_wide(table: xr.Dataset, limits: tuple[float, float] = WIDE) -> bool | None:
    """Whether spectra over the draws have a wide bulk: both numbers beyond their limits, by their intervals."""
    fall, away = stats.student(NOISE - table.hill_excl.values), stats.student(table.d_mp.values)
    return claims.all_of(fall.exceeds(limits[0]), away.exceeds(limits[1]))


def stages(table: xr.Dataset) -> bool | None:
    """Noise, one spike, then a bulk that is farther from noise and a spike that is nearer, at step 50 as against 1."""
    return claims.all_of(
        claims.below(stats.student(table.d_mp.sel(step=0).values), 0.01),
        bool(table.single_spike.sel(step=1).all()),
        change(table.d_mp, 1, 50).exceeds(0),
        claims.below(change(table.hill_excl, 1, 50), 0),
        claims.below(change(table.spike_ratio, 1, 50), 0),
    )


def first_steps(table: xr.Dataset, flag: str) -> np.ndarray:
    """The first step with a flag of every draw; infinity where there is none."""
    return table.step.where(table[flag]).min("step").fillna(np.inf).values


def ht_19(adam: xr.Dataset | None = None, gd: xr.Dataset | None = None, on: xr.Dataset | None = None) -> Outcome:
    """Figure 4, Section 5.1: from noise over one spike to a decaying bulk; on: the run of Adam to step 200."""
    near_noise, stage, hair = 0.03, (25, 100), 0.8  # of the limit, from which on it decides nothing
    adam, gd = (along(n) if t is None else t for n, t in (("route_adam", adam), ("route_gd", gd)))
    on = along("route_adam_on") if on is None else on
    first, farthest = first_steps(on, "ht_onset"), stats.student(on.d_mp.max("step").values)
    begins = agreed((first > stage[0]) & (first <= stage[1]))
    if np.isinf(first).all() and farthest.high >= hair * WIDENED[1]:
        begins = None
    parts = {
        "a": claims.all_of(
            bool(adam.single_spike.sel(step=1).all()),
            claims.below(stats.student(adam.d_mp.sel(step=1).values), near_noise),
        ),
        "b, bulk": claims.all_of(
            *(change(adam.d_mp, s, t).exceeds(0) for s, t in ((1, 5), (5, 10))),
            *(claims.below(change(adam.hill_excl, s, t), 0) for s, t in ((1, 5), (5, 10))),
        ),
        "b, spike": claims.all_of(*(claims.below(change(adam.spike_ratio, s, t), 0) for s, t in ((1, 5), (5, 10)))),
        "c": begins,
        "d, Adam": stages(adam),
        "d, GD": stages(gd),
    }
    gaps = ", ".join(f"{float(adam.spike_ratio.sel(step=t).mean()):.2f}" for t in (1, 5, 10, 50))
    at_fifty = stats.student(adam.d_mp.sel(step=50).values)
    ends = {name: stats.student(one.hill_excl.sel(step=50).values) for name, one in (("Adam", adam), ("GD", gd))}
    reached = ", ".join(f"{t:.0f}" if np.isfinite(t) else "none" for t in first)
    text = along("route_adam_text").sel(step=50).mean("seed")
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: one spike, then a bulk that widens from step to step while the spike comes nearer.",
            "contradicted": "No: the spectra do not pass through these shapes.",
            "otherwise": "In part: after one spike the bulk widens from step to step, but the spike swings to and fro "
            "meanwhile.",
        },
        finding=f"Adam at 0.2: gap of the spike {gaps} after 1, 5, 10 and 50 steps, distance from noise {at_fifty:.3f} "
        f"and exponent {ends['Adam']} after 50 (noise {NOISE:.2f}), at most {farthest:.3f} in a hundred, so that the "
        f"limit of 0.05 is passed at step: {reached}; GD at 2000: distance "
        f"{stats.student(gd.d_mp.sel(step=50).values):.3f}, exponent {ends['GD']}; without bias correction (text, one "
        f"draw) Adam has {float(text.d_mp):.3f} and {float(text.hill_excl):.2f} by then",
        evidence={
            "distance of Adam after 50 steps": at_fifty,
            "gap of Adam, step 10 minus step 5": change(adam.spike_ratio, 5, 10),
            **{f"exponent of {name} after 50 steps": end for name, end in ends.items()},
        },
    )


def agreed(flags: Sequence[bool] | np.ndarray) -> bool | None:
    """What all draws say; None where they differ."""
    flags = np.asarray(flags, dtype=bool)
    return True if flags.all() else False if not flags.any() else None


def ht_20(counts: xr.DataArray | None = None) -> Outcome:
    """Section 5.1: mini-batches bring several spikes that full batches lack; counts over batch, rate, seed, step."""
    several, small, full = 2, (50, 200), 2000
    counts = outliers_in_batches() if counts is None else counts
    most = counts.max("step")
    parts = {}
    for rate in most.rate.values:
        of_small = [bool((most.sel(rate=rate, batch=b) >= several).all()) for b in small]
        of_full = bool((most.sel(rate=rate, batch=full) >= several).any())
        parts[f"rate {rate:g}"] = (
            "contradicted" if of_full or not any(of_small) else "reproduced" if all(of_small) else "partly"
        )
    shown = {
        rate: ", ".join(f"{float(most.sel(rate=rate, batch=b).mean()):.1f} ({b})" for b in most.batch.values)
        for rate in most.rate.values
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: small batches bring several spikes, a full batch only one.",
            "contradicted": "No: the full batch has as many, or small batches have one spike as well.",
            "otherwise": "Hardly: at a small rate only the smallest batches add a spike or two; at a large rate the "
            "full batch has a hundred.",
        },
        finding="largest number of eigenvalues above the edge within ten steps, mean over three draws, by size of the "
        "batch: " + "; ".join(f"{text} at rate {rate:g}" for rate, text in shown.items()),
        evidence={f"rate {rate:g}": text for rate, text in shown.items()},
    )


@functools.cache
def outliers_in_batches() -> xr.DataArray:
    """Eigenvalues above the edge of the fitted Marchenko-Pastur law in the recorded runs with mini-batches."""
    values = records.load("heavy_tails/batches").eigenvalues
    return xr.apply_ufunc(
        lambda one: training_spectra.outliers(one, 1500, 1000), values, input_core_dims=[["k"]], vectorize=True
    )


RUNS = ("GD 2000", "GD 3000", "Adam 0.2", "Adam 0.5", "Adam 1", "Adam 10")


@functools.cache
def starts() -> xr.Dataset:
    """Shapes and similarity after 1 and 10 steps with true labels, for the :data:`RUNS`, three draws."""
    sources = {"GD": ("overlaps_gd_2000", "overlaps_gd", 2000.0), "Adam": ("overlaps_adam_one", "overlaps_adam", 1.0)}
    found = []
    for run in RUNS:
        (name, rate), kept = run.split(), ["eigenvalues", "similarity"]
        one, others, own = sources[name]
        table = records.load(f"heavy_tails/{one if float(rate) == own else others}")[kept]
        if float(rate) != own:
            table = table.sel(rate=float(rate), drop=True)
        found.append(with_similarity(table.rename(end="step").sel(seed=[0, 1, 2])).expand_dims(run=[run]))
    return xr.concat(found, "run")


@functools.cache
def other_labels() -> xr.Dataset:
    """The same with true, permuted and Gaussian labels, for the runs that have all three."""
    adam = with_similarity(records.load("heavy_tails/labels_adam"))
    gd = with_similarity(records.load("heavy_tails/labels_gd")).expand_dims(run=["GD 2000"])
    false = [gd, *(adam.sel(rate=r, drop=True).expand_dims(run=[f"Adam {r:g}"]) for r in (1.0, 10.0))]
    false = xr.concat(false, "run")
    return xr.concat([starts().sel(run=false.run).expand_dims(labels=["true"]), false], "labels")


def with_similarity(found: xr.Dataset) -> xr.Dataset:
    """:func:`training_spectra.shapes_of` and the similarity of the first right singular vector to the teacher."""
    return training_spectra.shapes_of(found).assign(similarity=found.similarity)


def ht_29(true: xr.Dataset | None = None, labels: xr.Dataset | None = None) -> Outcome:
    """Section 6: one spike aligned with the teacher is all that the tail requires."""
    aligned = 0.3
    true, labels = starts() if true is None else true, other_labels() if labels is None else labels
    wide = {run: as_wide(true.sel(run=run, step=10)) for run in true.run.values}
    single = {}
    for run in true.run.values:
        first = true.sel(run=run, step=1)
        similar = stats.student(first.similarity.values)
        single[run] = claims.all_of(bool(first.single_spike.all()), similar.exceeds(aligned))
    said_nothing = {
        (run, kind): as_wide(labels.sel(run=run, labels=kind, step=10))
        for run in labels.run.values for kind in labels.labels.values if kind != "true" and wide[run]
    }  # fmt: skip
    ended = [run for run in wide if wide[run]]
    parts = {
        "a": claims.any_of(*(single[run] for run in ended)) if ended else None,
        "b": claims.all_of(*map(claims.opposite, said_nothing.values())) if ended else None,
    }
    exponents = labels.hill_excl.sel(step=10)
    apart = {
        (run, kind): stats.student((exponents.sel(labels=kind, run=run) - exponents.sel(labels="true", run=run)).values)
        for run in labels.run.values for kind in labels.labels.values if kind != "true"
    }  # fmt: skip
    spikes = [run for run in ended if single[run]]
    similar = {run: stats.student(true.similarity.sel(run=run, step=1).values) for run in spikes}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: one spike towards the teacher is enough, and labels that say nothing give none.",
            "partly": "One spike is enough, but it need not point at the teacher: labels that say nothing give the "
            "same wide bulk.",
            "contradicted": "No: wide bulks come without one aligned spike, and with labels that say nothing.",
            "otherwise": "These runs do not say, since none of them ends with a clearly wide bulk.",
        },
        finding=f"wide bulk after ten steps: {', '.join(ended) or 'none'}, of which "
        f"{', '.join(f'{run} starts with one spike, similarity {s}' for run, s in similar.items()) or 'none starts so'}"
        "; with labels that say nothing it is as wide in "
        f"{sum(flag is True for flag in said_nothing.values())} of {len(said_nothing)} cases; exponent minus that with "
        "true labels: " + ", ".join(f"{d:.3f} ({run}, {kind})" for (run, kind), d in apart.items()),
        evidence={f"exponent, {run}, {kind} minus true": d for (run, kind), d in apart.items()},
    )


def ht_30(course: xr.Dataset | None = None, late: float | None = None) -> Outcome:
    """Section 6: the heavy tail appears long before the loss is low.

    Args:
        course: shapes and loss of Adam at rate 1 over seed and step, from step 0.
        late: the loss after 100 steps, the largest of the draws.
    """
    factor, half = 2, 0.5
    course, late = first_ten() if course is None else course, loss_late() if late is None else late
    first = first_steps(course, "ht")
    early, at = [], []
    for seed, t in zip(course.seed.values, first):
        loss = course.loss.sel(seed=seed)
        start, at_first = float(loss.sel(step=0)), float(loss.sel(step=t)) if np.isfinite(t) else np.nan
        done = np.log(start / at_first) / np.log(start / late)
        early.append(bool(np.isfinite(t)) and at_first >= factor * late and done < half)
        at.append(f"{at_first:.1f} at step {t:.0f}" if np.isfinite(t) else "never wide")
    return Outcome(
        verdict=agreed(early),
        answer={
            "reproduced": "Yes: the bulk is wide after a few steps, when the loss is even above that at the start.",
            "contradicted": "No: when the bulk is wide, most of the loss is gone, or it never is.",
            "otherwise": "In some draws only.",
        },
        finding=f"Adam at 1: when the bulk is first wide, the training loss is {', '.join(at)} in {len(at)} draws, "
        f"against {float(course.loss.sel(step=0).mean()):.2f} at the start and {late:.0e} after 100 steps",
        evidence={"loss when first wide": ", ".join(at), "loss after 100 steps": f"{late:.1e}"},
    )


@functools.cache
def first_ten() -> xr.Dataset:
    """Shapes and loss along the first nine steps of Adam at rate 1; the loss is recorded before every step."""
    loss = records.load("heavy_tails/route_ten").loss.rename(time="step").assign_coords(step=range(10))
    return along("route_ten").sel(step=range(10)).assign(loss=loss)


def loss_late() -> float:
    """The loss of Adam at rate 1 after 100 steps, the largest of the recorded draws."""
    return float(records.load("heavy_tails/hundred_adam").loss.sel(rate=1.0, step=100).max())


@functools.cache
def surgeries() -> xr.Dataset:
    """Shapes over rate, cut, seed and step, with nothing, the first spike, or the lead of every update cut out."""
    first, every = along("without_spike"), along("no_spikes")
    found = [first.sel(spike_factor=1.0, drop=True), first.sel(spike_factor=0.0, drop=True), every]
    return xr.concat(found, "cut").assign_coords(cut=["nothing", "first", "every"])


def ht_31(budgets: Mapping[str, xr.Dataset] | None = None, surgery: xr.Dataset | None = None) -> Outcome:
    """Section 6: the decaying bulk is the spike, spread into the bulk.

    Args:
        budgets: tables with largest and rest (seed, step), steps 1 to 10, by run.
        surgery: hill_excl (rate, cut, seed, step): the leading part of "every" update cut out, of the "first", or
            of none ("nothing").
    """
    most = 1 / 2
    budgets = trace_budgets() if budgets is None else budgets
    surgery = surgeries() if surgery is None else surgery
    paid = {name: stats.student(share_paid(table)) for name, table in budgets.items()}
    left = {}
    for rate in surgery.rate.values:
        fall = surgery.hill_excl.sel(rate=rate, step=0) - surgery.hill_excl.sel(rate=rate, step=10)
        left[float(rate)] = stats.student((fall.sel(cut="every") / fall.sel(cut="nothing")).values)
    parts = {f"budget, {name}": share.exceeds(most) for name, share in paid.items()}
    parts |= {f"no spikes, Adam {rate:g}": claims.below(ratio, most) for rate, ratio in left.items()}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: what the spike loses turns up in the bulk, and without the spike the bulk hardly "
            "widens.",
            "contradicted": "No: the bulk gains many times what the spike loses, and widens about as much with the "
            "leading part of every update cut out.",
            "otherwise": "In part, or undecided: the spike's loss and the bulk's gain agree in some runs only.",
        },
        finding="share of the bulk's gain in squared length that the largest eigenvalue loses, from its highest point "
        f"to step 10: {', '.join(f'{share} ({name})' for name, share in paid.items())}; fall of the exponent in ten "
        "steps with the leading part of every update cut out over that of the whole run: "
        + ", ".join(f"{ratio} (Adam {rate:g})" for rate, ratio in left.items()),
        evidence={f"paid by the spike, {name}": share for name, share in paid.items()}
        | {f"fall without over with spikes, Adam {rate:g}": ratio for rate, ratio in left.items()},
    )


def trace_budgets() -> dict[str, xr.Dataset]:
    """Steps 1 to 10 of the recorded runs of GD at 2000 and Adam at 0.2 and 1."""
    names = {"GD 2000": "route_gd", "Adam 0.2": "route_adam", "Adam 1": "route_ten"}
    return {name: along(record).sel(step=range(1, 11)) for name, record in names.items()}


def lost_and_gained(table: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """What the largest eigenvalue loses and the others gain, from its highest point to step 10, by draw."""
    highest = table.largest.argmax("step")
    lost = table.largest.isel(step=highest) - table.largest.sel(step=10)
    return lost.values, (table.rest.sel(step=10) - table.rest.isel(step=highest)).values


def share_paid(table: xr.Dataset) -> np.ndarray:
    """Loss of the largest eigenvalue over the gain of the others, by draw."""
    lost, gained = lost_and_gained(table)
    return lost / gained


def collapses() -> xr.Dataset:
    """All draws of the recorded collapse of GD's spike at rate 2000, see :func:`overlaps.drop`."""
    found = [records.load(f"heavy_tails/{name}") for name in ("spike_movement", "spike_movement_ten")]
    return xr.concat(found, "seed")


def ht_57(found: xr.Dataset | None = None) -> Outcome:
    """Appendix F.3, Figure 27: the spike of GD drops tenfold at one step, as its direction is spread."""
    step, tenfold, many = 5, 10.0, 3.0
    found = collapses() if found is None else found
    when = stats.wilson(found.s.values == step)
    logs = stats.student(np.log10(found.top.sel(step=step) / found.top.sel(step=step + 1)).values)
    factor = Interval(*(10**x for x in (logs.estimate, logs.low, logs.high)))
    overlap = stats.student((found.maximum.sel(when="after") - found.maximum.sel(when="before")).values)
    spread = stats.student(np.log10(found.spread.sel(when="after") / found.spread.sel(when="before")).values)
    wider = Interval(*(10**x for x in (spread.estimate, spread.low, spread.high)))
    before, after = (found.spectra.isel(k=0).sel(when=w) ** 0.5 for w in ("before", "after"))
    kept = stats.student((np.abs(before + found.slope) / before).values)
    above = stats.student((after / found.second - 1).values)
    against = int((found.slope < 0).sum())
    text = stats.student(records.load("heavy_tails/first_spike").threshold.sel(rule="GD text").values)
    return Outcome(
        parts={
            "a, when": when.exceeds(1 / 2),
            "a, tenfold": factor.exceeds(tenfold),
            "b": claims.below(overlap, 0),
            "c": wider.exceeds(many),
        },
        answer={
            "reproduced": "Yes: at that step the spike drops tenfold, and its direction is spread over several others.",
            "contradicted": "No: the spike does not drop so at that step.",
            "otherwise": f"The spike collapses at that step, by a factor of {factor.estimate:.0f}: the update points "
            "against it and nearly cancels it.",
        },
        finding=f"the largest drop is from step 5 to 6 in {int((found.s == step).sum())} of {found.sizes['seed']} "
        f"draws, by a factor of {factor:.1f}; the largest left overlap changes by {overlap}; the update's direction is "
        f"spread over {wider:.1f} times as many singular vectors; the update opposes the spike in {against} draws and "
        f"leaves {kept:.0%} of its singular value; the next largest is the former second, {above:.0%} up; with the "
        f"text's loss the first spike comes at a rate of {text:.0f}",
        evidence={
            "drop between 5 and 6 is the largest": when,
            "factor": factor,
            "change of the largest left overlap": overlap,
            "spread, after over before": wider,
            "left of the spike by the update": kept,
            "largest after over second before, minus 1": above,
        },
    )
