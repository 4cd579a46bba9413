"""How verdicts are decided and combined."""

import numpy as np
import pytest

from shallow.book import claims


@pytest.mark.parametrize(
    ("reproduced", "contradicted", "otherwise", "verdict"),
    [
        (True, False, "partly", "reproduced"),
        (False, True, "partly", "contradicted"),
        (False, False, "partly", "partly"),
        (False, False, "undecided", "undecided"),
        (np.bool_(True), np.bool_(False), "partly", "reproduced"),
    ],
)
def test_decide(reproduced, contradicted, otherwise, verdict):
    assert claims.decide(reproduced=reproduced, contradicted=contradicted, otherwise=otherwise) == verdict


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"reproduced": True, "contradicted": True}, "both hold"),
        ({"reproduced": 0.7}, "reproduced must be a single truth value, got 0.7"),
        ({"reproduced": np.array([True])}, "reproduced must be a single truth value"),
        ({"reproduced": False, "contradicted": "no"}, "contradicted must be a single truth value, got 'no'"),
        ({"reproduced": False, "otherwise": "maybe"}, "otherwise must be 'partly' or 'undecided', got 'maybe'"),
    ],
)
def test_decide_refuses(arguments, says):
    with pytest.raises(ValueError, match=says):
        claims.decide(**arguments)


def test_letters_that_hold_are_reproduced_and_the_others_contradicted():
    assert claims.lettered({"a": True, "b": np.array(False)}) == {"a": "reproduced", "b": "contradicted"}


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
