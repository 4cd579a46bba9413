"""Every page is in the table of contents, every reference belongs to a chapter, and every table is shown."""

import ast

import jupytext
import pytest
import references

from shallow.book.claims import rows


def test_table_of_contents_is_complete():
    assert sorted(references.pages()) == sorted(f"book/{references.name_of(path)}" for path in rows.pages())


def test_no_reference_without_chapter():
    known = {references.reference_of(chapter) for chapter in references.chapters()}
    assert set(references.REFERENCE.rglob("*.ipynb")) <= known


def lost_tables(code: str) -> list[int]:
    """Lines of a cell at which a table is made and not shown: a notebook shows what the last line gives."""
    lines = ast.parse(code).body
    made = [node for node in ast.walk(ast.Module(lines[:-1], [])) if isinstance(node, ast.Expr)]
    made += [node for node in ast.walk(lines[-1]) if isinstance(node, ast.Expr) and node is not lines[-1]]
    calls = [node for node in made if isinstance(node.value, ast.Call)]
    return [node.lineno for node in calls if ast.unparse(node.value.func) == "figures.table"]


@pytest.mark.parametrize("page", references.chapters(), ids=references.name_of)
def test_every_table_is_shown(page):
    cells = references.code_cells(jupytext.read(page))
    assert [cell.source for cell in cells if lost_tables(cell.source)] == []
