"""Kernel machines against scikit-learn on the features, against refits, and against their optimality conditions."""

from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from experiments.hidden_structure import selection
from shallow.kernels import layered, linear_machines, machines
from shallow.stats import stream

WIDTHS = (4, 8, 8, 1)


def problem(n=60, name="fit"):
    """Gradients of a random network at n points, labels that are no function of a few of them, and values."""
    rng = stream("machines", "network")
    weights = [rng.normal(size=(b, a)) / a**0.5 for a, b in zip(WIDTHS, WIDTHS[1:], strict=False)]
    network = weights, [rng.normal(size=len(W)) / 2 for W in weights]
    rng = stream("machines", name)
    x = rng.normal(size=(n, WIDTHS[0]))
    labels = np.where(np.prod(x[:, :2], axis=1) + rng.normal(size=n) / 2 > 0, 1.0, -1.0)
    return layered.jacobian(*network, x), layered.ntk(*network, x), labels, np.sin(3 * x[:, 0]) + x[:, 1]


J, K, LABELS, VALUES = problem()
NEW = problem(25, "new")[0]


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2])
def test_squared_hinge_is_linear_svc_on_the_features(C):
    machine = machines.squared_hinge(K, LABELS, C)
    linear = LinearSVC(C=C, dual=False, tol=1e-12, max_iter=10_000).fit(J, LABELS)
    assert machine.values(NEW @ J.T) == pytest.approx(linear.decision_function(NEW), rel=1e-5, abs=1e-6)
    assert machine.intercept == pytest.approx(linear.intercept_[0], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("factor", "C"), [(1e-4, 1e-2), (1.0, 1e-8), (1.0, 1e-2), (1.0, 1e4), (1.0, 1e8), (1e-4, 1e8), (1e4, 1e4)]
)
def test_squared_hinge_fulfils_its_optimality_conditions(factor, C):
    """y beta = 2 C max(0, 1 - y f), written without the difference that rounding would spoil for large C.

    Some points have the same gradients, those of a network none of whose neurons is active, and different labels.
    """
    tolerance = max(1e-12, 1e-14 * C * max(1, factor))
    machine = machines.squared_hinge(factor * K, LABELS, C, tolerance=tolerance)
    margin, weight = LABELS * machine.values(factor * K), LABELS * machine.coefficients
    assert (weight >= -1e-9 * weight.max()).all()
    active = weight > 1e-9 * weight.max()
    assert margin[active] == pytest.approx((1 - weight / (2 * C))[active], abs=1e-5)
    assert (margin[~active] > 1 - 1e-5).all()
    assert not machine.convergence.stopped and abs(machine.convergence.gap) <= tolerance


def test_a_path_of_penalties_is_the_machine_of_each():
    """Also where most points have ended at the margin, which takes hundreds of systems from a cold start."""
    penalties = 10.0 ** np.arange(-4, 9)
    path = machines.squared_hinge_path(K, LABELS, penalties, tolerance=1e-10)
    for C, machine in zip(penalties, path, strict=True):
        alone = machines.squared_hinge(K, LABELS, C, tolerance=1e-10)
        assert machine.values(K) == pytest.approx(alone.values(K), abs=1e-6)
    systems = [machine.convergence.iterations for machine in path]
    assert systems == sorted(systems) and systems[-1] < 100
    few = machines.squared_hinge_path(K, LABELS, penalties, max_iter=systems[5])
    assert not few[5].convergence.stopped and few[-1].convergence.stopped


def test_a_problem_beyond_the_reach_of_float64_says_so():
    ended = machines.squared_hinge(1e4 * K, LABELS, 1e8).convergence
    assert ended.stopped and abs(ended.gap) > 1e-6
    with pytest.raises(ValueError, match="^kernel must be positive semidefinite, got eigenvalues below"):
        machines.squared_hinge(K - 1.001 * np.eye(len(K)), LABELS, 1e4)


