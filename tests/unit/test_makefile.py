"""The Makefile with a stub for every program of the environment, in a folder with a space and a letter beyond ASCII."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from references import ROOT

TARGETS = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)[1].split()
SOURCES = ("pyproject.toml", "setup.py", "package.json", "tools/vendor.py", "records/run.nc", "book/page.md")
EXTRAS = ("torch", "book", "test", "lab", "bench")
STAMPS = (*(f".venv/.{extra}" for extra in EXTRAS), "book/_static/vendor/.installed")
LOCK = "torch==2.0\ntorch-of-another==3.0\nuv==1.0 \\\n    --hash=sha256:0\n"
# As this locale writes a name that a UTF-8 one has given.
NAME = os.fsdecode("ein Büro mit Platz".encode())
PROGRAMS = ("python", "uv", "pytest", "ruff", "jupyter", "jupyter-book")
# Notes its name, its arguments and what the Makefile puts into the environment; fails where the test says so.
STUB = """#!/bin/bash
printf '%s\\t' "$(basename "$0")" "$@" "$JUPYTER_CONFIG_PATH" "strict=$SHALLOW_STRICT" >> "$CALLS"; echo >> "$CALLS"
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/uv"; fi
[ -z "$FAILING" ] || [[ "$*" != *"$FAILING"* ]]
"""


class Folder:
    """A folder in which `make` can be called, and the calls of the stubs."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path.parent / "calls"
        self.log.touch()

    def make(self, *arguments: str, failing: str = "") -> subprocess.CompletedProcess:
        """One call, without what a `make` that runs these tests has put into the environment."""
        environment = {"PATH": os.environ["PATH"], "CALLS": str(self.log), "FAILING": failing}
        return subprocess.run(
            ["make", *arguments], cwd=self.path, env=environment, capture_output=True, encoding="utf-8", timeout=60
        )

    def calls(self) -> list[list[str]]:
        return [line.split("\t")[:-1] for line in os.fsdecode(self.log.read_bytes()).splitlines()]


def planted(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path) -> Folder:
    """A copy of the Makefile beside an environment of stubs, everything installed."""
    path = tmp_path / NAME
    for name in SOURCES:
        planted(path / name, "kernelspec: python3\n")
    planted(path / "requirements.lock", LOCK)
    for program in PROGRAMS:
        planted(path / ".venv" / "bin" / program, STUB)
    for name in STAMPS:
        planted(path / name, "")
    shutil.copy(ROOT / "Makefile", path)
    return Folder(path)


def suites(folder: Folder) -> list[list[str]]:
    return [call for call in folder.calls() if any(word.endswith("pytest") for word in call[:3])]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_works_in_a_folder_of_any_name(folder, target):
    done = folder.make(target)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert folder.calls() or target in ("help", "clean", "clean-book")
    parts = [word for call in folder.calls() for word in call if any(part in word for part in NAME.split())]
    assert all(str(folder.path) in word for word in parts)
    strict = {call[-1] for call in folder.calls() if target in ("book", "test", "coverage", "references")}
    assert strict <= {"strict=1"}


@pytest.mark.parametrize("target, extra", [("book", "book"), ("test", "test"), ("lab", "lab"), ("bench", "bench")])
def test_a_target_installs_what_it_needs_from_the_lock_after_pytorch_without_cuda(folder, target, extra):
    shutil.rmtree(folder.path / ".venv")
    planted(folder.path / "python", STUB)
    done = folder.make(f".venv/.{extra}", "PYTHON=./python")
    assert done.returncode == 0 and done.stderr == "" and "cannot be had" not in done.stdout
    check, _, *calls = [[word for word in call[:-2] if word] for call in folder.calls()]
    common = ["pip", "install", "--quiet", "--python", ".venv/bin/python"]
    assert check[1] == "-c" and calls == [
        ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv==1.0"],
        ["uv", *common, "--no-deps", "--torch-backend=cpu", "torch==2.0"],
        ["uv", *common, "--constraint", "requirements.lock", "--editable", f".[{extra}]"],
    ]
    assert folder.make(f".venv/.{extra}", "PYTHON=./python").returncode == 0 and len(folder.calls()) == 5


def test_where_a_build_of_pytorch_cannot_be_had_the_default_one_is_installed(folder):
    (folder.path / ".venv" / ".torch").unlink()
    done = folder.make(".venv/.book", "TORCH=cu999", failing="torch-backend=cu999")
    assert done.returncode == 0 and "'cu999' cannot be had from here" in done.stdout
    assert ["torch==2.0" in call for call in folder.calls()] == [False, True, True, False]
    assert folder.calls()[2][:3] == ["python", "-m", "pip"]


@pytest.mark.parametrize("python", ["PYTHON=./old", "PYTHON=", "PYTHON=./missing"])
def test_without_a_usable_python_make_says_what_to_install(folder, python):
    shutil.rmtree(folder.path / ".venv")
    planted(folder.path / "old", STUB)
    done = folder.make("book", python, failing="sys.version_info")
    assert done.returncode != 0 and not (folder.path / ".venv").exists()
    assert "Python 3.11 or newer" in done.stdout and "apt install" in done.stdout and "PYTHON=" in done.stdout


def test_a_green_run_is_not_repeated(folder):
    assert folder.make("test").returncode == 0
    count = len(suites(folder))
    assert "Nothing has changed" in folder.make("test").stdout and len(suites(folder)) == count == 2
    folder.make("test", "FORCE=1")
    assert len(suites(folder)) == 4


@pytest.mark.parametrize("failing", ["tests/unit", "tests/book"])
def test_a_failing_run_is_no_green_one_and_ends_with_the_last_suite(folder, failing):
    assert folder.make("test", failing=failing).returncode != 0
    assert not (folder.path / "_build" / "tested").exists()
    assert [("tests/unit" in call, "tests/book" in call) for call in suites(folder)] == [(True, False), (False, True)]


def test_pages_that_have_all_run_in_one_build_of_this_tree_do_not_run_again(folder):
    """After any other build, and with FORCE=1, they run in the tests."""
    planted(folder.path / ".venv/bin/pytest", '#!/bin/bash\necho "given $SHALLOW_EXECUTED" >> "$CALLS"\n')
    planted(folder.path / ".venv/bin/python", '#!/bin/bash\n[[ "$1" != *fingerprint.py ]] || cat tree\n')

    def pages_run(force: str = "") -> bool:
        folder.log.write_text("", encoding="utf-8")
        for tested in folder.path.glob("_build/tested*"):
            tested.unlink()
        assert folder.make("test", f"FORCE={force}").returncode == 0
        return {line for line in folder.log.read_text(encoding="utf-8").splitlines() if "given" in line} == {"given "}

    planted(folder.path / "tree", "first")
    assert pages_run()
    folder.make("book")
    (folder.path / "_build/.jupyter_cache").mkdir()
    assert not pages_run() and pages_run("1")
    planted(folder.path / "tree", "second")
    assert pages_run()
    folder.make("book")  # which takes some pages from the build of another tree
    assert pages_run()
