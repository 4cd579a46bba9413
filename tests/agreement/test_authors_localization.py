"""Committees, nonlinear Gaussian processes and their covariances of the localization program, against the library."""

from functools import cache

import numpy as np
import pytest
import torch
from agreement.authors.files import Recording, difference
from fresh_batches import batches
from scipy.special import erfinv

from shallow import committee
from shallow import receptive_fields as fields
from shallow.committee import Committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.train import online

LAWS = Recording("localization_laws", {"sample_0.01", "sample_class", "start_40_40"})
TRAINING = Recording("localization_training", set())
SIMULATE = Recording("localization_simulate", {"x", "y", "x_evaluation", "y_evaluation", "evaluation_iteration"})
XI = (2.0, 1.0)


def outputs(program: Recording) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("key", program.outputs)


# Covariances and samples.


def latent() -> np.ndarray:
    r"""The Gaussian samples themselves: a gain of 0.01 keeps all their digits, $\mathrm{erf}(gz) \approx gz$."""
    gain = 0.01
    raw = Process(40, XI[0], gain, "raw").variance ** 0.5
    return erfinv(raw * LAWS["sample_0.01"]) / gain


def law(key: str) -> np.ndarray:
    """The library's value of an output, from the numbers in its key: pixels, xi and gain, or the gain of a sample."""
    kind, *numbers = key.split("_")
    if kind == "row":
        return Process(int(numbers[0]), float(numbers[1]), float(numbers[2])).covariance
    if kind == "latent":
        return Process(int(numbers[1]), float(numbers[2]), 1.0).kernel
    if kind == "matrix":
        return nlgp.circulant(law(key.replace("matrix", "row")))
    if kind == "start":
        return fields.inverse_participation_ratio(LAWS["start_40_40"])
    unit = Process(40, XI[0], float(numbers[0])).observed(latent())
    return unit / Process(40, XI[0], float(numbers[0]), "raw").variance ** 0.5 if "unadjusted" in numbers else unit


@outputs(LAWS)
def test_laws_and_samples_are_those_of_the_program(key):
    """First rows of covariances, samples of several gains from one latent sample, and participation ratios."""
    assert LAWS.difference(key, law(key)) < 1e-10


@pytest.mark.parametrize("xi", [2, 1])
def test_the_latent_covariance_has_no_factor_one_half_and_wraps_around(xi):
    row, distance = LAWS[f"latent_row_12_{xi}"], np.arange(12)
    assert difference(np.exp(-(nlgp.ring_distance(12) ** 2) / (2 * xi**2)), row) > 0.2
    assert difference(np.exp(-((distance / xi) ** 2)), row) > 0.3


@pytest.mark.parametrize(("gain", "least"), [(1, 0.3), (3, 0.1)])
def test_adjusted_samples_have_variance_one_and_do_not_fill_the_interval(gain, least):
    """`adjust=(-1, 1)` names an interval, and samples between -1 and 1 would be another law; so would the third one."""
    adjusted, bounded = LAWS[f"sample_{gain}"], Process(40, XI[0], gain, "raw").observed(latent())
    assert difference(bounded, adjusted) > least and np.abs(bounded).max() <= 1 < np.abs(adjusted).max()
    assert difference(Process(40, XI[0], gain, "mismatched").observed(latent()), adjusted) > 0.05


@pytest.mark.parametrize(("normalisation", "least"), [("unit", 0.1), ("raw", 0.2)])
def test_samples_that_are_not_adjusted_are_divided_by_the_variance(normalisation, least):
    """By Z squared: they have neither variance one nor the range of the error function."""
    assert LAWS.difference("sample_3_unadjusted", Process(40, XI[0], 3.0, normalisation).observed(latent())) > least


def test_the_start_is_a_truncated_normal_of_full_variance():
    """Cut at two standard deviations and rescaled: no weight lies beyond 2.274 of them, some do beyond 2."""
    W = LAWS["start_40_40"]
    deviation, cut = (2 / sum(W.shape)) ** 0.5, 2.274
    ours = committee.start([np.random.default_rng(1)], *W.shape, dtype=np.float64).W
    assert 2.2 * deviation < np.abs(W).max() < cut * deviation < 1.5 * cut * deviation < np.abs(ours).max()
    assert W.std() == pytest.approx(deviation, rel=0.04)
    assert np.abs(SIMULATE["weights"][0]).max() < cut * (2 / 32) ** 0.5 and not SIMULATE["bias"][0].any()


# Training on given batches.


