"""The last change of each page, from git where the book is in a repository, as an extension of Sphinx.

The foot of a page says when it was changed; its metadata hold the commit, to which links to its source lead:
`env.metadata[page]["changed"]` is "COMMIT DATE".  A page without an entry, one that differs from its last commit among
them, has neither; nor has any page of a copy without git.
"""

import subprocess
from datetime import date
from pathlib import Path


def _git(root: Path, *arguments: str) -> list[str]:
    """The lines that git prints in a folder; none where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return done.stdout.splitlines()


def last_changes(root: Path, *places: str) -> dict[str, str]:
    """File -> "COMMIT DATE" of its last change, for files below the places that are as they were committed."""
    found, commit = {}, ""
    for line in _git(root, "log", "--no-renames", "--relative", "--format=:%H %cs", "--name-only", "--", *places):
        if line.startswith(":"):
            commit = line[1:]
        elif line:
            found.setdefault(line, commit)
    for file in _git(root, "diff", "--name-only", "--relative", "HEAD", "--", *places):
        found.pop(file, None)
    return found


def in_words(changed: str) -> str:
    """The date in "COMMIT DATE", as a reader writes it."""
    day = date.fromisoformat(changed.split()[1])
    return f"{day.day} {day:%B %Y}"


def _of_pages(app) -> dict[str, str]:
    changes = last_changes(Path(app.srcdir), "*.md")
    pages = {page: changes.get(app.env.doc2path(page, base=False)) for page in app.env.found_docs}
    return {page: changed for page, changed in pages.items() if changed}


def _outdated(app, env, added, changed, removed) -> list[str]:
    """Pages that were read before their last change was committed are read again."""
    env.page_changes = _of_pages(app)
    known = set(env.all_docs) - added - removed
    return [page for page in known if env.metadata[page].get("changed") != env.page_changes.get(page)]


def _read(app, page, source) -> None:
    if changed := app.env.page_changes.get(page):
        app.env.metadata[page]["changed"] = changed


def _page(app, page, template, context, doctree) -> None:
    if changed := app.env.metadata.get(page, {}).get("changed"):
        context["last_updated"] = in_words(changed)


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _read)
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
