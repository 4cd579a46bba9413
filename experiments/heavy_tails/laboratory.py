"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

The laboratory is the chapter's student and teacher at a fifth of the size, in float64: d = 200 inputs, h = 300
neurons, n = 800 points.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from experiments.heavy_tails import gradient_laws, read_out, teacher_student
from experiments.heavy_tails.route import cells as training_spectra
from experiments.heavy_tails.teacher_student import Draw
from shallow import nets, stats
from shallow.data import single_index
from shallow.data.single_index import Sample
from shallow.spectra import esd, rank_one, tails
from shallow.train import first_layer

Settings = dict[str, Any]
INPUTS, POINTS, NOISE = 200, 800, 0.3
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
        "width": 300,
        "seed": 0,
        "axis": "log",
    }
    return usual | changes


def first_spike_rate() -> float:
    """The slider's first rate at which theory has GD's spike 5 % above the edge of the bulk after one step."""
    wanted = gradient_laws.spike_rates(POINTS, INPUTS, h=300, gap=1.05)["GD"]
    return next(rate for rate in RATES if rate >= wanted)


#: key, the button's label, what to guess, what was found, settings.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "adam",
        "Ten steps of Adam",
        "The eigenvalues begin as one compact hump. What do ten large steps of Adam make of it?",
        "The first step makes a large spike; nine more fill the gap below it, and the exponent falls below 2.",
        settings(optimiser="Adam"),
    ),
    (
        "permuted",
        "The same with shuffled labels",
        "Labels in random order say nothing about the inputs. What of the picture goes away?",
        "Hardly anything: the spectra are nearly the same. But the first spike is turned at random.",
        settings(optimiser="Adam", labels="permuted"),
    ),
    (
        "spike",
        "One step of gradient descent",
        "One large step of gradient descent. How many eigenvalues leave the hump?",
        "One moves out of the bulk, towards the teacher; the others keep the law of noise.",
        settings(rate=first_spike_rate(), steps=1),
    ),
    (
        "before",
        "Before training",
        "The document's good models have exponents from 2 to 2.5. What has a network that has learned nothing?",
        "The law of noise: its exponent of 2.45 already lies in that range.",
        settings(steps=0),
    ),
    (
        "nothing",
        "A random matrix alone",
        "No network, no data: a random matrix six times as high as wide. What decides its exponent?",
        "The shape alone: the exponent follows from it.",
        settings(optimiser="none", width=1200),
    ),
]


def draw(chosen: Settings) -> Draw:
    """Teacher, samples and student: the streams of :func:`teacher_student.draw`, in float64."""
    seed, width = chosen["seed"], chosen["width"]
    teacher = single_index.random_teacher(stats.stream("heavy tails", seed, "teacher"), INPUTS)
    samples = single_index.split(teacher, POINTS, seed=f"heavy tails/{seed}", noise=NOISE, dtype=np.float64)
    student = nets.ntk(stats.stream("heavy tails", seed, "student"), width, INPUTS)
    if chosen["student"] == "softplus":
        student = nets.SoftplusStudent(student.W, student.a, student.scale)
    return Draw(teacher, samples, student)


def training_sample(drawn: Draw, chosen: Settings) -> Sample:
    """The points on which the first layer is trained, with their labels or with these in random order."""
    return training_spectra.relabelled(drawn.samples.train, chosen["labels"], chosen["seed"])


def predicted(chosen: Settings) -> float | None:
    """Largest eigenvalue after the first step by :mod:`gradient_laws`; None in the bulk, for softplus and untrained."""
    optimiser, text = chosen["optimiser"], chosen["update"] == "text"
    if optimiser == "none" or chosen["student"] != "tanh" or not chosen["steps"]:
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
    spectrum = esd.eigenvalues(student.W)
    numbers = {"exponent": tails.hill(spectrum), "largest": float(spectrum[0]), "second": float(spectrum[1])}
    if chosen["optimiser"] == "none":
        return numbers | dict.fromkeys(("train", "test", "similarity")), spectrum
    scale = teacher_student.evaluation_scale(student, chosen["features"])
    fitted = read_out.evaluate(student, drawn.samples.probe, drawn.samples.test, scale=scale)
    return numbers | {
        "train": float(fitted.train[0]),
        "test": float(fitted.test[0]),
        "similarity": read_out.similarity(student.W, drawn.teacher.directions),
    }, spectrum


def train(chosen: Settings) -> tuple[dict[str, list], list[np.ndarray]]:
    """The numbers of :func:`measured` at steps 0, 1, ..., by name, and the spectra.

    Cost: 15 ms a step on one core.
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
            trainer.step(chosen["rate"])
            found.append(measured(trainer.student, drawn, chosen))
    records, spectra = zip(*found, strict=True)
    return {name: [one[name] for one in records] for name in records[0]}, list(spectra)


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them.

    Numbers keep all bits; the first and the last spectrum are for drawing.  Cost: half a second.
    """
    presets = []
    for key, label, ask, note, chosen in PRESETS:
        values, spectra = train(chosen)
        arrays = {"initial": spectra[0], "spectrum": spectra[-1]}
        drawn = {name: [float(f"{value:.6g}") for value in spectrum] for name, spectrum in arrays.items()}
        book = {"values": values, "arrays": drawn, "checksum": None}
        presets.append({"key": key, "label": label, "ask": ask, "note": note, "settings": chosen, "run": book})
    return presets
