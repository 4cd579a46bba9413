"""Solvers for kernel machines of many support vectors against scikit-learn's on the same problems."""

import numpy as np
import pandas as pd
import pytest

from shallow import mlp, nets
from shallow.kernels import arc_cosine, empirical, interior_point, layered, linear_machines, machines, plain, ridge

RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 6))
QUADRATIC = (X @ X.T + 1) ** 2
VALUES = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
#: Gradients of a confident network: rows of very different length, fewer than columns.
J = RNG.standard_normal((80, 120)) * np.logspace(-4, 1, 80)[:, None]
LABELS = np.sign(J[:, 0] / np.linalg.norm(J, axis=1) + 0.05 * RNG.standard_normal(80))


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0])
def test_interior_point_is_libsvm_with_a_penalised_intercept(C):
    inner = interior_point.absolute_error(QUADRATIC, VALUES, C, tolerance=1e-7)
    pairs = machines.epsilon_insensitive(QUADRATIC, VALUES, C, intercept="penalised", tolerance=1e-4)
    assert not inner.convergence.stopped and inner.convergence.iterations < 25
    assert inner.convergence.objective <= pairs.convergence.objective * (1 + 1e-6)
    assert inner.values(QUADRATIC) == pytest.approx(pairs.values(QUADRATIC), abs=5e-3)
    assert np.abs(inner.coefficients).max() <= C


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 1e6])
def test_interior_point_of_the_hinge_is_libsvms_and_no_worse_for_large_C(C):
    """On pairs of equal points, some of them with different labels."""
    kernel, y = np.kron(QUADRATIC[::2, ::2], np.ones((2, 2))), np.sign(VALUES)
    inner = interior_point.hinge(kernel, y, C, tolerance=1e-7)
    pairs = machines.hinge(kernel, y, C, intercept="penalised", tolerance=1e-6)
    assert not inner.convergence.stopped and inner.convergence.iterations < 25
    assert inner.convergence.objective <= pairs.convergence.objective * (1 + 1e-6)
    assert C > 1 or inner.values(kernel) == pytest.approx(pairs.values(kernel), abs=1e-3)
    weights = y * inner.coefficients
    assert weights.min() >= 0 and weights.max() <= C


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("kernel", [QUADRATIC, QUADRATIC + np.eye(60)], ids=["singular", "regular"])
def test_interior_point_ends_where_pairs_take_too_long(C, kernel):
    """More points than features, and weights for which all points are met."""
    inner = interior_point.absolute_error(kernel, VALUES, C)
    assert not inner.convergence.stopped and abs(inner.convergence.gap) <= 1e-4 and inner.convergence.iterations < 25
    with_limit = interior_point.absolute_error(kernel, VALUES, C, max_iter=2)
    assert with_limit.convergence.stopped and with_limit.convergence.gap > 1e-4


def test_reduced_features_have_the_kernel():
    kernel = J @ J.T
    for tolerance in (1e-2, 1e-8):
        points = linear_machines.reduced(kernel, tolerance)
        assert np.abs(points.features @ points.features.T - kernel).max() <= tolerance * (1 + 1e-6)
        weights = RNG.standard_normal(len(points.pivots))
        at_points = kernel[:, points.pivots] @ points.coefficients(weights)
        assert at_points == pytest.approx(points.features @ weights, abs=1e-4 + tolerance**0.5 * 20)
    assert len(linear_machines.reduced(kernel, 1e-2).pivots) < len(points.pivots) <= 80


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_descent_on_reduced_features_is_linear_svc_on_gradients(C):
    """Along the passes the objective falls as scikit-learn's does, and both end at Newton's minimum."""
    kernel = J @ J.T
    points, limits = linear_machines.reduced(kernel, 1e-10), [1, 3, 10, 30, 100_000]
    ours = linear_machines.coordinate_descent(points, LABELS, C, np.random.default_rng(0), passes=limits)
    rng = np.random.default_rng(1)
    minimum = machines.squared_hinge(kernel, LABELS, C)
    for machine, limit in zip(ours[:-1], limits[:-1], strict=True):
        theirs = [linear_machines.squared_hinge(J, LABELS, C, rng, max_iter=limit) for _ in range(8)]
        excess = [reference.convergence.objective / minimum.convergence.objective - 1 for reference in theirs]
        found = machine.convergence.objective / minimum.convergence.objective - 1
        assert min(excess) / 4 - 1e-5 <= found <= 4 * max(excess) + 1e-5, limit
        assert machine.convergence.gap >= found / (1 + found) - 1e-9
    across = kernel[:, points.pivots]
    assert not ours[-1].convergence.stopped
    assert ours[-1].values(across) == pytest.approx(minimum.values(kernel), abs=0.05)
    assert np.abs(ours[0].values(across) - minimum.values(kernel)).max() > 0.1


