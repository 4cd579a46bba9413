"""Networks on polynomials of a hidden direction: cells, planted weights and predictions, changed targets."""

import numpy as np
import pytest
import torch

from experiments.hidden_structure import hidden_index, polynomial_measures, polynomials
from experiments.hidden_structure.alignment import polynomial_probes
from experiments.hidden_structure.degrees import hidden_inputs
from experiments.hidden_structure.hidden_direction import aligned, cosines
from shallow import mlp
from shallow.mlp import Stack

ROWS = {"train": np.arange(600), "test": np.arange(600, 1000)}
V = np.random.default_rng(0).normal(0, 0.6, 1000)
Y = hidden_index.polynomial(4)(V)


def test_a_network_finds_the_direction_that_its_labels_know_of():
    """And none where the labels are dealt at random."""
    options = {"size": 2000, "epochs": 30, "early": 30, "patience": None, "width": 64}
    true, shuffled = (polynomials.network(1, 3, shuffled=flag, **options) for flag in (False, True))
    assert float(true.r2.sel(part="test", range="bulk")) > 0.9
    assert float(true.near) > 0.05 and 0 < float(true.alignment_epoch) <= 30
    assert float(shuffled.aligned) == 0 and np.isnan(shuffled.alignment_epoch)
    assert float(shuffled.r2.sel(part="test", range="bulk")) < 0.1


def test_the_author_s_stopping_changes_the_end_and_not_the_path():
    options = {"size": 400, "epochs": 30, "early": 5, "width": 8, "patience": None, "keep": True}
    points, batches = (polynomials.network(1, 3, validation_batch=batch, **options) for batch in (None, 3))
    assert np.array_equal(points.path_square, batches.path_square)
    assert not np.array_equal(points.path_validation, batches.path_validation)
    training = polynomials.problem("independent", 3, 1, size=400).rows["train"]
    assert batches.learnt.size == len(training)


def test_more_points_of_one_draw_at_equal_steps():
    """The validation and test points stay, and so does the scale of the inputs."""
    options = {"steps": 40, "early": 2}
    few, many = (polynomial_probes.at_one_scale(1, 3, points, **options) for points in (64, 320))
    assert (int(few.epochs), int(many.epochs)) == (20, 4)
    assert float(few.path_square[0]) == float(many.path_square[0])


def test_run_0_starts_from_the_author_s_weights_in_pairs():
    torch.manual_seed(polynomials.NETWORK_SEED)
    layer = torch.nn.Linear(100, 8)
    W = polynomials.initial("independent", 100, 8, 0).weights[0][0]
    assert np.array_equal(W[:4], layer.weight.detach().numpy()[:4]) and np.array_equal(W[4:], -W[:4])
    assert not np.array_equal(W, polynomials.initial("independent", 100, 8, 1).weights[0][0])
    given = polynomials.initial("given", 1, 8, 0).weights[0][0]
    assert not np.array_equal(given[4:], -given[:4])


def test_cosines_by_hand():
    W = np.array([[3.0, 4.0], [-1.0, 0.0], [0.0, 0.0], [0.0, -1e-9]])
    assert cosines(W, [2.0, 0.0]) == pytest.approx([0.6, 1, np.nan, 0], nan_ok=True)
    collapsed = cosines(W, [2.0, 0.0], least=1e-6)
    assert np.isnan(collapsed[2:]).all() and aligned(collapsed) == 1
    assert aligned(cosines(W, [2.0, 0.0]), 0.6) == pytest.approx(2 / 3)
    assert np.isnan(aligned([np.nan])) and aligned(np.ones((4, 3))).shape == (4,)
    assert cosines(np.ones((5, 3)) * 0.1, np.ones(3)).max() <= 1  # rounding stays inside


def test_fits_of_the_target_itself_a_constant_and_a_line():
    itself, constant, line = (polynomial_measures.fits(f, V, Y, ROWS) for f in (Y, np.zeros(1000), 3 - 2 * V))
    assert (itself.r2 == 1).all() and (itself.mse == 0).all() and np.allclose(itself.spread, 1)
    assert (constant.spread == 0).all() and (constant.r2 <= 0).all() and np.isnan(constant.straight).all()
    assert np.allclose(line.straight, 1) and not np.allclose(itself.straight, 1)


def test_the_tail_does_not_count_in_the_bulk():
    found = polynomial_measures.fits(np.where(np.abs(V) <= 1, Y, Y + 5), V, Y, ROWS)
    assert np.allclose(found.mse.sel(range="bulk"), 0) and np.allclose(found.mse.sel(range="tail"), 25)
    outside = (np.abs(V[600:]) > 1).mean()
    assert float(found.mse.sel(part="test", range="all")) == pytest.approx(25 * outside)
    inside = polynomial_measures.fits(Y, V / np.abs(V).max(), Y, ROWS)
    assert np.isnan(inside.mse.sel(range="tail")).all()


def test_planted_units_are_counted_and_collapsed_ones_apart():
    W = np.zeros((8, 100))
    W[:3] = 2.0  # along the direction
    W[3, :50], W[3, 50:] = 1.0, 0.25  # at a cosine of 0.86
    W[4:6, :50], W[4:6, 50:] = 1.0, -1.0  # across
    W[6:] = 1e-9
    now = mlp.stacked([([W, np.ones((1, 8))], [np.zeros(8), np.zeros(1)])])
    start = Stack(np.random.default_rng(0).normal(size=now.parameters.shape), now.widths)
    seen = polynomial_measures.directions(now, np.ones(100), 10.0)
    assert seen["aligned"] == 4 / 6 and seen["near"] == 3 / 6 and seen["largest_cosine"] == 1
    assert polynomial_measures.weights(now, start, 10.0)["collapsed"] == 2 / 8


def test_changed_labels_keep_their_variance_and_change_their_linear_signal():
    v = hidden_index.draw("independent", 1).v

    def signal(degree, **change):
        y = polynomial_probes.relabelled(v, degree, **change)
        assert y.std() == pytest.approx(hidden_index.polynomial(degree)(v).std())
        return abs(np.corrcoef(v, y)[0, 1])

    assert signal(6) < 0.1 < 0.15 < signal(6, shift=0.3)
    assert signal(5, linear=False) < 0.1 < 0.3 < signal(5)


def test_the_polynomial_has_one_parity():
    for degree in range(3, 21):
        found = hidden_inputs.parity(degree)
        assert float(found.wrong) < 1e-9 and (float(found.slope) > 1e-9) == (degree % 2 == 1)


def test_random_coefficients_agree_with_straight_lines_fitted_to_values():
    found = hidden_inputs.random_coefficients(4, 0.5, draws=3, size=500)
    rng = hidden_inputs.stream("hidden structure", "random coefficients", 4, 0.5)
    v = 0.5 * rng.standard_normal(500)
    for k, c in enumerate(rng.standard_normal((3, 5))):
        y = np.polynomial.Polynomial(c)(v)
        line = np.polyval(np.polyfit(v, y, 1), v)
        assert float(found.variance[k]) == pytest.approx(y.var(ddof=1))
        assert float(found.linear[k]) == pytest.approx(line.var() / y.var())
