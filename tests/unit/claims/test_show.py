"""A claim decided on a page: by its data, beside what the ledger says, and written down in update mode."""

import json
import os
import subprocess
import sys

import pytest
from unit.claims.conftest import LEDGER

from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides, found, ledger

LOWER = stats.Interval(0.1, 0.05, 0.15)


def test_an_encoding_without_check_marks_names_them():
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "shallow", "claim", "CL-12"]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="latin-1", check=True)
    assert r"\N{CHECK MARK} reproduced" in done.stdout


def test_a_claim_is_shown_with_its_rule_and_what_came_out(toy, shown):
    toy.show("TO-01")
    first, second = repr(shown[0]).splitlines()
    assert first == "TO-01 (Section 1): The curve rises, and the folding of this sentence is the author's."
    said = "TO-01 · reproduced (a reproduced, b reproduced) · It rises by 0.4 [0.3, 0.5]. · "
    assert second == said + "slope 0.4 [0.3, 0.5]; by width 8: 1.0, 16: 2.0"
    html = shown[0]._repr_html_()
    order = ["TO-01", "Section 1", "The curve rises", "It rises by", "by the rule:", "In numbers", "both in {0, 1}"]
    places = [html.index(piece) for piece in order]
    assert places == sorted(places) and 'href="claims/TO-01.html"' in html


def test_several_are_a_table_and_two_calls_show_both(toy, shown):
    toy.show("TO-01", "TO-02", rise=stats.Interval(0.4, 0.3, 0.45))
    toy.show("TO-02")
    assert len(shown) == 2 and shown[0]._repr_html_().count("<tr data-decided=") == 2
    assert "&lt;b&gt;other&lt;/b&gt;" in shown[0]._repr_html_(), "text of the ledger is not markup"
    assert "our reading" in repr(shown[1]) and "(b) is a matter of words" in shown[1]._repr_html_()


def test_what_the_page_holds_decides(toy, shown, monkeypatch):
    with pytest.raises(claims.LedgerMismatch) as error:
        toy.show("TO-01", rise=LOWER)
    for piece in ("TO-01", "verdict", "partly", "slope 0.1 [0.1, 0.1]", "slope 0.4 [0.3, 0.5]", "make references"):
        assert piece in str(error.value)
    monkeypatch.delenv("SHALLOW_STRICT")  # a reader
    toy.show("TO-01", rise=LOWER)
    _, mine, ledgers = repr(shown[0]).splitlines()
    assert "a contradicted" in mine and "slope 0.1" in mine and "It rises" not in mine, "no answer to another outcome"
    assert ledgers.startswith("The ledger says: TO-01 · reproduced") and "It rises by 0.4" in ledgers
    assert "The ledger says" in shown[0]._repr_html_()


@pytest.mark.parametrize(
    ("ids", "data", "error", "says"),
    [
        ([], {}, ValueError, "show needs claims"),
        (["TO-01"], {"fall": 1}, ValueError, "of data only rise; got fall"),
        (["TO-07"], {}, KeyError, "no claim 'TO-07'; near it: .*TO-01"),
    ],
)
def test_show_refuses(toy, ids, data, error, says):
    with pytest.raises(error, match=says):
        toy.show(*ids, **data)


def test_a_rule_has_the_limits_of_its_row(folder, toy, monkeypatch):
    @decides(rise=lambda: LOWER)
    def to_01(rise, *, least):
        return Found(rise.exceeds(least))

    monkeypatch.setattr(ledger, "rules", lambda chapter: {"TO-01": to_01})
    with pytest.raises(ValueError, match="TO-01: `limits` must be least, got least, most"):
        toy.show("TO-01")
    with pytest.raises(TypeError, match="must name the data of to_02"):

        @decides(other=lambda: 1)
        def to_02(slope):
            return Found(True)


def test_sources_are_loaded_when_they_are_not_given(monkeypatch):
    monkeypatch.setattr(claims.rules.records, "load", lambda name: name)

    @decides(one="a/b", several=("c/d", "a/b"), live=lambda: 7)
    def to_03(one, several, live):
        return Found("answered", {"got": [one, *several, live]})

    monkeypatch.setattr(claims.rules, "row_of", lambda id: claims.Row("toy", id, "", "", "", "", "", ""))
    assert to_03.records == ["a/b", "c/d"]
    assert list(to_03().numbers.values()) == ["a/b", "c/d", "a/b", 7]
    assert list(to_03("x", live=1).numbers.values()) == ["x", "c/d", "a/b", 1]


def test_update_writes_one_outcome_and_keeps_the_first_verdict(folder, toy, shown, monkeypatch):
    before = found.read("toy", folder)
    monkeypatch.setenv("SHALLOW_LEDGER", "update")
    toy.show("TO-01", rise=LOWER)
    after = found.read("toy", folder)
    assert after["TO-02"] == before["TO-02"] and (folder / "toy.yml").read_text("utf-8") == LEDGER
    assert (after["TO-01"]["first"], after["TO-01"]["verdict"]) == ("reproduced", "partly")
    assert after["TO-01"]["numbers"] == {"slope": [0.1, 0.05, 0.15], "by width, 8": 1, "by width, 16": 2.0}
    text = (folder / "found" / "toy.json").read_text("utf-8")
    toy.show("TO-01", rise=stats.Interval(0.10001, 0.05, 0.15))
    assert (folder / "found" / "toy.json").read_text("utf-8") == text, "rounding is no change"
    toy.show("TO-01")
    assert found.read("toy", folder) == before


def test_a_failed_update_leaves_the_old_file(folder, toy, monkeypatch):
    def broken(*_):
        raise OSError(28, "No space left on device")

    text = (folder / "found" / "toy.json").read_text("utf-8")
    monkeypatch.setenv("SHALLOW_LEDGER", "update")
    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError):
        toy.show("TO-01", rise=LOWER)
    assert [(path.name, path.read_text("utf-8")) for path in (folder / "found").iterdir()] == [("toy.json", text)]


WRITER = """
import sys
from pathlib import Path
from shallow.book.claims import found
for turn in range(12):
    for id in sys.argv[2:]:
        found.write("toy", Path(sys.argv[1]), id, {"verdict": "partly", "finding": f"turn {turn}", "numbers": {}})
"""


def test_two_processes_lose_nothing(folder):
    """Each process rewrites its own claims, all in the same file; every last word must be there."""
    command = [sys.executable, "-c", WRITER, folder]
    writers = [subprocess.Popen([*command, *ids]) for ids in (["TO-01", "TO-03"], ["TO-02"])]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    outcomes = json.loads((folder / "found" / "toy.json").read_text("utf-8"))
    assert {one["finding"] for one in outcomes.values()} == {"turn 11"} and len(outcomes) == 3


def test_numbers_are_kept_plainly():
    rise = stats.Interval(0.12345678, float("nan"), 0.25)
    numbers = {"rise": rise, "none": float("inf"), "where": "the\nleft", "n": 3}
    assert found.plain(numbers) == {"rise": [0.123457, None, 0.25], "none": None, "where": "the left", "n": 3}
