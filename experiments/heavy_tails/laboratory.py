"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

The laboratory is the chapter's student and teacher at a fifth of the size, in float64: d = 200 inputs, h = 300
neurons, n = 800 points.  Its read-out has the ridge constant that is best on a validation sample.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from experiments.heavy_tails import gradient_laws, read_out, teacher_student
from experiments.heavy_tails.route import cells as training_spectra
from experiments.heavy_tails.teacher_student import Draw
from shallow import checks, nets, stats
from shallow.data import single_index
from shallow.data.single_index import Sample, Split
from shallow.kernels import ridge
from shallow.spectra import esd, nulls, rank_one, tails
from shallow.train import first_layer

Settings = dict[str, Any]
INPUTS, POINTS, NOISE = 200, 800, 0.3
#: Of the test points those on which the ridge constant is chosen, and all.
VALIDATION, TEST = 400, 1600
PENALTIES = np.logspace(-6, 4, 41)
#: What may be cut out of every step.
CUTS = ("nothing", "gradient", "update")
#: The slider's learning rates: ten in a decade.
RATES = tuple(float(f"{10 ** (k / 10 - 3):.2g}") for k in range(71))


def settings(**changes: Any) -> Settings:
    """Settings of the laboratory: what is usual except for `changes`."""
    usual = {
        "optimiser": "GD",
        "rate": 1.0,
        "steps": 10,
        "labels": "true",
        "student": "tanh",
        "update": "code",
        "features": "code",
        "cut": "nothing",
        "width": 300,
        "seed": 0,
        "axis": "log",
    }
    return usual | changes


#: The preset with whose run the page opens.
OPENING = "adam"
#: key, the button's label, what to guess, what was found, settings.  Means are over the seeds 0 to 9.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "nothing",
        "A random matrix alone",
        "No network, no data: a random matrix six times as high as wide. What decides its exponent?",
        "The shape alone: the exponent follows from it.",
        settings(optimiser="none", width=1200),
    ),
    (
        "before",
        "Before training",
        "The document's good models have exponents from 2 to 2.5. What has a network that has learned nothing?",
        "The law of noise: its exponent of 2.45 already lies in that range.",
        settings(steps=0),
    ),
    (
        "spike",
        "One step",
        "One large step of gradient descent. How many eigenvalues leave the hump?",
        "One, near where theory says, and its vector points to the teacher. The others keep the law of noise. "
        "The test loss falls by 3.5 % (mean of ten draws).",
        settings(rate=630.0, steps=1),
    ),
    (
        "adam",
        "Ten steps",
        "The eigenvalues begin as one compact hump. What do ten large steps of Adam make of it?",
        "The first step makes a large spike; nine more widen the bulk below it, and the exponent falls below 2. "
        "But the direction is lost, and the test loss rises by 1.2 % (mean of ten draws).",
        settings(optimiser="Adam"),
    ),
    (
        "permuted",
        "Shuffled labels",
        "Labels in random order say nothing about the inputs. What of the picture goes away?",
        "Hardly anything: the bulk is as wide. But the first spike is turned at random.",
        settings(optimiser="Adam", labels="permuted"),
    ),
    (
        "cut_before",
        "Cut before Adam divides",
        "The leading pair of every gradient is cut out before Adam divides: no large spike. Is the bulk wide?",
        "Yes, if less: the exponent falls to 2.15, and entries permuted within columns have that of noise. Without "
        "the direction the test loss rises by 3.4 % (mean of ten draws).",
        settings(optimiser="Adam", cut="gradient"),
    ),
    (
        "cut_after",
        "Cut after it",
        "The leading pair is cut out of every update, after Adam has divided. Is the bulk still wide?",
        "Wider. But entries permuted within columns have the same exponent: this cut makes columns unequal, and the "
        "exponent shows no more than that.",
        settings(optimiser="Adam", cut="update"),
    ),
    (
        "small",
        "A tenth of the rate",
        "Ten steps of Adam with a tenth of the rate. What do exponent and test loss do?",
        "The exponent remains that of noise, and the test loss falls by 2.5 % (mean of ten draws): a direction "
        "without a wide bulk. Who looks at the exponent misses it.",
        settings(optimiser="Adam", rate=0.1),
    ),
]


def opening() -> Settings:
    """The settings of the preset with which the page opens."""
    return next(chosen for key, *_, chosen in PRESETS if key == OPENING)


def draw(chosen: Settings) -> Draw:
    """Teacher, samples and student: the streams of :func:`teacher_student.draw`, in float64."""
    seed, width = chosen["seed"], chosen["width"]
    teacher = single_index.random_teacher(stats.stream("heavy tails", seed, "teacher"), INPUTS)
    options = {"noise": NOISE, "test": TEST, "dtype": np.float64}
    samples = single_index.split(teacher, POINTS, seed=f"heavy tails/{seed}", **options)
    student = nets.ntk(stats.stream("heavy tails", seed, "student"), width, INPUTS)
    if chosen["student"] == "softplus":
        student = nets.SoftplusStudent(student.W, student.a, student.scale)
    return Draw(teacher, samples, student)


def training_sample(drawn: Draw, chosen: Settings) -> Sample:
    """The points on which the first layer is trained, with their labels or with these in random order."""
    return training_spectra.relabelled(drawn.samples.train, chosen["labels"], chosen["seed"])


