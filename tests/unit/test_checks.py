"""The checks of arguments: what they take, what they refuse, and what they say of it."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
import torch
from scipy import sparse

from shallow import checks

RECORDS = np.zeros(3, [("x", float), ("y", np.int64)])


class Length:
    """As numbers with a unit are in the libraries for them."""

    units = "metre"

    def __repr__(self):
        return "Length()"


MASKED = np.ma.masked_array([1.0, 2.0], [False, True])


@pytest.mark.parametrize(
    "values",
    [
        np.ones(3),
        np.ones(3, bool),
        np.ones(3, np.float16),
        np.float32(1),
        np.array(2),
        np.empty(0),
        torch.ones(3),
        pandas.DataFrame({"x": [1.0, 2.0]}),
        [1, 2.5],
        (1, True),
        [],
        [[1, 2], np.ones(2)],
        range(3),
        {1, 2},
        frozenset({1}),
        3,
        1.5,
        Fraction(1, 3),
        None,
        (np.ones(2), None),
    ],
    ids=str,
)
def test_numbers_are_numbers(values):
    assert checks.numbers(x=np.ones(2), y=values) is None


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (MASKED, "a masked array"),
        (np.ma.masked_array([1.0, 2.0]), "a masked array"),
        ([1.0, np.ma.masked], "a masked array"),
        ((np.ones(2), [np.ma.masked_array([1.0])]), "a masked array"),
        (np.array(["2020-01-01"], "datetime64[D]"), r"type datetime64\[D\]"),
        ([1, np.timedelta64(3, "s")], r"type timedelta64\[s\]"),
        (RECORDS, "a structured array of x, y"),
        ([1.0, "many"], "type <U4"),
        (np.array([1.0, 2.0], object), "type object"),
        ([1.0, len], "builtin_function_or_method of type object"),
        ([1.0, Decimal(1)], "Decimal of type object"),
        (np.ones(2, complex), "type complex128"),
        ((1.0, 1j), "complex of type complex128"),
        (torch.ones(2, dtype=torch.complex64), "Tensor of type complex64"),
        (torch.nn.Parameter(torch.ones(2)), r"a Parameter \(Can't .* requires grad. Use tensor.detach\(\).*"),
        (torch.ones(2, dtype=torch.bfloat16), r"a Tensor \(.*BFloat16\)"),
        (torch.eye(2).to_sparse(), r"a Tensor \(.*Use Tensor.to_dense\(\) first.\)"),
        (sparse.eye_array(2), "dia_array of type object"),
        (pandas.DataFrame({"x": [1.0, 2.0], "word": ["a", "b"]}), "DataFrame of type object"),
        (np.rec.array([1.0]), "a recarray"),
        (Length(), "a Length"),
    ],
    ids=str,
)
def test_what_is_no_number_is_named(values, got):
    refused = f"^y must hold real numbers, none of them masked, got {got}$"
    for check in (checks.numbers, checks.finite, checks.positive, checks.labels):
        with pytest.raises(ValueError, match=refused):
            check(x=np.ones(2), y=values)
    for check in (checks.shape, checks.array):
        with pytest.raises(ValueError, match=refused):
            check((2,), x=np.ones(2), y=values)


SQUARE, LINE = np.eye(2), np.array([0.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: checks.finite(x=1, y=1j), "hold real numbers, none of them masked, got complex of type complex128"),
        (lambda: checks.finite(x=[1], y=[[0, 1], [2, np.inf]]), "be finite, got shape (2, 2) with inf at index (1, 1)"),
        (lambda: checks.positive(x=1e-9, y=0.0), "be positive and finite, got 0.0"),
        (lambda: checks.positive(x=np.ones(2), y=LINE), "be positive and finite, got shape (3,) with 0.0 at index 0"),
        (lambda: checks.not_negative(x=0, y=np.nan), "be finite and not negative, got nan"),
        (lambda: checks.within("[0, 1)", x=0, y=1), "be in [0, 1), got 1"),
        (lambda: checks.within("(-1, 1]", x=1, y=LINE), "be in (-1, 1], got shape (3,) with -1.0 at index 2"),
        (lambda: checks.integers(2, x=2, y=1), "be an integer of at least 2, got 1"),
        (lambda: checks.integers(0, 3, x=np.int64(3), y=4), "be an integer of at least 0 and at most 3, got 4"),
        (lambda: checks.integers(0, x=0, y=1.0), "be an integer of at least 0, got 1.0"),
        (lambda: checks.one_of({"a": 1, "b": 2}, x="b", y="c"), "be one of a, b, got 'c'"),
        (lambda: checks.one_of((int, float), x=int, y=None), "be one of int, float, got None"),
        (lambda: checks.labels(x=LINE, y=[1, 2]), "hold labels -1, 0, 1, got int64 of shape (2,) with 2 at index 1"),
        (lambda: checks.labels((0, 1), x=[0, 1], y=[True]), "hold labels 0, 1, got bool of shape (1,)"),
        (lambda: checks.shape((None,), x=[], y=SQUARE), "have shape (:,), got shape (2, 2)"),
        (lambda: checks.array((3,), x=LINE, y=LINE * np.nan), "be finite of shape (3,), got shape (3,) with nan at 0"),
        (lambda: checks.array(("n",), x=LINE, y=[1, 2]), "be finite of shape (3,), got shape (2,)"),
        (lambda: checks.array(("n",), x=LINE, y=[]), "be finite of shape (3,), got shape (0,)"),
        (lambda: checks.array(("n", "n"), x=SQUARE, y=np.ones((2, 3))), "be finite of shape (2, 2), got shape (2, 3)"),
        (lambda: checks.array((..., 2), x=np.ones((4, 3, 2)), y=1.0), "be finite of shape (..., 2), got 1.0"),
    ],
)
def test_the_first_argument_that_fails_is_named(call, said):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).replace("at index 0", "at 0") == f"y must {said}".replace("at index 0", "at 0")


def test_a_named_size_is_at_least_one_and_an_open_one_may_be_none():
    checks.array((None, 2), x=np.empty((0, 2)))
    checks.array((..., "n"), x=np.empty((0, 2)), y=np.ones(2))
    checks.shape((2,), x=np.full(2, np.nan))
    with pytest.raises(ValueError, match=r"^x must be finite of shape \(n, 2\), got shape \(0, 2\)$"):
        checks.array(("n", 2), x=np.empty((0, 2)))
