"""The files of the ledger: those of the book, and what is said about each fault of a planted one."""

import io

import pytest
from unit.claims.conftest import LEDGER

from shallow.book import claims, paths
from shallow.book.claims.rows import read
from shallow.book.claims.update import yaml


@pytest.mark.parametrize("chapter", claims.documents())
def test_ledger_of_the_book_is_valid_and_in_its_one_format(chapter):
    path = paths.CLAIMS / f"{chapter}.yml"
    assert len(read(chapter)) > 50
    rewritten = io.StringIO()
    yaml().dump(yaml().load(path), rewritten)
    assert rewritten.getvalue() == path.read_text(encoding="utf-8"), "rewrite it with shallow.book.claims.update.yaml()"


def test_prefixes_and_ids_differ():
    prefixes = [document.prefix for document in claims.documents().values()]
    ids = [row.id for row in claims.everything()]
    assert len(prefixes) == len(set(prefixes)) == 5 and len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("verdict: untested", "verdict: true-ish", "TO-01: `verdict` must be one of reproduced, partly"),
        ("kind: figure", "kind: picture", "TO-01: `kind` must be one of statement"),
        ("  reason: nobody has looked\n", "  reason: a\n  finding: b\n", "TO-01: an untested row has a `reason`"),
        ("with: TO-01", "with: TO-03", "TO-02: `with` must name a headline of this file"),
        ("rank: headline\n", "rank: headline\n  with: TO-01\n", "TO-01: `with` must name a headline"),
        ("rank: headline\n", "rank: main\n", "`rank` must"),
        ("rank: headline\n", "rank: main\n", "\ntoy.yml: TO-03: `with` must name a headline"),
        ("id: TO-03", "id: TO-02", "TO-02: `id` must read TO-01, TO-02, ..., each once"),
        ("id: TO-03", "id: XX-03", "XX-03: `id` must read TO-01"),
        ("id: TO-03\n  source", "source", "row 3: `id` is missing"),
        ("  claim: Is it flat?\n", "  claim: ''\n", "TO-03: `claim` is missing"),
        ("  test: state the slope\n", "  tset: state the slope\n", "TO-03: unknown key 'tset'"),
        ("  finding: slope 0.1 [0.0, 0.2]\n", "", "TO-03: finding must be one sentence, got an empty text"),
        ("0.2]\n", "0.2]. It is flat\n", "TO-03: finding must be one sentence (join"),
        ("cell: to-03", "cell: to-02", "TO-03: a row with a verdict has `cell: to-03`"),
        ("  cell: to-03\n", "  cell: to-03\n  parts: {a: nice}\n", "TO-03: part 'a' must be one of reproduced"),
        ("  cell: to-03\n  verdict: answered", "  verdict: answered\n  cell: to-03", "`verdict` must be the last key"),
        ("  cell: to-03\n", "  answer: It is. It\n  cell: to-03\n", "TO-03: answer must be one sentence"),
        ("  cell: to-03\n", f"  answer: {'so ' * 26}\n  cell: to-03\n", "TO-03: answer must have at most 25 words"),
        ("  cell: to-03\n", "  reading: partly\n  cell: to-03\n", "TO-03: reading must differ from the verdict and"),
        ("  cell: to-03\n", "  cell: to-03\n  test_was: state it\n", "TO-03: a changed rule keeps"),
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


def test_a_changed_test_keeps_its_old_text(folder):
    path = folder / "toy.yml"
    was = "  test_was: look\n  parameters_was: {n: 7}\n  test_why: vague\n"
    path.write_text(LEDGER.replace("  cell: to-03\n", f"  cell: to-03\n{was}"), encoding="utf-8")
    page = claims.Ledger("toy", folder).claim("TO-03")._repr_html_()
    assert "look" in page and "n: 7" in page and "vague" in page


@pytest.mark.parametrize(("id", "near"), [("TO-04", "TO-01"), ("to-03", "TO-03"), ("TO-3", "TO-03")])
def test_unknown_id_names_near_ones(folder, id, near):
    ledger = claims.Ledger("toy", folder)
    for call in (ledger.__getitem__, ledger.claim, lambda id: ledger.report(id, "partly", finding="x")):
        with pytest.raises(KeyError, match=f"toy.yml has no claim '{id}'; near it: .*{near}"):
            call(id)
