"""Where a document and its program differ, or may be read in two ways, the other reading is another computation.

The library follows the program to rounding (`test_authors_files.py`).  Each entry here takes another reading, and says
by how much its numbers are off at least, relative to the largest one.
"""

import numpy as np
import pytest

from experiments.authors_programs import files, heavy_tails, localization, simplicity_bias
from experiments.authors_programs import hidden_structure_kernels as kernels
from experiments.authors_programs import hidden_structure_orthants as orthants
from experiments.authors_programs import hidden_structure_polynomials as polynomials
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.train.first_layer import Adam


def first_layer(name, kind, **change):
    """Weights after ten steps of the spikes-to-heavy-tails program."""
    run = heavy_tails.trained(name, kind, **change)
    return heavy_tails.PROGRAM[name].difference(f"{kind}_W_10", run.network.W)


def recorded_rows(name):
    """Normalised after each update the losses are the same, and the recorded weights are not."""
    run, program = heavy_tails.trained(name, "normalised", normalise="after"), heavy_tails.PROGRAM[name]
    assert program.difference("normalised_loss", run.loss) < 1e-10
    rows = [run.values[step].W[:3] for step in program.settings["W_rows_steps"]]
    return program.difference("normalised_W_rows", np.stack(rows))


def losses_with_the_features_of_training(part):
    """The program divides by the root of the dimension twice."""
    student = heavy_tails.trained("gd", "plain").values[0]
    once = heavy_tails.evaluated("gd", student, scale=None)
    return abs(getattr(once, part)[0] / heavy_tails.PROGRAM["gd"][f"plain_ridge_{part}"][0] - 1)


def perceptron(name, **change):
    """Parameters after ten epochs of the polynomial program, one epoch of warm-up before them."""
    return polynomials.PROGRAM.difference(f"{name}_theta_10", polynomials.scheduled(name, **change).last.parameters[0])


def samples(key, *process):
    return localization.LAWS.difference(key, Process(40, localization.XI[0], *process).observed(localization.latent()))


def fields(name, **change):
    return localization.TRAINING.difference(f"{name}_W", localization.trained(name, **change).W[0, 1:])


def two_layers(name, run):
    """With half the loss descent takes twice as long, and lags."""
    networks, (snapshots, _) = simplicity_bias.trained(name, run, slower=2.0), simplicity_bias.steps(name, run)
    W = np.stack([networks[step].W for step in snapshots])
    return simplicity_bias.PROGRAM[name].difference(f"{run}_W", W)


#: Another reading: the relative difference from the program, and the least that it must be.
READINGS = {
    "heavy tails, half the loss": (lambda: first_layer("gd", "plain", factor=0.5), 0.5),
    "heavy tails, moments as they are": (lambda: first_layer("adam", "plain", rule=Adam(corrected=False)), 4.0),
    "heavy tails, no normalisation": (lambda: first_layer("gd", "normalised", normalise=None), 0.1),
    "heavy tails, normalised after GD's steps": (lambda: recorded_rows("gd"), 0.03),
    "heavy tails, normalised after Adam's steps": (lambda: recorded_rows("adam"), 0.03),
    "heavy tails, no schedule": (lambda: first_layer("gd", "normalised", decay=1.0), 0.4),
    "heavy tails, ridge loss in training": (lambda: losses_with_the_features_of_training("train"), 0.4),
    "heavy tails, ridge loss on test points": (lambda: losses_with_the_features_of_training("test"), 0.8),
    "kernels, gradients of the logit": (
        lambda: kernels.PROGRAM.difference("features", kernels.features("x", "logit")),
        30,
    ),
    "orthants, losses over points": (
        lambda: orthants.PROGRAM.difference("train_loss", orthants.run().training[0]),
        0.01,
    ),
    "orthants, no decay": (
        lambda: orthants.PROGRAM.difference(
            "decayed_theta_4", orthants.trained(orthants.PROGRAM["decayed_order"]).last.parameters[0]
        ),
        0.8,
    ),
    "localisation, latent covariance with one half": (
        lambda: files.difference(np.exp(-(nlgp.ring_distance(12) ** 2) / 8), localization.LAWS["latent_row_12_2"]),
        0.2,
    ),
    "localisation, samples within the interval": (lambda: samples("sample_3", 3, "raw"), 0.1),
    "localisation, unadjusted samples of variance one": (lambda: samples("sample_3_unadjusted", 3.0, "unit"), 0.1),
    "localisation, half the loss": (lambda: fields("relu", rate=5.0), 0.8),
    "localisation, half the loss of erf": (lambda: fields("erf", rate=5.0), 0.5),
    "localisation, labels of erf": (lambda: fields("relu", labels=(1.0, -1.0)), 2.0),
    "localisation, labels exchanged": (lambda: fields("relu", labels=(0.0, 1.0)), 2.0),
    "localisation, biases kept": (lambda: fields("relu", bounds=(0.0, 0.0)), 0.9),
}
for mode in polynomials.MODES:
    READINGS |= {
        f"polynomials, {mode}, nothing frozen": (lambda m=mode: perceptron(m, mode="regular", epochs=10), 0.15),
        f"polynomials, {mode}, no warm-up": (lambda m=mode: perceptron(m, warmup=0, epochs=10), 0.025),
        f"polynomials, {mode}, a warm-up that counts": (lambda m=mode: perceptron(m, epochs=8), 0.015),
        f"polynomials, {mode}, no decay": (lambda m=mode: perceptron(m, decay=0.0), 0.005),
    }
READINGS |= {
    f"simplicity bias, {name}, {run}, half the loss": (lambda name=name, run=run: two_layers(name, run), 0.5)
    for name, run in simplicity_bias.ALL_RUNS
}


@pytest.mark.parametrize("reading", READINGS)
def test_another_reading_is_another_computation(reading):
    found, least = READINGS[reading]
    assert found() > least
