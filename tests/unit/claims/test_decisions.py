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


@pytest.mark.parametrize(
    ("conditions", "all_of", "any_of"),
    [
        ([True, np.True_], True, True), ([True, None], None, True), ([None, np.False_], False, None),
        ([False, False], False, False), ([None], None, None), ([np.True_, np.False_], False, True),
    ],
)  # fmt: skip
def test_conditions_of_which_some_are_open(conditions, all_of, any_of):
    assert (claims.all_of(*conditions), claims.any_of(*conditions)) == (all_of, any_of)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"verdict": "nice"}, "verdict must be one of reproduced, .*, got 'nice'"),
        ({"verdict": "partly", "parts": {"a": "nice"}}, "part 'a' must be one of"),
        ({"verdict": ""}, "parts must be a non-empty mapping"),
        ({"verdict": "partly", "reading": "partly", "reading_why": "so"}, "reading must differ"),
        ({"verdict": "partly", "reading": "answered"}, "reading must .* come with reading_why"),
        ({"verdict": "partly", "answer": "so " * 26}, "answer must have at most 25 words, got 26"),
        ({"verdict": "partly", "finding": ""}, "finding must be one sentence"),
    ],
)
def test_an_outcome_refuses(fields, says):
    with pytest.raises(ValueError, match=says):
        claims.Outcome(**({"answer": "It is.", "finding": "slope 0.1"} | fields))


@pytest.mark.parametrize(
    ("fields", "verdict", "answer"),
    [
        ({"verdict": np.True_}, "reproduced", "Yes."), ({"verdict": None}, "undecided", "Open."),
        ({"parts": {"a": True, "b": None}}, "partly", "Open."), ({"parts": {"a": False}}, "contradicted", "No."),
        ({"parts": {"a": "answered"}}, "answered", "Open."),
    ],
)  # fmt: skip
def test_an_outcome_takes_conditions_and_the_answer_of_its_verdict(fields, verdict, answer):
    answers = {"reproduced": "Yes.", "contradicted": "No.", "otherwise": "Open."}
    found = claims.Outcome(answer=answers, finding="slope 0.1", **fields)
    assert (found.verdict, found.answer) == (verdict, answer)
    with pytest.raises(ValueError, match=f"answer must have one for '{verdict}' or 'otherwise'"):
        claims.Outcome(answer={"partly": "Open."} if verdict != "partly" else {}, finding="x", **fields)


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
