"""A ledger of three claims, planted for the tests, as a folder and as an earlier run left it."""

from pathlib import Path

import pytest

from shallow.book import claims

DOCUMENTS = """
toy:
  name: Toy
  title: A toy
  authors: A. Author
  year: 2020
  published: Nowhere
  prefix: TO
  cite: author2020toy
  thesis: Toys rise & shine.
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


# What the rule of the second claim finds, on a page of its own.
FALLS = claims.Outcome(
    answer="The curve falls.",
    finding="slope -0.5 [-0.6, -0.4]",
    parts={"a": "reproduced", "b": "contradicted"},
    evidence={"slope": -0.5},
    reading="reproduced",
    reading_why="(b) is a matter of words",
)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A ledger of three claims."""
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "documents.yml").write_text(DOCUMENTS, encoding="utf-8")
    (folder / "toy.yml").write_text(LEDGER, encoding="utf-8")
    return folder


@pytest.fixture
def update(monkeypatch):
    """Update mode, as `make references` sets it."""
    monkeypatch.setenv("SHALLOW_LEDGER", "update")


@pytest.fixture(autouse=True)
def compare(monkeypatch):
    """Comparing strictly is the rule, whatever the environment of the test run says."""
    monkeypatch.delenv("SHALLOW_LEDGER", raising=False)
    monkeypatch.setenv("SHALLOW_STRICT", "1")


@pytest.fixture
def answered(folder, update, monkeypatch) -> claims.Ledger:
    """A ledger whose second row has an answer, a reading and a page."""
    path, old = folder / "toy.yml", "  reason: nobody has looked\n  verdict: untested\n\n- id: TO-03"
    new = "  finding: x\n  page: falls\n  cell: to-02\n  verdict: partly\n\n- id: TO-03"
    path.write_text(LEDGER.replace(old, new), encoding="utf-8")
    claims.Ledger("toy", folder).report("TO-02", FALLS)
    monkeypatch.delenv("SHALLOW_LEDGER")
    return claims.Ledger("toy", folder)


@pytest.fixture
def decided(folder, update, monkeypatch) -> claims.Ledger:
    """A ledger whose first row has parts, as an earlier run left it."""
    claims.Ledger("toy", folder).report("TO-01", {"a": "reproduced", "b": "partly"}, finding="slope 0.5 [0.4, 1.1]")
    monkeypatch.delenv("SHALLOW_LEDGER")
    return claims.Ledger("toy", folder)
