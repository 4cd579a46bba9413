"""The rules on what the document says of others' work, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, table, verdicts

from experiments.hidden_structure.cited import rules

JITTER = np.linspace(-1, 1, 5)
SEED = {"seed": range(5)}


def by_width(power):
    widths = np.array([64, 256, 1024])
    change = widths[:, None] ** (power + 0.01 * JITTER)
    return table({"width": widths} | SEED, change=change, weights=change)


test_width_and_the_change_of_the_kernel = verdicts(
    rules.hs_04, by_width, reproduced=[-0.75], contradicted=[0.0], undecided=[-0.25]
)


def turning(at_90=0.95, likeness=0.99):
    """Kernels on two data sets and from two scales that turn where a share of the loss is left."""
    axes = {"data": ["digits", "mnist"], "scale": [0.1, 1.0]} | SEED
    scatter = 0.002 * JITTER
    ends = table(axes, least_likeness=likeness + scatter, loss_t90=at_90 + scatter)
    return ends.merge(table(axes | {"step": range(4)}, loss=[1.0, at_90, 0.4, 0.05], alignment=[0.2, 0.95, 0.97, 1.0]))


test_the_kernel_turns_early = verdicts(
    rules.hs_05,
    turning,
    reproduced=[{}],
    contradicted=[{"at_90": 0.3, "likeness": 0.8}],
    partly=[{"likeness": 0.8}, {"at_90": 0.3}],
    undecided=[{"at_90": 0.7, "likeness": 0.95}],
)


def test_loss_that_is_left_at_the_rise():
    A = [[0.5, 0.6, 0.94, 0.95, np.nan], [0.5, 0.95, 0.96, 0.95, 0.95], [1, 0, 0, 0, 0]]
    runs = table({"seed": range(3), "step": range(5)}, alignment=A, loss=[2.0, 1.0, 0.6, 0.2, 0.1])
    assert rules.at_rise(runs).values == pytest.approx([0.3, 0.5, np.nan], nan_ok=True)


def kernels(mnist=(0.8, 0.98), cifar=(0.8, 0.98)):
    r = np.array([mnist, cifar])[:, None, :] + 1e-4 * JITTER[:, None]
    return table({"data": ["mnist", "cifar10"]} | SEED | {"kernel": ["initial", "final"]}, r=r)


test_the_final_kernel_predicts_the_network = verdicts(
    rules.hs_06,
    kernels,
    reproduced=[{}],
    partly=[{"mnist": (0.99, 0.992)}, {"mnist": (0.85, 0.95)}],  # the second on the threshold: undecided
    contradicted=[{"mnist": (0.5, 0.8), "cifar": (0.97, 0.975)}],
)


def parity(machine=0.6, network=1.0):
    """Two kernel machines, and networks that are right with one weight decay."""
    accuracy = by(learner={"network": 0.5, "rbf": machine, "ntk": machine - 0.05}) + by(
        seed=dict(enumerate(JITTER / 100))
    )
    machines = xr.Dataset({"accuracy": accuracy}).expand_dims(half=["uniform", "biased"])
    path = np.full((2, 5, 3), 0.5)
    path[1, :, -1] = np.minimum(network + 0.01 * JITTER, 1)
    axes = {"train": [5000, 10_000], "decay": [0.0, 1e-3]} | SEED | {"epoch": range(3)}
    return machines, table(axes, path=path, share=path)


test_a_network_ahead_of_kernel_machines_on_a_parity = verdicts(
    rules.hs_07,
    parity,
    reproduced=[{}],
    undecided=[{"network": 0.55}, {"machine": 0.85}],  # one training contradicts no theorem
    contradicted=[{"machine": 0.97}],
)


def errors(network, final, initial, noise=False):
    """Test errors by degree: of the network, the final and the initial NTK, with a little scatter over five runs."""
    values = np.array([np.broadcast_to(one, 3) for one in (network, final, initial)])
    mse = values[:, :, None] * np.exp(0.05 * JITTER * np.array([1, -1, 0.5])[:, None, None])
    axes = {"learner": ["network", "final", "initial"], "degree": [3, 4, 5], "run": range(5)}
    found = table(axes, mse=mse)
    found["aligned"] = found.mse.sel(learner="network", drop=True)
    return found.expand_dims(noise=[0.0, 0.5]) if noise else found


test_the_algorithm_of_damian_and_others = verdicts(
    rules.hs_50,
    lambda *theirs: (errors(*theirs), errors(0.1, 0.11, 0.5), errors(0.1, 0.11, 0.5, noise=True)),
    rr=[(0.1, 0.11, 0.5)],
    rc=[(1.0, 1.3, 1.5), (1.0, 1.0, 1.0)],  # all worse, and the network a little ahead of its final NTK
    cc=[(1.0, 3.0, 1.5)],
    ru=[([0.1, 0.1, 0.5], [0.11, 0.11, 0.4], 0.5)],
)


def test_noise_that_turns_a_comparison():
    clean = errors([0.1, 0.1, 0.1], 0.2, 0.2)
    noisy = errors([0.1, 0.4, 0.1], 0.2, 0.2)
    both = xr.concat([clean, noisy], "noise").assign_coords(noise=[0.0, 1.0])
    assert rules.turned(both, "final") == [4]


def aligning(A=(0.1, 0.93, 0.95, 1.0), loss=(1.0, 0.95, 0.5, 0.1)):
    axes = {"task": ["independent 3", "independent 7"], "scale": [1.0, 0.1], "run": range(5), "step": range(4)}
    return table(axes, alignment=np.array(A) * (1 + 0.01 * JITTER[:, None]), loss=loss)


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
    names = [name.rpartition(",")[0] for name in found.numbers]
    assert found.verdict == ("undecided" if kind == "open" else "answered")
    assert names.count(f"kinds, {kind}") == 4 and "silent on random labels" not in names
