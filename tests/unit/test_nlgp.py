"""Samplers of nonlinear Gaussian processes: shapes and types, and one root by two ways."""

import numpy as np
import pytest
from scipy.linalg import circulant

from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

RNG = stream("test nlgp")
LIGHT = Process(8, 1, 1.0)


@pytest.mark.parametrize("tails", nlgp.TAILS)
@pytest.mark.parametrize("gain", [0, 1.0, np.inf])
@pytest.mark.parametrize("shape", [9, (4, 6)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_types(shape, gain, tails, dtype):
    process = Process(shape, 0.7, gain, tails=tails)
    x, y = nlgp.minibatch(RNG, process, process, 3, dtype)
    assert x.shape == (6, *process.shape) and x.dtype == y.dtype == dtype
    assert y.tolist() == [1, 1, 1, -1, -1, -1] and len(np.unique(x[:, 0])) > 1
    kept = np.zeros_like(x[:3])
    again = process.sample(stream("again"), 3, dtype, out=kept)
    assert again is kept and (again == process.sample(stream("again"), 3, dtype)).all()


def test_latent_values_are_kept_unless_they_are_the_output():
    z = LIGHT.latent(RNG, 5)
    before = z.copy()
    x = LIGHT.observed(z)
    assert (z == before).all() and (LIGHT.observed(z, out=z) == x).all() and (z == x).all()
    assert np.abs(LIGHT.observed(before.astype(np.float32)) - x).max() < 1e-6


@pytest.mark.parametrize("shape, xi", [(40, 2), (41, 1), (40, 0.1), (40, 4.47), (400, 20), ((12, 9), 1.5), (2, 1)])
def test_roots_square_to_the_kernel_and_have_no_idle_modes(shape, xi):
    process = Process(shape, xi, 1.0)
    whole = np.ones((1, 1))
    for root, n in zip(process.roots, process.shape, strict=True):
        square = root.T @ root
        assert np.abs(square - circulant(np.exp(-((nlgp.ring_distance(n) / xi) ** 2)))).max() < 1e-8
        sizes = (root**2).sum(axis=1)
        assert len(root) <= n and sizes.min() > nlgp.CUT * sizes.max()
        whole = np.kron(whole, square)
    assert np.abs(whole - nlgp.circulant(process.kernel)).max() < 1e-8
    assert Process(400, 20, 1.0).roots[0].shape == (61, 400)


@pytest.mark.parametrize("shape", [40, 41, (12, 9)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_product_and_the_transform_are_one_sampler(shape, dtype, monkeypatch):
    process = Process(shape, 1.5, 1.0)
    product = process.latent(stream("ways"), 7, dtype)
    monkeypatch.setattr(nlgp, "_PRODUCT", 0)
    transform = process.latent(stream("ways"), 7, dtype)
    assert transform.dtype == dtype and np.abs(product - transform).max() < (1e-12 if dtype == np.float64 else 1e-5)


def test_classes_and_samples_are_independent():
    x, _ = nlgp.minibatch(stream("independent"), LIGHT, LIGHT, 4_000)
    rows = [x[:4_000, 0], x[4_000:, 0], np.roll(x[:4_000, 0], 1)]
    assert np.abs(np.corrcoef(rows) - np.eye(3)).max() < 4.5 / 4_000**0.5


def test_circulants_and_their_eigenvalues():
    row = Process((3, 4), 0.8, 2.0).covariance
    matrix = nlgp.circulant(row)
    assert (matrix[0].reshape(3, 4) == row).all() and (matrix == matrix.T).all()
    assert np.linalg.eigvalsh(matrix) == pytest.approx(np.sort(nlgp.eigenvalues(row).ravel()))
    assert (nlgp.eigenvalues(-row) == -nlgp.eigenvalues(row)).all()
    assert (nlgp.circulant(np.arange(5.0)) == circulant(np.arange(5.0))).all()


def test_crossings_count_the_seam():
    assert nlgp.crossings(np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, 1, 1, 1]])).tolist() == [2, 4, 0]
    assert nlgp.crossings(np.ones((3, 2, 5))).shape == (3, 2)
