"""The ledger, the chapters and the bibliography agree with each other."""

import re

import jupytext
import pytest
import references
import rule_lock

from shallow.book import claims

DOCUMENTS = claims.documents()
WRITTEN = [chapter for chapter in DOCUMENTS if (references.BOOK / f"{chapter}.md").exists()]
VERDICT = re.compile(rf"\b({'|'.join(claims.VERDICTS)})\b", re.IGNORECASE)


def rows(chapter: str) -> list[claims.Row]:
    """The ledger of a chapter, checked as it is read."""
    return claims.rows.read(chapter)


def cells(chapter: str, kind: str) -> list[str]:
    """The sources of all cells of one kind."""
    notebook = jupytext.read(references.BOOK / f"{chapter}.md")
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def plain(text: str) -> str:
    """Markdown without fenced blocks of literal text, link targets and labels, which are not prose."""
    text = re.sub(r"^(```+|~~~+)\w*\n.*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\]\([^)]*\)|^\([\w-]+\)=$", "", text, flags=re.MULTILINE)


def misstatements(text: str, verdicts: dict[str, str]) -> list[str]:
    """Sentences that name exactly one claim and a verdict other than the ledger's.

    A word that is part of another meaning can be quoted or reworded; a sentence about several claims is not judged.
    """
    wrong = []
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[-*|#])", plain(text)):
        named = set(re.findall(r"\b[A-Z]{2}-\d{2,}\b", sentence))
        said = {word.lower() for word in VERDICT.findall(sentence)}
        if len(named) == 1 and said:
            (claim,) = named
            if claim not in verdicts or said != {verdicts[claim]}:
                wrong.append(" ".join(sentence.split()))
    return wrong


@pytest.mark.parametrize("chapter", WRITTEN)
def test_every_tested_claim_has_its_section_and_is_reported_by_a_cell(chapter):
    prose, code = ("\n".join(cells(chapter, kind)) for kind in ("markdown", "code"))
    labels = set(re.findall(r"^\(([\w-]+)\)=$", prose, flags=re.MULTILINE))
    assert [row.id for row in rows(chapter) if row.cell and row.cell not in labels] == []
    assert [row.id for row in rows(chapter) if row.verdict != "untested" and row.id not in code] == []


@pytest.mark.parametrize("chapter", WRITTEN)
def test_prose_agrees_with_the_ledger(chapter):
    verdicts = {row.id: row.verdict for name in DOCUMENTS for row in rows(name)}
    wrong = [sentence for text in cells(chapter, "markdown") for sentence in misstatements(text, verdicts)]
    assert wrong == []


def test_every_rule_is_locked_as_it_stands():
    assert rule_lock.faults(rule_lock.read(), rule_lock.current()) == [], "a rule was changed in silence"
    assert rule_lock.read() == rule_lock.current(), "run `.venv/bin/python tools/rule_lock.py` to renew the lock"
