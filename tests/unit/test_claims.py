"""The ledger: its files, the decisions, the comparison of every report, and the update mode."""

import io
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from shallow import claims, paths
from shallow.claims import display, rounding, store
from shallow.claims.rows import KINDS, one_sentence, read

DOCUMENTS = """
toy:
  name: Toy
  title: A toy
  authors: A. Author
  year: 2020
  published: Nowhere
  prefix: TO
  cite: author2020toy
"""
# A headline, a supporting claim, a tested detail; comments and foldings that an update must not touch.
LEDGER = """\
# Head of the file.
# Second line of the head.

- id: TO-01
  source: Section 1
  kind: figure
  rank: headline
  claim: >-
    The curve rises, and the folding of this sentence
    is the author's.
  test: "(a) slope above 0, (b) below 1"   # a remark
  parameters: {n: 10}
  scale: live
  reason: nobody has looked
  verdict: untested

# A comment between rows.
- id: TO-02
  source: [Section 2, Figure 3]
  kind: statement
  rank: supporting
  with: TO-01
  claim: The <b>other</b> curve falls.
  test: slope below 0
  parameters: n = 10
  scale: recorded
  note: 'quoted: on purpose'
  reason: nobody has looked
  verdict: untested

- id: TO-03
  source: Section 3
  kind: open
  rank: detail
  with: TO-01
  claim: Is it flat?
  test: state the slope
  parameters: n = 10
  scale: live
  finding: slope 0.1 [0.0, 0.2]
  cell: to-03
  verdict: answered
# The end.
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A ledger of three claims."""
    (tmp_path / "documents.yml").write_text(DOCUMENTS)
    (tmp_path / "toy.yml").write_text(LEDGER)
    return tmp_path


@pytest.fixture
def update(monkeypatch):
    """Update mode, as `make references` sets it."""
    monkeypatch.setenv("SHALLOW_LEDGER", "update")


@pytest.fixture(autouse=True)
def compare(monkeypatch):
    """Comparing is the rule, whatever the environment of the test run says."""
    monkeypatch.delenv("SHALLOW_LEDGER", raising=False)


def fault(folder: Path, old: str, new: str) -> str:
    """What is said about the ledger once `old` is replaced by `new`."""
    assert old in LEDGER
    (folder / "toy.yml").write_text(LEDGER.replace(old, new, 1))
    with pytest.raises(claims.LedgerError) as error:
        claims.Ledger("toy", folder)
    return str(error.value)


# The files of the book


@pytest.mark.parametrize("chapter", claims.documents())
def test_ledger_of_the_book_is_valid_and_in_its_one_format(chapter):
    path = paths.CLAIMS / f"{chapter}.yml"
    assert len(read(chapter)) > 50
    rewritten = io.StringIO()
    store.yaml().dump(store.yaml().load(path), rewritten)
    assert rewritten.getvalue() == path.read_text(), "rewrite it with shallow.claims.store.yaml()"


def test_everything_has_every_claim_once():
    ids = [row.id for row in claims.everything()]
    assert (
        len(ids)
        == len(set(ids))
        == sum(sum(claims.Ledger(chapter).counts().values()) for chapter in claims.documents())
    )


def test_prefixes_differ():
    prefixes = [document.prefix for document in claims.documents().values()]
    assert len(prefixes) == len(set(prefixes)) == 5


