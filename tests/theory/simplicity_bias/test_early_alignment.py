"""Laws of early alignment and of the phases after it; every law has a twin that a wrong law must fail."""

import numpy as np
import pytest
from scipy.linalg import expm

from experiments.simplicity_bias import early_alignment
from experiments.simplicity_bias.phases import cells as phases
from shallow.stats import stream


def generator(D):
    """The matrix of the linear dynamics of (w, a)."""
    K = np.zeros((4, 4))
    K[:3, 3] = K[3, :3] = D
    return K


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.0, False)])
def test_pairs_of_neurons_align_by_equation_30(factor, holds):
    """d<u_i, u_j>/dt = <D, u_i + u_j> (1 - <u_i, u_j>); the twin leaves the last factor out."""
    rng = stream("pairs")
    D, states, h = rng.standard_normal(3), rng.standard_normal((2, 4)) + [0, 0, 0, 3], 1e-6
    ratios = [(lambda Z: Z[:, :3] / Z[:, 3:])(states @ expm(generator(D) * t).T) for t in (-h, 0.0, h)]
    slope = (ratios[2][0] @ ratios[2][1] - ratios[0][0] @ ratios[0][1]) / (2 * h)
    u, v = ratios[1]
    assert (abs(slope - D @ (u + v) * (1 - factor * (u @ v))) < 1e-8) == holds


def test_neurons_enter_their_cones_in_a_time_proportional_to_the_scale():
    entered = [
        float(early_alignment.under_margin(0, 3000, scale=scale, whiten=True, first=scale / 100).entered)
        for scale in (1e-2, 1e-3, 1e-4)
    ]
    np.testing.assert_allclose(np.diff(np.log(entered)), -np.log(10), atol=0.1)


def test_slow_growth_takes_ln_of_the_scale_and_fast_growth_does_not():
    runs = [phases.growth(1, 2000, scale=scale, whiten=False) for scale in (1e-2, 1e-4)]
    slope = (runs[1].slow - runs[0].slow) * runs[0].norm / np.log(100)
    np.testing.assert_allclose(slope, 1, atol=0.05)
    np.testing.assert_allclose(runs[1].fast - runs[1].slow, runs[0].fast - runs[0].slow, rtol=0.1)
    assert runs[1].inside.all() and (runs[1].aggregate < 1e-10).all() and (runs[1].pairs < 1e-10).all()


def test_certified_samples_keep_their_cones_and_converge():
    kept = 0
    for seed in range(4):
        found = phases.certificate(seed, 2000, whiten=True)
        if found.deviation < found.margin and found.room > 0:
            kept += 1
            assert phases.growth(seed, 2000, scale=1e-3, whiten=True).inside.all()
    assert kept >= 2
    assert phases.certificate(0, 60, whiten=True).room < 0  # the twin: far too few points


def test_the_inequality_holds_in_the_cone_and_fails_outside():
    found = phases.gradient_domination(2, 100, whiten=True, points=100)
    assert (found.near >= 1 - 1e-9).all() and (found.path >= 1 - 1e-9).all() and (found.outside == 1).all()
