"""The documents' own programs beside the library: the difference of every output, and how large it may be.

`tests/agreement/test_authors_files.py` holds each to its bound, and the page "How far to trust it" shows the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from experiments.authors_programs import (
    heavy_tails,
    hidden_structure_kernels,
    hidden_structure_orthants,
    hidden_structure_polynomials,
    localization,
    simplicity_bias,
)
from experiments.authors_programs.files import Recording

#: Relative difference that is allowed, and the outputs that have a bound of their own, by file, with the reason.
BOUND = 1e-10
DIAGONALS = tuple(f"overlap_W{layer}_{side}_diagonal" for layer in (0, 1) for side in ("left", "right"))
NEARLY_EQUAL = "singular values that are nearly equal"
SINGLE = "single precision there"
OWN_BOUNDS: Mapping[str, tuple[float, tuple[str, ...], str]] = {
    "heavy_tails_gd": (1e-7, DIAGONALS, NEARLY_EQUAL),
    "heavy_tails_adam": (1e-7, DIAGONALS, NEARLY_EQUAL),
    "hidden_structure_kernels": (1e-8, ("rbf_decision_new", "linear_decision_new"), "a solver that ends at 1e-3"),
    "hidden_structure_polynomials": (1e-6, ("x_train", "y_train", "x_validation", "y_validation"), SINGLE),
    "localization_simulate": (1e-6, ("evaluation_accuracy",), SINGLE),
}

#: Where the programs are; the README beside this module names the commits.
REPOSITORIES = {
    "hidden_structure": "Bala-A87/UGRC",
    "simplicity_bias": "eboursier/early_alignment",
    "heavy_tails": "kvignesh1420/single-index-ht",
    "localization": "leonlufkin/Localization",
}


@dataclass(frozen=True)
class Program:
    """One run of a program."""

    chapter: str
    what: str  # what ran and what is compared, in words
    recording: Recording
    compute: Callable[[], Mapping[str, np.ndarray]]  # the library's value of every output


_READ_OUT = "weights, spectra, exponents, read-outs, overlaps of singular vectors"
FILES: dict[str, Program] = {
    "hidden_structure_orthants": Program(
        "hidden_structure",
        "classifier on orthants, 208 steps of Adam: weights, losses, accuracies, early stopping",
        hidden_structure_orthants.PROGRAM,
        hidden_structure_orthants.computed,
    ),
    "hidden_structure_kernels": Program(
        "hidden_structure",
        "its tangent features, and support vector machines on them",
        hidden_structure_kernels.PROGRAM,
        hidden_structure_kernels.computed,
    ),
    "hidden_structure_polynomials": Program(
        "hidden_structure",
        "network on a cubic, four schedules of AdaDelta, support vector regression",
        hidden_structure_polynomials.PROGRAM,
        hidden_structure_polynomials.computed,
    ),
    "simplicity_bias_one_input": Program(
        "simplicity_bias",
        "four runs of 2,000 full-batch steps, one input: all weights at seven times, losses",
        simplicity_bias.PROGRAM["one_input"],
        lambda: simplicity_bias.computed("one_input"),
    ),
    "simplicity_bias_five_inputs": Program(
        "simplicity_bias",
        "three runs of 2,000 steps, five inputs, batches of 16 or all points: weights, losses",
        simplicity_bias.PROGRAM["five_inputs"],
        lambda: simplicity_bias.computed("five_inputs"),
    ),
    "heavy_tails_gd": Program(
        "heavy_tails",
        f"ten steps of descent, plain and normalised: {_READ_OUT}",
        heavy_tails.PROGRAM["gd"],
        lambda: heavy_tails.computed("gd"),
    ),
    "heavy_tails_adam": Program(
        "heavy_tails",
        f"ten steps of Adam, plain and normalised: {_READ_OUT}",
        heavy_tails.PROGRAM["adam"],
        lambda: heavy_tails.computed("adam"),
    ),
    "localization_laws": Program(
        "localization",
        "covariances of the data at 20 settings, samples of four gains",
        localization.LAWS,
        localization.of_laws,
    ),
    "localization_training": Program(
        "localization",
        "three runs of 100 steps on given batches: weights, biases, losses, participation ratios",
        localization.TRAINING,
        localization.of_training,
    ),
    "localization_simulate": Program(
        "localization",
        "a run of its own 50 batches: weights, losses, accuracy, participation ratios",
        localization.SIMULATE,
        localization.of_simulate,
    ),
}


def bound(file: str, key: str) -> float:
    """The largest relative difference that an output may have."""
    own, keys, _ = OWN_BOUNDS.get(file, (BOUND, (), ""))
    return own if key in keys else BOUND


@cache
def differences(file: str) -> dict[str, float]:
    """The relative difference of the library from the program, by output; see :func:`.files.difference`."""
    program = FILES[file]
    found = program.compute()
    return {key: program.recording.difference(key, found[key]) for key in program.recording.outputs}


def largest(file: str) -> tuple[float, float | None]:
    """The largest difference of the outputs with the common bound, and of those with a bound of their own, if any."""
    found = differences(file)
    own = [value for key, value in found.items() if bound(file, key) != BOUND]
    return max(value for key, value in found.items() if bound(file, key) == BOUND), max(own, default=None)


def numbers(file: str) -> int:
    """How many numbers are compared."""
    recording = FILES[file].recording
    return sum(recording[key].size for key in recording.outputs)
