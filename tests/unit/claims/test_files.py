"""The files of the ledger: those of the book, and what is said about each fault of a planted one."""

import claim
import pytest
from unit.claims.conftest import LEDGER

from shallow.book import claims, records
from shallow.book.claims.rows import first_rules, read
from shallow.book.claims.rules import Rules, rules


@pytest.mark.parametrize("chapter", claims.documents())
def test_every_claim_of_the_book_has_a_rule_in_the_room_of_its_page(chapter):
    rows, decide = read(chapter), rules(chapter)
    assert rows and {row.id: row.page for row in rows} == {id: decide.files[id].parent.name for id in decide}
    for row in rows:
        assert decide[row.id].limits == row.limits.keys(), row.id
        assert sorted(decide[row.id].records) == sorted(row.records), row.id
        assert set(row.records) <= records.recipes().keys()


def test_prefixes_and_ids_differ():
    prefixes = [document.prefix for document in claims.documents().values()]
    ids = [row.id for row in claims.everything()]
    assert len(prefixes) == len(set(prefixes)) and len(ids) == len(set(ids))
    assert first_rules().keys() <= set(ids)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("kind: figure", "kind: picture", "TO-01: `kind` must be one of statement"),
        ("  reason: nobody has looked\n", "", "TO-03: a row has a `finding`, or while it is untested a `reason`"),
        ("  reason: nobody has looked\n", "  reason: a\n  finding: b\n", "TO-03: a row has a `finding`, or"),
        ("with: TO-01", "with: TO-03", "TO-02: `with` must name a headline of this file"),
        ("rank: headline\n", "rank: headline\n  with: TO-01\n", "TO-01: `with` must name a headline"),
        ("rank: headline\n", "rank: main\n", "\ntoy.yml: TO-03: `with` must name a headline"),
        ("id: TO-03", "id: TO-02", "TO-02: `id` must read TO-01, TO-02, ..., each once"),
        ("id: TO-03", "id: XX-03", "XX-03: `id` must read TO-01"),
        ("id: TO-03\n  source", "source", "row 3: `id` is missing"),
        ("  claim: Is it flat?\n", "  claim: ''\n", "TO-03: `claim` is missing"),
        ("  rule: state the slope\n", "  ruel: state the slope\n", "TO-03: unknown key 'ruel'"),
        ("  limits: {least: 0.25, most: 1/2}\n", "", "TO-01: `rule` must name its limits in braces, none, got"),
        ("above {least}", "above 0.25", "TO-01: `rule` must name its limits in braces, least, most, got most"),
        ("  finding: slope {slope:.1f}\n", "  finding: It is. It\n", "TO-02: finding must be one sentence (join"),
        ("answer: The curve falls.", "answer: It is. It", "TO-02: answer must be one sentence"),
        ("answer: The curve falls.", f"answer: {'so ' * 26}", "TO-02: answer must have at most 25 words"),
        ("reading: reproduced", "reading: partly", "TO-02: reading must differ from the verdict and"),
        ("reading: reproduced", "reading: nice", "TO-02: reading must be one of"),
        ("- id: TO-01", "- 7\n- id: TO-01", "must be a list of rows"),
        ("  rank: headline\n", "  rank: headline\n  rank: detail\n", "duplicate key"),
    ],
)
def test_every_fault_names_file_and_row(folder, old, new, says):
    assert old in LEDGER
    (folder / "toy.yml").write_text(LEDGER.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(claims.LedgerError) as error:
        claims.Ledger("toy", folder)
    message = str(error.value)
    assert says in message
    assert all(line.startswith("toy.yml: ") for line in message.splitlines()) or "duplicate" in message


def test_make_claim_refuses_an_id_or_a_label_that_is_given_twice(folder, capsys, monkeypatch):
    monkeypatch.setattr(claim, "row_of", lambda id: read("toy", folder))
    (folder.parent / "toy" / "rises.md").write_text("(to-02)=\n## It rises\n", encoding="utf-8")
    assert claim.main("TO-02") == 1
    assert "label (to-02)= must stand once, got it in falls.md and in rises.md" in capsys.readouterr().out
    (folder / "toy.yml").write_text(LEDGER.replace("id: TO-03", "id: TO-02"), encoding="utf-8")
    assert claim.main("TO-02") == 1
    assert "toy.yml: TO-02: `id` must read TO-01, TO-02, ..., each once" in capsys.readouterr().out


@pytest.mark.parametrize(("id", "near"), [("TO-04", "TO-01"), ("to-03", "TO-03"), ("TO-3", "TO-03")])
def test_unknown_id_names_near_ones(toy, id, near):
    with pytest.raises(KeyError, match=f"toy.yml has no claim '{id}'; near it: .*{near}"):
        toy[id]


DEFINED = "def {}():\n    return 7\n"


def test_rules_are_found_by_name_and_imported_when_asked_for(tmp_path, monkeypatch):
    folder = tmp_path / "planted_rooms" / "toy" / "room"
    folder.mkdir(parents=True)
    (folder / "rules.py").write_text(DEFINED.format("cl_14") + DEFINED.format("helper_14"), encoding="utf-8")
    (folder / "slow.py").write_text("1 / 0\n" + DEFINED.format("cl_15"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = Rules("toy", tmp_path / "planted_rooms")
    assert list(found) == ["CL-14", "CL-15"] and len(found) == 2 and found["CL-14"]() == 7
    with pytest.raises(ZeroDivisionError):
        found["CL-15"]
    (folder / "other.py").write_text(DEFINED.format("cl_14"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"CL-14 must have one rule, got two: in .*other\.py and in .*rules\.py"):
        Rules("toy", tmp_path / "planted_rooms")
