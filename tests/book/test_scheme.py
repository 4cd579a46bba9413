"""The comparison of chapters with their references bites: each way in which it could be fooled is tried."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import references

HEADER = """\
---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A tiny chapter
"""
CELLS = [
    'import sys\nprint("progress", file=sys.stderr)\nprint("mean 0.42")',
    'from IPython.display import HTML\nHTML(f"<b>width {2 * 256}</b>")',
    "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\nplt.show()",
    "import ipywidgets\nipywidgets.IntSlider()",
    "import os, time\nfrom IPython.display import HTML, display\n"
    'display(HTML(f"cost {time.time()}"), metadata={"nbval-ignore-output": True})\n'
    'print("sum 7, strict", os.environ["SHALLOW_STRICT"])',
]
GREEN = ["PASSED"] * len(CELLS)


def write_chapter(path: Path, cells: list[str]) -> None:
    path.write_text(HEADER + "".join(f"\n```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells), encoding="utf-8")


@pytest.fixture(scope="module")
def executed(tmp_path_factory) -> str:
    """The reference of the tiny chapter as it is stored: the text of a notebook."""
    chapter = tmp_path_factory.mktemp("book") / "tiny.md"
    write_chapter(chapter, CELLS)
    return nbformat.writes(references.execute(chapter))


@pytest.fixture
def book(tmp_path, executed) -> Path:
    """A repository with this one's test configuration and one tiny chapter whose reference is fresh."""
    for folder in ("book", "tests/reference"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("conftest.py", "pyproject.toml", "tests/references.py"):
        shutil.copy(references.ROOT / name, tmp_path / name)
    write_chapter(tmp_path / "book" / "tiny.md", CELLS)
    (tmp_path / "tests" / "reference" / "tiny.ipynb").write_text(executed, encoding="utf-8")
    return tmp_path


def run(book: Path, **environment: str) -> tuple[list[str], str]:
    """Test a repository as a reader would; return PASSED, FAILED, ... for each cell, and all that was printed."""
    command = [sys.executable, "-m", "pytest", "--color=no", "-p", "no:cacheprovider", "-v", "book"]
    environment = os.environ | {"COLUMNS": "200", "SHALLOW_STRICT": "0"} | environment  # the configuration sets strict
    done = subprocess.run(command, cwd=book, capture_output=True, encoding="utf-8", env=environment)
    cells = re.findall(r"^book/tiny\.md::Cell \d+ (\w+)", done.stdout, flags=re.MULTILINE)
    assert (done.returncode == 0) == (cells == GREEN), done.stdout
    return cells, done.stdout


def tamper(book: Path, old: str, new: str) -> None:
    path = book / "tests" / "reference" / "tiny.ipynb"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is not exactly once in {text}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_tampered_digit_fails_its_own_cell(book):
    """Printed, in HTML, in the words beside a figure, and beside an output of changing cost."""
    tamper(book, "mean 0.42\\n", "mean 0.44\\n")
    tamper(book, "<b>width 512</b>", "<b>width 521</b>")
    tamper(book, "with 1 Axes", "with 2 Axes")
    tamper(book, "sum 7, strict 1\\n", "sum 8, strict 1\\n")
    outcomes, printed = run(book)
    assert outcomes == ["FAILED", "FAILED", "FAILED", "PASSED", "FAILED"]
    assert all(wrong in printed for wrong in ("mean 0.44", "<b>width 521</b>", "with 2 Axes", "sum 8, strict 1"))


def test_a_faithful_reference_passes_and_the_last_digit_may_be_rounded_elsewhere(book):
    assert run(book)[0] == GREEN
    tamper(book, "mean 0.42\\n", "mean 0.43\\n")
    assert run(book)[0] == GREEN


def test_the_outputs_of_a_build_can_be_compared_without_a_second_run(book):
    """Each is compared; another digit in the build fails its own cell, where a run would not."""
    cache = book / "_build" / "cache"
    subprocess.run([sys.executable, references.ROOT / "tools/execute.py", cache, book / "book/tiny.md"], check=True)
    assert run(book, SHALLOW_EXECUTED=str(cache))[0] == GREEN
    (kept,) = cache.rglob("base.ipynb")
    kept.write_text(kept.read_text(encoding="utf-8").replace("mean 0.42", "mean 0.44"), encoding="utf-8")
    outcomes, printed = run(book, SHALLOW_EXECUTED=str(cache))
    assert outcomes == ["FAILED", *GREEN[1:]] and "mean 0.44" in printed
    assert run(book, SHALLOW_EXECUTED="nowhere")[0] == []


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([CELLS[0] + "  # changed", *CELLS[1:]], "Cell 0 of tiny.md has changed"),
        ([*CELLS, "1 + 1"], "tiny.md has 6 cells, its reference 5"),
        (CELLS[:-1], "tiny.md has 4 cells, its reference 5"),
    ],
    ids=["changed", "added", "removed"],
)
def test_stale_reference_is_an_error(book, cells, says):
    write_chapter(book / "book" / "tiny.md", cells)
    with pytest.raises(references.StaleReference, match=f"{says}.*make references"):
        references.merge(book / "book" / "tiny.md", book / "tests" / "reference")


def test_unexecuted_reference_is_an_error(book):
    """Plain nbval would pass it and compare nothing."""
    tamper(book, '"execution_count": 3', '"execution_count": null')
    outcomes, printed = run(book)
    assert outcomes == [] and "was never executed" in printed
