"""ruff finds nothing, neither in the modules nor in the cells of the chapters; modules are short."""

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
    done = subprocess.run([*RUFF, *options], input=code, cwd=references.ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode else ""


def script(chapter) -> str:
    """All code cells of a chapter as one file."""
    return "\n\n".join(cell.source for cell in references.code_cells(jupytext.read(chapter))) + "\n"


def test_modules():
    assert findings(".") == ""


def test_no_module_is_longer_than_350_lines():
    modules = [
        path for folder in ("lib", "benchmarks", "tests", "tools") for path in (references.ROOT / folder).rglob("*.py")
    ]
    assert len(modules) > 100
    assert [path.name for path in modules if path.read_text(encoding="utf-8").count("\n") > 350] == []


@pytest.mark.parametrize("chapter", references.chapters(), ids=lambda path: path.stem)
def test_chapters(chapter):
    assert findings(*CHAPTER, f"--stdin-filename={chapter.stem}.py", "-", code=script(chapter)) == ""


@pytest.mark.parametrize("chapter", references.chapters(), ids=lambda path: path.stem)
def test_cells_hide_no_value(chapter):
    """A closing `;` hides a value in a notebook but not from nbval, which would then see one output too many."""
    cells = references.code_cells(jupytext.read(chapter))
    assert [number for number, cell in enumerate(cells) if cell.source.rstrip().endswith(";")] == []


def test_ruff_reads_what_it_is_given():
    assert "F821" in findings(*CHAPTER, "--stdin-filename=chapter.py", "-", code="print(undefined)\n")
