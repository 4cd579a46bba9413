"""Numbers that people typed into the sentences of papers are those that something computed or fixed.

A number that is right but stands nowhere else is listed here, so that a new one is looked at.
"""

import json
import re
from collections.abc import Iterator

import jupytext
import nbformat
import pytest
import references

from shallow.book import claims, paths

CHAPTERS = claims.documents()
# Numbers in papers that no page prints: a setting, counts of runs, a bound on a measured number, a product.
UNPRINTED = {"cyclic_labels": {"300"}, "heavy_tails": {"800", "1700"}, "simplicity_bias": {"160000"}}


def numbers(text: str) -> Iterator[tuple[str, bool]]:
    """The numbers in a text without their thousands' commas, and whether they are percentages."""
    text = re.sub(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))", "", text)
    return ((digits, bool(percent)) for digits, percent in re.findall(r"(\d+(?:\.\d+)?)(?:\s?(%|per ?cent))?", text))


def forms(number: tuple[str, bool]) -> set[str]:
    """A number as it stands, and a percentage as a share too."""
    digits, percent = number
    return {digits, f"{float(digits) / 100:.12g}"} if percent else {digits}


def said(chapter: str) -> dict[str, set[str]]:
    """Numbers of three digits or more in a paper's sentences, and their forms; not of links, code, formulas' names."""
    cells = jupytext.read(paths.BOOK / chapter / "index.md").cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    text = re.sub(r"^(```+|~~~+).*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(
        r"\]\([^)]*\)|https?://\S+|(\{[\w:-]+\})?`[^`]*`|<[^>\n]*>|^:.*$|^\(\S+\)=$", "", text, flags=re.MULTILINE
    )
    return {one[0]: forms(one) for one in numbers(text) if len(one[0].replace(".", "").lstrip("0")) >= 3}


def known(chapter: str) -> set[str]:
    """All numbers in a chapter's rows of the ledger, and in code and outputs of its pages."""
    texts = [json.dumps(vars(row), default=str) for row in claims.rows.read(chapter)]
    for path in (references.REFERENCE / chapter).glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        texts += [cell.source + json.dumps(cell.get("outputs", [])) for cell in cells]
    return {form for text in texts for one in numbers(text) for form in forms(one)}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_numbers_in_a_paper_are_printed_somewhere(chapter):
    there = known(chapter)
    missing = {number for number, as_stands in said(chapter).items() if not as_stands & there}
    assert missing - UNPRINTED.get(chapter, set()) == set(), "in no output, no cell and no row of the ledger"
