"""ruff finds nothing, neither in the modules nor in the cells of the chapters."""

import re
import subprocess
import sys

import jupytext
import pytest
import references

RUFF = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise"]
# A chapter imports where it needs a thing, and ends a cell with the value it shows.
CHAPTER = ["--ignore=E402,B018,I001"]


def findings(*options: str, code: str | None = None) -> str:
    """What ruff says; empty when it finds nothing."""
    done = subprocess.run([*RUFF, *options], input=code, cwd=references.ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode else ""


def test_modules():
    assert findings(".") == ""


@pytest.mark.parametrize("folder", ["lib", "experiments", "benchmarks", "tools"])
def test_text_has_an_encoding_of_its_own(folder):
    """That of the locale differs between machines."""
    for path in (references.ROOT / folder).rglob("*.py"):
        assert not re.search(r"read_text\(\)|text=True|universal_newlines", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("chapter", references.chapters(), ids=lambda path: path.stem)
def test_chapters(chapter):
    """A closing `;` hides a value in a notebook but not from nbval, which would then see one output too many."""
    cells = [cell.source for cell in references.code_cells(jupytext.read(chapter))]
    assert findings(*CHAPTER, f"--stdin-filename={chapter.stem}.py", "-", code="\n\n".join(cells) + "\n") == ""
    assert [source for source in cells if source.rstrip().endswith(";")] == []