SOLVERS = {
    f"{solver.__name__}, C = {C}": lambda kernel, y, solver=solver, C=C: solver(kernel, y, C)
    for solver in (
        machines.squared_hinge,
        machines.hinge,
        machines.epsilon_insensitive,
        interior_point.absolute_error,
    )
    for C in (0.1, 100.0)
} | {
    "path": ridge.RidgePath,
    "reduced": lambda kernel, y: linear_machines.reduced(kernel, 0.1),
}
MEASURES = {
    "rank": lambda kernel, y: empirical.effective_rank(kernel),
    "alignment": empirical.target_alignment,
}
SHOWING = [[1, 2], [2, 1]], [[1, -2], [-2, 1]], [[2, 1], [0, 2]], [[-1, 0], [0, -2]]
#: Of which no entry is above the diagonal: eigenvalues 1.9, 1.9 and -0.8.
HIDDEN = [[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]


@pytest.mark.parametrize(
    ("use", "kernel"),
    [(use, kernel) for use in SOLVERS | MEASURES for kernel in SHOWING] + [(use, HIDDEN) for use in SOLVERS],
)
def test_kernels_that_are_none_are_refused(use, kernel):
    with pytest.raises(ValueError, match="^kernel must be (symmetric|positive semidefinite)"):
        (SOLVERS | MEASURES)[use](np.array(kernel, dtype=float), np.array([1.0, -1.0, 1.0])[: len(kernel)])


@pytest.mark.parametrize("use", SOLVERS | MEASURES)
def test_rounding_of_single_precision_is_none(use):
    x = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float32)
    kernel = (x @ x.T + 1) ** 2
    assert np.linalg.eigvalsh(kernel.astype(float))[0] < -1e-9 * np.trace(kernel)
    (SOLVERS | MEASURES)[use](kernel, np.where(x[:, 0] > 0, 1.0, -1.0))


@pytest.mark.parametrize("fit", [interior_point.absolute_error, machines.epsilon_insensitive])
def test_a_kernel_of_zeros_is_one_and_values_of_zero_are_met(fit):
    found = fit(np.zeros((3, 3)), np.zeros(3), 1.0)
    assert not found.coefficients.any() and found.convergence.gap == found.convergence.objective == 0


@pytest.mark.parametrize(
    "of",
    [
        lambda x: arc_cosine.ntk(x, depth=2, width=50),
        lambda x: empirical.ntk(nets.small(np.random.default_rng(0), 4, 3, 0.5), x),
        lambda x: layered.ntk([np.ones((3, 3)), np.ones((1, 3))], [np.ones(3), np.ones(1)], x),
        lambda x: plain.ntk(mlp.default([np.random.default_rng(n) for n in (0, 1)], (3, 4, 1)), x),
    ],
    ids=["arc-cosine", "empirical", "layered", "plain"],
)
def test_inputs_go_as_far_as_the_kernel_is_a_number(of):
    x = np.array([[1e150, -1e150, 1e150]])
    assert np.isfinite(of(x)).all()
    for beyond in (1.1 * x, -1.1 * x):
        with pytest.raises(ValueError, match=r"^x must be in \[-1e150, 1e150\]"):
            of(beyond)


def test_a_system_that_is_not_positive_definite_has_no_solution():
    with pytest.raises(ValueError, match="^gram must be positive semidefinite"):
        ridge.solve([[1, 2], [2, 1]], [1, -1], 0.1)
    assert ridge.solve([[1, 2], [2, 1]], [1, -1], 2.0) == pytest.approx([1, -1])


def test_a_frame_is_the_array_that_it_holds():
    frame, path = pd.DataFrame(QUADRATIC), ridge.RidgePath(QUADRATIC, VALUES)
    for use in (
        machines.epsilon_insensitive(QUADRATIC, VALUES, 1e-3).values,
        lambda kernel: path.values(kernel, [1.0]),
        lambda kernel: empirical.without(kernel, VALUES[:, None]),
        lambda kernel: np.asarray(ridge.mean_square(kernel, pd.Series(VALUES), VALUES)),
    ):
        assert type(use(frame)) is np.ndarray and np.allclose(use(frame), use(QUADRATIC))
