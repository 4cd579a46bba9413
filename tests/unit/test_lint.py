"""ruff finds nothing, neither in the modules nor in the cells of the chapters; modules are short and name encodings."""

import ast
import re
import subprocess
import sys
from pathlib import Path

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


def script(chapter) -> str:
    """All code cells of a chapter as one file."""
    return "\n\n".join(cell.source for cell in references.code_cells(jupytext.read(chapter))) + "\n"


def modules() -> list[Path]:
    """All Python files of the repository."""
    folders = ("lib", "experiments", "benchmarks", "tests", "tools")
    found = [path for folder in folders for path in sorted((references.ROOT / folder).rglob("*.py"))]
    assert len(found) > 100
    return [references.ROOT / "conftest.py", *found]


def in_the_locale(code: str) -> list[str]:
    """Calls that read or write text in the locale's encoding, which differs between machines.

    ruff has such a rule in preview, but knows too little of types: it sees four in a hundred of these calls.
    """
    return [ast.unparse(call) for call in ast.walk(ast.parse(code)) if isinstance(call, ast.Call) and unspecified(call)]


def unspecified(call: ast.Call) -> bool:
    """Whether a call reads or writes a file or a process as text, and names no encoding."""
    options = [ast.unparse(given) for given in (*call.args, *call.keywords)]
    if any(option.startswith("encoding=") for option in options):
        return False
    module, _, name = ast.unparse(call.func).rpartition(".")
    if name in ("open", "fdopen") and not any(re.fullmatch(r"(mode=)?'\w*b\w*\+?'", option) for option in options):
        in_words = any(re.fullmatch(r"(mode=)?'[rwaxt]+\+?'", option) for option in options)
        return in_words or not options or not module or name == "fdopen"
    return name in ("read_text", "write_text") or bool({"text=True", "universal_newlines=True"} & set(options))


def test_modules():
    assert findings(".") == ""


def test_no_module_is_longer_than_350_lines():
    assert [path.name for path in modules() if path.read_text(encoding="utf-8").count("\n") > 350] == []


def test_text_has_an_encoding_of_its_own():
    found = {path.relative_to(references.ROOT): in_the_locale(path.read_text(encoding="utf-8")) for path in modules()}
    assert {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("a.read_text(); a.write_text('x')", 2),
        ("open(a); open(a, 'w'); a.open(); a.open('at'); open(a, mode='x'); os.fdopen(h, 'w')", 6),
        ("subprocess.run(c, text=True); subprocess.Popen(c, universal_newlines=True)", 2),
        ("a.read_text(encoding='utf-8'); open(a, 'w', encoding='utf-8'); run(c, encoding='utf-8')", 0),
        ("open(a, 'rb'); a.open('wb'); os.fdopen(h, mode='rb'); Image.open(a); run(c, text=False)", 0),
    ],
)
def test_calls_without_an_encoding_are_seen(code, number):
    assert len(in_the_locale(code)) == number


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
