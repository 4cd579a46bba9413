"""The tool that follows the README: a clone of what is committed, an empty home, both commands, an honest status."""

import subprocess

import pytest
import stranger as tool

MAKEFILE = """
book:
\t@test -z "$$SECRET" && test -z "$$(ls -A $$HOME)" && mkdir -p _build/html && printf '%1000000s' > _build/html/page
test:
\t@test -f _build/html/page && test ! -e uncommitted && {outcome}
"""


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """The tool on a planted repository whose tests end as asked; returns its `visit`."""
    def visit(outcome: str, keep: list[str]) -> bool:
        root = tmp_path / "planted"
        root.mkdir()
        (root / "Makefile").write_text(MAKEFILE.format(outcome=outcome), encoding="utf-8")
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c"]
        for command in (["init", "-q"], ["add", "Makefile"], ["commit", "-q", "-m", "A book"]):
            subprocess.run([*git, *command], cwd=root, check=True)
        (root / "uncommitted").touch()
        monkeypatch.setattr(tool, "ROOT", root)
        return tool.visit(tmp_path / "visit", keep)

    return visit


def test_a_green_visit(stranger, monkeypatch, capfd):
    monkeypatch.setenv("SECRET", "of this shell")
    assert stranger("true", [])
    printed = capfd.readouterr().out.split()
    assert printed.count("green") == 2 and "failed" not in printed
    assert printed[printed.index("_build/html") + 1] == "1"


def test_a_failing_command_is_reported(stranger, capfd):
    assert not stranger("false", [])
    printed = capfd.readouterr().out
    assert printed.count("green") == 1 and "make test    failed with status 2" in printed


def test_variables_are_passed_on_by_name(stranger, monkeypatch, capfd):
    monkeypatch.setenv("SECRET", "of this shell")
    assert not stranger("true", ["SECRET"])
    assert "make book    failed" in capfd.readouterr().out
