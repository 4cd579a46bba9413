"""Ten steps of the spikes-to-heavy-tails program and all that it measures on the way, against the library.

Where the document and its program differ, the library follows the program here; each test of a twin takes the other
reading and finds that it is a different computation.
"""

from functools import cache

import numpy as np
import torch

from experiments.authors_programs.files import Recording
from experiments.heavy_tails import read_out
from experiments.heavy_tails.overlaps import cells as overlaps
from shallow.data.single_index import Sample
from shallow.nets import Student
from shallow.spectra import esd, tails
from shallow.train import first_layer
from shallow.train.first_layer import GD, Adam

INPUTS = {"W0", "a", "beta", *(f"{part}_{sample}" for part in "xy" for sample in ("train", "probe", "test"))}
PROGRAM = {name: Recording(f"heavy_tails_{name}", INPUTS) for name in ("gd", "adam")}
RULES = {"gd": GD(), "adam": Adam()}
VARIANTS = ("plain", "normalised")
STEPS = 10


def sample(program: Recording, name: str) -> Sample:
    return Sample(program[f"x_{name}"], program[f"y_{name}"])


def trained(name: str, variant: str, **changes) -> first_layer.Run:
    """The students after 0, 1, ..., 10 steps, with the program's conventions but for the changes."""
    program = PROGRAM[name]
    setting = program.settings[variant]
    W0, a = program["W0"], program["a"]
    options = {"rule": RULES[name], "rate": setting["lr"], "steps": STEPS, "records": range(STEPS + 1), "factor": 1.0}
    options["decay"] = setting.get("lr_scheduler_kwargs", {"gamma": 1.0})["gamma"]
    options["normalise"] = "before" if setting["enable_weight_normalization"] else None
    student = Student(W0, a, W0.shape[1] ** -0.5)
    options |= {"dtype": torch.float64, "device": "cpu"} | changes
    return first_layer.train(*sample(program, "train"), student, **options)


def evaluated(name: str, student: Student, **changes) -> read_out.Evaluation:
    """Ridge read-out on the probe sample, losses there and on the test sample; the scale is applied twice."""
    program = PROGRAM[name]
    penalty = program.settings["plain"]["reg_lambda"]
    options = {"penalties": [penalty], "scale": student.scale**2} | changes
    return read_out.evaluate(student, sample(program, "probe"), sample(program, "test"), **options)


def hill_distance(values: np.ndarray, cut: int) -> float:
    r"""Largest $|1 - (\lambda_{i+j}/\lambda_i)^{1-\alpha_i} - j/m|$ of Hill's fit; the library has that of its scan."""
    upper = np.sort(values)[cut:]
    return np.abs(1 - (upper / upper[0]) ** (1 - tails.hill(values)) - np.arange(len(upper)) / len(upper)).max()


def measured(name: str, variant: str) -> dict[str, np.ndarray]:
    """All that the program records of one run, by key."""
    run, settings = trained(name, variant), PROGRAM[name].settings
    W = np.stack([student.W for student in run.values])
    spectra = np.stack([esd.eigenvalues(weights) for weights in W])
    fits = [tails.scan(values) for values in spectra]
    evaluations = [evaluated(name, student) for student in run.values]
    return {
        "W_1": W[1],
        "W_10": W[10],
        "W_rows": W[settings["W_rows_steps"], :3],
        "loss": run.loss,
        "spectrum": spectra[settings["spectrum_steps"]],
        "spectral_norm": spectra[:, 0],
        "frobenius": spectra.sum(axis=1),
        "ridge_train": np.array([found.train[0] for found in evaluations]),
        "ridge_test": np.array([found.test[0] for found in evaluations]),
        "kta": np.array([found.alignment for found in evaluations]),
        "similarity": np.array([read_out.similarity(weights, PROGRAM[name]["beta"]) for weights in W]),
        "hill_alpha": np.array([tails.hill(values) for values in spectra]),
        "hill_distance": np.array([hill_distance(values, len(values) // 2) for values in spectra]),
        "ks_alpha": np.array([fit.alpha for fit in fits]),
        "ks_distance": np.array([fit.distance for fit in fits]),
    }


@cache
def computed(name: str) -> dict[str, np.ndarray]:
    """The library's value of every output of a file."""
    found = {f"{variant}_{key}": value for variant in VARIANTS for key, value in measured(name, variant).items()}
    W0, W1 = PROGRAM[name]["W0"], found["plain_W_1"]
    for matrix, W in (("W0", W0), ("W1", W1)):
        triplets = esd.singular_vectors(W), esd.singular_vectors(W1 - W0)
        for side, vectors in (("left", "U"), ("right", "V")):
            overlap = overlaps.overlap(*(getattr(one, vectors) for one in triplets))
            found[f"overlap_{matrix}_{side}"] = overlap.matrix[:5, :5]
            found[f"overlap_{matrix}_{side}_diagonal"] = np.diagonal(overlap.matrix)
    return found
