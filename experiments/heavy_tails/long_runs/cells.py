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


@releases_gil
def milestones(seed: int, *, rule: str, rate: float, records: Sequence[int], **setting) -> xr.Dataset:
    r"""Spectra of one run at the steps `records`, ascending; the last one is its length.

    Args:
        setting: that of :func:`teacher_student.draw`.

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
        setting: that of :func:`teacher_student.draw`.

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
                update = trainer.student.W - drawn.student.W
                u, s, v = (part[..., 0] for part in esd.top(update))
                trainer.W += torch.from_numpy(((spike_factor - 1) * s * np.outer(u, v)).astype(np.float32))
        now = shapes.shape(esd.eigenvalues(trainer.student.W), h, d)
        for name in found.data_vars:
            found[name][i] = now.ht_onset if name == "onset" else getattr(now, name)
        if now.ht_onset:
            break
    return found


@releases_gil
def with_spike(
    seed: int, *, rule: str, rate: float, records: Sequence[int], spike_factor: float = 1.0, **setting
) -> xr.Dataset:
    """As :func:`milestones`, with the leading singular part of the first update times `spike_factor`, 0 to remove it.

    The moments of Adam and all later steps stay as they are.
    """
    _check_steps("records", records, least=0)
    drawn = draw(seed, **setting)
    trainer, seen = teacher_student.trainer(drawn, rule), []
    for t in range(records[-1] + 1):
        if t in records:
            eigenvalues = esd.eigenvalues(trainer.student.W)
            trainer.gradient()  # for the loss
            seen.append(xr.Dataset({"eigenvalues": ("k", eigenvalues), "loss": float(trainer.loss)}))
        if t == records[-1]:
            break
        trainer.step(rate)
        if t == 0:
            u, s, v = (part[..., 0] for part in esd.top(trainer.student.W - drawn.student.W))
            trainer.W += torch.from_numpy(((spike_factor - 1) * s * np.outer(u, v)).astype(np.float32))
    return xr.concat(seen, "step").assign_coords(step=list(records))


@releases_gil
def without_leading(seed: int, *, rule: str, rate: float, steps: int, **setting) -> xr.Dataset:
    """As :func:`milestones` at every step, with the leading singular part of every update left out.

    The moments of Adam stay as they are; no update can then put an eigenvalue far beyond the others by that part.
    """
    drawn = draw(seed, **setting)
    trainer, seen = teacher_student.trainer(drawn, rule), []
    for t in range(steps + 1):  # noqa: B007
        before = trainer.student.W
        loss = float(trainer.step(rate))
        seen.append(xr.Dataset({"eigenvalues": ("k", esd.eigenvalues(before)), "loss": loss}))
        u, s, v = (part[..., 0] for part in esd.top(trainer.student.W - before))
        trainer.W -= torch.from_numpy((s * np.outer(u, v)).astype(np.float32))
    return xr.concat(seen, "step").assign_coords(step=range(steps + 1))


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
ADAM = ["Adam code", "Adam text"]
#: Rate 0.01 of the document's size in units of the threshold of the first spike, $(hd)^{-1/4}$, at the tenth.
SCALED = round(0.01 * (1500 * 1000 / (150 * 100)) ** 0.25, 4)
#: Learning rates between that of the first spike and ten times it, by equal factors.
BETWEEN = [round(float(rate), 3) for rate in np.geomspace(0.2, 2.0, 13)]
#: Compared when a long cell is recomputed: its first steps.
TEN, START, THOUSAND = ({"records": steps} for steps in ([0, 1, 10], HUNDRED, [0, 1, 1000]))
RECORDS: dict[str, Recipe] = {
    "hundred_adam": Recipe(
        milestones,
        {"rate": [1.0, 0.1], "seed": [0, 1]},
        {"rule": "Adam code", "records": HUNDRED},
        "Tables 1 and 4 to step 100",
        shortened=TEN,
    ),
    "hundred_adam_text": Recipe(
        milestones,
        {"rate": [1.0, 0.1], "seed": [0]},
        {"rule": "Adam text", "records": HUNDRED},
        "Tables 1 and 4 to step 100 without bias correction",
        shortened=TEN,
    ),
    "hundred_adam_small": Recipe(
        milestones,
        {"rule": ADAM, "rate": [0.01], "seed": [0]},
        {"records": HUNDRED},
        "Tables 1 and 4 to step 100: the smallest rate",
        shortened=TEN,
    ),
    "hundred_gd": Recipe(
        milestones,
        {"rate": [2000.0], "seed": [0, 1]},
        {"rule": "GD code", "records": HUNDRED},
        "Table 3 to step 100: the largest rate",
        shortened=TEN,
    ),
    "hundred_gd_text": Recipe(
        milestones,
        {"rate": [2000.0], "seed": [0]},
        {"rule": "GD text", "records": HUNDRED},
        "Table 3 to step 100 with the text's loss",
        shortened=TEN,
    ),
    "hundred_gd_small": Recipe(
        milestones,
        {"rule": ["GD code"], "rate": [0.1, 1.0, 10.0, 100.0], "seed": [0]},
        {"records": HUNDRED},
        "Table 3 to step 100: rates below that of the first spike",
        shortened=TEN,
    ),
    "merging_gd": Recipe(
        milestones,
        {"seed": [3, 4]},
        {"rule": "GD code", "rate": 2000.0, "records": [*range(11), 20]},
        "Twenty steps of GD at rate 2000: two seeds more",
    ),
    "quarter_adam_scaled": Recipe(
        milestones,
        {"rate": [0.2], "seed": [0]},
        {"rule": "Adam code", "records": LONG, **QUARTER},
        "Rate 0.1 of the document's size, as far above the first spike",
        shortened=START,
    ),
    "quarter_gd_scaled": Recipe(
        milestones,
        {"rate": [500.0], "seed": [0]},
        {"rule": "GD code", "records": LONG, **QUARTER},
        "Rate 2000 of the document's size, as far above the first spike",
        shortened=START,
    ),
    "full_adam": Recipe(
        milestones,
        {"rate": [0.1, 1.0], "seed": [0]},
        {"rule": "Adam code", "records": LONG},
        "Tables 1 and 4 at full size to step 10000",
        shortened=TEN,
    ),
    "half_adam": Recipe(
        milestones,
        {"rate": [0.1, 1.0], "seed": [0, 1]},
        {"rule": "Adam code", "records": LONG, **HALF},
        "Tables 1 and 4 at half the size to step 10000",
        shortened=START,
    ),
    "quarter_adam": Recipe(
        milestones,
        {"rate": [0.1, 1.0], "seed": [0, 1]},
        {"rule": "Adam code", "records": LONG, **QUARTER},
        "Tables 1 and 4 at a quarter of the size to step 10000",
        shortened=START,
    ),
    "quarter_adam_small": Recipe(
        milestones,
        {"rate": [0.01], "seed": [0]},
        {"rule": "Adam code", "records": LONG, **QUARTER},
        "The same at a rate below that of the first spike",
        shortened=START,
    ),
    "quarter_gd": Recipe(
        milestones,
        {"rate": [2000.0], "seed": [0, 1]},
        {"rule": "GD code", "records": LONG, **QUARTER},
        "Table 3 at a quarter of the size to step 10000",
        shortened=START,
    ),
    "quarter_gd_small": Recipe(
        milestones,
        {"rate": [100.0], "seed": [0]},
        {"rule": "GD code", "records": LONG, **QUARTER},
        "The same at a rate below that of the first spike",
        shortened=START,
    ),
    "million": Recipe(
        milestones,
        {"rate": [SCALED, 1e-4, 0.01, 1e-5], "seed": [0]},
        {"rule": "Adam code", "records": MILLION, **TENTH},
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
    "onset_factor": Recipe(
        until_onset,
        {"rate": [1.0, 0.2], "spike_factor": [1.0, 0.0, 0.5, 2.0, 4.0], "seed": [0, 1, 2]},
        {"rule": "Adam code", "checks": [t for t in CHECKS if t < 200] + [200], **QUARTER},
        "Steps to the tail with the first spike changed by hand",
    ),
    "onset_rates": Recipe(
        until_onset,
        {"rate": BETWEEN, "seed": [0, 1, 2]},
        {"rule": "Adam code", "checks": CHECKS, **QUARTER},
        "Steps to the tail at thirteen learning rates above that of the first spike",
    ),
    "onset_factor_between": Recipe(
        until_onset,
        {"rate": [0.3, 0.5], "spike_factor": [0.0, 0.5, 1.0, 2.0, 4.0], "seed": [0, 1, 2]},
        {"rule": "Adam code", "checks": [t for t in CHECKS if t < 200] + [200], **QUARTER},
        "Steps to the tail with the first spike changed by hand, two more rates",
    ),
    "without_spike": Recipe(
        with_spike,
        {"rate": [0.2, 1.0], "spike_factor": [0.0, 1.0], "seed": [0, 1, 2]},
        {"rule": "Adam code", "records": list(range(11))},
        "Ten steps of Adam with the spike of the first step and without it",
    ),
    "no_spikes": Recipe(
        without_leading,
        {"rate": [0.2, 1.0], "seed": [0, 1, 2]},
        {"rule": "Adam code", "steps": 10},
        "Ten steps of Adam without the leading part of any update",
    ),
    "route_adam_on": Recipe(
        milestones,
        {"seed": [0, 1, 2]},
        {"rule": "Adam code", "rate": 0.2, "records": [0, 25, 50, 60, 70, 80, 100]},
        "Figure 4 continued: a hundred steps of Adam at rate 0.2",
        shortened={"records": [0, 25]},
    ),
    "hundred_adam_more": Recipe(
        milestones,
        {"rate": [1.0], "seed": [2, 3, 4]},
        {"rule": "Adam code", "records": HUNDRED},
        "Tables 1 and 4 to step 100, three draws more",
        shortened=TEN,
    ),
    "hundred_adam_large": Recipe(
        milestones,
        {"rate": [10.0, 100.0], "seed": [0]},
        {"rule": "Adam code", "records": HUNDRED},
        "Table 4 to step 100: the large rates",
        shortened={"records": [0, 1]},
    ),
    "quarter_adam_large": Recipe(
        milestones,
        {"rate": [10.0, 100.0], "seed": [0]},
        {"rule": "Adam code", "records": LONG, **QUARTER},
        "Table 4 at a quarter of the size to step 10000: the large rates",
        shortened={"records": [0, 1]},
    ),
    "quarter_gd_smaller": Recipe(
        milestones,
        {"rate": [0.1, 1.0, 10.0], "seed": [0]},
        {"rule": "GD code", "records": LONG, **QUARTER},
        "Table 3 at a quarter of the size to step 10000: the small rates",
        shortened=START,
    ),
}
