"""The ridge read-out and its measures against explicit kernels, normal equations and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as SklearnRidge

from shallow import nets
from shallow.data import single_index
from shallow.kernels import empirical
from shallow.stats import stream
from shallow.train import ridge


def features(n, h, seed=0):
    rng = np.random.default_rng([n, h, seed])
    return rng.normal(size=(n, h)), rng.normal(size=n)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("penalty", [1e-5, 0.01, 10.0])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (50, 50), (7, 1), (1, 7)])
def test_weights_solve_the_normal_equations(shape, penalty):
    Z, y = features(*shape)
    found = ridge.Ridge(Z, y).weights(penalty)
    n, h = shape
    assert relative(found, np.linalg.inv(Z.T @ Z + penalty * n * np.eye(h)) @ Z.T @ y) < 1e-8
    assert relative(found, SklearnRidge(alpha=penalty * n, fit_intercept=False, solver="svd").fit(Z, y).coef_) < 1e-8
    gradient = -2 / n * Z.T @ (y - Z @ found) + 2 * penalty * found  # of the document's objective, eq. 6
    assert np.abs(gradient).max() < 1e-10 * np.abs(Z.T @ y / n).max()
    wrong = ridge.Ridge(Z, y).weights(1.01 * penalty)
    assert np.abs(-2 / n * Z.T @ (y - Z @ wrong) + 2 * penalty * wrong).max() > 1e-10 * np.abs(Z.T @ y / n).max()


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 5))
def test_alignment_is_that_of_the_explicit_kernel(n, h, seed):
    Z, y = features(n, h, seed)
    assert ridge.Ridge(Z, y).alignment == pytest.approx(empirical.alignment(Z @ Z.T, np.outer(y, y)), rel=1e-12)
    assert ridge.Ridge(3 * Z, -2 * y).alignment == pytest.approx(ridge.Ridge(Z, y).alignment, rel=1e-12)


@pytest.mark.parametrize("n, h", [(80, 50), (50, 80)])
@pytest.mark.parametrize("twice", [False, True])
def test_evaluation_is_what_the_document_writes(n, h, twice):
    """Every quantity of equations 6 and 7 written out, for the features of the text and of the code."""
    d = 20
    teacher = single_index.random_teacher(stream("test", "teacher"), d)
    data = single_index.split(teacher, n, seed=1, test=30, dtype=np.float64)
    student = nets.ntk(stream("test", "student"), h, d)
    found = ridge.evaluate(student, data.probe, data.test, [0.1, 5.0], scale=student.scale**2 if twice else None)

    def Z(x):
        return np.tanh(x @ student.W.T / (d if twice else d**0.5)) / h**0.5

    (fitted, y), (unseen, labels) = ((Z(part.x), part.y) for part in (data.probe, data.test))
    assert found.alignment == pytest.approx(empirical.alignment(fitted @ fitted.T, np.outer(y, y)), rel=1e-10)
    for i, penalty in enumerate([0.1, 5.0]):
        weights = np.linalg.solve(fitted.T @ fitted + penalty / h * n * np.eye(h), fitted.T @ y)
        assert found.train[i] == pytest.approx(np.mean((y - fitted @ weights) ** 2), rel=1e-8)
        assert found.test[i] == pytest.approx(np.mean((labels - unseen @ weights) ** 2), rel=1e-8)
    assert (np.diff(found.train) > 0).all()


def test_evaluation_in_single_precision_is_close():
    teacher = single_index.random_teacher(stream("test", "teacher"), 30)
    student = nets.ntk(stream("test", "student"), 60, 30)
    rounded = nets.Student(student.W.astype(np.float32), student.a, student.scale)
    for scale in (None, student.scale**2):
        results = []
        for net, dtype in ((student, np.float64), (rounded, np.float32)):
            data = single_index.split(teacher, 100, seed=1, dtype=dtype)
            results.append(ridge.evaluate(net, data.probe, data.test, [0.01], scale=scale))
        for name in ("train", "test", "alignment"):
            assert getattr(results[1], name) == pytest.approx(getattr(results[0], name), rel=1e-4)


@pytest.mark.parametrize("h, d", [(50, 30), (30, 50)])
def test_similarity_is_that_of_the_singular_vector(h, d):
    rng = np.random.default_rng([h, d])
    W = rng.normal(size=(h, d))
    v = np.linalg.svd(W)[2][0]
    directions = np.linalg.qr(rng.normal(size=(d, 3)))[0].T
    assert ridge.similarity(W, directions[0]) == pytest.approx(abs(v @ directions[0]), abs=1e-10)
    assert ridge.similarity(W, directions) == pytest.approx(np.linalg.norm(directions @ v), abs=1e-10)
    assert ridge.similarity(W.astype(np.float32), v) == pytest.approx(1, abs=1e-6)
    planted = W + 40 * np.outer(rng.normal(size=h) / h**0.5, directions[0])
    assert ridge.similarity(planted, directions[0]) > 0.95 > ridge.similarity(W, directions[0])