# The schema


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("verdict: untested", "verdict: true-ish", "TO-01: `verdict` must be one of reproduced, partly"),
        ("rank: headline", "rank: main", "TO-01: `rank` must be one of headline"),
        ("kind: figure", "kind: picture", "TO-01: `kind` must be one of statement"),
        ("scale: live", "scale: long", "TO-01: `scale` must be one of live, recorded"),
        ("  reason: nobody has looked\n", "", "TO-01: an untested row needs a `reason`"),
        ("  reason: nobody has looked\n", "  reason: ''\n", "TO-01: an untested row needs a `reason`"),
        ("  reason: nobody has looked\n", "  reason: a\n  finding: b\n", "TO-01: an untested row has no `finding`"),
        ("  reason: nobody has looked\n", "  reason: a\n  cell: to-01\n", "TO-01: an untested row has no `cell`"),
        ("with: TO-01", "with: TO-09", "TO-02: `with` must name a headline of this file, got 'TO-09'"),
        ("with: TO-01", "with: TO-03", "TO-02: `with` must name a headline of this file, got 'TO-03'"),
        ("  with: TO-01\n", "", "TO-02: `with` must name a headline of this file, got None"),
        ("rank: headline\n", "rank: headline\n  with: TO-01\n", "TO-01: a headline stands alone"),
        ("id: TO-03", "id: TO-02", "TO-02: id is used more than once"),
        ("id: TO-03", "id: XX-03", "XX-03: id must read TO-01"),
        ("id: TO-03\n  source", "source", "row 3: `id` is missing"),
        ("  claim: Is it flat?\n", "", "TO-03: `claim` is missing"),
        ("  claim: Is it flat?\n", "  claim: ''\n", "TO-03: `claim` is missing"),
        ("  test: state the slope\n", "  tset: state the slope\n", "TO-03: unknown key 'tset'"),
        ("  finding: slope 0.1 [0.0, 0.2]\n", "", "TO-03: finding must be one sentence, got an empty text"),
        ("0.2]\n", "0.2]. It is flat\n", "TO-03: finding must be one sentence (join"),
        ("  cell: to-03\n", "", "TO-03: `cell` must be 'to-03', got None"),
        ("cell: to-03", "cell: to-02", "TO-03: `cell` must be 'to-03', got 'to-02'"),
        ("  cell: to-03\n", "  cell: to-03\n  reason: lazy\n", "TO-03: `reason` is for untested rows"),
        ("  cell: to-03\n", "  cell: to-03\n  parts: {a: nice}\n", "TO-03: part 'a' must be one of reproduced"),
        ("  cell: to-03\n", "  cell: to-03\n  parts: {}\n", "TO-03: parts must be a non-empty mapping"),
        ("  cell: to-03\n  verdict: answered", "  verdict: answered\n  cell: to-03", "`verdict` must be the last key"),
        ("  cell: to-03\n", "  cell: to-03\n  test_was: state it\n", "TO-03: a changed test keeps"),
        ("- id: TO-01", "- 7\n- id: TO-01", "must be a list of rows"),
        ("  rank: headline\n", "  rank: headline\n  rank: detail\n", "duplicate key"),
    ],
)
def test_every_fault_names_file_and_row(folder, old, new, says):
    message = fault(folder, old, new)
    assert says in message
    assert all(line.startswith("toy.yml: ") for line in message.splitlines()) or "duplicate" in message


def test_all_faults_are_named_at_once(folder):
    message = fault(folder, "  kind: figure\n  rank: headline", "  kind: picture\n  rank: main")
    assert [line.split()[1] for line in message.splitlines()] == ["TO-01:", "TO-01:", "TO-01:", "TO-02:", "TO-03:"]


def test_rows_may_stand_under_the_key_claims(folder, update):
    (folder / "toy.yml").write_text("claims:\n" + textwrap.indent(LEDGER, "  "))
    claims.Ledger("toy", folder).report("TO-02", "partly", finding="slope 0.0 [-0.1, 0.1]")
    assert claims.Ledger("toy", folder)["TO-02"].verdict == "partly"


def test_a_changed_test_keeps_its_old_text(folder):
    path = folder / "toy.yml"
    path.write_text(LEDGER.replace("  cell: to-03\n", "  cell: to-03\n  test_was: look\n  test_why: vague\n"))
    page = claims.Ledger("toy", folder).claim("TO-03")._repr_html_()
    assert "look" in page and "vague" in page


def test_unknown_chapter_names_the_known_ones(folder):
    with pytest.raises(ValueError, match="chapter must be one of toy, got 'tay'"):
        claims.Ledger("tay", folder)


@pytest.mark.parametrize(("id", "near"), [("TO-04", "TO-01"), ("to-03", "TO-03"), ("TO-3", "TO-03")])
def test_unknown_id_names_near_ones(folder, id, near):
    ledger = claims.Ledger("toy", folder)
    for call in (ledger.__getitem__, ledger.claim, lambda id: ledger.report(id, "partly", finding="x")):
        with pytest.raises(KeyError, match=f"toy.yml has no claim '{id}'; near it: .*{near}"):
            call(id)


# Decisions


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


def test_decide_without_a_condition_against():
    assert claims.decide(reproduced=False) == "partly"


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
    with pytest.raises(ValueError, match="single truth value"):
        claims.lettered({"a": "yes"})


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({"a": "reproduced", "b": "reproduced"}, "reproduced"),
        ({"a": "contradicted", "b": "contradicted"}, "contradicted"),
        ({"a": "reproduced", "b": "contradicted"}, "partly"),
        ({"a": "reproduced", "b": "undecided"}, "partly"),
        ({"a": "contradicted", "b": "undecided"}, "contradicted"),
        ({"a": "contradicted", "b": "undecided", "c": "partly"}, "partly"),
        ({"a": "undecided"}, "undecided"),
    ],
)
def test_combine(parts, verdict):
    assert claims.combine(parts) == verdict


