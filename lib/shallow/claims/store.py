"""Writing outcomes into a ledger file without disturbing anything else in it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from shallow.claims.rows import rows_of

if TYPE_CHECKING:
    from shallow.claims.display import Report

WIDTH = 120


def yaml() -> YAML:
    """The one format of the ledger's files; a file in this format survives load and dump byte by byte."""
    writer = YAML()
    writer.preserve_quotes = True
    writer.width = WIDTH
    return writer


def write(path: Path, report: Report) -> None:
    """Put verdict, parts, finding and cell into the row; comments, order and folding of the file stay.

    The file is replaced atomically and under a lock on its folder, so that chapters executed side by side lose nothing.
    """
    with _locked(path.parent):
        content = yaml().load(path)
        row = next(row for row in rows_of(content) if row["id"] == report.row.id)
        parts = CommentedMap(report.parts)
        parts.fa.set_flow_style()
        outcome = {"parts": parts, "finding": report.finding, "cell": report.row.id.lower(), "verdict": report.verdict}
        if all((row.get(key) or {}) == value for key, value in outcome.items()):
            return
        _put(row, outcome)
        _replace(path, content)


def _put(row: CommentedMap, outcome: dict) -> None:
    """New outcome in front of the verdict, which closes every row and so holds the comments after it."""
    for key in ("reason", "parts", "finding", "cell"):
        row.pop(key, None)
    for key in ("parts", "finding", "cell"):
        if outcome[key]:
            row.insert(len(row) - 1, key, outcome[key])
    row["verdict"] = outcome["verdict"]


def _replace(path: Path, content: object) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yaml().dump(content, file)
        os.chmod(name, path.stat().st_mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # releases the lock
