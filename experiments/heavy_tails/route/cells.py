"""Spectra along a training run: from the random matrix over bulk and spike to the heavy tail, step by step.

No read-out is evaluated.  Two variants: labels that say nothing about the inputs (is the spike's alignment needed?),
and mini-batches (what does gradient noise add?).
Source: Kothapalli et al., "From Spikes to Heavy Tails", Sections 5.1 and 6, Figure 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import read_out, shapes, teacher_student
from experiments.heavy_tails.overlaps import cells as overlaps
from shallow import checks, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.single_index import Sample
from shallow.nets import Student
from shallow.spectra import esd, marchenko_pastur

LABELS = ("true", "permuted", "Gaussian")
#: The steps that the ledger looks at, and every one of the first ten.
LOOKS = (*range(11), 20, 50)
VERDICTS = ("spike", "single_spike", "ht_onset", "ht")
EDGE_UNITS = 5  # Tracy-Widom units beyond the edge that hold all eigenvalues of a random matrix


def relabelled(sample: Sample, labels: str, seed: int) -> Sample:
    """The sample with its labels: the "true" ones, "permuted" over the points, or "Gaussian" of their mean and sd."""
    checks.one_of(LABELS, labels=labels)
    rng = stats.stream("heavy tails", seed, "labels", labels)
    y = sample.y
    if labels == "permuted":
        y = rng.permutation(y)
    if labels == "Gaussian":
        y = rng.normal(y.mean(), y.std(), len(y)).astype(y.dtype)
    return Sample(sample.x, y)


def students(
    drawn: teacher_student.Draw, rule: str, rate: float, steps: int, *, labels: str = "true", seed: int = 0
) -> Iterator[tuple[Student, float]]:
    """Pairs of the students at t = 0, 1, ..., `steps` and the first-stage loss there (NaN at the last).

    One pair at a time, so that few weights are in memory; `seed` is that of the labels.
    """
    trainer = teacher_student.trainer(drawn, rule, sample=relabelled(drawn.samples.train, labels, seed))
    for _ in range(steps):
        student = trainer.student
        yield student, float(trainer.step(rate))
    yield trainer.student, float("nan")


def _look(student: Student, drawn: teacher_student.Draw) -> dict:
    """What is kept of a student: its eigenvalues and its similarity to the teacher."""
    return {
        "eigenvalues": ("k", esd.eigenvalues(student.W)),
        "similarity": ((), read_out.similarity(student.W, drawn.teacher.directions)),
    }


@releases_gil
def path(
    seed: int, *, rule: str, rate: float, records: Sequence[int] = LOOKS, labels: str = "true", **setting
) -> xr.Dataset:
    r"""Spectra of one run at the steps `records`, ascending.

    Returns:
        eigenvalues (step, k): of $W_t^\top W_t$, descending;
        similarity (step): of the first right singular vector to the teacher's direction;
        loss (time): of the first stage before each step, with the factor of the rule.

    Cost: 0.15 s per step and 0.2 s per record on one core at n = 2000.
    """
    records = [int(t) for t in records]
    drawn = teacher_student.draw(seed, **setting)
    seen, loss = [], []
    for t, (student, before) in enumerate(students(drawn, rule, rate, records[-1], labels=labels, seed=seed)):
        loss.append(before)
        if t in records:
            seen.append(xr.Dataset(_look(student, drawn)))
    return xr.concat(seen, "step").assign_coords(step=records).assign(loss=("time", np.array(loss[:-1])))


@releases_gil
def batches(
    seed: int, *, batch: int, rate: float, rule: str = "Adam code", records: Sequence[int] = (1, 2, 5, 10), **setting
) -> xr.Dataset:
    """As :func:`path`, with a gradient of `batch` points in every step: successive parts of shuffled passes.

    All n points make the full batch, up to the order of the sums.
    """
    records = [int(t) for t in records]
    drawn = teacher_student.draw(seed, **setting)
    x, y = drawn.samples.train
    checks.integers(1, len(y), batch=batch)
    rng = stats.stream("heavy tails", seed, "batches", batch)
    order, before, seen = np.empty(0, dtype=int), None, []
    for t in range(records[-1]):
        if len(order) < batch:
            order = rng.permutation(len(y))
        rows, order = order[:batch], order[batch:]
        trainer = teacher_student.trainer(drawn, rule, sample=Sample(x[rows], y[rows]))
        if before is not None:
            trainer.W, trainer.state, trainer.taken = before.W, before.state, t
        trainer.step(rate)
        before = trainer
        if t + 1 in records:
            seen.append(xr.Dataset(_look(trainer.student, drawn)))
    return xr.concat(seen, "step").assign_coords(step=records)


def outliers(values: np.ndarray, h: int, d: int) -> int:
    """Number of eigenvalues above the edge of the Marchenko-Pastur law fitted to a spectrum, widened by five units."""
    law = marchenko_pastur.fit(values, h, d)
    return int((np.asarray(values) > law.edges[1] + EDGE_UNITS * law.tracy_widom_unit).sum())


def shapes_of(found: xr.Dataset) -> xr.Dataset:
    r"""The numbers and verdicts of :func:`shapes.shape` for every spectrum of a dataset, over its other dimensions.

    Variables: spike_ratio, d_mp (without $\lambda_1$), hill_excl, share (of $\lambda_1$ in the trace), largest, rest
    (the trace without $\lambda_1$), spike, single_spike, ht_onset, ht.  Cost: 6 ms per spectrum.
    """

    def numbers(values: np.ndarray) -> np.ndarray:
        s, largest, total = shapes.shape(values, 1500, 1000), values[0], values.sum()
        of_spike = largest / total, largest, total - largest
        flags = [getattr(s, name) for name in VERDICTS]
        return np.array([s.spike_ratio, s.d_mp_excl, s.hill_excl, *of_spike, *flags], dtype=float)

    names = ["spike_ratio", "d_mp", "hill_excl", "share", "largest", "rest", *VERDICTS]
    table = xr.apply_ufunc(
        numbers, found.eigenvalues, input_core_dims=[["k"]], output_core_dims=[["number"]], vectorize=True
    )
    table = table.assign_coords(number=names).to_dataset("number")
    return table.assign({name: table[name] > 0 for name in VERDICTS})


SEEDS, NOTHING = [0, 1, 2], ["permuted", "Gaussian"]
FIFTY_GD, FIFTY_ADAM = {"rate": 2000.0, "records": list(LOOKS)}, {"rate": 0.2, "records": list(LOOKS)}
TEN = {"rate": 1.0, "records": list(range(11))}
RECORDS: dict[str, Recipe] = {
    "route_adam": Recipe(
        path, {"seed": SEEDS}, {"rule": "Adam code", **FIFTY_ADAM}, "Figure 4: fifty steps of Adam at rate 0.2"
    ),
    "route_adam_text": Recipe(
        path, {"seed": [0]}, {"rule": "Adam text", **FIFTY_ADAM}, "Figure 4, Adam without bias correction"
    ),
    "route_gd": Recipe(path, {"seed": SEEDS}, {"rule": "GD code", **FIFTY_GD}, "Fifty steps of GD at rate 2000"),
    "route_ten": Recipe(path, {"seed": SEEDS}, {"rule": "Adam code", **TEN}, "Ten steps of Adam at rate 1"),
    "labels_adam": Recipe(
        path,
        {"labels": NOTHING, "rate": [1.0, 10.0], "seed": SEEDS},
        {"rule": "Adam code", "records": [1, 10]},
        "Ten steps of Adam on labels that say nothing",
        steady={"rate": [1.0]},
    ),
    "labels_gd": Recipe(
        path,
        {"labels": NOTHING, "seed": SEEDS},
        {"rule": "GD code", "rate": 2000.0, "records": [1, 10]},
        "Ten steps of GD on labels that say nothing",
    ),
    "batches": Recipe(
        batches,
        {"batch": [50, 200, 500, 2000], "rate": [0.1, 1.0], "seed": SEEDS},
        about="Ten steps of Adam in mini-batches",
    ),
    "spike_movement_ten": Recipe(
        overlaps.drop,
        {"seed": list(range(5, 15))},
        {"rule": "GD code"},
        "Figure 27: the largest drop of the spike, ten draws more",
    ),
}
