"""The ridge read-out and its measures against explicit kernels, normal equations and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as SklearnRidge

from experiments.authors_programs.files import difference
from experiments.heavy_tails import read_out
from shallow import nets
from shallow.data import single_index
from shallow.kernels import empirical, ridge
from shallow.stats import stream


def features(n, h, seed=0):
    rng = np.random.default_rng([n, h, seed])
    return rng.normal(size=(n, h)), rng.normal(size=n)


@pytest.mark.parametrize("penalty", [1e-5, 0.01, 10.0])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (50, 50), (7, 1), (1, 7)])
def test_weights_solve_the_normal_equations(shape, penalty):
    Z, y = features(*shape)
    found = ridge.Ridge(Z, y).weights(penalty)
    n, h = shape
    assert difference(found, np.linalg.inv(Z.T @ Z + penalty * n * np.eye(h)) @ Z.T @ y) < 1e-8
    assert difference(found, SklearnRidge(alpha=penalty * n, fit_intercept=False, solver="svd").fit(Z, y).coef_) < 1e-8
    gradient = -2 / n * Z.T @ (y - Z @ found) + 2 * penalty * found  # of the document's objective, eq. 6
    assert np.abs(gradient).max() < 1e-10 * np.abs(Z.T @ y / n).max()
    assert (ridge.Ridge(-np.abs(Z), y).weights(penalty) == -ridge.Ridge(np.abs(Z), y).weights(penalty)).all()
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
    found = read_out.evaluate(student, data.probe, data.test, [0.1, 5.0], scale=student.scale**2 if twice else None)

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
            results.append(read_out.evaluate(net, data.probe, data.test, [0.01], scale=scale))
        for name in ("train", "test", "alignment"):
            assert getattr(results[1], name) == pytest.approx(getattr(results[0], name), rel=1e-4)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_the_path_of_a_kernel_is_ridge_on_its_features(shape):
    """And the errors of leaving one out are those of refits."""
    (Z, y), penalties = features(*shape), np.array([0.1, 1, 50])
    new = np.random.default_rng(2).normal(size=(7, shape[1]))
    kernel, n = Z @ Z.T, len(Z)
    path = ridge.RidgePath(kernel, y)
    for k, penalty in enumerate(penalties):
        assert difference(path.values(new @ Z.T, penalties)[:, k], new @ ridge.Ridge(Z, y).weights(penalty / n)) < 1e-8
        assert difference(path.values(new @ Z.T, penalties)[:, k], new @ ridge.Ridge(Z, y).weights(penalty)) > 1e-3
        beta = ridge.solve(kernel, np.stack([y, 2 * y], axis=1), penalty)
        assert (
            difference(path.coefficients(penalties)[:, k], beta[:, 0]) < 1e-8 > difference(2 * beta[:, 0], beta[:, 1])
        )
    for i in (0, n - 1):
        others = np.delete(np.arange(n), i)
        refit = ridge.RidgePath(kernel[np.ix_(others, others)], y[others]).values(kernel[i : i + 1, others], penalties)
        assert path.leave_one_out(penalties)[i] == pytest.approx(y[i] - refit[0], rel=1e-7)


def test_negative_eigenvalues_of_a_kernel_are_taken_for_zero_if_they_can_be_rounding():
    vectors, y = np.linalg.qr(features(3, 3)[0])[0], np.array([1.0, -2.0, 0.5])
    path, clipped = (ridge.RidgePath(vectors * values @ vectors.T, y) for values in ([2, 1, -1e-5], [2, 1, 0]))
    assert path.coefficients([1e-5, 2.0]) == pytest.approx(clipped.coefficients([1e-5, 2.0]), rel=1e-8)
    assert path.leave_one_out([1e-5, 2.0]) == pytest.approx(clipped.leave_one_out([1e-5, 2.0]), rel=1e-8)
    with pytest.raises(ValueError, match="^kernel must be positive semidefinite, got eigenvalues from -3e-05 to 2"):
        ridge.RidgePath(vectors * [2, 1, -3e-5] @ vectors.T, y)


@pytest.mark.parametrize("h, d", [(50, 30), (30, 50)])
def test_similarity_is_that_of_the_singular_vector(h, d):
    rng = np.random.default_rng([h, d])
    W = rng.normal(size=(h, d))
    v = np.linalg.svd(W)[2][0]
    directions = np.linalg.qr(rng.normal(size=(d, 3)))[0].T
    assert read_out.similarity(W, directions[0]) == pytest.approx(abs(v @ directions[0]), abs=1e-10)
    assert read_out.similarity(W, directions) == pytest.approx(np.linalg.norm(directions @ v), abs=1e-10)
    assert read_out.similarity(W.astype(np.float32), v) == pytest.approx(1, abs=1e-6)
    planted = W + 40 * np.outer(rng.normal(size=h) / h**0.5, directions[0])
    assert read_out.similarity(planted, directions[0]) > 0.95 > read_out.similarity(W, directions[0])
