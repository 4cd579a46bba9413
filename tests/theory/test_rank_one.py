"""A planted rank-one update against its predicted eigenvalue and overlaps; wrong predictions must fail."""

import numpy as np
import pytest

from shallow.spectra import esd, rank_one

H, D = 900, 600


def planted(theta: float, seed: int, *, variance: float = 1.0):
    """Top triplet of W0 + theta u v^T, and its overlaps with u and v."""
    rng = np.random.default_rng(seed)
    W = np.sqrt(variance) * rng.standard_normal((H, D))
    u, v = rng.standard_normal(H), rng.standard_normal(D)
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    U, s, V = esd.top(W + theta * np.outer(u, v))
    return s[0] ** 2, (u @ U[:, 0]) ** 2, (v @ V[:, 0]) ** 2


@pytest.mark.parametrize("multiple", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("variance", [1.0, 1 / D])
def test_planted_spike_is_where_the_formula_says(multiple, variance):
    theta = multiple * rank_one.threshold(H, D, variance)
    found = np.mean([planted(theta, seed, variance=variance) for seed in range(4)], axis=0)
    said = rank_one.spike(theta, H, D, variance)
    assert found[0] == pytest.approx(float(said.eigenvalue), rel=0.02)
    assert abs(theta**2 / found[0] - 1) > 0.08  # the twin: the norm added without interaction
    assert found[1] == pytest.approx(float(said.left), abs=0.03)
    assert found[2] == pytest.approx(float(said.right), abs=0.03)
    assert rank_one.strength(found[0], H, D, variance) == pytest.approx(theta, rel=0.02)


def test_below_the_threshold_nothing_leaves_the_bulk():
    theta = 0.6 * rank_one.threshold(H, D)
    eigenvalue, left, right = planted(theta, 0)
    said = rank_one.spike(theta, H, D)
    assert (said.left, said.right) == (0, 0)
    assert eigenvalue == pytest.approx(float(said.eigenvalue), rel=0.02)
    assert max(left, right) < 0.05
    assert np.isnan(rank_one.strength(0.9 * said.eigenvalue, H, D))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_and_sizes_change_no_overlap(unit):
    theta = 3 * rank_one.threshold(H, D)
    one, scaled = rank_one.spike(theta, H, D), rank_one.spike(theta * unit**0.5, H, D, unit)
    assert np.divide(scaled, [unit, 1, 1]) == pytest.approx(np.array(one))
    many = np.int64(10**10)  # of which the square wraps around
    assert rank_one.spike(2e5, many, many).right == pytest.approx(0.75)
    assert rank_one.strength(rank_one.spike(2e5, many, many).eigenvalue, many, many) == pytest.approx(2e5)
    for name, call in (("theta", rank_one.spike), ("eigenvalue", rank_one.strength)):
        with pytest.raises(ValueError, match=rf"^{name}\b.* must be in .*, got"):
            call(1e151, H, D)


def test_known_threshold_and_inverse():
    assert rank_one.threshold(1500, 1000) == pytest.approx(35.0, abs=0.01)
    assert rank_one.threshold(1500, 1000, 1 / 1000) == pytest.approx(1.107, abs=1e-3)
    theta = np.geomspace(1.001, 1e4, 50) * rank_one.threshold(H, D, 0.1)
    back = rank_one.strength(rank_one.spike(theta, H, D, 0.1).eigenvalue, H, D, 0.1)
    assert np.abs(back / theta - 1).max() < 1e-8
    at = rank_one.spike(rank_one.threshold(H, D), H, D)
    assert at.eigenvalue == pytest.approx((np.sqrt(H) + np.sqrt(D)) ** 2)