def predicted(chosen: Settings) -> float | None:
    """Largest eigenvalue after the first step by :mod:`gradient_laws`; None in the bulk and where there is no law.

    There is none for softplus, without the leading pair, and without training.
    """
    optimiser, text = chosen["optimiser"], chosen["update"] == "text"
    if optimiser == "none" or chosen["student"] != "tanh" or chosen["cut"] != "nothing" or not chosen["steps"]:
        return None
    h, d = chosen["width"], INPUTS
    entries = gradient_laws.entries(POINTS, d, noise=NOISE)
    if chosen["labels"] == "permuted":  # nothing of the teacher's direction is left, the labels' size is
        of_teacher = (gradient_laws.SLOPE * single_index.moments("softplus").slope) ** 2
        entries = dataclasses.replace(entries, labels=entries.labels - of_teacher)
    norm = {
        "GD": (1 if text else 2) * np.sqrt(entries.shared / d),
        "Adam": entries.signs * np.sqrt(h * d) * (np.sqrt(10) if text else 1),
    }[optimiser]
    square = gradient_laws.effective_square(
        chosen["rate"] * norm, d, overlap=entries.overlap[optimiser], tilt=gradient_laws.TILT[optimiser]
    )
    if square <= rank_one.threshold(h, d) ** 2:
        return None
    return float(rank_one.spike(np.sqrt(square), h, d).eigenvalue)


def measured(student: nets.Student, drawn: Draw, chosen: Settings) -> tuple[dict, np.ndarray]:
    """The numbers that the laboratory shows of a student, and the eigenvalues of W^T W, descending."""
    spectrum, orders = esd.eigenvalues(student.W), stats.stream("heavy tails", chosen["seed"], "within columns")
    numbers = {
        "exponent": tails.hill(spectrum),
        "null": tails.hill(esd.eigenvalues(nulls.permuted_within_columns(student.W, orders))),
        "largest": float(spectrum[0]),
        "second": float(spectrum[1]),
    }
    if chosen["optimiser"] == "none":
        return numbers | dict.fromkeys(("train", "test", "penalty", "similarity")), spectrum
    numbers |= tuned(student, drawn.samples, teacher_student.evaluation_scale(student, chosen["features"]))
    return numbers | {"similarity": read_out.similarity(student.W, drawn.teacher.directions)}, spectrum


def tuned(student: nets.Student, samples: Split, scale: float) -> dict[str, float]:
    """Losses of the ridge read-out on the points that it is fitted to and on unseen ones, and its constant.

    The constant is that of :data:`PENALTIES` which is best on the first :data:`VALIDATION` of the test points; the
    test loss is that on the others.
    """
    fitted, unseen = (student.features(sample.x, scale) for sample in (samples.probe, samples.test))
    weights = ridge.weights_path(fitted, samples.probe.y, PENALTIES / len(student.a))
    errors = (unseen @ weights - samples.test.y[:, None]) ** 2
    best = int(errors[:VALIDATION].mean(axis=0).argmin())
    return {
        "train": ridge.mean_square(fitted, samples.probe.y, weights[:, best]),
        "test": float(errors[VALIDATION:, best].mean()),
        "penalty": float(PENALTIES[best]),
    }


def step(trainer: first_layer.Trainer, rate: float, cut: str) -> None:
    """One step without the leading singular pair of the "gradient" or of the "update", or with "nothing" cut.

    That of the gradient is cut before the optimiser divides, that of the update after it: :mod:`surgery`, in float64.
    """
    checks.one_of(CUTS, cut=cut)
    before, gradient = trainer.W.clone(), trainer.gradient()
    if cut == "gradient":
        gradient = gradient - leading(gradient)
    trainer.update(gradient, rate)
    if cut == "update":
        trainer.W -= leading(trainer.W - before)


def leading(matrix: torch.Tensor) -> torch.Tensor:
    """The part s_1 u_1 v_1^T of a matrix."""
    u, s, v = (part[..., 0] for part in esd.top(matrix.numpy()))
    return torch.from_numpy(s * np.outer(u, v))


def train(chosen: Settings) -> tuple[dict[str, list], list[np.ndarray]]:
    """The numbers of :func:`measured` at steps 0, 1, ..., by name, and the spectra.

    Cost: 40 ms a step on one core.
    """
    drawn = draw(chosen)
    found = [measured(drawn.student, drawn, chosen)]
    if chosen["optimiser"] != "none":
        optimiser, factor = teacher_student.RULES[f"{chosen['optimiser']} {chosen['update']}"]
        kind = first_layer.SoftplusTrainer if chosen["student"] == "softplus" else first_layer.Trainer
        sample = training_sample(drawn, chosen)
        options = {"factor": factor, "dtype": torch.float64} | teacher_student.PYTORCH
        trainer = kind(*sample, drawn.student, optimiser, **options)
        for _ in range(chosen["steps"]):
            step(trainer, chosen["rate"], chosen["cut"])
            found.append(measured(trainer.student, drawn, chosen))
    records, spectra = zip(*found, strict=True)
    return {name: [one[name] for one in records] for name in records[0]}, list(spectra)


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them.

    Numbers keep all bits; the first and the last spectrum are for drawing.  Cost: four seconds.
    """
    presets = []
    for key, label, ask, note, chosen in PRESETS:
        values, spectra = train(chosen)
        arrays = {"initial": spectra[0], "spectrum": spectra[-1]}
        drawn = {name: [float(f"{value:.5g}") for value in spectrum] for name, spectrum in arrays.items()}
        book = {"values": values, "arrays": drawn, "checksum": None}
        said = {"key": key, "label": label, "ask": ask, "note": note}
        presets.append(said | {"opens": key == OPENING, "settings": chosen, "run": book})
    return presets
