"""The rules on what the document says of others' work, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure.rules import cited as rules

JITTER = np.linspace(-1, 1, 5)


@pytest.mark.parametrize(("power", "verdict"), [(-0.75, "reproduced"), (0.0, "contradicted"), (-0.25, "undecided")])
def test_width_and_the_change_of_the_kernel(power, verdict):
    widths = np.array([64, 256, 1024])
    change = widths[:, None] ** (power + 0.01 * JITTER)
    runs = xr.Dataset(
        {"change": (("width", "seed"), change), "weights": (("width", "seed"), change)}, {"width": widths}
    )
    assert rules.hs_04(runs).verdict == verdict


def turning(at_90=0.95, likeness=0.99, scatter=0.002):
    """Kernels on two data sets and from two scales that turn where a share of the loss is left."""
    left = np.array([1.0, at_90, 0.4, 0.05]) + np.zeros((2, 2, 5, 4))
    A = np.array([0.2, 0.95, 0.97, 1.0]) + np.zeros((2, 2, 5, 4))
    dims, run = ("data", "scale", "seed", "step"), scatter * JITTER + np.zeros((2, 2, 5))
    return xr.Dataset(
        {"loss": (dims, left), "alignment": (dims, A), "least_likeness": (dims[:3], likeness + run)}
        | {"loss_t90": (dims[:3], at_90 + run)},
        {"data": ["digits", "mnist"], "scale": [0.1, 1.0]},
    )


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"at_90": 0.3, "likeness": 0.8}, "contradicted"),
        ({"likeness": 0.8}, "partly"),
        ({"at_90": 0.3}, "partly"),
        ({"at_90": 0.7, "likeness": 0.95}, "undecided"),
    ],
)
def test_the_kernel_turns_early(change, verdict):
    assert rules.hs_05(turning(**change)).verdict == verdict


def test_loss_that_is_left_at_the_rise():
    runs = xr.Dataset(
        {
            "alignment": (
                ("seed", "step"),
                [[0.5, 0.6, 0.94, 0.95, np.nan], [0.5, 0.95, 0.96, 0.95, 0.95], [1, 0, 0, 0, 0]],
            ),
            "loss": (("seed", "step"), np.tile([2.0, 1.0, 0.6, 0.2, 0.1], (3, 1))),
        }
    )
    assert rules.at_rise(runs).values == pytest.approx([0.3, 0.5, np.nan], nan_ok=True)


def kernels(mnist=(0.8, 0.98), cifar=(0.8, 0.98)):
    values = np.array([mnist, cifar])[:, None, :] + 1e-4 * JITTER[None, :, None]
    return xr.Dataset(
        {"r": (("data", "seed", "kernel"), values)}, {"data": ["mnist", "cifar10"], "kernel": ["initial", "final"]}
    )


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"mnist": (0.99, 0.992)}, "partly"),
        ({"mnist": (0.5, 0.8), "cifar": (0.97, 0.975)}, "contradicted"),
        ({"mnist": (0.85, 0.95)}, "partly"),  # on the threshold: undecided
    ],
)
def test_the_final_kernel_predicts_the_network(change, verdict):
    assert rules.hs_06(kernels(**change)).verdict == verdict


def parity(machine=0.6, network=1.0):
    """Two kernel machines, and networks that are right with one weight decay."""
    accuracy = np.array([0.5, machine, machine - 0.05])[:, None, None] + 0.01 * JITTER[:, None] + np.zeros((3, 5, 2))
    machines = xr.Dataset(
        {"accuracy": (("learner", "seed", "half"), accuracy)},
        {"learner": ["network", "rbf", "ntk"], "half": ["uniform", "biased"]},
    )
    path = np.full((2, 2, 5, 3), 0.5)
    path[:, 1, :, -1] = np.minimum(network + 0.01 * JITTER, 1)
    networks = xr.Dataset(
        dict.fromkeys(("path", "share"), (("train", "decay", "seed", "epoch"), path)),
        {"train": [5000, 10_000], "decay": [0.0, 1e-3]},
    )
    return machines, networks


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"network": 0.55}, "undecided"),  # one training contradicts no theorem
        ({"machine": 0.97}, "contradicted"),
        ({"machine": 0.85}, "undecided"),
    ],
)
def test_a_network_ahead_of_kernel_machines_on_a_parity(change, verdict):
    assert rules.hs_07(*parity(**change)).verdict == verdict


def errors(network, final, initial, degrees=(3, 4, 5), noise=False):
    """Test errors by degree: of the network, the final and the initial NTK, with a little scatter over five runs."""
    degrees = list(degrees)
    values = np.array([np.broadcast_to(one, len(degrees)) for one in (network, final, initial)])
    mse = values[:, :, None] * np.exp(0.05 * JITTER * np.array([1, -1, 0.5])[:, None, None])
    found = xr.Dataset(
        {"mse": (("learner", "degree", "run"), mse)}, {"learner": ["network", "final", "initial"], "degree": degrees}
    )
    found["aligned"] = found.mse.sel(learner="network", drop=True)
    return xr.concat([found, found], "noise").assign_coords(noise=[0.0, 0.5]) if noise else found


@pytest.mark.parametrize(
    ("theirs", "verdict", "reading"),
    [
        ((0.1, 0.11, 0.5), "reproduced", None),
        ((1.0, 1.3, 1.5), "contradicted", None),  # all worse, and the network a little ahead of its final NTK
        ((1.0, 1.0, 1.0), "contradicted", "partly"),
        (([0.1, 0.1, 0.5], [0.11, 0.11, 0.4], 0.5), "undecided", None),
    ],
)
def test_the_algorithm_of_damian_and_others(theirs, verdict, reading):
    regular = errors(0.1, 0.11, 0.5)
    found = rules.hs_50(errors(*theirs), regular, errors(0.1, 0.11, 0.5, noise=True))
    assert (found.verdict, found.reading) == (verdict, reading)


def test_noise_that_turns_a_comparison():
    clean = errors([0.1, 0.1, 0.1], 0.2, 0.2)
    noisy = errors([0.1, 0.4, 0.1], 0.2, 0.2)
    both = xr.concat([clean, noisy], "noise").assign_coords(noise=[0.0, 1.0])
    assert rules.turned(both, "final") == [4]


def aligning(A=(0.1, 0.93, 0.95, 1.0), loss=(1.0, 0.95, 0.5, 0.1), tasks=("independent 3", "independent 7")):
    """Alignment and loss along four steps, for tasks and two scales."""
    shape, dims = (len(tasks), 2, 5, 4), ("task", "scale", "run", "step")
    run = 1 + 0.01 * JITTER[:, None]
    return xr.Dataset(
        {"alignment": (dims, np.array(A) * run + np.zeros(shape)), "loss": (dims, np.array(loss) + np.zeros(shape))},
        {"task": list(tasks), "scale": [1.0, 0.1], "step": range(4)},
    )


NULL = aligning(A=(0.02, 0.02, 0.03, 0.03), loss=(1.0, 0.99, 0.98, 0.97)).isel(scale=0, drop=True)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "silent"),
        ({"A": (0.1, 0.3, 0.6, 1.0)}, "audible"),
        ({"A": (0.02, 0.04, 0.045, 0.05)}, "none"),  # hardly above what random labels have
        ({"A": (0.8, 0.95, 0.97, 1.0)}, "none"),  # there from the start
        ({"loss": (1.0, 0.99, 0.98, 0.97)}, "none"),  # nothing learned
        ({"loss": (1.0, 0.7, 0.5, 0.1), "A": (0.1, 0.94, 0.95, 1.0)}, "open"),
    ],
)
def test_kinds_of_alignment(change, kind):
    found = rules.hs_68(aligning(**change), NULL)
    assert found.verdict == "answered"
    assert len(found.evidence["kinds"][kind]) == 4
    assert found.evidence["silent on random labels"] == []
    assert found.answer.startswith("Yes") == (kind == "silent")
