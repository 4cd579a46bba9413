"""How many steps to the heavy tail: spectra along runs of up to a million steps, and the first step with a tail.

A run is looked at in a few steps only: its spectrum, how far the weights are from their start, and the loss.  The
first step with a tail is searched with the first spike as it comes, or made smaller or larger by hand.
Source: Kothapalli et al., "From Spikes to Heavy Tails", Tables 1 and 3 to 5, Section 5.1 and Appendix H.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from experiments.heavy_tails import shapes, teacher_student
from experiments.heavy_tails.teacher_student import draw
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.spectra import esd
from shallow.train.first_layer import Trainer


@releases_gil
def milestones(seed: int, *, rule: str, rate: float, records: Sequence[int], **setting) -> xr.Dataset:
    r"""Spectra of one run at the steps `records`, ascending; the last one is its length.

    Returns:
        eigenvalues (step, k): of $W_t^\top W_t$, descending;
        moved (step): $\|W_t - W_0\|_F / \sqrt{hd}$, in standard deviations of an initial entry;
        loss (step): of the first stage at $W_t$, with the factor of the rule.

    Cost: 4 n d h operations a step; ten thousand steps take 3.5 minutes on one core at n = 1000, d = 500, h = 750.
    """
    _check_steps("records", records, least=0)
    drawn = draw(seed, **setting)
    trainer = teacher_student.trainer(drawn, rule)
    seen = []
    for t in records:
        while trainer.taken < t:
            trainer.step(rate)
        trainer.gradient()  # for the loss
        W = trainer.student.W
        moved = np.sqrt(np.square(W - drawn.student.W, dtype=np.float64).mean())
        seen.append(xr.Dataset({"eigenvalues": ("k", esd.eigenvalues(W)), "moved": moved, "loss": float(trainer.loss)}))
    return xr.concat(seen, "step").assign_coords(step=list(records))


@releases_gil
def until_onset(
    seed: int, *, rule: str, rate: float, checks: Sequence[int], spike_factor: float = 1.0, **setting
) -> xr.Dataset:
    r"""Shapes of one run at the steps `checks`, ascending, up to the first with HT-ONSET, where the run stops.

    Args:
        spike_factor: the first update $\Delta = W_1 - W_0$ becomes $\Delta + (c - 1) s_1 u_1 v_1^\top$ with this c and
            the leading singular triplet of $\Delta$; the moments of Adam stay as they are.

    Returns:
        spike_ratio, hill_excl, d_mp (check): numbers of :class:`shapes.Shape`, NaN after the stop;
        onset (check): whether HT-ONSET holds, False after the stop.

    Cost: that of :func:`milestones`, and 0.05 s a check at d = 500.
    """
    _check_steps("checks", checks, least=1)
    drawn = draw(seed, **setting)
    trainer = teacher_student.trainer(drawn, rule)
    h, d = drawn.student.W.shape
    found = xr.Dataset(
        {name: ("check", np.full(len(checks), np.nan)) for name in ("spike_ratio", "hill_excl", "d_mp")}
        | {"onset": ("check", np.zeros(len(checks), dtype=bool))},
        {"check": list(checks)},
    )
    for i, t in enumerate(checks):
        while trainer.taken < t:
            trainer.step(rate)
            if trainer.taken == 1 and spike_factor != 1:
                _scale_leading(trainer, drawn.student.W, spike_factor)
        now = shapes.shape(esd.eigenvalues(trainer.student.W), h, d)
        for name in found.data_vars:
            found[name][i] = now.ht_onset if name == "onset" else getattr(now, name)
        if now.ht_onset:
            break
    return found


def _scale_leading(trainer: Trainer, before: np.ndarray, factor: float) -> None:
    """Multiply the leading singular part of the update since `before`; the moments of Adam stay as they are."""
    u, s, v = (part[..., 0] for part in esd.top(trainer.student.W - before))
    trainer.W += torch.from_numpy(((factor - 1) * s * np.outer(u, v)).astype(np.float32))


@releases_gil
def in_precision(seed: int, *, dtype: str, rate: float, records: Sequence[int], **setting) -> xr.Dataset:
    """As :func:`milestones`, for the code's Adam in "float32" or "float64"; the start and the data are the same.

    The last loss is that before the last step.
    """
    _check_steps("records", records, least=0)
    drawn = draw(seed, **setting)
    run = teacher_student.train(
        drawn,
        "Adam code",
        rate=rate,
        steps=records[-1],
        records=records,
        measure=lambda student: student.W,
        dtype={"float32": torch.float32, "float64": torch.float64}[dtype],
    )
    moved = [np.sqrt(np.square(W - drawn.student.W, dtype=np.float64).mean()) for W in run.values]
    return xr.Dataset(
        {
            "eigenvalues": (("step", "k"), [esd.eigenvalues(W) for W in run.values]),
            "moved": ("step", moved),
            "loss": ("step", run.loss[np.minimum(records, records[-1] - 1)].astype(np.float64)),
        },
        {"step": list(records)},
    )


def _check_steps(name: str, steps: Sequence[int], least: int) -> None:
    if len(steps) == 0 or steps[0] < least or (np.diff(steps) <= 0).any():
        raise ValueError(f"{name} must be ascending steps of at least {least}, got {list(steps)}")


# What the page asks of the runs.


def steps_to_onset(found: xr.Dataset) -> xr.DataArray:
    """The first check with HT-ONSET of runs of :func:`until_onset`, NaN where there is none."""
    return found.check.where(found.onset).min("check")


#: Every step up to 30, then steps that grow by a tenth, up to 1000.
CHECKS = [*range(1, 31), *(int(t) for t in np.unique(np.round(30 * 1.1 ** np.arange(1, 37))) if t < 1000), 1000]
HUNDRED, LONG, MILLION = [0, 1, 10, 100], [0, 1, 10, 100, 1000, 10_000], [0, 1, 1000, 10_000, 100_000, 1_000_000]
HALF, QUARTER = {"n": 1000, "d": 500, "h": 750}, {"n": 500, "d": 250, "h": 375}
TENTH = {"n": 200, "d": 100, "h": 150}
#: Rate 0.01 of the document's size in units of the threshold of the first spike, $(hd)^{-1/4}$, at the tenth.
SCALED = round(0.01 * (1500 * 1000 / (150 * 100)) ** 0.25, 4)
#: Learning rates between that of the first spike and ten times it, by equal factors.
BETWEEN = [round(float(rate), 3) for rate in np.geomspace(0.2, 2.0, 13)]
#: Compared when a long cell is recomputed: its first steps.
ONE, TEN, START, THOUSAND = ({"records": steps} for steps in ([0, 1], [0, 1, 10], HUNDRED, [0, 1, 1000]))


def _runs(rule: str, rates: Sequence[float], about: str, seeds: Sequence[int] = (0,), shortened=TEN, **fixed) -> Recipe:
    """Runs of :func:`milestones` to step 100, or to others."""
    axes, fixed = {"rate": rates, "seed": list(seeds)}, {"rule": rule, "records": HUNDRED} | fixed
    return Recipe(milestones, axes, fixed, about, shortened=shortened)


def _long(
    rule: str, rates: Sequence[float], size: dict, about: str, seeds: Sequence[int] = (0,), first=START
) -> Recipe:
    """The same to step 10,000, most of them at a smaller size."""
    return _runs(rule, rates, about, seeds, first, records=LONG, **size)


def _until(rates: Sequence[float], checks: Sequence[int], about: str, **factors: Sequence[float]) -> Recipe:
    axes = {"rate": rates, **factors, "seed": [0, 1, 2]}
    fixed = {"rule": "Adam code", "checks": checks, **QUARTER}
    # On an Intel processor a run of a thousand steps was 0.035 deviations off an AMD's in its exponent.
    return Recipe(until_onset, axes, fixed, about, agreement=Agreement(elsewhere=0.1))


CODE, TEXT = ADAM = ["Adam code", "Adam text"]
GD, TO_200 = "GD code", [t for t in CHECKS if t < 200] + [200]
RECORDS: dict[str, Recipe] = {
    "hundred_adam": _runs(CODE, [1.0, 0.1], "Tables 1 and 4 to step 100", [0, 1]),
    "hundred_adam_text": _runs(TEXT, [1.0, 0.1], "Tables 1 and 4 to step 100 without bias correction"),
    "hundred_adam_small": Recipe(
        milestones,
        {"rule": ADAM, "rate": [0.01], "seed": [0]},
        {"records": HUNDRED},
        "Tables 1 and 4 to step 100: the smallest rate",
        shortened=TEN,
    ),
    "hundred_gd": _runs(GD, [2000.0], "Table 3 to step 100: the largest rate", [0, 1]),
    "hundred_gd_text": _runs("GD text", [2000.0], "Table 3 to step 100 with the text's loss"),
    "hundred_gd_small": Recipe(
        milestones,
        {"rule": [GD], "rate": [0.1, 1.0, 10.0, 100.0], "seed": [0]},
        {"records": HUNDRED},
        "Table 3 to step 100: rates below that of the first spike",
        shortened=TEN,
    ),
    "merging_gd": Recipe(
        milestones,
        {"seed": [3, 4]},
        {"rule": GD, "rate": 2000.0, "records": [*range(11), 20]},
        "Twenty steps of GD at rate 2000: two seeds more",
    ),
    "quarter_adam_scaled": _long(CODE, [0.2], QUARTER, "Rate 0.1 of the document's size, as far above the first spike"),
    "quarter_gd_scaled": _long(GD, [500.0], QUARTER, "Rate 2000 of the document's size, as far above the first spike"),
    "full_adam": _long(CODE, [0.1, 1.0], {}, "Tables 1 and 4 at full size to step 10000", first=TEN),
    "half_adam": _long(CODE, [0.1, 1.0], HALF, "Tables 1 and 4 at half the size to step 10000", [0, 1]),
    "quarter_adam": _long(CODE, [0.1, 1.0], QUARTER, "Tables 1 and 4 at a quarter of the size to step 10000", [0, 1]),
    "quarter_adam_small": _long(CODE, [0.01], QUARTER, "The same at a rate below that of the first spike"),
    "quarter_gd": _long(GD, [2000.0], QUARTER, "Table 3 at a quarter of the size to step 10000", [0, 1]),
    "quarter_gd_small": _long(GD, [100.0], QUARTER, "The same at a rate below that of the first spike"),
    "million": Recipe(
        milestones,
        {"rate": [SCALED, 1e-4, 0.01, 1e-5], "seed": [0]},
        {"rule": CODE, "records": MILLION, **TENTH},
        "Table 5 at a tenth of the size: a million steps of Adam",
        shortened=THOUSAND,
    ),
    "precision": Recipe(
        in_precision,
        {"dtype": ["float32", "float64"], "rate": [0.1, 1.0], "seed": [0]},
        {"records": LONG, **TENTH},
        "Ten thousand steps of Adam in two precisions",
        agreement=Agreement(elsewhere=0.1),
        steady={"rate": [0.1]},
    ),
    "onset_rates": _until(
        BETWEEN, CHECKS, "Steps to the tail at thirteen learning rates above that of the first spike"
    ),
    "route_adam_on": Recipe(
        milestones,
        {"seed": [0, 1, 2]},
        {"rule": CODE, "rate": 0.2, "records": [0, 25, 50, 60, 70, 80, 100]},
        "Figure 4 continued: a hundred steps of Adam at rate 0.2",
        shortened={"records": [0, 25]},
    ),
    "hundred_adam_more": _runs(CODE, [1.0], "Tables 1 and 4 to step 100, three draws more", [2, 3, 4]),
    "hundred_adam_large": _runs(CODE, [10.0, 100.0], "Table 4 to step 100: the large rates", shortened=ONE),
    "quarter_adam_large": _long(
        CODE, [10.0, 100.0], QUARTER, "Table 4 at a quarter of the size to step 10000: the large rates", first=ONE
    ),
    "quarter_gd_smaller": _long(
        GD, [0.1, 1.0, 10.0], QUARTER, "Table 3 at a quarter of the size to step 10000: the small rates"
    ),
}
