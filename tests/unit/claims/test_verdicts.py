"""How conditions become verdicts, and verdicts of parts one."""

import numpy as np
import pytest
import xarray as xr

from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found
from shallow.book.claims.rules import Outcome


@pytest.mark.parametrize(
    ("conditions", "all_of", "any_of"),
    [
        ([True, np.True_], True, True),
        ([True, None], None, True),
        ([None, np.False_], False, None),
        ([False, False], False, False),
        ([None], None, None),
        ([np.True_, np.False_], False, True),
    ],
)
def test_conditions_of_which_some_are_open(conditions, all_of, any_of):
    assert (claims.all_of(*conditions), claims.any_of(*conditions)) == (all_of, any_of)


@pytest.mark.parametrize("number", [0.0, 0.3, 1, np.float64(1), xr.DataArray(True), "reproduced"])
def test_what_is_no_condition_is_refused(number):
    for rule in (claims.all_of, claims.any_of):
        with pytest.raises(ValueError, match="condition must be True, False or None, got "):
            rule(True, number)
    with pytest.raises(ValueError, match="condition must be True, False or None, got "):
        claims.opposite(number)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({"a": "reproduced", "b": "reproduced"}, "reproduced"),
        ({"a": "reproduced", "b": "contradicted"}, "partly"),
        ({"a": "reproduced", "b": "undecided"}, "partly"),
        ({"a": "contradicted", "b": "undecided"}, "contradicted"),
        ({"a": "contradicted", "b": "undecided", "c": "partly"}, "partly"),
    ],
)
def test_combine(parts, verdict):
    assert claims.combine(parts) == verdict
    for wrong in ({}, {"a": "untested"}, {1: "partly"}):
        with pytest.raises(ValueError, match="part"):
            claims.combine(wrong)


@pytest.mark.parametrize(
    ("found", "verdict", "parts"),
    [
        (Found(np.True_), "reproduced", {}),
        (Found(None), "undecided", {}),
        (Found("answered"), "answered", {}),
        (Found({"a": True, "b": None}), "partly", {"a": "reproduced", "b": "undecided"}),
        (Found({1: False}), "contradicted", {"1": "contradicted"}),
        (Found({"a": True, "b": None}, verdict=None), "undecided", {"a": "reproduced", "b": "undecided"}),
        (Found({"a": "partly"}, verdict="answered"), "answered", {"a": "partly"}),
    ],
)
def test_what_a_rule_found_has_a_verdict(toy, found, verdict, parts):
    outcome = Outcome(toy["TO-03"], found, {})
    assert (outcome.verdict, outcome.parts) == (verdict, parts)


@pytest.mark.parametrize("found", [Found("nice"), Found({"a": "nice"}), Found("untested"), Found({})])
def test_an_unknown_verdict_is_refused(toy, found):
    with pytest.raises(ValueError, match="must be"):
        Outcome(toy["TO-03"], found, {})


CLOUD = xr.DataArray([0.1, 0.2])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"decided": 0.3}, "condition 'decided' must be True, False, None or a verdict, got 0.3"),
        ({"decided": {"a": True, "b": 1}}, "condition 'b' must be .* got 1"),
        ({"decided": xr.DataArray(True)}, "condition 'decided' must be .* got <xarray.DataArray"),
        ({"decided": {"a": True}, "verdict": np.float64(1)}, "condition 'verdict' must be .* got np.float64"),
        ({"decided": True, "numbers": {"share": CLOUD}}, "number 'share' must be a .* got <xarray.DataArray"),
        (
            {"decided": True, "numbers": {"by": {8: [1, CLOUD[0]]}}},
            "number 'by, 8, 2' must be .* got <xarray.DataArray",
        ),
        ({"decided": True, "numbers": CLOUD.to_dataset(name="loss")}, "number 'loss' must be .* got <xarray.DataArray"),
        ({"decided": True, "numbers": {"gap": stats.Interval(CLOUD, 0, 1)}}, "number 'gap' must be .* got Interval"),
        ({"decided": True, "numbers": {"root": 1j}}, "number 'root' must be .* got 1j"),
        ({"decided": True, "numbers": 0.3}, "numbers must be a mapping of names, got 0.3"),
    ],
)
def test_a_rule_finds_conditions_and_plain_numbers(wrong, says):
    with pytest.raises(ValueError, match=says):
        Found(**wrong)


def test_numbers_of_every_plain_kind_are_taken():
    plain = [1, 0.5, np.float32(0.5), np.int64(3), np.nan, np.inf, True, np.True_, None, "left", np.ones((2, 2))]
    Found(True, {"all": plain, ("a", 1): stats.Interval(np.float64(0.1), 0.0, 0.2)})
