"""Cells of early alignment, phases, few data and Theorem 2: their parts against slow versions."""

import numpy as np
import pytest
import torch

from experiments.simplicity_bias import early_alignment, half_samples, two_fits
from experiments.simplicity_bias.extremal import effective_width, omnidirectionality
from experiments.simplicity_bias.phases import cells as phases
from experiments.simplicity_bias.phases import decoupling
from shallow import alignment, nets
from shallow.data import teachers
from shallow.stats import stream
from shallow.train import flow


def small_problem(n=30, d=3, m=12, scale=0.1):
    rng = stream("sb early runs", n, d, m)
    return *teachers.gaussian(rng, teachers.first_axis(d), n), nets.small(rng, m, d, scale)


def autograd(x, y, W, a, activation):
    """Gradients of the halved square loss."""
    W, a = (torch.tensor(part, requires_grad=True) for part in (W, a))
    loss = torch.mean((activation(torch.tensor(x) @ W.T) @ a - torch.tensor(y)) ** 2) / 2
    return [part.numpy() for part in torch.autograd.grad(loss, (W, a))]


@pytest.mark.parametrize(("name", "activation"), [("relu", torch.relu), ("gelu", torch.nn.functional.gelu)])
def test_gaps_are_those_of_descent_by_automatic_differentiation(name, activation):
    setting = {"seed": 0, "n": 20, "m": 30, "scale": 0.8, "initialisation": "gaussian"}
    found = omnidirectionality.gaps(**setting, activation=name, step=0.5, times=(0.0, 1.0))
    sample, network = omnidirectionality._draw(*setting.values())
    W, a = network.W, network.v
    for _ in range(round(2 / np.linalg.norm(alignment.vector(*sample, np.eye(2)[0])))):
        W, a = (part - 0.5 * push for part, push in zip((W, a), autograd(*sample, W, a, activation), strict=True))
    np.testing.assert_allclose(found.gap, [omnidirectionality.largest_gap(part) for part in (network.W, W)], rtol=1e-9)
    assert found.one_sign[1] == pytest.approx(omnidirectionality.largest_gap(W[a > 0]))
    outputs = activation(torch.tensor(sample.x @ W.T)).numpy() @ a
    assert found.loss[1] == pytest.approx(np.mean((outputs - sample.y) ** 2))


def test_descent_by_matrix_products_is_descent_in_single_precision():
    x, y, network = small_problem(d=4, scale=0.5)
    ours, loss = effective_width.descend(x, y, network, step=0.05, steps=40)
    run = flow.train(x, y, network, step=0.05, steps=40, records=[39, 40])
    np.testing.assert_allclose(ours.W, run.W[-1], atol=1e-5)
    np.testing.assert_allclose(loss, 2 * run.loss[0], rtol=1e-5)


def test_the_largest_gap_of_known_directions():
    angles, lengths = np.array([0.1, 0.4, 3.0, -2.9]), np.array([1.0, 7.0, 1e-9, 2.0])
    directions = lengths * np.stack([np.cos(angles), np.sin(angles)])
    assert omnidirectionality.largest_gap(directions.T) == pytest.approx(3.0)
    assert omnidirectionality.largest_gap(np.ones((1, 2))) == pytest.approx(2 * np.pi)


def test_a_path_without_grading_is_the_run():
    x, y, network = small_problem()
    path = early_alignment.path(x, y, network, 1.0, step=0.05)
    run = flow.train(x, y, network, step=0.05, steps=20, records=1)
    np.testing.assert_array_equal(path.W, run.W)
    np.testing.assert_allclose(path.times, 0.05 * run.steps)
    np.testing.assert_allclose(path.changes, 0.05 * run.changes)


def test_a_graded_path_has_ascending_times_and_ends_near_the_run_of_small_steps():
    x, y, network = small_problem()
    path = early_alignment.path(x, y, network, 1.0, step=0.01, first=1e-4)
    assert (np.diff(path.times) > 0).all() and path.times[1] == 1e-4 and abs(path.times[-1] - 1.0) < 0.01
    fine = flow.train(x, y, network, step=1e-3, steps=round(path.times[-1] / 1e-3)).network
    np.testing.assert_allclose(path.W[-1], fine.W, atol=2e-3)


def test_unaligned_neurons_follow_the_closed_form_with_many_points():
    found = early_alignment.unaligned(0, n=4000, deviation=1e-7, m=400)
    np.testing.assert_allclose(found.fraction, found.ideal, atol=0.04)
    assert found.fraction[-1] < 0.25 < 0.9 < found.fraction[0]


