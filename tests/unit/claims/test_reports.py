"""A report of a chapter beside the row of the ledger; the last of several digits is no difference."""

import re
from dataclasses import replace

import pytest
from unit.claims.conftest import FALLS, LEDGER

from shallow.book import claims
from shallow.book.claims import rounding


def test_report_that_agrees_is_shown(decided):
    report = decided.report("TO-01", {"b": "partly", "a": "reproduced"}, finding=" slope 0.5\n[0.4, 1.1]")
    assert repr(report) == "TO-01 · partly (b partly, a reproduced) · slope 0.5 [0.4, 1.1]"
    for piece in ('href="claims/TO-01.html"', "◐&nbsp;partly", "(a)&nbsp;✓&nbsp;reproduced", "slope 0.5 [0.4, 1.1]"):
        assert piece in report._repr_html_()


@pytest.mark.parametrize(
    ("outcome", "finding", "verdict", "differs"),
    [
        ({"a": "reproduced", "b": "reproduced"}, "slope 0.5 [0.4, 1.1]", None, {"verdict", "parts"}),
        ({"a": "reproduced"}, "slope 0.5 [0.4, 1.1]", "partly", {"parts"}),
        ("partly", "slope 0.5 [0.4, 1.1]", None, {"parts"}),
        ({"a": "reproduced", "b": "partly"}, "slope 0.7 [0.4, 1.1]", None, {"finding"}),
        ({"a": "reproduced", "b": "partly"}, "slope 0.5 [0.4, 1.1]", "contradicted", {"verdict"}),
    ],
)
def test_any_difference_is_a_mismatch(decided, outcome, finding, verdict, differs):
    with pytest.raises(claims.LedgerMismatch) as error:
        decided.report("TO-01", outcome, finding=finding, verdict=verdict)
    message = str(error.value)
    assert {key for key in ("verdict", "parts", "finding") if f"\n  {key}\n" in message} == differs
    assert "TO-01" in message and "toy.yml" in message and "make references" in message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("answer", "The curve rises."), ("finding", "slope -0.7 [-0.8, -0.6]"), ("verdict", "contradicted"),
        ("parts", {"a": "partly", "b": "contradicted"}), ("reading", "answered"), ("reading_why", "it is a question"),
    ],
)  # fmt: skip
def test_an_outcome_agrees_in_all_that_is_shown(answered, key, value):
    answered.report("TO-02", FALLS)
    with pytest.raises(claims.LedgerMismatch) as error:
        answered.report("TO-02", replace(FALLS, **{key: value}))
    assert re.findall(r"^  (\w+)$", str(error.value), flags=re.MULTILINE) == [key]
    with pytest.raises(ValueError, match="those of the Outcome"):
        answered.report("TO-02", FALLS, finding="another")


def test_a_reader_sees_the_ledger_beside_another_result(decided, monkeypatch):
    """Where no build or test has asked for strictness: on Binder, in VS Code, in a downloaded notebook."""
    monkeypatch.delenv("SHALLOW_STRICT")
    report = decided.report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.7 [0.4, 1.1]")
    first, second = repr(report).splitlines()
    assert "slope 0.7" in first and second.startswith("The ledger says: TO-01") and "slope 0.5 [0.4, 1.1]" in second
    assert "slope 0.5" in report._repr_html_() and "slope 0.7" in report._repr_html_()
    assert "slope 0.5" in decided.lines(report)._repr_html_()
    same = decided.report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.5 [0.4, 1.1]")
    assert "The ledger says" not in repr(same) + same._repr_html_()


@pytest.mark.parametrize(
    ("outcome", "finding", "verdict", "says"),
    [
        ("accepted", "x", None, "TO-01: a verdict is one of .*, got 'accepted'"),
        ("untested", "x", None, "why a claim is untested is written into toy.yml"),
        ({"a": "accepted"}, "x", None, "part 'a' must be one of"),
        ("partly", "x", "partly", "is for claims with parts"),
        ("partly", "it rises. It falls", None, "finding must be one sentence"),
    ],
)
def test_report_refuses(folder, update, outcome, finding, verdict, says):
    with pytest.raises(ValueError, match=says):
        claims.Ledger("toy", folder).report("TO-01", outcome, finding=finding, verdict=verdict)
    assert (folder / "toy.yml").read_text(encoding="utf-8") == LEDGER


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
