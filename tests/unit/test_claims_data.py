"""The ledger as data: what a cell decided by reaches the files and the page of its claim."""

import csv
import json
import os

import claims_data
import jsonschema
import numpy as np
import pytest

from shallow.book import claims, paths
from shallow.book.claims.rows import KINDS, RANKS, rests
from shallow.stats import Interval

SCHEMA = json.loads((paths.CLAIMS / "claims.schema.json").read_text(encoding="utf-8"))
ROW = next(row for row in claims.everything() if row.parts and row.test_was and row.reading and rests()[row.id])
EVIDENCE = {
    'the "rise" <of> one': Interval(0.12345678, -0.5, 0.25),
    "by width": {128: Interval(1.0, 0.5, 1.5), 512: np.float64(2)},
    "steps": [1, 2],
    "holds": True,
    "none": float("nan"),
    "where": "the\nleft",
}


@pytest.fixture
def decided():
    """The outcome in the ledger of one claim, with evidence, as its cell reports it."""
    outcome = claims.Outcome(
        ROW.answer or "Yes.", ROW.finding, ROW.verdict, ROW.parts, EVIDENCE, ROW.reading, ROW.reading_why
    )
    return claims.Ledger(ROW.chapter).report(ROW.id, outcome)


@pytest.fixture
def site(tmp_path, decided):
    """A built site with the page that decides the claim."""
    page = tmp_path / "book" / f"{ROW.address}.html"
    page.parent.mkdir(parents=True)
    page.write_text(decided._repr_html_(), encoding="utf-8")
    return tmp_path


def test_evidence_becomes_plain_numbers(decided):
    assert decided.numbers == [
        {"name": 'the "rise" <of> one', "value": 0.123457, "low": -0.5, "high": 0.25},
        {"name": "by width, 128", "value": 1.0, "low": 0.5, "high": 1.5},
        {"name": "by width, 512", "value": 2.0},
        {"name": "steps, 1", "value": 1},
        {"name": "steps, 2", "value": 2},
        {"name": "holds", "value": True},
        {"name": "none", "value": None},
        {"name": "where", "value": "the left"},
    ]
    line = claims.Ledger(ROW.chapter).lines(decided)._repr_html_()
    for html in (decided._repr_html_(), line):
        assert f'data-decided="{ROW.id} {ROW.verdict}" data-numbers=' in html


def test_the_data_hold_every_claim_and_keep_the_schema(site):
    entries = claims_data.write(site)
    whole = json.loads((site / "book" / "claims.json").read_text(encoding="utf-8"))
    published = json.loads((site / "book" / whole["$schema"]).read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator(published)
    check.check_schema(published)
    check.validate(whole)
    assert whole["claims"] == entries and [one["id"] for one in entries] == [row.id for row in claims.everything()]
    one = next(one for one in entries if one["id"] == ROW.id)
    assert len(one["numbers"]) == 8 and one["rule_was"] == ROW.test_was and one["reading"] == ROW.reading
    assert one["page"] == f"{ROW.address}.html#{ROW.cell}" and sum(bool(other["numbers"]) for other in entries) == 1
    assert {name for other in entries for name in other["records"]} <= set(whole["records"]) and one["records"]
    with open(site / "book" / "claims.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [one["id"] for one in entries] and list(rows[0]) == list(one)
    row = next(row for row in rows if row["id"] == ROW.id)
    assert json.loads(row["numbers"]) == one["numbers"] and row["finding"] == one["finding"]


@pytest.mark.parametrize(("key", "value"), [("verdict", "maybe"), ("numbers", [{"name": "x"}]), ("more", 1)])
def test_the_schema_refuses_what_is_wrong(site, key, value):
    one = claims_data.entry(ROW, [], [], "1")
    claim = jsonschema.Draft202012Validator(SCHEMA["$defs"]["claim"] | {"$defs": SCHEMA["$defs"]})
    assert claim.is_valid(one) and not claim.is_valid(one | {key: value})


def test_the_schema_has_the_words_of_the_ledger():
    known = SCHEMA["$defs"]["claim"]["properties"]
    assert (known["kind"]["enum"], known["rank"]["enum"]) == ([*KINDS], [*RANKS])
    assert SCHEMA["$defs"]["verdict"]["enum"] == [*claims.VERDICTS]


def test_a_claim_has_a_page_to_cite(site):
    (one,) = [one for one in claims_data.write(site, "https://example.org/") if one["id"] == ROW.id]
    text = (site / "book" / one["address"]).read_text(encoding="utf-8")
    assert f"Claim {ROW.id}. https://example.org/book/claims/{ROW.id}.html</p>" in text
    assert f"{ROW.id}: {ROW.verdict} - What shallow networks learn: an executable book</title>" in text
    assert f"python -m shallow claim {ROW.id}\n" in text and "the &quot;rise&quot; &lt;of&gt; one" in text
    for cell in ("<td>0.1235</td><td>-0.5</td><td>0.25</td>", "<td>1</td><td></td>", "<td>yes</td>", "<td>-</td>"):
        assert cell in text
    record = one["records"][0]
    for address in (f"../{one['page']}", f"../../records/{record}.nc", f"../../records/{record}.json"):
        assert f'href="{address}"' in text
    assert f"blob/main/experiments/{ROW.chapter}/rules/" in text
    plain = claims_data.write(site)
    assert plain and "github.com" in (site / "book" / one["address"]).read_text(encoding="utf-8").split('id="cite"')[1]


def test_records_are_linked_once_and_renewed(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RECORDS", tmp_path / "records")
    (tmp_path / "records" / "toy").mkdir(parents=True)
    source, target = (tmp_path / place / "toy" / "run.nc" for place in ("records", "site/records"))
    source.write_bytes(b"first")
    claims_data.link_records(tmp_path / "site")
    assert target.samefile(source)
    (new := tmp_path / "new").write_bytes(b"second time")
    new.replace(source)
    assert target.read_bytes() == b"first", "what a site has is not changed behind its back"
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError("another disk")))
    claims_data.link_records(tmp_path / "site")
    assert target.read_bytes() == b"second time" and not target.samefile(source)
