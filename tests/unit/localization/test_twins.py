"""Objectives on draws, mean squares and twins of one covariance, on small cases with known answers."""

import numpy as np
import pytest
from planted.records import table

from experiments.localization import networks
from experiments.localization.bumps import mean_squares
from experiments.localization.objectives import cells as objectives


def test_the_chain_of_integrals_is_the_arctan_law():
    found = objectives.integrals(pairs=10_000)
    np.testing.assert_allclose(found.value, np.broadcast_to(found.law, (7, 4)).T, rtol=1e-8)
    np.testing.assert_allclose(found.integral, found.closed, atol=1e-10)


def test_leading_modes():
    slow, fast = networks.pair(0.0)
    assert mean_squares.leading_mode(slow.covariance - fast.covariance) == 0
    assert mean_squares.leading_mode(fast.covariance - slow.covariance) == 11


def test_a_dip_that_is_cut():
    W, b = np.zeros((2, 40)), np.array([-2.0, 2.0])
    W[0, :3], W[1] = (-0.3, 1.0, -0.3), np.cos(np.pi * np.arange(40))
    axes = {"gain": [100.0], "seed": [0]}
    runs = table(axes | {"neuron": range(2)}, b=b).merge(table(axes | {"neuron": range(2), "pixel": range(40)}, W=W))
    found = objectives.without_dips(runs, table(axes, best=0.65).best, pairs=2000)
    assert found.missed.shape == (2, 1)
    # A single pixel has (9) = 1/2 by symmetry and misses everything.
    assert float(found.missed.sel(shape="cut", seed=0)) == pytest.approx(1.0, abs=0.3)
