"""Cells of Theorem 2: what they return, and that they measure what they say."""

import numpy as np
import pytest

from experiments.simplicity_bias import half_samples, two_fits
from experiments.simplicity_bias.phases import decoupling
from shallow.data import teachers
from shallow.stats import stream
from shallow.train import flow


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


def test_balance_moves_by_the_told_amount():
    assert decoupling.one_step_gap(0, 50, 6, 3, 0.05) < 1e-13
    x, y, network, _ = two_fits.draw(0, 50)
    end = flow.train(x, y, network, step=0.1, steps=1000).network
    moved = decoupling.balance(end.W, end.v) - decoupling.balance(network.W, network.v)
    assert decoupling.drift(0, 50, 0.1, time=100).drift == np.abs(moved).max() > 0
