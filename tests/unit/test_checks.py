"""The checks of arguments: what they take, what they refuse, and what they say of it."""

import ast
import timeit
from fractions import Fraction

import numpy as np
import pytest
import torch
from references import ROOT

from experiments.hidden_structure import symmetry
from experiments.localization import gaussian_flow
from experiments.simplicity_bias import clusters
from shallow import checks, nets, stats
from shallow.book import canonical_code
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.spectra import esd
from shallow.train import dense, univariate

NETWORK, LINE = nets.default(np.random.default_rng(0), 4), np.linspace(-0.4, 0.4, 8)
SIGNS = np.where(np.arange(8) % 2, 1.0, -1.0)
RECORDS = np.zeros(3, [("x", float), ("y", np.int64)])


@pytest.mark.parametrize(
    "values",
    [
        np.ones(3), np.ones(3, bool), np.ones(3, np.float16), np.ones(3, complex), np.float32(1), np.array(2),
        np.empty(0), torch.ones(3), torch.ones(3, dtype=torch.bfloat16), [1, 2.5], (1, True), [], [[1, 2], np.ones(2)],
        range(3), {1, 2}, frozenset({1}), 3, 1.5, 1j, Fraction(1, 3), None, (np.ones(2), None),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_are_numbers(values):
    assert checks.numbers(x=np.ones(2), y=values) is None


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (np.ma.masked_array([1.0, 2.0], [False, True]), "a masked array"),
        (np.ma.masked_array([1.0, 2.0]), "a masked array"),
        ([1.0, np.ma.masked], "a masked array"),
        ((np.ones(2), [np.ma.masked_array([1.0])]), "a masked array"),
        (np.array(["2020-01-01"], "datetime64[D]"), r"type datetime64\[D\]"),
        (np.array([3], "timedelta64[s]"), r"type timedelta64\[s\]"),
        ([1, np.timedelta64(3, "s")], r"type timedelta64\[s\]"),
        (RECORDS, "a structured array of x, y"),
        ("many", "type <U4"),
        ([1.0, "many"], "type <U4"),
        (np.array([1.0, 2.0], object), "type object"),
        ([1.0, len], "type object"),
    ],
    ids=str,
)
def test_what_is_no_number_is_named(values, got):
    with pytest.raises(ValueError, match=f"^y must hold numbers, none of them masked, got {got}$"):
        checks.numbers(x=np.ones(2), y=values)


def test_other_checks_name_the_first_argument_that_fails():
    masked, square = np.ma.masked_array([1]), [[0, 1], [2, np.inf]]
    for call, said in {
        lambda: checks.unmasked(x=["a"], y=masked): "an array that is not masked, got a masked array",
        lambda: checks.finite(x=[1], y=square): r"finite, got shape \(2, 2\) with inf at index \(1, 1\)",
        lambda: checks.positive(x=1e-9, y=0.0): "positive and finite, got 0.0",
        lambda: checks.positive(x=1, y=np.inf): "positive and finite, got inf",
        lambda: checks.integers(2, x=2, y=1): "an integer of at least 2, got 1",
        lambda: checks.integers(0, x=np.int8(0), y=1.0): "an integer of at least 0, got 1.0",
    }.items():
        with pytest.raises(ValueError, match=f"^y must be {said}$"):
            call()
    with pytest.raises(ValueError, match="^y must hold labels -1 and 1, got truth values; 2 [*] y - 1 makes labels of"):
        checks.labels(x=[1, -1], y=[True, False])


@pytest.mark.parametrize(
    ("array", "fine", "said"),
    [
        ([1.0, 2.0], None, "shape (2,)"),
        ([1.0, np.nan, np.nan], None, "shape (3,) with nan at index 1"),
        (np.float32([[1, -np.inf]]), None, "shape (1, 2) with -inf at index (0, 1)"),
        (np.nan, None, "shape () with nan"),
        ([1, 0, 2], np.array([True, True, False]), "shape (3,) with 2 at index 2"),
        (np.ones((2, 3)), np.array([[True], [False]]), "shape (2, 3) with 1.0 at index (1, 0)"),
        (np.empty((0, 3)), None, "shape (0, 3)"),
    ],
)
def test_what_is_said_of_an_array(array, fine, said):
    assert checks.given(array, fine) == said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: univariate.train(LINE, SIGNS * 2, NETWORK, step=0.1, epochs=1), "^y must .* with -2.0 at index 0$"),
        (lambda: univariate.evaluate(NETWORK, [0.0, 0.3, 0.1]), "^points must .* with 0.1 at index 2$"),
        (lambda: dense.train(LINE, SIGNS + 1, NETWORK, step=0.1, epochs=1), "^y must .* with 2.0 at index 1$"),
        (lambda: cyclic.clusters([0.1, 0.7]), "^x must .* with 0.7 at index 1$"),
        (lambda: clusters.number_for([1.0, -1.0]), "^weights must .* with -1.0 at index 1$"),
        (lambda: esd.ascending(np.array([3.0, -1.0])), "^values must .* with -1.0 at index 1$"),
        (lambda: symmetry.averaged(np.dot, [[1, 1], [1, 0]]), r"^flips must .* with 0.0 at index \(1, 1\)$"),
        (lambda: empirical.energy([1.0, 2.0]), "^values must descend .* with 2.0 at index 1 and sum 3.0$"),
        (lambda: gaussian_flow.mean_gradient(np.eye(2), [1, 1], [[1, 2], [0, 1]]), "^covariance must be symmetric"),
        (lambda: stats.student([1.0, np.nan]), "^values must .* with nan at index 1$"),
        (lambda: nets.TwoLayer([[1.0], [np.inf]], [0, 0], [0, 0]), r"^W must be .* with inf at index \(1, 0\)$"),
    ],
)
def test_a_wrong_value_is_said_and_not_a_shape(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_label_0_has_no_gradient_and_truth_values_are_no_labels():
    y = np.where(np.arange(8) < 4, SIGNS, 0.0)
    for train in (univariate.train, dense.train):
        with pytest.raises(ValueError, match="^y must hold labels -1 and 1, got truth values"):
            train(LINE, SIGNS > 0, NETWORK, step=0.1, epochs=1)
        half, whole = (
            train(x, labels, NETWORK, step=0.1, epochs=3) for x, labels in ((LINE[:4], y[:4]), (LINE, y.astype(int)))
        )
        found = [run.network if hasattr(run, "network") else run.networks[-1] for run in (half, whole)]
        np.testing.assert_allclose(found[0].W, found[1].W, rtol=1e-14)
        assert whole.loss[-1] == pytest.approx(half.loss[-1] + 4)


def test_a_check_takes_microseconds():
    array, many = np.ones((100, 100)), [1.0] * 1000
    assert min(timeit.repeat(lambda: checks.numbers(x=array, y=array), number=1000)) < 0.02
    assert min(timeit.repeat(lambda: checks.numbers(x=many), number=10)) < 0.02


def test_checks_are_left_out_of_the_code_behind_a_recorded_run():
    """All but `given`, which is called in messages alone."""

    class Nothing:
        def place(self, module, name):
            return None

        def is_check(self, place):
            return False

    tree = ast.parse((ROOT / "lib" / "shallow" / "checks.py").read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    left = {node.name: canonical_code.clean([node], "shallow.checks", Nothing()).is_empty for node in public}
    assert len(left) == 7 and [name for name, is_empty in left.items() if not is_empty] == ["given"]
