"""Tangent features of the orthant program's trained network and its support vector machines, against the library."""

from functools import cache

import numpy as np
from scipy.spatial.distance import cdist

from experiments.authors_programs.files import Recording
from experiments.authors_programs.streams import Seed
from shallow.kernels import layered, linear_machines, machines
from shallow.mlp import Stack

PROGRAM = Recording("hidden_structure_kernels", {"x", "y", "x_hundred", "y_hundred", "x_new", "y_new", "theta_16"})
SETTINGS = PROGRAM.settings


def features(name: str, output: str = "probability") -> np.ndarray:
    """Gradients of the network's output in all its parameters."""
    network = Stack(PROGRAM["theta_16"][None], tuple(SETTINGS["widths"])).network(0)
    return layered.jacobian(*network, PROGRAM[name], output=output)


def labels(name: str) -> np.ndarray:
    """Classes 0 and 1 as -1 and 1: the machines are the same."""
    return 2 * PROGRAM[name] - 1


def of_linear_svc(suffix: str) -> dict[str, np.ndarray]:
    """Machines by liblinear on the features of 20 or 100 points, for each C."""
    setting = SETTINGS[f"svc{suffix}"]
    options = {"dual": True, "max_iter": setting["max_iter"], "tolerance": setting["tol"]}
    x, y, seed = features(f"x{suffix}"), labels(f"y{suffix}"), setting["random_state"]
    found = [linear_machines.squared_hinge(x, y, C, Seed(seed), **options) for C in setting["C"]]
    return {
        "coefficients": np.array([machine.coefficients for machine in found]),
        "intercept": np.array([machine.intercept for machine in found]),
        "decision_new": np.array([machine.values(features("x_new")) for machine in found]),
        "iterations": np.array([machine.convergence.iterations for machine in found]),
    }


def svc(kernel, C: float, tolerance: float) -> tuple[np.ndarray, int]:
    """Decision values at the new points and number of support vectors, for a kernel of the inputs themselves."""
    x, z = PROGRAM["x_hundred"], PROGRAM["x_new"]
    machine = machines.hinge(kernel(x, x), labels("y_hundred"), C, tolerance=tolerance)
    return machine.values(kernel(z, x)), np.count_nonzero(machine.coefficients)


@cache
def computed() -> dict[str, np.ndarray]:
    """The library's value of every output."""
    found = {f"svc{suffix}_{key}": value for suffix in ("", "_hundred") for key, value in of_linear_svc(suffix).items()}
    network = Stack(PROGRAM["theta_16"][None], tuple(SETTINGS["widths"])).network(0)
    rbf, linear = SETTINGS["rbf"], SETTINGS["linear"]
    by_rbf = [
        svc(lambda x, z, gamma=gamma: np.exp(-gamma * cdist(x, z, "sqeuclidean")), C, rbf["tol"])
        for C, gamma in rbf["C_gamma"]
    ]
    return found | {
        "features": features("x"),
        "kernel_new": layered.ntk(*network, PROGRAM["x_new"], PROGRAM["x"], output="probability"),
        "rbf_decision_new": np.array([decision for decision, _ in by_rbf]),
        "rbf_support": np.array([support for _, support in by_rbf]),
        "linear_decision_new": np.array([svc(lambda x, z: x @ z.T, C, linear["tol"])[0] for C in linear["C"]]),
    }
