"""A space that does not know the direction holds at most the ceiling of a function of it, and some spaces hold it."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from sklearn.metrics.pairwise import rbf_kernel

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.polynomial_machines.ceiling import angular_energies, ceiling
from experiments.hidden_structure.theory import bulk_ceiling
from shallow.stats import stream

DIMENSION, DEVIATION = 5, 0.6
TARGET = hidden_index.polynomial(3) + 0.5 * hidden_index.polynomial(4)


@pytest.fixture(scope="module")
def x():
    return stream("ceiling", "x").standard_normal((20_000, DIMENSION))


@pytest.mark.parametrize("dimension", [2, 3, 10, 100])
def test_energies_are_all_there_is_and_tend_to_hermite_parts(dimension):
    energies, harmonics = angular_energies(TARGET, DEVIATION, dimension)
    coefficients = hidden_index.hermite_coefficients(TARGET, DEVIATION)
    assert energies.sum() == pytest.approx((coefficients**2).sum())
    assert (energies > -1e-12).all()
    assert ceiling(TARGET, DEVIATION, dimension, int(harmonics.sum())) == pytest.approx(1)
    if dimension == 100:
        assert energies == pytest.approx(coefficients**2, rel=0.2, abs=0.02)


def test_known_numbers_of_harmonics():
    assert angular_energies(Polynomial.basis(4), 1.0, 3).harmonics.tolist() == [1, 3, 5, 7, 9]
    assert angular_energies(Polynomial.basis(3), 1.0, 2).harmonics.tolist() == [1, 2, 2, 2]


def bulk_fits(features, x, name, directions=100):
    """Best fits in the bulk from features (n, V) and a constant: mean of the root of 1 - Rc, and the spread s."""
    u = stream("ceiling", name).standard_normal((directions, x.shape[1]))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(len(x)), features]))
    roots, variances, sigma = [], [], []
    for one in u / np.linalg.norm(u, axis=1, keepdims=True):
        v = DEVIATION * x @ one
        y, inside = TARGET(v), np.abs(v) <= 1
        f = basis @ np.linalg.lstsq(basis[inside], y[inside], rcond=None)[0]
        left, whole = (np.mean(gap**2 * inside) for gap in (f - y, y - y[inside].mean()))
        roots.append((left / whole) ** 0.5)
        variances.append(f.var())
        sigma.append(whole)
    return np.mean(roots), (np.mean(variances) / np.mean(sigma)) ** 0.5


@pytest.mark.parametrize("points", [3, 10, 40])
def test_in_the_bulk_gaussian_kernels_stay_below_for_their_spread(x, points):
    left, spread = bulk_fits(rbf_kernel(x, x[:points], gamma=0.1), x, "bulk")
    bound = bulk_ceiling.ceiling(bulk_ceiling.bulk(TARGET, DEVIATION, DIMENSION), points, spread)
    assert bound >= 0 and left >= (1 - bound) ** 0.5 - 0.01


def test_in_the_bulk_a_function_that_knows_the_direction_is_above_the_ceiling():
    space = bulk_ceiling.bulk(TARGET, DEVIATION, 100)
    assert bulk_ceiling.ceiling(space, 1, 1.2) < 0.3
    assert bulk_ceiling.ceiling(space, 1, 1.0) < bulk_ceiling.ceiling(space, 300_000, 1.0)
    assert 1 - 1e-9 <= space.target @ space.target <= 1 + 1e-9


def test_parts_of_the_bulk_are_those_of_samples():
    """Energy of degree 1 of the target in the bulk: D times the square of its mean with a coordinate across lengths."""
    space = bulk_ceiling.bulk(TARGET, DEVIATION, DIMENSION)
    z = stream("ceiling", "bulk sample").standard_normal((400_000, DIMENSION))
    v = DEVIATION * z[:, 0]
    inside = np.abs(v) <= 1
    g = (TARGET(v) - TARGET(v)[inside].mean()) * inside
    r = np.linalg.norm(z, axis=1)
    bins = np.digitize(r, np.quantile(r, np.linspace(0, 1, 41)[1:-1]))
    part = [np.mean(g[bins == b] * z[bins == b, 0] / r[bins == b]) ** 2 for b in range(40)]
    found = DIMENSION * np.mean(part) / np.mean(g**2)
    assert space.target @ space.angular[1] @ space.target == pytest.approx(found, rel=0.05)
