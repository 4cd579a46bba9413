"""The last change of each page comes from git, and where there is none nothing is said."""

import subprocess

import history
import pytest


@pytest.fixture
def repository(tmp_path):
    """Two pages in a folder of a repository, the second changed by a later commit, and what commits a page."""

    def git(*arguments, day="2025-03-01"):
        who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{role}_DATE": f"{day}T12:00:00+0000" for role in ("AUTHOR", "COMMITTER")}
        settings = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(tmp_path), **who, **dates}
        command = ["git", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=True).stdout

    def commit(name, text, day):
        (tmp_path / "inside" / "book" / name).write_text(text)
        git("add", ".")
        git("commit", "-m", "x", day=day)
        return git("rev-parse", "HEAD").strip()

    (tmp_path / "inside" / "book").mkdir(parents=True)
    git("init")
    return tmp_path / "inside", commit


def test_each_file_has_its_last_commit_and_its_day(repository):
    root, commit = repository
    first = commit("a.md", "one", "2025-03-01")
    commit("b.md", "one", "2025-03-02")
    second = commit("b.md", "two", "2025-04-09")
    expected = {"book/a.md": f"{first} 2025-03-01", "book/b.md": f"{second} 2025-04-09"}
    assert history.last_changes(root, "book") == history.last_changes(root, "*.md") == expected
    assert history.in_words(expected["book/b.md"]) == "9 April 2025"
    (root / "book" / "b.md").write_text("three")
    (root / "book" / "c.md").write_text("new")
    assert history.last_changes(root, "book") == {"book/a.md": expected["book/a.md"]}


def test_without_a_repository_or_git_nothing_is_said(tmp_path, monkeypatch):
    assert history.last_changes(tmp_path, ".") == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert history.last_changes(tmp_path, ".") == {}
