"""Laws behind the chapter on hidden structure: folds, kernels and flips, the first push, weight decay, silence."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from experiments.hidden_structure import constructed, hidden_direction, hidden_index, shells
from experiments.hidden_structure.degrees import weight_decay
from experiments.hidden_structure.folding import cells as folding
from experiments.hidden_structure.orthants import cells as orthants
from experiments.hidden_structure.shell_machines import orthant_scores
from experiments.hidden_structure.theory import linear_flow, proofs_decay, proofs_polynomials, proofs_shells
from shallow import mlp, stats
from shallow.kernels import layered, linear_machines, machines

# Folding.


def test_absolute_values_solve_the_unseen_orthant_and_distances_do_not():
    """In x the nearest training point is always of the outer shell; in |x| it is of the right one."""
    task = shells.draw("fold")
    unseen = task.test[task.test.orthant == task.empty[0]]
    train = task.train[:8000]
    raw = folding.match_fractions(unseen.x, unseen.label, train.x, train.label)
    folded = folding.match_fractions(np.abs(unseen.x), unseen.label, np.abs(train.x), train.label)
    assert raw == {0: 0.0, 1: 1.0} and folded == {0: 1.0, 1: 1.0}
    assert ((shells.radius(task.test.x) > 1.5) == task.test.label).all()
    around = np.stack([shells.reflected(unseen.x, k) for k in shells.neighbours(int(task.empty[0]))])
    assert folding.quotient(np.abs(unseen.x), np.abs(around), unseen.label) == 0
    assert folding.quotient(unseen.x, around, unseen.label) > 2


def test_constructed_networks_are_right_everywhere_and_fold_their_features_only_behind_a_folded_layer():
    """The same function three times; without its knots it is linear in |x|, and wrong."""
    found = [proofs_shells.folds(constructed.folding_network(depth)) for depth in (1, 2, 3)]
    for one in found:
        assert one["worst"] == 1 and one["lowest"] <= 2.75 and one["highest"] >= 4
    assert [one["quotient"] == 0 for one in found] == [False, True, True]
    assert found[1]["match"] == 1
    broken = constructed.folding_network(2)
    broken.weights[2][0, 0, 1:] = 0
    assert proofs_shells.folds(broken)["worst"] < 0.9


def test_nearest_training_points_are_of_class_1_and_training_commutes_with_reflections():
    share, lead = proofs_shells.nearest_margin(3)
    assert share == 1 and 0 < lead < 1  # the proposition has 1, for whole shells
    assert proofs_shells.reflected_training(True) and not proofs_shells.reflected_training(False)


# Kernels.


def test_formulas_of_the_tangent_kernel_against_automatic_differentiation():
    for depth in (1, 4):
        errors = proofs_shells.tangent_errors(depth, 20)
        assert max(errors["logit"], errors["probability"]) < 1e-12 < 1e-3 < errors["no biases"]
    terms = proofs_shells.three_terms()
    assert terms["right"] < 1e-12 < 1e-3 < terms["wrong"]


def machine_difference(C: float) -> float:
    """Largest difference of liblinear's solution on gradients and Newton's on the kernel, over the largest value."""
    weights, biases, _ = proofs_shells._small(2, 1)
    task = shells.draw(0)
    inside, outside = (orthant_scores.subset(part, count) for part, count in ((task.train, 1), (task.test, 1)))
    y, J = orthant_scores.labels(inside), layered.jacobian(weights, biases, inside.x)
    linear = linear_machines.squared_hinge(J, y, C, stats.stream("hs machine"), dual=False, tolerance=1e-10)
    kernel = machines.squared_hinge(layered.ntk(weights, biases, inside.x), y, C)
    values = kernel.values(layered.ntk(weights, biases, outside.x, inside.x))
    found = linear.values(layered.jacobian(weights, biases, outside.x))
    return float(np.abs(found - values).max() / np.abs(values).max())


def test_machines_on_gradients_are_kernel_machines_and_the_probability_is_bounded():
    assert machine_difference(0.1) < 1e-5
    assert proofs_shells.probability_bound(1.0, 1) <= 1 < proofs_shells.probability_bound(1.0, 2)


@pytest.mark.parametrize("depth", [1, 3])
def test_a_tangent_machine_contains_its_network_and_only_its_decisions_on_the_probability(depth):
    error, same_decisions = proofs_shells.contained(depth)
    assert error < 1e-12 and same_decisions


def test_an_absolute_machine_on_the_kernel_loses_at_most_what_its_network_costs():
    """At every C its sum of absolute errors exceeds the network's by no more than the last layer's square over 2 C."""
    weights, biases, x = proofs_shells._small(1, 40)
    network = mlp.stacked([(weights, biases)]).forward(x)[0]
    y = network + stats.stream("test contains").laplace(size=len(x))
    kernel = layered.ntk(weights, biases, x)
    cost = (weights[-1] ** 2).sum() + (biases[-1] ** 2).sum()
    for C in (0.01, 1.0, 100.0):
        machine = machines.epsilon_insensitive(kernel, y, C, tolerance=1e-6)
        excess = np.abs(machine.values(kernel) - y).sum() - np.abs(network - y).sum()
        assert excess <= cost / (2 * C) + 1e-4


def test_joint_and_full_invariance_do_what_they_say():
    kernels = proofs_shells.flip_kernels()
    known = {
        "Gaussian": (True, False, True),
        "Gaussian, averaged over flips": (True, True, True),
        "tangent, one layer, infinite width": (True, False, True),
        "tangent, one layer, 128 units": (False, False, False),
    }
    for name, wanted in known.items():
        assert tuple(gap < 1e-6 for gap in proofs_shells.flip_differences(kernels[name])) == wanted


def test_what_is_lost_off_the_invariant_functions_is_all_that_is_lost():
    """E(f - y)^2 = E(f_G - y)^2 + E(f - f_G)^2 for an invariant y; not for another one."""
    points = (proofs_shells.orthants_positive(10)[:, None] * proofs_shells.FLIPS).reshape(-1, shells.DIMENSION)
    f = np.sin(points @ stats.stream("test averages").standard_normal(7))
    average = f.reshape(-1, 128).mean(axis=1).repeat(128)
    invariant = (shells.radius(points) > 1.5) * 2.0 - 1
    for y, holds in ((invariant, True), (invariant * np.sign(points[:, 0]), False)):
        gap = np.mean((f - y) ** 2) - np.mean((average - y) ** 2) - np.mean((f - average) ** 2)
        assert (abs(gap) < 1e-12) == holds


def joint_defect(width: int, seed: int) -> float:
    """Relative distance of an untrained tangent kernel of one hidden layer from joint invariance."""
    network, flips = orthants.untrained(f"defect {seed}", 1, width).network(0), proofs_shells.FLIPS
    points = shells.draw(0).test.x[::1601]
    plain, *flipped = (layered.ntk(*network, flip * points) for flip in (np.ones(7), *flips[:16] * flips[0]))
    return np.linalg.norm(np.array(flipped) - plain) / 4 / np.linalg.norm(plain)


def test_widths_bring_joint_invariance():
    narrow, wide = (np.median([joint_defect(width, seed) for seed in range(4)]) for width in (64, 1024))
    assert np.log(narrow / wide) / np.log(16) == pytest.approx(0.5, abs=0.15)


# The first push.


def test_cosines_of_random_weights_have_their_law():
    """In the right dimension only; of uniform weights to leading order; the largest of many by its own law."""
    rng = stats.stream("test cosines")
    squares = {D: scipy_stats.beta(0.5, (D - 1) / 2) for D in (27, 30, 100)}
    cosines = hidden_direction.cosines(rng.standard_normal((20_000, 30)), rng.standard_normal(30))
    pvalues = {D: scipy_stats.kstest(cosines**2, squares[D].cdf).pvalue for D in (27, 30)}
    assert pvalues[30] > 0.01 and pvalues[27] < 1e-6
    uniform = hidden_direction.cosines(rng.uniform(-1, 1, (40_000, 100)), np.ones(100))
    largest = np.median(uniform.reshape(-1, 100).max(axis=1))
    assert largest == pytest.approx(squares[100].ppf(0.5 ** (1 / 100)) ** 0.5, rel=0.02)
    assert largest != pytest.approx(squares[100].ppf(0.5) ** 0.5, rel=1)


def coefficients(degree, deviation, loss="square", shift=0.0):
    target = hidden_index.polynomial(degree, shift)
    if loss == "square":
        return hidden_index.hermite_coefficients(target, deviation)
    return hidden_index.sign_coefficients(target, deviation, 40)


@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_without_biases_an_odd_target_pushes_all_neurons_alike(loss):
    """D = E[q x] / 2 for every w.  Not for an even target, not for shifted roots, and not with biases."""
    rng = stats.stream("test odd targets")
    W, e = rng.standard_normal((50, 20)), np.ones(20)

    def spread(degree, shift=0.0, bias=0.0):
        c = coefficients(degree, 20**0.5, loss, shift)
        found = hidden_direction.push(W, np.full(50, bias), c, e, e).weights
        return np.abs(found - c[1] / (2 * 20**0.5)).max() / np.abs(found).max()

    assert spread(3) < 1e-12 and spread(7) < 1e-12
    assert spread(4) > 0.1 and spread(3, shift=0.5) > 0.01 and spread(3, bias=1.0) > 0.01


@pytest.mark.parametrize("degree", [3, 4, 6, 7])
def test_first_push_of_the_initial_units(degree):
    """The law within the error of a simulation; not without its leading coefficient."""
    found = proofs_polynomials.push(degree, 20_000, 128)
    noise = np.sqrt((found.error**2).sum())
    right, wrong = (np.sqrt(((found.measured - law) ** 2).sum()) / noise for law in (found.law, found.crippled))
    assert right < 2.5 < wrong


def test_turn_of_a_unit_is_linear_for_odd_and_exponential_for_even_targets_and_blind_to_the_mean():
    for degree, a, mean in ((3, 0.5, 0.0), (5, 0.5, 0.0), (4, -0.5, 0.0), (4, 0.5, 0.3), (6, 0.5, -0.3)):
        path = proofs_polynomials.turn(degree, a=a, mean=mean, until=4)
        assert path.tangent == pytest.approx(path.identity, rel=1e-4, abs=1e-6)
        early = slice(0, 100)  # until t = 1
        assert path.tangent[early] == pytest.approx(path.leading[early], rel=0.05, abs=0.003)
        if mean:  # as if the push along the direction, which has c_0, were the turn
            wrong = path.leading[0] * (path.leading / path.leading[0]) ** (1 + mean / (2**0.5 * path.rate))
            error, off = (np.abs(law / path.tangent - 1)[100] for law in (path.leading, wrong))
            assert error < off / 3
    grows, shrinks = (proofs_polynomials.turn(4, a=a).tangent for a in (-0.5, 0.5))
    assert grows[-1] > 20 * grows[0] and shrinks[-1] < shrinks[0] / 20


# Weight decay.


def approached(decay: float, rate: float, keep: float) -> float:
    """Gain of w^2 over the floor in the last of 2000 steps from a start 5 percent off (1, 1), over the law's."""
    state = before = proofs_decay.State(1.05, 0.95, 1e-3)
    for _ in range(2000):
        before, state = state, proofs_decay.moved(state, decay, rate, keep)
    return (1 / state.floor - 1 / before.floor) / proofs_decay.increment(decay, rate)


