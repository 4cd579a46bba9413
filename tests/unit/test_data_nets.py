"""Cyclic labels and networks: the laws that results rely on."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shallow import nets
from shallow.data import cyclic
from shallow.nets import TwoLayer


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Data.


@given(st.integers(1, 5), st.floats(-0.5, 0.5))
def test_clusters_are_half_periods_with_alternating_labels(periods, x):
    exact = 2 * periods * (Fraction(x) + Fraction(1, 2))
    label, cluster = cyclic.labels(x, periods), cyclic.clusters(x, periods)
    assert 0 <= cluster < 2 * periods
    if abs(exact - round(exact)) > 1e-12:  # away from the boundaries, where the product 2 P x rounds
        assert cluster == exact // 1 and label == (-1) ** int(cluster - periods)
    assert label in (0, (-1) ** int(cluster - periods))


def test_boundaries_separate_the_clusters():
    inner = cyclic.boundaries(3)
    assert np.allclose(inner, [-1 / 3, -1 / 6, 0, 1 / 6, 1 / 3])
    assert (np.diff([cyclic.clusters(inner - 1e-9), cyclic.clusters(inner + 1e-9)], axis=0) == 1).all()
    for periods in (1, 3, 4):
        assert not cyclic.labels(np.arange(-periods, periods + 1) / 2 / periods, periods).any()
        assert np.abs(cyclic.grid()[:, None] - cyclic.boundaries(periods)).min() > 1e-5


def test_sample_follows_the_published_stream():
    plain = rng([0, 30, 5])
    x = np.sort(plain.uniform(-0.5, 0.5, 30))
    data = cyclic.sample(30, seed=5)
    assert (data.x == x).all() and (data.y == cyclic.labels(x)).all()
    network = nets.default(data.rng, 8)
    w, b, v = (plain.uniform(-1, 1, 8) for _ in range(3))
    assert (network.W[:, 0] == w).all() and (network.b == b).all() and (network.v == v / np.sqrt(8)).all()


@pytest.mark.parametrize("periods", [3, 4])
@pytest.mark.parametrize("design", ["strat", "poor(5,1)", "poor(0,3)", "two_rightmost"])
def test_designs_fill_the_clusters_they_name(design, periods):
    data = cyclic.sample(50, base=7, seed=2, design=design, periods=periods)
    count = np.bincount(cyclic.clusters(data.x, periods), minlength=2 * periods)
    expected = np.bincount(cyclic.design_clusters(design, 50, periods), minlength=2 * periods)
    assert (count == expected).all() and count.sum() == 50 and (np.diff(data.x) >= 0).all()
    few = {"poor(5,1)": {5: 1}, "poor(0,3)": {0: 3}, "two_rightmost": {-2: 1, -1: 2}}.get(design, {})
    assert all(count[cluster] == number for cluster, number in few.items())
    assert np.ptp(np.delete(count, list(few))) <= 1


def test_designs_of_one_seed_share_their_stream():
    iid, strat, equi = (cyclic.sample(20, base=7, seed=1, design=design) for design in ("iid", "strat", "equi"))
    assert (equi.x == cyclic.grid(20)).all()
    first, second = iid.rng.uniform(size=25), strat.rng.uniform(size=5)
    assert (second == first[20:]).all()  # the second draw of a designed sample is one vector of 20
    assert (equi.rng.uniform(size=25) == first).all()


# Networks.


def test_forward_is_the_sum_over_neurons():
    network, x = TwoLayer([[1.0, 2.0], [-1.0, 0.0]], [0.5, 0.25], [2.0, -3.0]), np.array([[0.1, 0.2], [-1.0, 0.0]])
    assert network.forward(x) == pytest.approx([2 * (0.1 + 0.4 + 0.5) - 3 * 0.15, -3 * 1.25])
    assert network.width == 2 and TwoLayer([1, 2], [3, 4], [5, 6]).W.shape == (2, 1)
    assert network.forward(np.empty((0, 2))).shape == (0,)


def test_output_is_homogeneous_of_degree_two():
    network, x = nets.default(rng(), 64), cyclic.grid(30)
    for alpha in (0.1, 3.0):
        assert np.allclose(nets.scaled(network, alpha).forward(x), alpha**2 * network.forward(x), rtol=1e-12)
    negative = nets.scaled(network, -1.0).forward(x)
    assert not np.allclose(negative, network.forward(x))  # positive factors only


def test_initialisations_have_their_variances():
    for initial, variance in ((nets.default, 1 / 3), (nets.normal, 1.0)):
        network = initial(rng(2), 100_000)
        for parameter, expected in ((network.W, variance), (network.b, variance), (network.v, variance / 100_000)):
            assert parameter.var() == pytest.approx(expected, rel=0.02) and abs(parameter.mean()) < 0.02


def test_antisymmetric_network_is_zero_and_twice_as_wide():
    network, x = nets.default(rng(), 50), cyclic.grid(100)
    doubled = nets.antisymmetric(network)
    assert doubled.width == 100 and np.abs(doubled.forward(x)).max() < 1e-15
    assert (nets.with_output(network, np.zeros(50)).forward(x) == 0).all()
    assert np.abs(network.forward(x)).max() > 0.01