@pytest.mark.parametrize("parts", [{}, {"a": "accepted"}, {"a": "untested"}, {1: "partly"}, ["partly"]])
def test_combine_refuses(parts):
    with pytest.raises(ValueError, match="part"):
        claims.combine(parts)


# Reports


@pytest.fixture
def decided(folder, monkeypatch) -> claims.Ledger:
    """A ledger whose first row has parts, as an earlier run left it."""
    monkeypatch.setenv("SHALLOW_LEDGER", "update")
    claims.Ledger("toy", folder).report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.5 [0.4, 1.1]")
    monkeypatch.delenv("SHALLOW_LEDGER")
    return claims.Ledger("toy", folder)


def test_report_that_agrees_is_shown(decided):
    report = decided.report("TO-01", {"b": "partly", "a": "reproduced"}, finding=" slope 0.5\n[0.4, 1.1]")
    assert repr(report) == "TO-01 · partly (b partly, a reproduced) · slope 0.5 [0.4, 1.1]"
    assert repr(decided.report("TO-03", "answered", finding="slope 0.1 [0.0, 0.2]")).startswith(
        "TO-03 · answered · slope"
    )


@pytest.mark.parametrize(
    ("outcome", "finding", "verdict", "differs"),
    [
        ({"a": "reproduced", "b": "reproduced"}, "slope 0.5 [0.4, 1.1]", None, {"verdict", "parts"}),
        ({"a": "partly", "b": "reproduced"}, "slope 0.5 [0.4, 1.1]", None, {"parts"}),
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
    if differs == {"finding"}:
        assert "cell    slope 0.7 [0.4, 1.1]\n    ledger  slope 0.5 [0.4, 1.1]" in message


def test_in_a_live_session_the_ledger_is_shown_beside_another_result(decided, monkeypatch):
    monkeypatch.setenv("SHALLOW_LIVE", "1")
    report = decided.report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.7 [0.4, 1.1]")
    first, second = repr(report).splitlines()
    assert "slope 0.7" in first and second.startswith("The ledger says: TO-01") and "slope 0.5 [0.4, 1.1]" in second
    assert "slope 0.5" in report._repr_html_() and "slope 0.7" in report._repr_html_()
    same = decided.report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.5 [0.4, 1.1]")
    assert "The ledger says" not in repr(same) + same._repr_html_()


def test_a_claim_never_reported_is_a_mismatch(decided):
    with pytest.raises(claims.LedgerMismatch, match="ledger  untested"):
        decided.report("TO-02", "reproduced", finding="slope -1.0 [-1.1, -0.9]")


def test_a_planted_verdict_fails(decided, folder):
    path = folder / "toy.yml"
    path.write_text(path.read_text().replace("verdict: answered", "verdict: reproduced"))
    with pytest.raises(claims.LedgerMismatch, match=r"(?s)cell    answered.*ledger  reproduced"):
        claims.Ledger("toy", folder).report("TO-03", "answered", finding="slope 0.1 [0.0, 0.2]")


def test_comparing_never_writes(decided, folder):
    before = (folder / "toy.yml").read_bytes()
    with pytest.raises(claims.LedgerMismatch):
        decided.report("TO-01", "reproduced", finding="something else")
    assert (folder / "toy.yml").read_bytes() == before


@pytest.mark.parametrize(
    ("outcome", "finding", "verdict", "says"),
    [
        ("accepted", "x", None, "TO-01: a verdict is one of .*, got 'accepted'"),
        ("untested", "x", None, "why a claim is untested is written into toy.yml"),
        ({"a": "accepted"}, "x", None, "part 'a' must be one of"),
        ({}, "x", None, "parts must be a non-empty mapping"),
        ({"a": "partly"}, "x", "accepted", "TO-01: a verdict is one of"),
        ("partly", "x", "partly", "is for claims with parts"),
        ("partly", " \n", None, "finding must be one sentence, got an empty text"),
        ("partly", "it rises. It falls", None, "finding must be one sentence"),
    ],
)
def test_report_refuses(folder, update, outcome, finding, verdict, says):
    with pytest.raises(ValueError, match=says):
        claims.Ledger("toy", folder).report("TO-01", outcome, finding=finding, verdict=verdict)
    assert (folder / "toy.yml").read_text() == LEDGER


@pytest.mark.parametrize("text", ["slope 0.5 [0.4, 1.1] at n = 10; e.g. for P = 3", "0.62 vs. 0.04", "it ends."])
def test_one_sentence_accepts(text):
    assert one_sentence(f"  {text}\n") == text


# Update mode


def test_update_changes_one_row_and_nothing_else(folder, update):
    finding = (
        "slope -0.50 [-0.61, -0.39]: " + "a long sentence that the file has to fold somewhere, " * 4 + "and its end"
    )
    claims.Ledger("toy", folder).report("TO-02", {"a": "reproduced", "b": "reproduced"}, finding=finding)
    old, new = LEDGER, (folder / "toy.yml").read_text()
    head, tail = old.split("  note: 'quoted: on purpose'\n")
    assert new.startswith(head) and new.endswith(
        tail.removeprefix("  reason: nobody has looked\n  verdict: untested\n")
    )
    row = claims.Ledger("toy", folder)["TO-02"]
    assert (row.verdict, dict(row.parts), row.cell) == ("reproduced", {"a": "reproduced", "b": "reproduced"}, "to-02")
    assert (row.finding, row.reason) == (finding, None)
    assert "  parts: {a: reproduced, b: reproduced}\n" in new


@pytest.mark.parametrize("id", ["TO-01", "TO-02", "TO-03"])
def test_update_there_and_back_is_the_same_file(folder, update, id):
    """Comments, order and folding survive any number of updates, at any row, the last one included."""
    ledger = claims.Ledger("toy", folder)
    ledger.report(id, "reproduced", finding="first")
    once = (folder / "toy.yml").read_text()
    ledger.report(id, {"a": "partly", "b": "reproduced"}, finding="second")
    ledger.report(id, "reproduced", finding="first")
    assert (folder / "toy.yml").read_text() == once
    assert [line for line in once.splitlines() if "#" in line] == [line for line in LEDGER.splitlines() if "#" in line]


@pytest.mark.parametrize(
    "finding", ["yes", "12", "a: b # c", "'quoted' \"twice\"", "- [x] {y}", "ünïcode ± 0.1", "x" * 300]
)
def test_update_survives_awkward_text(folder, update, monkeypatch, finding):
    claims.Ledger("toy", folder).report("TO-01", "partly", finding=finding)
    monkeypatch.delenv("SHALLOW_LEDGER")
    claims.Ledger("toy", folder).report("TO-01", "partly", finding=finding)


def test_update_leaves_an_agreeing_file_alone(folder, update):
    before = (folder / "toy.yml").stat()
    claims.Ledger("toy", folder).report("TO-03", "answered", finding="slope 0.1 [0.0, 0.2]")
    assert (folder / "toy.yml").stat() == before


def test_update_leaves_no_other_file_and_keeps_the_mode(folder, update):
    (folder / "toy.yml").chmod(0o640)
    claims.Ledger("toy", folder).report("TO-01", "partly", finding="x")
    assert {path.name for path in folder.iterdir()} == {"documents.yml", "toy.yml"}
    assert (folder / "toy.yml").stat().st_mode & 0o777 == 0o640


def test_failed_update_leaves_the_old_file(folder, update, monkeypatch):
    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        claims.Ledger("toy", folder).report("TO-01", "partly", finding="x")
    assert (folder / "toy.yml").read_text() == LEDGER
    assert {path.name for path in folder.iterdir()} == {"documents.yml", "toy.yml"}


def test_the_ledger_sees_its_own_update(folder, update):
    ledger = claims.Ledger("toy", folder)
    ledger.report("TO-01", "contradicted", finding="x")
    assert ledger.counts()["contradicted"] == 1 and ledger["TO-01"].finding == "x"


def test_two_processes_lose_nothing(folder):
    """Each process rewrites its own rows, all in the same file; every last word must be there."""
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from shallow import claims
        ledger = claims.Ledger("toy", Path(sys.argv[1]))
        for turn in range(12):
            for id in sys.argv[2:]:
                ledger.report(id, "partly", finding=f"turn {turn}")
    """)
    environment = os.environ | {"SHALLOW_LEDGER": "update"}
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(folder), *ids], env=environment)
        for ids in (["TO-01", "TO-03"], ["TO-02"])
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert {row.finding for row in claims.Ledger("toy", folder).rows.values()} == {"turn 11"}


# What a chapter and the page of claims show


def test_counts_are_in_fixed_order_with_zeros(decided):
    assert list(decided.counts()) == list(claims.VERDICTS)
    assert {verdict: number for verdict, number in decided.counts().items() if number} == {
        "partly": 1,
        "answered": 1,
        "untested": 1,
    }


def test_every_verdict_has_its_own_symbol_word_and_legible_colour():
    assert list(display.STYLE) == list(claims.VERDICTS)
    symbols, colours = zip(*display.STYLE.values(), strict=True)
    assert len(set(symbols)) == len(set(colours)) == len(claims.VERDICTS)
    for verdict, (symbol, colour) in display.STYLE.items():
        assert symbol in display.badge(verdict) and verdict in display.badge(verdict)
        channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = np.dot(linear, [0.2126, 0.7152, 0.0722])
        assert 1.05 / (luminance + 0.05) >= 4.5, f"white on {colour} is hard to read"


def test_report_as_a_box(decided):
    page = decided.report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.5 [0.4, 1.1]")._repr_html_()
    for piece in ('href="claims.html#to-01"', "◐&nbsp;partly", "(a)&nbsp;✓&nbsp;reproduced", "slope 0.5 [0.4, 1.1]"):
        assert piece in page


def test_claim_shows_source_rule_and_parameters(decided):
    page = decided.claim("TO-01", "TO-02")
    assert repr(page).splitlines()[0].startswith("TO-01 (Section 1): The curve rises")
    for piece in ("<details", "(a) slope above 0, (b) below 1", "n: 10", "Section 2; Figure 3", "n = 10"):
        assert piece in page._repr_html_()
    assert "&lt;b&gt;other&lt;/b&gt;" in page._repr_html_(), "text of the ledger is not markup"


def test_lines_of_details(decided):
    report = decided.report("TO-03", "answered", finding="slope 0.1 [0.0, 0.2]")
    table = decided.lines(report, report)
    assert repr(table) == f"{report!r}\n{report!r}"
    assert table._repr_html_().count("<tr>") == 3


def test_card(decided):
    card = decided.card()
    assert repr(card).splitlines() == [
        "A toy (A. Author, 2020)",
        "3 claims: 1 partly, 1 answered, 1 untested",
        "TO-01 · partly · The curve rises, and the folding of this sentence is the author's.",
    ]
    assert 'href="#to-01"' in card._repr_html_() and "claims.html#toy" in card._repr_html_()


def test_page_of_claims(decided, folder):
    page = claims.table(folder)._repr_html_()
    assert repr(claims.table(folder)) == "3 claims of 1 documents"
    assert page.count("<tr id=") == 3 and page.count("<tbody>") == 1
    assert 'href="toy.html#to-01"' in page and 'href="toy.html#to-02"' not in page, "only tested rows have a cell"
    assert "nobody has looked" in page and 'href="#document-toy"' in page
    assert set(KINDS) <= set(page.split('data-kind="')[1].split('"')[0].split())


def test_page_of_claims_is_of_modest_weight():
    assert len(claims.table()._repr_html_().encode()) < 1_000_000


def test_a_claim_on_another_page(decided, folder):
    found = claims.found("TO-01", folder)
    assert repr(found) == "TO-01 · partly · slope 0.5 [0.4, 1.1]"
    assert 'href="toy.html#to-01"' in found._repr_html_() and "partly" in found._repr_html_()
    with pytest.raises(KeyError, match="TO-99"):
        claims.found("TO-99", folder)


def test_counts_table(decided, folder):
    table = claims.counts_table(folder)
    line = "3 claims, 1 partly, 1 answered, 1 untested"
    assert repr(table) == f"Toy: {line}\nAll: {line}"
    assert table._repr_html_().count("<td") == 2 * (len(claims.VERDICTS) + 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r is 0.016 [0.010, 0.031]", "r is 0.015 [0.010, 0.032]"),
        ("| -0.00 | 1.0e-05 |", "| 0.01 | 1.1e-05 |"),
        ("44% of the runs and 12 %", "45% of the runs and 11 %"),
        ("the end is 0.99.", "the end is 1.00."),
    ],
)
def test_a_rounded_digit_is_no_difference(text, expected):
    assert rounding.settled(text, expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r is 0.017", "r is 0.015"),
        ("r is 0.16", "r is 0.015"),
        ("12 of 20 runs", "13 of 20 runs"),
        ("version 2.13.0", "version 2.13.1"),
        ("1.0e-05", "1.0e-06"),
        ("r is 0.015 in all", "r is 0.015"),
        ("0.5 and 0.6", "0.5"),
        ("reproduced", "undecided"),
    ],
)
def test_any_other_difference_stays(text, expected):
    assert rounding.settled(text, expected) == text != expected


def test_ledger_accepts_a_rounded_digit_and_no_more(decided):
    parts = {"a": "reproduced", "b": "partly"}
    decided.report("TO-01", parts, finding="slope 0.5 [0.3, 1.2]")
    with pytest.raises(claims.LedgerMismatch, match=r"0\.7"):
        decided.report("TO-01", parts, finding="slope 0.7 [0.4, 1.1]")
