"""Cells of kernel machines on both tasks of the chapter are finite and repeat, and find planted answers."""

import numpy as np
import pytest

from experiments.hidden_structure import polynomials, shells
from experiments.hidden_structure.cited import silent_alignment
from experiments.hidden_structure.orthants import cells as orthants
from experiments.hidden_structure.polynomial_machines import cells as polynomial_machines
from experiments.hidden_structure.polynomial_machines import tangent_identity
from experiments.hidden_structure.shell_machines import orthant_machines, orthant_scores
from shallow.kernels import layered, linear_machines

POLYNOMIAL = {"size": 2000, "points": 200, "tuning": 40, "penalties": (0.1, 1.0), "gammas": (1.0, "scale"), "epochs": 1}


def test_with_the_same_points_the_network_does_not_see_the_others():
    """With all points for the machines there is no difference, with 200 of 1,600 there is, for the network alone."""
    options = POLYNOMIAL | {"learners": ("network", "initial"), "cross_validated": False}
    alone, among = (polynomial_machines.compared(0, 3, same_points=same, **options) for same in (True, False))
    assert alone.sel(machine="initial").identical(among.sel(machine="initial"))
    errors = (found.mse.sel(machine="network", part="test") for found in (alone, among))
    assert not np.isclose(*errors).any()
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


def test_machines_of_several_limits_share_a_kernel_and_nothing_else():
    few = orthant_scores.subset(shells.draw(0).train, 1)
    kernel = orthant_machines.tangent_kernel(orthants.untrained(0, 1, 16), "probability")
    reduced, y = linear_machines.reduced(kernel(few.x), 1e-9), orthant_scores.labels(few)
    ended = linear_machines.coordinate_descent(reduced, y, 10.0, np.random.default_rng(0), passes=(2, 50))
    pivots, blocks = few.x[reduced.pivots], (few.x[:20], few.x[20:])
    for machine, values in zip(ended, orthant_machines._together(kernel, pivots, ended), strict=True):
        for x in blocks:
            assert values(x) == pytest.approx(machine.values(kernel(x, pivots)), rel=1e-8)
    assert not np.allclose(ended[0].coefficients, ended[1].coefficients)


def test_the_first_epochs_of_a_network_are_those_of_its_whole_training():
    """So that what is trained afresh for an early kernel is the stored network on its way."""
    task, (width, rate, decay) = shells.draw(0), orthants.document(2)
    early = orthant_machines._early(task, 0, 2, 1)
    _, fit = orthants.trained(task, 0, 2, width, rate=rate, decay=decay, epochs=1, validation_batch=orthants.BATCH)
    assert np.array_equal(early.parameters, fit.last.parameters)
    assert np.array_equal(orthant_machines._early(task, 0, 2, 0).parameters, orthants.untrained(0, 2, width).parameters)


def test_scalings_are_those_of_features():
    """On explicit gradients; the logit's and the probability's points have one direction."""
    network = orthants.untrained(0, 1, 128)
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


def test_a_reflection_leaves_the_gaussian_machine_what_it_is():
    x, u = np.random.default_rng(0).standard_normal((20, 7)), np.ones(7)
    turned = polynomial_machines.first_coordinate(x, u)
    assert turned[:, 0] == pytest.approx(x.sum(axis=1) / 7**0.5) and turned @ turned.T == pytest.approx(x @ x.T)
    assert polynomial_machines.first_coordinate(x, np.eye(7)[0]) == pytest.approx(x)
    options = {name: value for name, value in POLYNOMIAL.items() if name != "epochs"}
    gaussian = polynomial_machines.compared(0, 5, learners=("gaussian",), cross_validated=False, **options)
    among = polynomial_machines.by_dimension(0, 100, **options)
    assert among.r2.values == pytest.approx(gaussian.r2.isel(machine=0).values, abs=1e-3, nan_ok=True)
    assert polynomial_machines.by_dimension(0, 1, **options).r2.sel(part="test", range="all") > 0.9


def test_predictions_are_kept_in_the_order_of_the_rows():
    options = POLYNOMIAL | {"learners": ("network", "initial"), "cross_validated": False, "validation_batch": 32}
    found = polynomial_machines.compared(0, 3, keep=True, **options)
    task = polynomials.problem("independent", 3, 0, size=2000)
    y = task.y[np.concatenate([task.rows["train"][:200], task.rows["test"]])]
    for part, inside in (("train", slice(0, 200)), ("test", slice(200, None))):
        error = ((found.prediction.values[:, inside] - y[inside]) ** 2).mean(axis=1)
        assert found.mse.sel(part=part, range="all").values == pytest.approx(error)


def test_labels_dealt_at_random_are_not_learned():
    found = silent_alignment.shuffled(0, "independent 3", points=50, epochs=(0, 1), looks=1, size=1000)
    assert found.step.values.tolist() == [0, 25, 50, 75]
    assert found.loss[-1] > 0.9 * found.loss[0] and found.alignment.max() < 0.2


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
