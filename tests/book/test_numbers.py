"""Numbers that people typed are those that something computed or fixed: in the sentences of papers, and in rules.

A number that is right but stands nowhere else is listed here, so that a new one is looked at.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from contextlib import suppress

import jupytext
import nbformat
import numpy as np
import pytest
import references

from experiments import deciding
from shallow.book import claims, paths

CHAPTERS = claims.documents()
WORDS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "three": 3, "four": 4, "five": 5, "ten": 10}

# Numbers of rules that the row does not spell: limits of the wording of an answer, roundings, and parts of a number.
UNSPELT = {
    "CL-33": [0.75], "HS-25": [0.9], "HS-27": [0.9, 1.1], "HS-28": [0.5], "HS-50": [2 / 3], "HS-51": [1e-5],
    "HT-01": [5.643856189774724], "HT-13": [1.05], "HT-16": [2000], "HT-19": [0.8], "HT-36": [0.5], "HT-42": [0.9],
    "HT-46": [1.05], "HT-53": [0.1], "HT-59": [10**0.5], "HT-77": [1.2], "LO-03": [3], "LO-24": [1.001],
    "LO-33": [3, 100], "LO-41": [1e-4], "LO-49": [3, 100], "SB-04": [2.4], "SB-22": [0.5], "SB-29": [200, 350],
    "SB-47": [1e-12], "SB-53": [0.2], "SB-59": [0.1],
}  # fmt: skip
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


COMPUTED = (ast.Call, ast.Attribute, ast.Subscript)
COMPARING = {"exceeds", "below", "above", "within", "inside", "outside"}


def leaves(value: object) -> Iterator[float]:
    """The numbers in a value, as they are without sign."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield abs(value)
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)


def limits(rule: deciding.Rule) -> set[float]:
    """The numbers that a rule names in its first statements, and those that it compares with."""
    tree, names = ast.parse(inspect.getsource(rule)).body[0], {}
    simple = [node for node in tree.body if isinstance(node, ast.Assign) and not has(node.value, COMPUTED)]
    for node in simple:
        with suppress(NameError):
            exec(ast.unparse(node), rule.__globals__, names)
    found = set(leaves(names))
    for call in filter(lambda node: isinstance(node, ast.Call), ast.walk(tree)):
        if getattr(call.func, "attr", getattr(call.func, "id", "")) in COMPARING:
            for argument in filter(lambda node: not has(node, COMPUTED), call.args):
                with suppress(NameError):
                    found |= set(leaves(eval(f"({ast.unparse(argument)},)", rule.__globals__, names)))
    return found - {0, 1, 2}


def has(tree: ast.AST, kind: type | tuple[type, ...]) -> bool:
    return any(isinstance(node, kind) for node in ast.walk(tree))


def spelt(row: claims.Row) -> set[float]:
    """The numbers in the words of a rule, its parameters and its claim: fractions, powers, percentages."""
    text = " ".join(map(str, (row.claim, row.test, row.parameters, row.note or "")))
    found = {value for word, value in WORDS.items() if re.search(rf"\b{word}", text, re.I)}
    for digits, percent in numbers(text):
        found |= {share := float(digits) / (100 if percent else 1)} | ({1 + share, 1 - share} if percent else set())
    found |= {float(value) for value in re.findall(r"\d+(?:\.\d+)?e-?\d+", text)}
    found |= {float(a) / float(b) for a, b in re.findall(r"(\d+)\s*/\s*(\d*[1-9]\d*)", text)}
    return found | {float(a) ** float(b) for a, b in re.findall(r"(\d+)\^\{?(-?\d+)", text)}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_limits_of_a_rule_are_those_of_its_words(chapter):
    rows, wrong = {row.id: row for row in claims.rows.read(chapter)}, {}
    for id in deciding.rules(chapter):
        there = np.array([*spelt(rows[id]), *UNSPELT.get(id, ())])
        wrong[id] = [one for one in limits(deciding.rules(chapter)[id]) if not np.isclose(there, one, 1e-9, 0).any()]
    assert {id: found for id, found in wrong.items() if found} == {}
