"""Clusters of directions against a slow greedy cover, on planted clusters, and the networks made of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shallow import clusters, gaussian_loss, nets


def slow_cover(network, tolerance):
    """Greedy cover one cap at a time: angles by arctan2, masses summed afresh."""
    keys = [
        (np.sign(a), w / np.linalg.norm(w)) if a * np.linalg.norm(w) else None for a, w in zip(network.v, network.W)
    ]
    mass = np.abs(network.v) * np.linalg.norm(network.W, axis=1)

    def together(i, j):
        (s, u), (t, v) = keys[i], keys[j]
        return s == t and 2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)) <= tolerance

    left, groups = {i for i, key in enumerate(keys) if key}, []
    while left:
        caps = {i: {j for j in left if together(i, j)} for i in left}
        centre = max(caps, key=lambda i: sum(mass[j] for j in caps[i]))
        groups.append(caps[centre])
        left -= caps[centre]
    return groups


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4), st.floats(0.01, 1.2))
def test_agrees_with_the_slow_cover(seed, width, inputs, tolerance):
    rng = np.random.default_rng(seed)
    network = nets.small(rng, width, inputs, 1.0)
    network.W[rng.random(width) < 0.1] = 0
    found = clusters.find(network, tolerance)
    groups = slow_cover(network, tolerance)
    assert {frozenset(np.flatnonzero(found.labels == c)) for c in range(len(found.masses))} == set(
        map(frozenset, groups)
    )
    assert (np.diff(found.masses) <= 1e-12).all()
    for c, centre in enumerate(found.centres):
        assert found.labels[centre] == c
        assert found.masses[c] == pytest.approx(found.mass[found.labels == c].sum())
    assert found.sizes.sum() == (found.labels >= 0).sum() == (found.mass > 0).sum()


def planted(rng, directions, copies, spread):
    """Neurons around given directions of both signs, shuffled; the plant of each."""
    plant = rng.permutation(np.repeat(np.arange(2 * len(directions)), copies))
    signs = np.where(plant < len(directions), 1.0, -1.0)
    W = directions[plant % len(directions)] + spread * rng.standard_normal((len(plant), directions.shape[1]))
    W *= rng.uniform(0.5, 2, len(plant))[:, None]
    return nets.TwoLayer(W, np.zeros(len(plant)), signs * rng.uniform(0.5, 2, len(plant))), plant


def test_planted_clusters_are_found_and_signs_kept_apart():
    rng = np.random.default_rng(1)
    network, plant = planted(rng, np.eye(5)[:3], 200, 0.004)
    found = clusters.find(network)
    assert len(found.masses) == found.number(0.99) == 6
    assert clusters.purity(plant, found.labels, found.mass) == 1 == clusters.purity(found.labels, plant, found.mass)
    assert found.effective_width == pytest.approx(6, rel=0.02)
    assert clusters.purity(plant, rng.permutation(found.labels), found.mass) < 0.3  # no trace of the plant
    wide, _ = planted(rng, np.eye(5)[:3], 200, 0.2)  # clouds wider than a cap
    assert clusters.find(wide).number() > 60


def test_collinear_neurons_condense_without_change():
    rng = np.random.default_rng(4)
    network, _ = planted(rng, rng.standard_normal((4, 5)), 300, 0.0)
    small = clusters.condensed(network, clusters.find(network))
    assert small.width == 8
    assert np.linalg.norm(small.W, axis=1) == pytest.approx(np.abs(small.v))
    x = rng.standard_normal((50, 5))
    assert small.forward(x) == pytest.approx(network.forward(x), rel=1e-10)
    assert gaussian_loss.excess_risk(small, network) < 1e-9 * gaussian_loss.excess_risk(small, nets.scaled(small, 2))
    bent, _ = planted(rng, rng.standard_normal((4, 5)), 300, 0.01)
    assert gaussian_loss.excess_risk(clusters.condensed(bent, clusters.find(bent)), bent) > 1e-6


def test_purity_tells_splitting_from_merging():
    early, late = np.repeat([0, 1], 4), np.array([0, 0, 0, 2, 1, 1, 1, 1])
    mass = np.ones(8)
    assert clusters.purity(early, late, mass) == 7 / 8  # one neuron left its cluster
    assert clusters.purity(late, early, mass) == 1
    assert clusters.purity(early, np.zeros(8), mass) == 1 and clusters.purity(np.zeros(8), early, mass) == 1 / 2
    assert clusters.purity(early, late, np.array([1, 1, 1, 9, 0, 0, 0, 0])) == 9 / 12


def test_number_for_a_share():
    assert clusters.number_for(np.array([1.0, 96.0, 3.0]), 0.96) == 1
    assert clusters.number_for(np.array([1.0, 96.0, 3.0]), 0.97) == 2
    assert clusters.number_for(np.array([1.0, 96.0, 3.0]), 1.0) == 3
    assert clusters.number_for(np.empty(0)) == 0