@pytest.mark.parametrize(("C", "noise"), [(1e-7, 0.0), (1e-4, 1.0), (0.1, 0.0), (0.1, 1.0), (1e11, 0.0)])
def test_fewer_features_than_points_take_a_smaller_system_to_the_same_machine(monkeypatch, C, noise):
    rng = stream("machines", "few features")
    x = 100 * rng.normal(size=(200, 10))
    kernel, y = x @ x.T, np.sign(x[:, 0] + 100 * noise * rng.normal(size=200))
    others = np.diag(np.arange(200) % 8 > 0)  # which no other point spans
    assert machines._low_rank(kernel).features.shape == (200, 11)
    assert machines._low_rank(kernel + np.eye(200)) is machines._low_rank(kernel + others) is None
    with monkeypatch.context() as patch:
        if C < 1e6:
            patch.setattr(machines._Gram, "newton", None)  # not needed
        quick = machines.squared_hinge(kernel, y, C)
    monkeypatch.setattr(machines, "_low_rank", lambda kernel: None)
    plain = machines.squared_hinge(kernel, y, C)
    assert quick.values(kernel) == pytest.approx(plain.values(kernel), abs=1e-5)
    assert quick.intercept == pytest.approx(plain.intercept, abs=1e-5)
    assert not quick.convergence.stopped and abs(quick.convergence.gap) <= 1e-6


def test_a_problem_on_which_libsvm_never_ends_stops_and_says_so():
    """Repeated points with different labels, and a tolerance below rounding."""
    x, y = np.repeat(stream("machines", "repeated").normal(size=(20, 3)), 5, axis=0), np.tile([1.0, 1, -1, 1, -1], 20)
    machine = machines.hinge(x @ x.T, y, 10.0, intercept="penalised", tolerance=1e-6)
    assert machine.convergence.stopped and machine.convergence.iterations == machines.STEPS * len(y)
    assert abs(machine.convergence.gap) < 1e-4 and "stopped=True" in repr(machine)


@pytest.mark.parametrize("C", [1e-3, 1e-1])
def test_hinge_and_absolute_error_with_a_penalised_intercept_are_those_of_liblinear(C):
    options = dict(intercept="penalised", tolerance=1e-7)
    liblinear = dict(C=C, tol=1e-10, max_iter=400_000, random_state=0)
    for machine, linear, values in (
        (machines.hinge(K, LABELS, C, **options), LinearSVC(loss="hinge", **liblinear), LABELS),
        (machines.epsilon_insensitive(K, VALUES, C, **options), LinearSVR(**liblinear), VALUES),
        (
            machines.epsilon_insensitive(K, VALUES, C, epsilon=0.3, **options),
            LinearSVR(epsilon=0.3, **liblinear),
            VALUES,
        ),
    ):
        machines.fit_quietly(linear, J, values)
        predict = getattr(linear, "decision_function", linear.predict)
        assert machine.values(NEW @ J.T) == pytest.approx(predict(NEW), abs=2e-3)
        assert machine.intercept == pytest.approx(np.ravel(linear.intercept_)[0], abs=2e-3)
        assert -1e-9 < machine.convergence.gap < 1e-5


def test_free_intercept_is_that_of_svc_and_svr_and_ignores_a_constant_in_the_kernel():
    cross = NEW @ J.T
    for fit, solver, values in (
        (machines.hinge, SVC, LABELS),
        (machines.epsilon_insensitive, partial(SVR, epsilon=0.0), VALUES),
    ):
        machine = fit(K, values, 0.1, tolerance=1e-6)
        reference = solver(kernel="linear", C=0.1, tol=1e-6).fit(J, values)
        predict = getattr(reference, "decision_function", reference.predict)
        assert machine.values(cross) == pytest.approx(predict(NEW), abs=1e-3)
        shifted = fit(K + 1, values, 0.1, tolerance=1e-6)
        assert shifted.values(cross + 1) == pytest.approx(machine.values(cross), abs=1e-3)
        penalised = fit(K, values, 0.1, intercept="penalised", tolerance=1e-6)
        assert np.abs(penalised.values(cross) - machine.values(cross)).max() > 3e-3


@pytest.mark.parametrize("intercept", machines.INTERCEPTS)
def test_gap_bounds_the_excess_of_the_objective(intercept):
    for fit, values in ((machines.hinge, LABELS), (machines.epsilon_insensitive, VALUES)):
        exact = fit(K, values, 1.0, intercept=intercept, tolerance=1e-8).convergence
        rough = fit(K, values, 1.0, intercept=intercept, tolerance=0.3).convergence
        assert abs(exact.gap) < 1e-5 and not exact.stopped
        assert rough.gap > 1e-4
        assert -1e-9 <= (rough.objective - exact.objective) / rough.objective <= rough.gap + 1e-9


@pytest.mark.filterwarnings("error")
def test_early_ends_are_reported_and_not_printed():
    rng = stream("machines", "order")
    early = [
        machines.squared_hinge(K, LABELS, 1e4, max_iter=2),
        machines.hinge(K, LABELS, 1.0, max_iter=10),
        machines.epsilon_insensitive(K, VALUES, 1.0, intercept="penalised", max_iter=10),
        linear_machines.squared_hinge(J, LABELS, 1e4, rng, max_iter=5),
    ]
    assert all(machine.convergence.stopped and machine.convergence.gap > 1e-3 for machine in early)
    assert [machine.convergence.iterations for machine in early] == [2, 10, 10, 5]