@pytest.mark.parametrize("keep", [0.3, 0.5, 0.9, 0.97])
def test_adadelta_with_decay_alone_is_attracted_to_alternation_and_grows_by_its_law(keep):
    """Multipliers keep and 2 keep - 1; the growth is the law's for every keep, and no law with another constant."""
    assert proofs_decay.multipliers(keep) == pytest.approx([2 * keep - 1, keep], abs=1e-5)
    for decay, rate in ((10, 1), (3, 1), (100, 0.1)):
        assert approached(decay, rate, keep) == pytest.approx(1, rel=0.03)
    wrong = (1 - 2 / 3**2) / 4  # half of what the decay takes off
    assert proofs_decay.increment(3) / wrong < 0.8


def test_weights_grow_above_two_and_vanish_below_from_an_ordinary_start():
    above, below = proofs_decay.alone(3, weights=100), proofs_decay.alone(1.8, weights=100)
    assert above.flips == 1 and above.growth == pytest.approx(1, rel=0.01)
    assert below.size < 1e-12


@pytest.mark.parametrize(("decay", "rate"), [(1.8, 1.0), (3.0, 1.0), (100.0, 0.01), (100.0, 0.1)])
def test_far_below_its_floor_adadelta_is_gradient_descent_so_that_zero_repels_above_two(decay, rate):
    w, _ = weight_decay.alone(np.full(3, 1e-12), 4, decay, rate)
    assert w == pytest.approx(1e-12 * (1 - rate * decay) ** 4, rel=1e-6)
    assert (np.abs(w) > 1e-12).all() == (rate * decay > 2)


