"""Both sides of the statements on the chapter's page of proofs, and twins with another constant or sign that fail."""

import numpy as np
import pytest

from experiments.simplicity_bias.concentration import bounds, planar, rules
from experiments.simplicity_bias.theory import cells as proofs
from shallow.book import records


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.5, False)])
def test_neurons_left_behind_by_a_gaussian_start(factor, holds):
    share, first_order = proofs.left_behind(5, 5.0, 0.9)
    assert (abs(share / (factor * first_order) - 1) < 0.1) is holds


@pytest.mark.parametrize("n", [1, 2, 16, 400])
def test_signed_sums_have_the_exponential_moment_of_the_lemma(n):
    assert proofs.exponential_moment(n) <= 2


def test_the_constant_of_signed_sums_is_nearly_the_best():
    assert proofs.exponential_moment(400, 0.45) > 2.5


@pytest.mark.parametrize("d", [2, 5, 20])
def test_the_refined_bound_holds_and_a_tenth_of_it_does_not(d):
    measured = rules.deviations(*map(records.load, rules.DIMENSIONS))["linear", d, 1000].mean()
    assert measured < bounds.refined(1000, d)
    assert measured > bounds.refined(1000, d) / 12


def test_the_refined_bound_grows_like_the_root_of_the_dimension():
    grown = [np.log(bound(10_000, 40) / bound(10_000, 10)) / np.log(4) for bound in (bounds.refined, bounds.plain)]
    assert grown[0] < 0.75 and grown[1] > 0.85


def test_the_tail_bound_of_theorem_3_covers_its_corollary():
    n, d = 3000, 2
    V = bounds.second_moment(d)
    level = np.sqrt(640 / 3 * np.log(4 * n * bounds.cover(2 * n, d)) * V / n)  # of Corollary 1
    tail = 4 * bounds.cover(2 * n, d) * np.exp(-3 * n * level**2 / (320 * 2 * V))  # P(sup > level, Z_n <= 2 V) at most
    assert tail == pytest.approx(1 / n)


def test_the_condition_of_proposition_1_is_needed():
    # a deviation below the constant leaves no vector beyond eps; without the condition many are
    samples = rules.by_size(*map(records.load, rules.RELU))
    small, beyond, count, far = rules.tally(samples, 0.1, planar.separation("relu", 0.1))
    assert small > 50 and beyond == 0 and far > count / 4


@pytest.mark.parametrize("a", [0.5, -0.5])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_hyperplane_tears_or_closes_by_the_sign_of_weight_times_residual(a, sign):
    seen, predicted = proofs.opening(a, sign)
    assert seen == pytest.approx(predicted, rel=1e-6) and np.sign(seen) == np.sign(a * sign)
