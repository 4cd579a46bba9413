"""Ten steps of the spikes-to-heavy-tails program and all that it measures on the way, against the library.

Where the document and its program differ, the library follows the program here; each test of a twin takes the other
reading and finds that it is a different computation.
"""

import numpy as np
import pytest

from experiments.authors_programs.heavy_tails import PROGRAM, evaluated, sample, trained
from experiments.heavy_tails import read_out
from shallow.spectra import esd
from shallow.train.first_layer import Adam


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
