"""Laws behind the chapter on hidden structure: folding, the first push, silent alignment."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from experiments.hidden_structure import folding, hidden_direction, hidden_index, linear_flow, shells
from experiments.hidden_structure.hidden_direction import RandomCosine
from shallow import stats

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


def test_cosines_of_random_weights_have_their_law():
    """In the right dimension only; of uniform weights to leading order; the largest of many by its own law."""
    rng = stats.stream("test cosines")
    cosines = hidden_direction.cosines(rng.standard_normal((20_000, 30)), rng.standard_normal(30))
    pvalues = {D: scipy_stats.kstest(cosines, lambda t, D=D: 1 - RandomCosine(D).above(t)).pvalue for D in (27, 30)}
    assert pvalues[30] > 0.01 and pvalues[27] < 1e-6
    law = RandomCosine(100)
    uniform = hidden_direction.cosines(rng.uniform(-1, 1, (40_000, 100)), np.ones(100))
    assert law.mean == pytest.approx(uniform.mean(), rel=0.015) and law.mean == pytest.approx(0.08, abs=5e-4)
    assert law.above(0.5) < 1e-6 and law.above(law.quantile(0.3)) == pytest.approx(0.7)
    largest = uniform.reshape(-1, 100).max(axis=1)
    assert np.median(largest) == pytest.approx(float(law.quantile(0.5, 100)), rel=0.02)
    assert np.median(largest) != pytest.approx(float(law.quantile(0.5)), rel=1)


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
