"""Ten steps of the spikes-to-heavy-tails program and all that it measures on the way, against the library.

Where the document and its program differ, the library follows the program here; each test of a twin takes the other
reading and finds that it is a different computation.
"""

from functools import cache

import numpy as np
import pytest
import torch
from agreement.authors.files import Recording

from experiments.heavy_tails import overlaps, read_out
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
    return first_layer.train(*sample(program, "train"), student, dtype=torch.float64, **options | changes)


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


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in PROGRAM for key in PROGRAM[name].outputs])
def test_the_library_computes_what_the_program_computed(name, key):
    """Weights, losses, spectra and exponents; singular vectors deep in the bulk are less well conditioned."""
    tolerance = 1e-7 if key.endswith("diagonal") else 1e-10
    assert PROGRAM[name].difference(key, computed(name)[key]) < tolerance


@pytest.mark.parametrize(
    ("name", "key", "change", "least"),
    [
        ("gd", "plain_W_10", {"factor": 0.5}, 0.5),
        ("adam", "plain_W_10", {"rule": Adam(corrected=False)}, 4.0),
        ("gd", "normalised_W_10", {"normalise": None}, 0.1),
        ("gd", "normalised_W_10", {"decay": 1.0}, 0.4),
    ],
    ids=["half the loss", "moments as they are", "no normalisation", "no schedule"],
)
def test_another_step_is_another_trajectory(name, key, change, least):
    """The loss is the mean square without 1/2, Adam corrects the bias of its moments: both unlike the text."""
    run = trained(name, key.split("_")[0], **change)
    assert PROGRAM[name].difference(key, run.network.W) > least


@pytest.mark.parametrize("name", PROGRAM)
def test_weights_are_normalised_before_the_forward_pass_and_recorded_after_the_step(name):
    """Normalised after each update the losses are the same, and the recorded weights are not."""
    run = trained(name, "normalised", normalise="after")
    rows = np.stack([run.values[step].W[:3] for step in PROGRAM[name].settings["W_rows_steps"]])
    assert PROGRAM[name].difference("normalised_loss", run.loss) < 1e-10
    assert PROGRAM[name].difference("normalised_W_rows", rows) > 0.03


def test_the_program_divides_by_the_root_of_the_dimension_twice():
    """With the features of training the ridge loss at the start is 45 % lower, and that on test points 84 % higher."""
    program, once = PROGRAM["gd"], evaluated("gd", trained("gd", "plain").values[0], scale=None)
    assert once.train[0] / program["plain_ridge_train"][0] == pytest.approx(0.55, abs=0.01)
    assert once.test[0] / program["plain_ridge_test"][0] == pytest.approx(1.84, abs=0.01)
    assert once.alignment < 0.95 * program["plain_kta"][0]


def test_the_penalty_is_divided_by_the_width_and_the_read_out_fitted_to_the_probe():
    """A penalty that is not doubles the training loss; a fit to the training points has another loss on test points."""
    program, student = PROGRAM["gd"], trained("gd", "plain").values[0]
    penalty, width = program.settings["plain"]["reg_lambda"], len(program["a"])
    assert evaluated("gd", student, penalties=[penalty * width]).train[0] > 2 * program["plain_ridge_train"][0]
    trained_on, unseen = (sample(program, part) for part in ("train", "test"))
    fitted = read_out.evaluate(student, trained_on, unseen, [penalty], scale=student.scale**2)
    assert fitted.test[0] < 0.7 * program["plain_ridge_test"][0]
    assert fitted.alignment < 0.7 * program["plain_kta"][0]


def exponents_above(values: np.ndarray, cuts: range) -> list[tuple[float, float]]:
    """Exponent and *two-sided* Kolmogorov-Smirnov distance for every cut, in ascending order and from 0."""
    found = []
    for cut in cuts:
        logs = np.log(np.sort(values)[cut:])
        decay, steps = 1 / (logs - logs[0]).mean(), np.arange(len(logs) + 1) / len(logs)
        law = 1 - np.exp(-decay * (logs - logs[0]))
        found.append((1 + decay, max(np.abs(law - steps[:-1]).max(), np.abs(law - steps[1:]).max())))
    return found


@pytest.mark.parametrize("name", PROGRAM)
def test_exponents_are_of_the_density_above_one_cut_with_one_sided_steps(name):
    """A neighbouring cut, Hill's tail index and the two-sided distance all give other numbers."""
    program, spectra = PROGRAM[name], [esd.eigenvalues(student.W) for student in trained(name, "plain").values]
    middle = len(spectra[0]) // 2
    below, at, above = np.transpose(
        [[alpha for alpha, _ in exponents_above(values, range(middle - 1, middle + 2))] for values in spectra]
    )
    assert program.difference("plain_hill_alpha", at) < 1e-10
    assert min(program.difference("plain_hill_alpha", other) for other in (below, above)) > 0.03
    assert program.difference("plain_hill_alpha", at - 1) > 0.4
    two_sided = [min(exponents_above(values, range(len(values) - 1)), key=lambda fit: fit[1]) for values in spectra]
    alphas, distances = np.transpose(two_sided)
    assert program.difference("plain_ks_alpha", alphas) > 0.1
    assert program.difference("plain_ks_distance", distances) > 0.15
