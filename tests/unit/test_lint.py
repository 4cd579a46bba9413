"""ruff finds nothing, neither in the modules nor in the cells of the chapters."""

import re

import jupytext
import pytest
import references

# A chapter imports where it needs a thing, and ends a cell with the value it shows.
CHAPTER = ["--ignore=E402,B018,I001"]


def test_modules():
    assert references.ruff(".") == ""


@pytest.mark.parametrize("folder", ["lib", "experiments", "benchmarks", "tools"])
def test_text_has_an_encoding_of_its_own(folder):
    """That of the locale differs between machines."""
    for path in (references.ROOT / folder).rglob("*.py"):
        assert not re.search(r"read_text\(\)|text=True|universal_newlines", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("chapter", references.chapters(), ids=lambda path: path.stem)
def test_chapters(chapter):
    """A closing `;` hides a value in a notebook but not from nbval, which would then see one output too many."""
    cells = [cell.source for cell in references.code_cells(jupytext.read(chapter))]
    assert references.ruff(*CHAPTER, f"--stdin-filename={chapter.stem}.py", "-", code="\n\n".join(cells) + "\n") == ""
    assert [source for source in cells if source.rstrip().endswith(";")] == []


@pytest.mark.parametrize("chapter", references.chapters(), ids=lambda path: path.stem)
def test_a_save_in_jupyterlab_changes_nothing(chapter):
    """`jupytext --to md:myst PAGE` writes a page as it has to be."""
    text = chapter.read_text(encoding="utf-8")
    assert jupytext.writes(jupytext.reads(text, "md:myst"), "md:myst") == text
