"""A new chapter is green at once: made from its template in a copy of the repository, decided, run and tested there.

It takes more than a minute, and so runs with the pages and not with the tests of the library.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from references import ROOT
from ruamel.yaml import YAML

from shallow.book import chapters
from shallow.book.claims import documents

NAME, IDS = "silent_neurons", ("SN-01", "SN-02", "SN-03")
LEFT_OUT = shutil.ignore_patterns(".*", "_build", "*.nc", "vendor", "reference", "*.egg-info")
#: Runs the pages of the chapter, the evidence first, keeps what they give, decides the claims and recomputes a cell.
PAGES = f"""
import sys
sys.path.insert(0, "tests")
import jupytext, references
from shallow.__main__ import main
for page in ("silence", "document", "index"):
    file = references.BOOK / "{NAME}" / f"{{page}}.md"
    references.renew(file)
    text = file.read_text(encoding="utf-8")  # which a save in JupyterLab would not change
    assert jupytext.writes(jupytext.reads(text, "md:myst"), "md:myst") == text, page
for command in (["verify", "{NAME}/silence/silenced"], ["claim", *{IDS}]):
    try:
        main(command)
    except SystemExit as done:
        assert not done.code, command
"""
CODE = [f"experiments/{NAME}", f"tests/unit/{NAME}", f"tests/agreement/{NAME}"]
TESTS = [*CODE[1:], f"book/{NAME}/silence.md"]
TESTS += [f"tests/book/test_{name}.py" for name in ("ledger", "numbers", "readers_change")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The repository without records, with a new chapter."""
    root = tmp_path_factory.mktemp("copy") / "book"
    shutil.copytree(ROOT, root, ignore=LEFT_OUT)
    run(root, "-m", "shallow", "new", NAME, "--title", 'A "title" & more', "--authors", "A. Nobody", "--files-only")
    return root


def run(root: Path, *command: str) -> str:
    """What Python prints in a copy of the repository, whose library comes first."""
    path = os.pathsep.join([str(root / "lib"), str(root)])
    environment = os.environ | {"PYTHONPATH": path, "SHALLOW_STRICT": "1"}
    for name in ("SHALLOW_RECORDS", "SHALLOW_EXECUTED"):  # which are this repository's
        environment.pop(name, None)
    done = subprocess.run([sys.executable, *command], cwd=root, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_chapter_is_green_at_once(copy):
    lock, record, (script, *pages) = chapters.commands(NAME)
    run(copy, *lock)
    run(copy, *record)
    assert script == "tests/references.py" and all((copy / page).exists() for page in pages)
    said = run(copy, "-c", PAGES)
    assert said.count("says the same") == 3 and "contradicted by the rule" in said and "1 of 600 cells agree" in said
    run(copy, "-m", "ruff", "check", "--no-cache", *CODE)
    run(copy, "-m", "ruff", "format", "--check", "--no-cache", *CODE)
    options = ["-p", "no:cacheprovider", "-q", "-n0", "--color=no", "-k", f"{NAME} or locked"]
    assert re.search(r"\b(2[0-9]|3[0-9]) passed", run(copy, "-m", "pytest", *options, *TESTS))


def test_it_is_entered_where_chapters_are_listed(copy):
    *others, document = documents(copy / "book" / "claims").values()
    assert [one.chapter for one in others] == list(documents())
    assert (document.prefix, document.title, document.paper) == ("SN", 'A "title" & more', f"{NAME}/index")
    assert f"{{{document.cite}," in (copy / "book" / "references.bib").read_text(encoding="utf-8")
    before, after = (YAML(typ="safe").load(root / "_toc.yml") for root in (ROOT, copy))
    (entered,) = (one for one in after["parts"][0]["chapters"] if one["file"] == f"book/{document.paper}")
    after["parts"][0]["chapters"].remove(entered)
    assert before == after and len(entered["sections"]) == 2


@pytest.mark.parametrize(
    ("name", "prefix", "which"),
    [
        ("Silent", "SN", "chapter"),
        ("silent neurons", "SN", "chapter"),
        ("class", "SN", "chapter"),
        ("kernels", "SN", "chapter"),  # a word of the library
        (next(iter(documents())), "SN", "chapter"),
        (NAME, "CL", "prefix"),
        (NAME, "S1", "prefix"),
    ],
)
def test_names_that_are_taken_or_impossible_are_refused(name, prefix, which):
    with pytest.raises(
        ValueError, match=f"^{which} must .*got {name if which == 'chapter' else prefix!r}".replace("'", ".")
    ):
        chapters.new(name, prefix=prefix, title="", authors="", year=2026)
