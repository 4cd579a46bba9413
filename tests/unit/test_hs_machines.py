"""Cells of kernel machines on both tasks of the chapter are finite and repeat, and find planted answers."""

import numpy as np
import pytest

from experiments.hidden_structure import (
    orthant_machines,
    orthant_scores,
    polynomial_machines,
    shells,
    tangent_identity,
)
from shallow.kernels import layered

SMALL = {"points": 1, "epochs": 1}
POLYNOMIAL = {"size": 2000, "points": 200, "tuning": 40, "penalties": (0.1, 1.0), "gammas": (1.0, "scale"), "epochs": 1}


def test_with_the_same_points_the_network_does_not_see_the_others():
    """With all points for the machines there is no difference, with 200 of 1,600 there is, for the network alone."""
    options = POLYNOMIAL | {"learners": ("network", "initial"), "cross_validated": False}
    alone, among = (polynomial_machines.compared(0, 3, same_points=same, **options) for same in (True, False))
    assert alone.sel(machine="initial").identical(among.sel(machine="initial"))
    assert not np.isclose(
        alone.mse.sel(machine="network", part="test"), among.mse.sel(machine="network", part="test")
    ).any()
    options |= {"points": 1600, "learners": ("network",)}
    alone, among = (polynomial_machines.compared(0, 3, same_points=same, **options) for same in (True, False))
    assert alone.identical(among)


def test_scores_tell_the_folded_radius_from_a_half_space():
    task = shells.draw(0)
    few = orthant_scores.subset(task.train, 2)
    perfect = orthant_scores.scores(lambda x: shells.radius(x) - 1.55, task, 0, few)
    assert (perfect[["train", "validation", "empty", "others", "worst"]].to_array() == 1).all()
    assert perfect.ones == 0.5
    assert np.array_equal(perfect.profile, np.tile(shells.PROFILE > 1.55, (3, 1)))
    half = orthant_scores.scores(lambda x: x[:, 0], task, 0, few)
    assert half.empty == half.others == half.worst == 0.5 and half.ones in (0, 1)


def test_scalings_are_those_of_features():
    """On explicit gradients; the logit's and the probability's points have one direction."""
    network = orthant_machines._network(0, 1, 1)[1]
    x = shells.draw(0).train.x[:30]
    J = layered.jacobian(*network.network(0), x)
    rows = J / np.linalg.norm(J, axis=1, keepdims=True)
    columns = (J - J.mean(axis=0))[:, J.std(axis=0) > 0] / J.std(axis=0)[J.std(axis=0) > 0]
    wanted = {
        "raw": J @ J.T,
        "unit": J @ J.T / np.mean((J**2).sum(axis=1)),
        "cosine": rows @ rows.T,
        "standardised": columns @ columns.T,
    }
    for scaling, kernel in wanted.items():
        found = orthant_machines.scaled_kernel(network, "logit", scaling, x)
        assert found(x) == pytest.approx(kernel, rel=1e-8, abs=1e-8 * np.abs(kernel).max()), scaling
        assert found(x[:5], x) == pytest.approx(kernel[:5], rel=1e-8, abs=1e-8 * np.abs(kernel).max()), scaling
    probability = orthant_machines.scaled_kernel(network, "probability", "cosine", x)
    assert probability(x) == pytest.approx(wanted["cosine"])


def test_fuzz_is_the_scatter_about_a_function():
    v = np.linspace(-1.5, 1.5, 3000)
    noise = 0.1 * np.random.default_rng(0).standard_normal(len(v))
    assert polynomial_machines.fuzz(np.sin(3 * v), v) < 1e-3
    assert polynomial_machines.fuzz(np.sin(3 * v) + noise, v) == pytest.approx(0.1, rel=0.05)
    outside = np.where(np.abs(v) > 1, 100 * noise, 0)
    assert polynomial_machines.fuzz(outside, v) < 1e-12


@pytest.mark.parametrize("shape", tangent_identity.NETWORKS)
def test_gradients_and_their_gram_matrix_make_one_learner(shape):
    found = tangent_identity.same_learner(0, shape, points=60, new=20)
    assert found.jacobian < 1e-10 and found.gram < 1e-10 and found.asymmetry == 0
    assert found.smallest > -1e-12 and found.predictions < 1e-6
    assert tangent_identity.same_learner(0, shape, points=60, new=20, dropped=5).predictions > 1e-6