def trained(name: str, **changes) -> online.Run:
    """The run of an activation, with or without biases; the loss has its factor 1/2, hence twice the rate."""
    setting, settings = TRAINING.settings[name], TRAINING.settings
    W0 = committee.start([np.random.default_rng(1)], settings["neurons"], settings["pixels"], dtype=np.float64).W
    networks = Committee(W0, np.zeros(W0.shape[:2]), setting["activation"])
    options = {"rate": 2 * setting["learning_rate"], "labels": tuple(setting["labels"])}
    options |= {} if setting["bias"] else {"bounds": (0.0, 0.0)}
    schedule = {"steps": settings["steps"], "batch": settings["batch"], "records": settings["ipr_steps"]}
    return online.train(networks, pair(), rngs=[stream()], **schedule, **options | changes)


def pair() -> online.Pair:
    return tuple(Process(TRAINING.settings["pixels"], xi, TRAINING.settings["gain"]) for xi in XI)


def stream() -> np.random.Generator:
    """The generator whose batches the program was fed with."""
    return np.random.default_rng(101)


@cache
def of_training() -> dict[str, np.ndarray]:
    """The library's value of every output, starts and batches from their streams."""
    found = {"x": batches(pair(), stream(), 100, TRAINING.settings["batch"], np.float64)}
    for name in ("relu", "relu_unbiased", "erf"):
        run = trained(name)
        W, b = run.W[0], run.b[0]
        found |= {"W0": W[0], f"{name}_W": W[1:], f"{name}_b": b[1:], f"{name}_loss": 2 * run.losses[0]}
        found[f"{name}_ipr"] = fields.inverse_participation_ratio(W)
    return found


@outputs(TRAINING)
def test_training_on_given_batches_is_that_of_the_program(key):
    """Weights, biases and participation ratios at seven steps of a hundred, and the loss before each."""
    assert TRAINING.difference(key, of_training()[key]) < 1e-10


@pytest.mark.parametrize(
    ("name", "change", "least"),
    [
        ("relu", {"rate": 5.0}, 0.8),
        ("relu_unbiased", {"rate": 5.0}, 0.9),
        ("erf", {"rate": 5.0}, 0.5),
        ("relu", {"labels": (1.0, -1.0)}, 2.0),
        ("relu", {"labels": (0.0, 1.0)}, 2.0),
        ("relu", {"bounds": (0.0, 0.0)}, 0.9),
    ],
)
def test_another_step_is_another_trajectory(name, change, least):
    """Half the rate, as for a loss with 1/2; labels of the other activation, or exchanged; biases that are kept."""
    assert TRAINING.difference(f"{name}_W", trained(name, **change).W[0, 1:]) > least


# A whole run of the program.


@cache
def descended(learning_rate: float, exchanged: bool = False) -> dict[str, np.ndarray]:
    """ReLU weights and biases at its evaluations, and losses: a plain loop, as the library draws its own batches."""
    x, y = torch.tensor(SIMULATE["x"]), torch.tensor(SIMULATE["y"], dtype=torch.float64)
    y = 1 - y if exchanged else y
    parameters = [torch.tensor(SIMULATE[key][0], requires_grad=True) for key in ("weights", "bias")]
    found = {"weights": [], "bias": [], "train_loss": []}
    for step in range(len(x) + 1):
        if step in SIMULATE["evaluation_iteration"]:
            for key, parameter in zip(("weights", "bias"), parameters):
                found[key].append(parameter.detach().numpy().copy())
        if step < len(x):
            loss = (torch.relu(x[step] @ parameters[0].T + parameters[1]).mean(dim=1) - y[step]).square().mean()
            found["train_loss"].append(loss.item())
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for parameter, gradient in zip(parameters, gradients):
                    parameter -= learning_rate * gradient
    return {key: np.array(values) for key, values in found.items()}


@cache
def of_simulate() -> dict[str, np.ndarray]:
    """Our value of every output: measures by the library, of the networks of the loop."""
    found, y = descended(5.0), SIMULATE["y_evaluation"]
    networks = Committee(found["weights"], found["bias"], "relu")
    f = networks.forward(SIMULATE["x_evaluation"])
    return found | {
        "evaluation_loss": ((f - y) ** 2).mean(axis=1),
        "evaluation_accuracy": ((f > 0.5) == y).mean(axis=1),
        "ipr": fields.inverse_participation_ratio(networks.W),
    }


@outputs(SIMULATE)
def test_a_run_of_the_program_is_plain_descent_on_what_it_drew(key):
    """Its accuracy is a mean in single precision."""
    assert SIMULATE.difference(key, of_simulate()[key]) < (1e-6 if key == "evaluation_accuracy" else 1e-10)


@pytest.mark.parametrize(("arguments", "least"), [((2.5,), 0.5), ((5.0, True), 1.4)], ids=["half", "exchanged"])
def test_half_the_loss_or_exchanged_labels_are_another_run(arguments, least):
    assert SIMULATE.difference("weights", descended(*arguments)["weights"]) > least
