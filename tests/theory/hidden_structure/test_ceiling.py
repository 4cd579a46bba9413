"""A space that does not know the direction holds at most the ceiling of a function of it, and some spaces hold it."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from sklearn.metrics.pairwise import rbf_kernel

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.polynomial_machines.ceiling import angular_energies, ceiling
from shallow.stats import stream

DIMENSION, DEVIATION = 5, 0.6
TARGET = hidden_index.polynomial(3) + 0.5 * hidden_index.polynomial(4)


def held(features, x, name, directions=200):
    """Mean and standard error over directions of the R^2 of the best combination of features (n, V) and a constant."""
    u = stream("ceiling", name).standard_normal((directions, x.shape[1]))
    y = TARGET(DEVIATION * x @ (u / np.linalg.norm(u, axis=1, keepdims=True)).T)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(len(x)), features]))
    r2 = 1 - ((y - basis @ (basis.T @ y)) ** 2).mean(axis=0) / y.var(axis=0)
    return r2.mean(), r2.std() / directions**0.5


@pytest.fixture(scope="module")
def x():
    return stream("ceiling", "x").standard_normal((20_000, DIMENSION))


@pytest.mark.parametrize("points", [3, 10, 40])
def test_gaussian_kernels_stay_below(x, points):
    mean, error = held(rbf_kernel(x, x[:points], gamma=0.1), x, "gaussian")
    assert mean < ceiling(TARGET, DEVIATION, DIMENSION, points) + 3 * error


def test_linear_functions_hold_what_is_linear(x):
    """The D coordinates take a share of an odd part; times a radial function they reach the ceiling of a cubic."""
    cubic = Polynomial([0, -1.0, 0, 1.0])
    energies, harmonics = angular_energies(cubic, 1.0, DIMENSION)
    assert harmonics[1] == DIMENSION and energies[[0, 2]] == pytest.approx(0, abs=1e-12)
    # E_t (r^3 t^3 - r t) t = r^3 3/(D (D + 2)) - r/D: the radial function of the linear part
    radius = np.linalg.norm(x, axis=1, keepdims=True)
    radial = x * (3 * radius**2 / (DIMENSION + 2) - 1)
    u = np.eye(DIMENSION)[0]
    y = cubic(x @ u)
    basis, _ = np.linalg.qr(radial)
    found = ((basis.T @ y) ** 2).sum() / (y**2).sum()
    assert found == pytest.approx(ceiling(cubic, 1.0, DIMENSION, DIMENSION - 1), abs=0.02)
    assert found > ceiling(cubic, 1.0, DIMENSION, DIMENSION - 2) + 0.02


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
