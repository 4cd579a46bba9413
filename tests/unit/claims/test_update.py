"""Update mode: the rows that change, and nothing else."""

import os
import re
import subprocess
import sys

import pytest
from unit.claims.conftest import FALLS, LEDGER

from shallow.book import claims


def test_update_changes_one_row_and_nothing_else(folder, update):
    finding = "slope -0.50 [-0.61, -0.39]: " + "a long sentence that the file has to fold somewhere, " * 4 + "its end"
    claims.Ledger("toy", folder).report("TO-02", {"a": "reproduced", "b": "reproduced"}, finding=finding)
    new = (folder / "toy.yml").read_text(encoding="utf-8")
    head, tail = LEDGER.split("  note: 'quoted: on purpose'\n  reason: nobody has looked\n  verdict: untested\n")
    assert new.startswith(head) and new.endswith(tail)
    row = claims.Ledger("toy", folder)["TO-02"]
    assert (row.verdict, dict(row.parts), row.cell) == ("reproduced", {"a": "reproduced", "b": "reproduced"}, "to-02")
    assert (row.finding, row.reason) == (finding, None)
    assert "  parts: {a: reproduced, b: reproduced}\n" in new


def test_an_outcome_is_written_and_read_again(answered):
    row = answered["TO-02"]
    assert all(getattr(row, key) == value for key, value in vars(FALLS).items() if key != "evidence")
    keys = re.findall(r"^  (\w+):", answered.path.read_text("utf-8").split("- id: ")[2], flags=re.MULTILINE)
    assert keys[-7:] == ["answer", "finding", "reading", "reading_why", "page", "cell", "verdict"]


@pytest.mark.parametrize("id", ["TO-01", "TO-02", "TO-03"])
def test_update_there_and_back_is_the_same_file(folder, update, id):
    """Comments, order and folding survive any number of updates, at any row, the last one included."""
    ledger = claims.Ledger("toy", folder)
    ledger.report(id, "reproduced", finding="first")
    once = (folder / "toy.yml").read_text(encoding="utf-8")
    ledger.report(id, {"a": "partly", "b": "reproduced"}, finding="second")
    ledger.report(id, "reproduced", finding="first")
    assert (folder / "toy.yml").read_text(encoding="utf-8") == once
    assert [line for line in once.splitlines() if "#" in line] == [line for line in LEDGER.splitlines() if "#" in line]


@pytest.mark.parametrize(
    "finding", ["yes", "12", "a: b # c", "'quoted' \"twice\"", "- [x] {y}", "ünïcode ± 0.1", "x" * 300]
)
def test_update_survives_awkward_text(folder, update, monkeypatch, finding):
    claims.Ledger("toy", folder).report("TO-01", "partly", finding=finding)
    monkeypatch.delenv("SHALLOW_LEDGER")
    claims.Ledger("toy", folder).report("TO-01", "partly", finding=finding)


def test_failed_update_leaves_the_old_file(folder, update, monkeypatch):
    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError):
        claims.Ledger("toy", folder).report("TO-01", "partly", finding="x")
    assert (folder / "toy.yml").read_text(encoding="utf-8") == LEDGER
    assert {path.name for path in folder.iterdir()} == {"documents.yml", "toy.yml"}


WRITER = """
import sys
from pathlib import Path
from shallow.book import claims
ledger = claims.Ledger("toy", Path(sys.argv[1]))
for turn in range(12):
    for id in sys.argv[2:]:
        ledger.report(id, "partly", finding=f"turn {turn}")
"""


def test_two_processes_lose_nothing(folder, update):
    """Each process rewrites its own rows, all in the same file; every last word must be there."""
    command = [sys.executable, "-c", WRITER, folder]
    writers = [subprocess.Popen([*command, *ids]) for ids in (["TO-01", "TO-03"], ["TO-02"])]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert {row.finding for row in claims.Ledger("toy", folder).rows.values()} == {"turn 11"}