def test_linear_machines_are_the_kernel_machines_where_they_converge():
    rng = stream("machines", "order")
    for dual in (True, False):
        linear = linear_machines.squared_hinge(J, LABELS, 1e-2, rng, dual=dual, max_iter=200_000, tolerance=1e-9)
        kernel = machines.squared_hinge(K, LABELS, 1e-2)
        assert linear.values(NEW) == pytest.approx(kernel.values(NEW @ J.T), abs=1e-4)
        assert linear.convergence.objective == pytest.approx(kernel.convergence.objective, rel=1e-6)
        assert not linear.convergence.stopped and -1e-9 < linear.convergence.gap < 1e-3


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_path_is_the_grid_search_of_scikit_learn(kind):
    grid, splits = [1e-3, 1e-2, 1e-1, 1.0], selection.folds(stream("machines", "folds"), len(K), 4)
    fold = np.empty(len(K), dtype=int)
    for number, (inside, outside) in enumerate(splits):
        fold[outside] = number
        assert np.array_equal(np.sort(np.concatenate([inside, outside])), np.arange(len(K)))
    y, fit, error, solver, scoring = {
        "classes": (LABELS, machines.hinge, selection.misclassified, SVC(kernel="precomputed", tol=1e-6), "accuracy"),
        "values": (
            VALUES,
            machines.epsilon_insensitive,
            selection.mean_square,
            SVR(kernel="precomputed", epsilon=0.0, tol=1e-6),
            "neg_mean_squared_error",
        ),
    }[kind]
    path = selection.path(K, y, grid, splits, fit=partial(fit, tolerance=1e-6), error=error)
    search = GridSearchCV(solver, {"C": grid}, cv=PredefinedSplit(fold), scoring=scoring).fit(K, y)
    scores = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(4)]).T
    assert path.errors == pytest.approx(1 - scores if kind == "classes" else -scores, rel=1e-3)
    assert path.best == search.best_params_["C"]
    assert (path.iterations > 0).all() and not path.stopped.any()
    assert path.fitted.mean() < path.errors.mean()
    stopped = selection.path(K, y, grid, splits, fit=partial(fit, max_iter=5), error=error)
    assert stopped.stopped.all() and (stopped.iterations == 5).all()


def test_rbf_paths_are_those_of_scikit_learns_kernel():
    x = stream("machines", "rbf").normal(size=(60, 4))
    splits, gammas = selection.folds(stream("machines", "folds"), 60, 3), [0.1, 1.0, "scale", "auto"]
    search = partial(selection.rbf_paths, fit=machines.hinge, error=selection.misclassified)
    paths = search(x, LABELS, [0.1, 10.0], gammas, splits)
    assert list(paths) == gammas
    assert np.array_equal(paths["auto"].errors, search(x, LABELS, [0.1, 10.0], [0.25], splits)[0.25].errors)
    gamma, C = selection.best(paths)
    assert paths[gamma].errors.mean(axis=1).min() == min(path.errors.mean(axis=1).min() for path in paths.values())
    inside, outside = splits[0]
    for number in (0.1, "scale"):
        value = selection.gamma_value(x, number)
        assert value == (SVC(gamma="scale", C=C).fit(x, LABELS)._gamma if number == "scale" else number)
        reference = SVC(kernel="rbf", C=10.0, gamma=value).fit(x[inside], LABELS[inside])
        assert paths[number].errors[1, 0] == pytest.approx(1 - reference.score(x[outside], LABELS[outside]))


def test_folds_are_those_of_an_even_split_and_equal_errors_take_the_first_penalty():
    order, found = stream("machines", "folds").permutation(11), selection.folds(stream("machines", "folds"), 11, 3)
    for part, (inside, outside) in zip(np.array_split(order, 3), found, strict=True):
        assert np.array_equal(outside, part) and np.array_equal(inside, order[~np.isin(order, part)])
    split = [(np.array([0, 1, 2]), np.array([3]))]
    fits = dict(fit=machines.squared_hinge, error=selection.misclassified)
    assert selection.path(np.eye(4), np.array([1.0, -1, 1, -1]), [1.0, 2.0], split, **fits).best == 1.0
    assert selection.misclassified(np.zeros(2), np.array([-1.0, 1.0])) == 0.5  # zero has the sign of -1
