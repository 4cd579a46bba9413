"""The ledger, the chapters and the bibliography agree with each other."""

import re

import jupytext
import pytest
import references
import rule_lock

from shallow.book import claims

DOCUMENTS = claims.documents()
VERDICT = re.compile(rf"\b({'|'.join(claims.VERDICTS)})\b", re.IGNORECASE)


def cells(chapter: str, kind: str) -> dict[str, str]:
    """The sources of all cells of one kind, on each page of a chapter by its name."""
    pages = {references.name_of(path): path for path in claims.rows.pages()}
    own = {name: jupytext.read(path) for name, path in pages.items() if name.partition("/")[0] == chapter}
    return {
        name: "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == kind)
        for name, notebook in own.items()
    }


def plain(text: str) -> str:
    """Markdown without fenced blocks of literal text, link targets and labels, which are not prose."""
    text = re.sub(r"^(```+|~~~+)\w*\n.*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\]\([^)]*\)|^\([\w-]+\)=$", "", text, flags=re.MULTILINE)


def misstatements(text: str, verdicts: dict[str, set]) -> list[str]:
    """Sentences that name exactly one claim and a verdict other than the ledger's, by the rule or by our reading.

    A word that is part of another meaning can be quoted or reworded; a sentence about several claims is not judged.
    """
    wrong = []
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[-*|#])", plain(text)):
        named = set(re.findall(r"\b[A-Z]{2}-\d{2,}\b", sentence))
        said = {word.lower() for word in VERDICT.findall(sentence)}
        if len(named) == 1 and said:
            (claim,) = named
            if not said <= verdicts.get(claim, set()):
                wrong.append(" ".join(sentence.split()))
    return wrong


@pytest.mark.parametrize("chapter", DOCUMENTS)
def test_every_tested_claim_has_its_section_and_is_reported_by_a_cell(chapter):
    """On the page that its row names, or on that of the chapter while there is no other."""
    prose, code = (cells(chapter, kind) for kind in ("markdown", "code"))
    labels = {name: set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)) for name, text in prose.items()}
    tested = [(row.address if row.address in prose else chapter, row) for row in claims.rows.read(chapter) if row.cell]
    assert [row.id for page, row in tested if row.cell not in labels.get(page, ())] == []
    assert [row.id for page, row in tested if row.id not in code.get(page, "")] == []


@pytest.mark.parametrize("chapter", DOCUMENTS)
def test_prose_agrees_with_the_ledger(chapter):
    verdicts = {row.id: {row.verdict, row.reading} for name in DOCUMENTS for row in claims.rows.read(name)}
    wrong = [sentence for text in cells(chapter, "markdown").values() for sentence in misstatements(text, verdicts)]
    assert wrong == []


def test_every_rule_is_locked_as_it_stands():
    assert rule_lock.faults(rule_lock.read(), rule_lock.current()) == [], "a rule was changed in silence"
    assert rule_lock.read() == rule_lock.current(), "run `.venv/bin/python tools/rule_lock.py` to renew the lock"
