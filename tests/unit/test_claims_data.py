"""The ledger as data: what a cell decided by reaches the files and the page of its claim."""

import csv
import json
from dataclasses import replace

import claims_data
import jsonschema
import pytest

from shallow.book import claims
from shallow.book.claims.rows import first_rules

ROW = next(row for row in claims.everything() if row.parts and row.reading and row.records and row.id in first_rules())
NUMBERS = {'the "rise" <of> one': [0.123457, -0.5, 0.25], "steps, 1": 1, "holds": True, "none": None, "where": "left"}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder for a site, and a ledger in which one claim has these numbers."""
    rows = [replace(row, numbers=NUMBERS) if row.id == ROW.id else row for row in claims.everything()]
    monkeypatch.setattr(claims, "everything", lambda: rows)
    return tmp_path


def test_an_interval_has_its_ends():
    interval, *others = claims_data.numbers(replace(ROW, numbers=NUMBERS))
    assert interval == {"name": 'the "rise" <of> one', "value": 0.123457, "low": -0.5, "high": 0.25}
    assert others == [{"name": name, "value": NUMBERS[name]} for name in list(NUMBERS)[1:]]


def test_the_data_hold_every_claim_and_keep_the_schema(site):
    entries = claims_data.write(site)
    whole = json.loads((site / "book" / "claims.json").read_text(encoding="utf-8"))
    published = json.loads((site / "book" / whole["$schema"]).read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator(published)
    check.check_schema(published)
    check.validate(whole)
    assert whole["claims"] == entries and [one["id"] for one in entries] == [row.id for row in claims.everything()]
    one = next(one for one in entries if one["id"] == ROW.id)
    assert len(one["numbers"]) == 5 and one["rule_was"] == first_rules()[ROW.id]["rule"]
    assert one["reading"] == ROW.reading and one["page"] == f"{ROW.address}.html#{ROW.cell}"
    assert {name for other in entries for name in other["records"]} <= set(whole["records"]) and one["records"]
    with open(site / "book" / "claims.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [one["id"] for one in entries] and list(rows[0]) == list(one)
    row = next(row for row in rows if row["id"] == ROW.id)
    assert json.loads(row["numbers"]) == one["numbers"] and row["finding"] == one["finding"]
