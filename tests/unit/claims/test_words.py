"""Numbers in sentences, and the last digit of numbers in two texts."""

import numpy as np
import pytest

from shallow.book.claims import rounding, words
from shallow.stats import Interval

NUMBERS = {
    "rise": Interval(0.123, -0.001, 0.25),
    "more": {0.001: Interval(0.5, 0.4, 0.6), "at 1, %": 2},
    "widths": [128, np.float64(0.5)],
    "holds": np.True_,
    "GD: 2": 3,
    "grid": np.array([[1, 2], [3, 4]]),
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{rise}, {rise:.1%}", "0.12 [0.00, 0.25], 12.3% [-0.1%, 25.0%]"),
        ("{more, 0.001:.1f} and {more, at 1, %}", "0.5 [0.4, 0.6] and 2"),
        ("{widths:g}; {widths:.1f| and }; {widths:g|to}; {widths, 2:g}", "128, 0.5; 128.0 and 0.5; 0.5 to 128; 0.5"),
        ("{more:.1f|keys}", "0.001: 0.5 [0.4, 0.6], at 1, %: 2.0"),
        ("{more:.1f|to}", "0.5 to 2.0"),
        ("{holds}, {GD: 2}, {grid}", "yes, 3, 1, 2, 3, 4"),
    ],
)
def test_gaps_are_filled(text, filled):
    assert words.fill(text, NUMBERS) == filled


@pytest.mark.parametrize("text", ["{fall}", "{rise, 1}", "{more, 0.01}"])
def test_a_gap_without_a_number_is_an_error(text):
    with pytest.raises(ValueError, match=r"must name one of rise, more, more, 0\.001"):
        words.fill(text, NUMBERS)


def test_limits_in_a_rule_are_names_and_other_braces_are_sets():
    rule = "above {least}, in {0, 1} or {i<d}, from {ends|to}"
    assert words.limits_in(rule) == {"least", "ends"}
    assert words.fill_limits(rule, {"least": "1/2", "ends": [1, 3]}) == "above 1/2, in {0, 1} or {i<d}, from 1 to 3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r is 0.016 [0.010, 0.031]", "r is 0.015 [0.010, 0.032]"),
        ("| -0.10 | 1.0e-05 |", "| -0.11 | 1.1e-05 |"),
        ("44% of the runs and 12 %", "45% of the runs and 11 %"),
        ("the end is 0.99.", "the end is 1.00."),
        ("from -0.00 to 0.0", "from 0.00 to -0.0"),
    ],
)
def test_the_last_of_several_digits_is_no_difference(text, expected):
    assert rounding.settled(text, expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r is 0.017", "r is 0.015"),
        ("12 of 20 runs", "13 of 20 runs"),
        ("version 2.13.0", "version 2.13.1"),
        ("1.0e-05", "1.0e-06"),
        ("r is 0.015 in all", "r is 0.015"),
        ("0.5 and 0.6", "0.5"),
        ("reproduced", "undecided"),
        ("slope 0.1", "slope 0.2"),
        ("slope 0.00", "slope 0.01"),
        ("slope -0.1", "slope 0.1"),
        ("0.010", "0.009"),
        ("9% of the runs", "10% of the runs"),
    ],
)
def test_any_other_difference_stays(text, expected):
    assert rounding.settled(text, expected) == text != expected
