"""What the workflow keeps between runs belongs to the tree that it is used for, and holds no pickle."""

import os
import re
import shutil
import subprocess

import pytest
from references import ROOT
from ruamel.yaml import YAML

STEPS = YAML(typ="safe").load(ROOT / ".github" / "workflows" / "book.yml")["jobs"]["check"]["steps"]
CACHES = {step["with"]["path"].split()[0]: step["with"] for step in STEPS if "actions/cache@" in step.get("uses", "")}


def test_executed_chapters_are_kept_by_what_the_makefile_says_they_rest_on():
    (sources,) = re.findall(r"^SOURCES := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    files = [f"{name}/**" if (ROOT / name).is_dir() else name for name in sources.split()]
    cache = CACHES["_build/.jupyter_cache"]
    rests, cells = re.findall(r"hashFiles\((.*?)\)", cache["key"])
    assert sorted(re.findall(r"'(.*?)'", rests)) == sorted(files) and cells == "'book/**/*.md'"
    assert cache["key"].startswith(cache["restore-keys"]) and rests in cache["restore-keys"]


@pytest.fixture
def script(tmp_path):
    """Runs the script where a stub of make notes its arguments, and fails for one target."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    for name in ("make", "chromium"):
        (tmp_path / name).write_text('#!/bin/bash\necho "$@"\n[ "$1" != "$FAILING" ]\n', encoding="utf-8")
        (tmp_path / name).chmod(0o755)

    def run(*options: str, failing: str = "") -> tuple[list[str], int]:
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "FAILING": failing}
        done = subprocess.run(
            [tmp_path / ".ci/run", *options], env=environment, capture_output=True, encoding="utf-8", check=False
        )
        return done.stdout.splitlines(), done.returncode

    return run


@pytest.mark.parametrize(
    ("options", "kept", "called"),
    [
        (["--warm"], True, ["book", "test FORCE=1"]),
        (["--twice"], True, ["clean-book", "book", "test FORCE=1"]),
        ([], True, ["clean-book", "pages", "library", "book", "test"]),
        (["--warm"], False, ["clean-book", "pages", "library", "book", "test"]),
    ],
)
def test_every_chapter_runs_once_unless_twice_is_asked_for(tmp_path, script, options, kept, called):
    """From nothing, the tests of the library run beside the rendering, and no chapter runs in the tests."""
    if kept:
        (tmp_path / "_build" / ".jupyter_cache").mkdir(parents=True)
    lines, status = script(*options)
    assert sorted(lines) == sorted(called) and lines[0] == called[0] and lines[-1] == called[-1] and status == 0


@pytest.mark.parametrize("failing", ["library", "book", "test"])
def test_what_fails_in_the_script_fails_it_after_the_last_test(script, failing):
    lines, status = script(failing=failing)
    assert status == 1 and lines[-1] == "test" and {"library", "book"} < set(lines)
