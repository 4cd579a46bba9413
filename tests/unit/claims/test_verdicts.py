"""How conditions become verdicts, and verdicts of parts one."""

import numpy as np
import pytest

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
