"""A ledger of three claims with their rules, planted for the tests."""

from pathlib import Path

import pytest

from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides, found, ledger, rules

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
LEDGER = """\
# Head of the file.
# Second line of the head.

- id: TO-01
  source: Section 1
  kind: figure
  rank: headline
  claim: The curve rises, and the folding of this sentence
    is the author's.
  rule: (a) slope above {least}, (b) below {most}; both in {0, 1}
  parameters: {n: 10}
  limits: {least: 0.25, most: 1/2}
  answer: It rises by {slope:.1f}.
  finding: 'slope {slope:.1f}; by width {by width:.1f|keys}'

- id: TO-02
  source: [Section 2, Figure 3]
  kind: statement
  rank: supporting
  with: TO-01
  claim: The <b>other</b> curve falls.
  rule: slope below 0
  parameters: n = 10
  note: 'quoted: on purpose'
  changed: it was vague
  answer: The curve falls.
  finding: slope {slope:.1f}
  reading: reproduced
  reading_why: (b) is a matter of words

- id: TO-03
  source: Section 3
  kind: open
  rank: detail
  with: TO-01
  claim: Is it flat?
  rule: state the slope
  parameters: n = 10
  reason: nobody has looked
# The end.
"""
FIRST = '{"TO-02": {"rule": "look", "parameters": "n: 7"}}'


def slope() -> stats.Interval:
    return stats.Interval(0.4, 0.3, 0.45)


@decides(rise=slope)
def to_01(rise, *, least, most):
    return Found(
        {"a": rise.exceeds(least), "b": claims.below(rise, most)}, {"slope": rise, "by width": {8: 1, 16: 2.0}}
    )


@decides(slope=lambda: -0.5)
def to_02(slope):
    return Found({"a": slope < 0, "b": slope > -0.1}, {"slope": slope})


RULES = {"TO-01": to_01, "TO-02": to_02}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A ledger of three claims, of which two have been decided."""
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "documents.yml").write_text(DOCUMENTS, encoding="utf-8")
    (folder / "toy.yml").write_text(LEDGER, encoding="utf-8")
    (folder / "first_rules.json").write_text(FIRST, encoding="utf-8")
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "index.md").touch()
    (tmp_path / "toy" / "falls.md").write_text("(to-02)=\n## It falls\n", encoding="utf-8")
    for name in (rules, ledger):
        monkeypatch.setattr(name, "rules", lambda chapter: RULES)
    rows = {row.id: row for row in claims.rows.read("toy", folder)}
    for id, rule in RULES.items():
        found.write("toy", folder, id, found.entry(rule.decide(rows[id]), rule.records))
    return folder


@pytest.fixture
def toy(folder) -> claims.Ledger:
    return claims.Ledger("toy", folder)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Comparing strictly is the rule, whatever the environment of the test run says."""
    monkeypatch.delenv("SHALLOW_LEDGER", raising=False)
    monkeypatch.setenv("SHALLOW_STRICT", "1")


@pytest.fixture
def shown(monkeypatch) -> list:
    displayed: list = []
    monkeypatch.setattr(ledger, "show_in_page", displayed.append)
    return displayed