def test_gradient_flow_keeps_below_its_bound_and_only_a_decay_above_one_empties_the_layer():
    flows = {decay: proofs_decay.flow(decay) for decay in (0.1, 1.5)}
    assert all(one.over_bound <= 1 for one in flows.values())
    assert flows[1.5].left < 1e-3 < 0.3 < flows[0.1].left
    assert proofs_decay.largest_moment("correlated") == pytest.approx(1, abs=0.01)


# Kernels that do not know the direction, the one step, silent alignment.


def test_a_kernel_chosen_by_labels_stays_below_the_ceiling_of_all_and_one_that_knows_does_not():
    found = proofs_polynomials.ceiling_check(directions=60, size=4000)
    assert max(found["gaussian"], found["chosen"]) < 1 < 2 < found["knowing"]
    assert found["eigenvectors"] == pytest.approx(1, abs=0.02)


def test_one_step_turns_units_for_even_targets_and_needs_the_points_of_the_law():
    for degree in (4, 6):
        found = np.mean([proofs_polynomials.step_measured(degree, 10_000, seed) for seed in range(3)])
        assert found == pytest.approx(proofs_polynomials.step_law(degree, 10_000), rel=0.12)
        assert found > 1.3 * proofs_polynomials.step_law(degree, 3000)
        assert proofs_polynomials.points_needed(degree) > 10_000
    assert np.mean([proofs_polynomials.step_measured(3, 10_000, seed) for seed in range(3)]) < 0.35


