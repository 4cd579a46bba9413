"""`make claim` says of a claim what is left, at every place at which it may stop, and changes nothing before that."""

from dataclasses import replace

import claim
import pytest
import rule_lock

from shallow.book import records
from shallow.book.claims import Found, decides
from shallow.book.claims.rules import row_of

ROW = row_of("CL-14")


@decides(numbers=lambda: 0.5)
def cl_14(numbers, *, least, majority):
    return Found(True, {"half": numbers})


@decides(runs="nowhere/at/all")
def cl_15(runs):
    return Found(True)


@pytest.fixture(autouse=True)
def nothing_is_written(monkeypatch):
    """Neither lock nor outcomes, and no page is run."""
    written = []
    monkeypatch.setattr(rule_lock, "main", lambda: 0)
    monkeypatch.setattr(claim.found, "write", lambda *what: written.append(what))
    monkeypatch.setattr(claim.subprocess, "run", lambda *_, **__: pytest.fail("a page was run"))
    return written


def said(capsys) -> str:
    assert claim.main("CL-14") == 1
    return capsys.readouterr().out


def test_a_claim_without_a_row(capsys):
    assert claim.main("CL-999") == 1 and "write its row" in capsys.readouterr().out
    assert claim.main("XX-01") == 1 and "write its row" in capsys.readouterr().out


def test_a_rule_changed_in_silence(capsys, monkeypatch):
    monkeypatch.setattr(rule_lock, "main", lambda: 1)
    assert "`changed`" in said(capsys)


def test_a_claim_without_a_function_or_a_record(capsys, monkeypatch):
    monkeypatch.setattr(claim, "rules", lambda chapter: {})
    assert "write the function cl_14 into experiments/cyclic_labels/<page>/rules.py" in said(capsys)
    monkeypatch.setattr(claim, "rules", lambda chapter: {"CL-14": cl_15})
    assert "declare the record: " in said(capsys)
    name = next(iter(records.recipes()))
    monkeypatch.setattr(cl_15, "sources", {"runs": name})
    monkeypatch.setattr(records, "state", lambda name: "missing")
    assert f"which is missing: .venv/bin/python -m shallow record {name}" in said(capsys)


@pytest.fixture
def ruled(monkeypatch):
    """CL-14 has a rule without data, and a row whose words fit it; fields of it can be changed."""

    def change(**fields):
        words = {"answer_words": "Yes.", "finding_words": "half is {half}", "verdict": "untested", "parts": {}}
        row = replace(ROW, **words | fields)
        monkeypatch.setattr(claim, "row_of", lambda id: row)
        return row

    monkeypatch.setattr(claim, "rules", lambda chapter: {"CL-14": cl_14})
    return change


def test_words_that_are_missing_or_do_not_fit(capsys, ruled, nothing_is_written):
    ruled(answer_words=None, finding_words="", finding=None, reason="Not yet run.")
    text = said(capsys)
    assert 0 < text.index("half  0.5") < text.index("reproduced by the rule") < text.index("CL-14: what is left")
    assert "put `answer` and `finding` in the place of `reason`" in text[text.index("what is left") :]
    ruled(limits={})
    assert "mend rule or row: CL-14: `limits` must be least, majority" in said(capsys)
    assert nothing_is_written == []


def test_a_claim_that_no_page_shows(capsys, ruled, nothing_is_written):
    ruled(page=None)
    text = said(capsys)
    assert "below the label (cl-14)=" in text and "Page           none yet" in text
    assert [what[2] for what in nothing_is_written] == ["CL-14"]
    ruled(page="theory")
    assert 'ledger.show("CL-14", ...)' in said(capsys)


def test_what_is_left_for_people(capsys, ruled, monkeypatch):
    row, pages = ruled(), []

    class Done:
        returncode = 0

    monkeypatch.setattr(claim.subprocess, "run", lambda command, **_: pages.append(command[-1]) or Done)
    assert claim.main("CL-14") == 0 and pages == [f"book/{ROW.address}.md"]
    assert "planted" not in capsys.readouterr().out
    monkeypatch.setattr(cl_15, "__name__", "cl_999", raising=False)
    ruled(verdict="contradicted")
    assert claim.main("CL-14") == 0
    again = "- verdict reproduced, was contradicted: read `answer` of CL-14 in book/claims/cyclic_labels.yml again\n"
    assert again in capsys.readouterr().out
    untried = list(claim.left(replace(row, id="CL-999"), cl_15))
    assert "document.md: {claim}`CL-999`" in untried[0] and "try cl_999 on planted data" in untried[1]