def test_half_samples_are_fitted_by_least_squares():
    x, y, _, _ = two_fits.draw(1, 80, fresh=1)
    for sign, fit in zip(phases.SIGNS, two_fits.fits(x, y)):
        part = phases.half(x, y, sign)
        np.testing.assert_allclose(part.fit, fit)
        assert part.least == pytest.approx(((part.x @ fit - part.y) ** 2).sum() / 160)


def test_the_inequality_is_computed_with_the_gradient_of_the_half_loss():
    x, y, network, _ = two_fits.draw(0, 60, m=6, scale=0.5, fresh=1)
    part = phases.half(x, y, 1)
    W, v = network.W[None], np.abs(network.v)[None]
    gW, ga = autograd(part.x, part.y, W[0], v[0], torch.relu)
    square = (np.sum(gW**2) + np.sum(ga**2)) * (len(part.y) / 60) ** 2
    excess = np.sum((np.maximum(part.x @ W[0].T, 0) @ v[0] - part.y) ** 2) / 120 - part.least
    expected = square / (2 * np.linalg.eigvalsh(part.H)[0] * np.sum(v**2) * excess)
    np.testing.assert_allclose(phases._ratios(W, v, part, 60), [expected])


def test_linkage_groups_what_is_close():
    angles = np.array([0.0, 0.04, 0.08, 1.0, 2.0, 2.01])
    found = early_alignment.grouped(np.column_stack([np.cos(angles), np.sin(angles)]), 0.05)
    assert found.tolist() == [3, 2, 1]


def test_fits_solve_the_normal_equations_of_the_halves():
    x, y, _, _ = two_fits.draw(0, 60)
    both = two_fits.fits(x, y)
    for beta, half in zip(both, (x[:, 0] > 0, x[:, 0] < 0), strict=True):
        assert np.allclose(x[half].T @ (y[half] - x[half] @ beta), 0, atol=1e-12)
    values = np.where(x[:, 0] > 0, x @ both[0], x @ both[1])
    assert np.allclose(two_fits.as_network(both).forward(x), values)  # both vectors lie in the cone of the teacher


def test_measures_of_an_outcome():
    found = two_fits.outcome(3, 300)
    assert max(found.train, found.fresh, found.sums) < 1e-9 and found.late == 0 and found.both
    assert found.loss_ratio == pytest.approx(1, abs=1e-9)
    x, y, _, fresh = two_fits.draw(3, 300)
    error = two_fits.fits(x, y) - np.eye(3)[0]
    side = np.where(fresh[:, 0] > 0, fresh @ error[0], fresh @ error[1])
    assert found.excess == pytest.approx((side**2).mean(), rel=1e-6)


def test_halves_of_gaussian_data_have_the_law_that_is_drawn():
    """Direct simulation against Bartlett's decomposition, and both against the expectation; one fit is not two."""
    n, d, draws = 40, 3, 3000
    rng, direct = stream("test halves"), np.empty((2, draws))
    for i in range(draws):
        x, y = teachers.gaussian(rng, teachers.first_axis(d), n)
        half = x[:, 0] > 0
        error = [np.linalg.lstsq(x[rows], y[rows])[0] - np.eye(d)[0] for rows in (half | True, half, ~half)]
        direct[:, i] = error[0] @ error[0], (error[1] @ error[1] + error[2] @ error[2]) / 2
    drawn = np.array(half_samples.excess(*half_samples.errors(rng, n, d, draws)))
    expected = half_samples.expected_excess(n, d)
    deviation = direct.std(axis=1) / draws**0.5
    assert (np.abs(direct.mean(axis=1) - drawn.mean(axis=1)) < 6 * deviation).all()
    assert (np.abs(drawn.mean(axis=1) - expected) < 5 * deviation).all()
    assert abs(direct[1].mean() - 2 * expected[0]) > 5 * deviation[1]  # twin: not exactly twice, n is small


def test_decoupled_systems_are_the_descent_until_a_cone_is_left():
    clean, left = decoupling.decoupling(0, 1000, time=100), decoupling.decoupling(1, 20, time=100)
    assert clean.gap < 1e-12 and clean.late == 0
    assert left.gap > 1e-4 and left.late > 0


def test_the_loss_while_waiting_is_the_mean_square():
    x, y, network, _ = two_fits.draw(0, 50)
    first = decoupling.waiting(0, 50, times=[0.0, 1.0]).loss[0]
    np.testing.assert_allclose(first, np.mean((network.forward(x) - y) ** 2), rtol=1e-12)


def test_balance_moves_by_the_told_amount():
    x, y, network, _ = two_fits.draw(0, 50)
    end = flow.train(x, y, network, step=0.1, steps=1000).network
    moved = decoupling.balance(end.W, end.v) - decoupling.balance(network.W, network.v)
    assert decoupling.drift(0, 50, 0.1, time=100).drift == np.abs(moved).max() > 0
