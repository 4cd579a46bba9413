"""Structured kernels against Jacobians of automatic differentiation, and the number of modes with a share of K."""

import numpy as np
import pytest

from experiments.authors_programs.files import difference
from experiments.cyclic_labels import oracle
from shallow import nets
from shallow.data import cyclic
from shallow.kernels import empirical


def random_network(rng: np.random.Generator, width: int, inputs: int) -> nets.TwoLayer:
    return nets.TwoLayer(rng.normal(size=(width, inputs)), rng.normal(size=width), rng.normal(size=width) / width**0.5)


@pytest.mark.parametrize("inputs", [1, 3])
@pytest.mark.parametrize("width", [1, 17, 512, 8192])
def test_blocks_are_those_of_the_jacobian(width, inputs):
    rng = np.random.default_rng([width, inputs])
    network = random_network(rng, width, inputs)
    network.W[1::2] = 0.0  # active everywhere or nowhere
    x, z = rng.uniform(-1, 1, (12, inputs)), rng.uniform(-1, 1, (7, inputs))
    left, right = oracle.jacobian(network, x), oracle.jacobian(network, z)
    found = empirical.blocks(network, x, z)
    for name, block in zip(("v", "W", "b"), found, strict=True):
        assert block.shape == (12, 7)
        assert difference(block, left[name] @ right[name].T) < 1e-12
    assert difference(empirical.ntk(network, x), sum(J @ J.T for J in left.values())) < 1e-12
    assert difference(empirical.conjugate(network, x), left["v"] @ left["v"].T) < 1e-12
    weighted = empirical.ntk(network, x, z, rates=(0.5, 2.0, 0.0))
    assert difference(weighted, 0.5 * left["v"] @ right["v"].T + 2 * left["W"] @ right["W"].T) < 1e-12


@pytest.mark.parametrize("inputs", [1, 2])
def test_convention_at_a_kink_is_that_of_relu(inputs):
    network = nets.TwoLayer(np.outer([1.0, -1.0, 0.0], np.eye(inputs)[0]), [-0.25, 0.25, 0.0], [1.0, 2.0, 3.0])
    # The second point lies on both kinks, the third neuron is always at its own.
    x = np.outer([-0.5, 0.25, 0.5], np.ones(inputs))
    expected = sum(J @ J.T for J in oracle.jacobian(network, x).values())
    assert difference(empirical.ntk(network, x), expected) < 1e-15
    assert not empirical.ntk(network, x)[1].any()


@pytest.mark.parametrize("width", [8, 128, 8192])
def test_eigenbasis_is_orthonormal_positive_and_rebuilds_the_kernel(width):
    data = cyclic.sample(100, seed=2)
    kernel = empirical.ntk(nets.default(data.rng, width), data.x)
    values, vectors = empirical.eigenbasis(kernel)
    assert (np.diff(values) <= 0).all() and values[-1] > -1e-10 * values[0] and values.flags.c_contiguous
    assert np.abs(vectors.T @ vectors - np.eye(100)).max() < 1e-12
    assert difference(vectors * values @ vectors.T, kernel) < 1e-12
    first = vectors[np.argmax(np.abs(vectors) > 1e-6, axis=0), np.arange(100)]
    assert (first > 0).all()


@pytest.mark.parametrize(
    ("shares", "k95"),
    [
        ([0.95, 0.05], 1),  # reached exactly
        ([0.5, 0.45, 0.05], 2),  # reached exactly, up to rounding of the sum
        ([1 / 20] * 20, 19),  # ties; 19/20 is exactly the threshold
        ([1 / 21] * 21, 20),
    ],
)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_a_share_that_is_reached_exactly_counts(shares, k95, scale):
    assert empirical.modes_for(scale * np.array(shares)) == k95


def test_rule_on_random_spectra_is_the_definition():
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = np.sort(rng.pareto(rng.uniform(0.3, 3), 60))[::-1]
        threshold = rng.uniform(0.05, 0.999)
        enough = [k for k in range(1, 61) if values[:k].sum() / values.sum() >= threshold - 1e-12]
        assert empirical.modes_for(values, threshold) == enough[0]


def test_comparisons_of_kernels_and_subspaces():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    kernel = A @ A.T
    assert empirical.alignment(kernel, 7 * kernel) == pytest.approx(1)
    assert empirical.alignment(np.diag([1.0, 0]), np.diag([0, 1.0])) == 0
    basis = np.linalg.qr(A)[0]
    turned = basis[:, :5] @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    assert empirical.subspace_alignment(basis[:, :5], turned) == pytest.approx(1)
    assert empirical.subspace_alignment(basis[:, :5], basis[:, 3:8]) == pytest.approx(2 / 5)
    rest = empirical.without(kernel, basis[:, :2] * [3, 5])
    projection = np.eye(30) - basis[:, :2] @ basis[:, :2].T
    assert difference(rest, projection @ kernel @ projection) < 1e-12


def test_dependent_functions_span_what_one_of_them_spans():
    assert np.trace(empirical.without(np.eye(3), np.ones((3, 2)))) == pytest.approx(2)
