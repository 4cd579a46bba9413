"""Eigenvalues, top triplets and overlaps against full decompositions, on spectra that defeat a careless method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.heavy_tails.first_update import cells as first_update
from experiments.heavy_tails.overlaps import cells as overlaps
from shallow.spectra import esd, tails


def with_spectrum(h: int, d: int, values: np.ndarray, seed: int = 0) -> np.ndarray:
    """A matrix h x d with the given eigenvalues of its smaller Gram matrix."""
    rng = np.random.default_rng([h, d, seed])
    b = min(h, d)
    U, V = (np.linalg.qr(rng.standard_normal((n, b)))[0] for n in (h, d))
    return U * np.sqrt(values) @ V.T


@pytest.mark.parametrize(("h", "d"), [(60, 40), (40, 60), (50, 50), (1, 7), (7, 1)])
@pytest.mark.parametrize("spike", [1.0, 1e4, 1e9, 1e13])
def test_eigenvalues_are_right_to_eight_digits(h, d, spike):
    wanted = np.sort(np.append(spike * 100, np.geomspace(1, 90, min(h, d) - 1)))[::-1]
    found = esd.eigenvalues(with_spectrum(h, d, wanted))
    assert found.shape == wanted.shape and (np.diff(found) <= 0).all()
    # a matrix stored in float64 has its singular values only up to rounding relative to the largest
    assert np.abs(found / wanted - 1).max() < max(1e-8, 1e-14 * np.sqrt(wanted[0] / wanted[-1]))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 10**6), st.floats(-30, 30))
@settings(deadline=None)
def test_eigenvalues_are_squared_singular_values(h, d, seed, decade):
    W = 10**decade * np.random.default_rng(seed).standard_normal((h, d))
    singular = np.linalg.svd(W, compute_uv=False)
    assert np.abs(np.sqrt(esd.eigenvalues(W)) - singular).max() <= 1e-8 * singular[-1] + 1e-13 * singular[0]
    assert esd.stable_rank(esd.eigenvalues(W)) == pytest.approx((np.linalg.norm(W) / np.linalg.norm(W, 2)) ** 2)


def test_rank_deficient_and_zero_matrices_have_their_zeros():
    rng = np.random.default_rng(0)
    low = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20))
    values = esd.eigenvalues(low)
    assert values[2] > 1 and (values[3:] == 0).all()
    assert not esd.eigenvalues(np.zeros((4, 3))).any()
    assert not esd.top(np.zeros((40, 30))).s.any()
    assert esd.stable_rank(np.full(5, 1e308)) == 5


@pytest.mark.parametrize(("h", "d"), [(60, 40), (40, 40), (300, 200)])
def test_a_wide_spectrum_is_as_right_as_its_matrix_allows(h, d):
    wanted = np.geomspace(1, 1e-24, min(h, d))
    error = np.abs(esd.eigenvalues(with_spectrum(h, d, wanted)) / wanted - 1)
    assert (error <= np.maximum(1e-8, 10 * np.finfo(float).eps / np.sqrt(wanted))).all()


@pytest.mark.parametrize("power", [-560, -500, 500, 560])
def test_units_are_powers_of_two_before_and_after(power):
    W, unit = np.random.default_rng(4).standard_normal((60, 40)), 2.0**power
    plain, scaled = esd.top(W, 3), esd.top(unit * W, 3)
    assert scaled.s / unit == pytest.approx(plain.s, rel=1e-12)
    assert np.abs(scaled.V - plain.V).max() < 1e-8
    assert esd.singular_vectors(unit * W).s / unit == pytest.approx(esd.singular_vectors(W).s)
    if abs(power) == 500:
        assert esd.eigenvalues(unit * W) / unit / unit == pytest.approx(esd.eigenvalues(W), rel=1e-12)
    else:
        with pytest.raises(ValueError, match=r"^W must have singular values in .* for their squares, got "):
            esd.eigenvalues(unit * W)


INTEGERS = np.random.default_rng(5).integers(-9, 10, (60, 20)).astype(float)


@pytest.mark.parametrize(
    "W",
    [np.hstack([INTEGERS, -INTEGERS]), 40 * np.eye(40) - 1, np.kron(np.diag(np.arange(1.0, 21)), [[1, -1], [-1, 1]])],
)
def test_no_matrix_has_the_start_of_the_iterations_in_its_null_space(W):
    """All map the vector of ones to zero."""
    assert not W.sum(axis=1).any()
    known = np.linalg.svd(W, compute_uv=False)
    assert esd.top(W, 1).s == pytest.approx(known[:1]) and esd.top(W, 1).s.shape == (1,)
    assert first_update.along(W, 0 * W)(1.0)[0] == pytest.approx(known[0] ** 2)


def test_results_are_arrays_without_negative_strides():
    W = np.random.default_rng(6).standard_normal((60, 40))
    values = esd.eigenvalues(W)
    for array in (values, *esd.top(W, 2), *esd.singular_vectors(W), *tails.hill_path(values), esd.positive(values)):
        assert min(array.strides) > 0


@pytest.mark.parametrize(("h", "d"), [(90, 60), (60, 90)])
@pytest.mark.parametrize("k", [1, 3, 5, 6, 60])
def test_top_triplets_are_those_of_the_full_decomposition(h, d, k):
    W = np.random.default_rng(1).standard_normal((h, d))
    found, wanted = esd.top(W, k), esd.singular_vectors(W)
    assert found.U.shape == (h, k) and found.s.shape == (k,) and found.V.shape == (d, k)
    assert found.s == pytest.approx(wanted.s[:k], rel=1e-10)
    assert np.abs(np.sum(found.U * wanted.U[:, :k], axis=0)) == pytest.approx(np.ones(k), abs=1e-8)
    assert np.abs(W @ found.V - found.U * found.s).max() < 1e-8
    assert all((a == b).all() for a, b in zip(found, esd.top(W, k)))


def test_best_scale_is_the_best_for_any_law():
    rng = np.random.default_rng(2)
    values = 7 * rng.exponential(size=200)

    def law(x):
        return 1 - np.exp(-x)

    def distance(scale):
        return max(esd.signed_distances(law(np.sort(values) / scale)))

    scale = esd.best_scale(law, values)
    assert scale == pytest.approx(7, rel=0.2)
    assert distance(scale) <= min(distance(scale * c) for c in np.geomspace(0.2, 5, 1001)) + 1e-9
    assert esd.best_scale(law, 1e9 * values) == pytest.approx(1e9 * scale)


def test_random_vectors_overlap_at_random_and_planted_ones_do_not():
    rng = np.random.default_rng(3)
    W, M = rng.standard_normal((2, 300, 200))
    first, second = (esd.singular_vectors(matrix).U for matrix in (W, M))
    found = overlaps.overlap(first, second)
    assert found.length == 300 and found.matrix[3, 7] == pytest.approx((first[:, 3] @ second[:, 7]) ** 2)
    assert found.mean_level == 1 / 300 and found.maximum_level == pytest.approx(2 * np.log(200**2) / 300)
    assert found.random and not found.outlier and 0.5 < found.maximum / found.maximum_level < 1.5
    diagonal = np.diagonal(found.matrix)
    assert found.diagonal_blocks((2, 5)) == pytest.approx([diagonal[:2].mean(), diagonal[2:5].mean()])
    shared = np.outer(rng.standard_normal(300), rng.standard_normal(200))
    found = overlaps.overlap(*(esd.singular_vectors(matrix + shared).U for matrix in (W, M)))
    assert found.outlier and not found.random and found.matrix[0, 0] == found.maximum
