"""Committees, nonlinear Gaussian processes and their covariances of the localization program, against the library."""

from functools import cache

import numpy as np
import torch
from scipy.special import erfinv

from experiments.authors_programs.files import Recording
from shallow import committee
from shallow import receptive_fields as fields
from shallow.committee import Committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.train import online

LAWS = Recording("localization_laws", {"sample_0.01", "sample_class", "start_40_40"})
TRAINING = Recording("localization_training", {"x", "W0"})  # ours: from named streams
SIMULATE = Recording("localization_simulate", {"x", "y", "x_evaluation", "y_evaluation", "evaluation_iteration"})
XI = (2.0, 1.0)


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


@cache
def of_laws() -> dict[str, np.ndarray]:
    """The library's value of every output of the first file."""
    return {key: law(key) for key in LAWS.outputs}


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
    """The library's value of every output, start and batches from their streams."""
    found = {}
    for name in ("relu", "relu_unbiased", "erf"):
        run = trained(name)
        W, b = run.W[0], run.b[0]
        found |= {f"{name}_W": W[1:], f"{name}_b": b[1:], f"{name}_loss": 2 * run.losses[0]}
        found[f"{name}_ipr"] = fields.inverse_participation_ratio(W)
    return found


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