def test_form_of_a_linear_kernel_is_bounded_by_the_size_of_the_start():
    """With whitened inputs only."""
    white = [proofs_polynomials.linear_silence(scale) for scale in (1.0, 0.1, 0.01)]
    assert all(one.bound <= 1 and one.above for one in white)
    assert [one.loss for one in white] == sorted(one.loss for one in white) and white[2].loss > 0.99
    assert proofs_polynomials.linear_silence(0.01, np.geomspace(2, 0.02, 10)).bound > 1


def small_start(scale, inputs=6, units=30):
    rng = stats.stream("test silent alignment")
    return scale * rng.standard_normal(units) / units**0.5, scale * rng.standard_normal((units, inputs)) / units**0.5


def test_balance_of_the_layers_is_conserved():
    times = np.linspace(0.5, 5, 10)
    a, W = small_start(0.5)
    flow = linear_flow.integrate(a, W, np.arange(6) / 5, times, variances=np.arange(1.0, 7))
    gaps = np.einsum("tm,tk->tmk", flow.a, flow.a) - np.einsum("tmd,tkd->tmk", flow.W, flow.W)
    assert np.abs(gaps - (np.outer(a, a) - W @ W.T)).max() < 1e-8 < 0.1 < np.abs(flow.W - W).max()


def test_kernel_turns_before_the_loss_falls_if_the_start_is_small():
    """Loss at the time when the alignment has 90 % of its last value: near 1 from a small start, far below from 1."""
    times, left = np.linspace(0, 20, 801), {}
    for scale in (1.0, 0.1, 0.01):
        flow = linear_flow.integrate(*small_start(scale), np.eye(6)[0], times)
        assert flow.loss[-1] < 1e-6 * flow.loss[0]
        left[scale] = flow.loss[np.argmax(flow.alignment >= 0.9 * flow.alignment[-1])] / flow.loss[0]
    assert left[1.0] < 0.5 and left[0.1] > 0.8 and left[0.01] > 0.99
    assert flow.alignment[-1] == pytest.approx(2 / 9**0.5, abs=1e-3)  # 2 / sqrt(D + 3)
