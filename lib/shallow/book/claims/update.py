"""Writing outcomes into a ledger file without disturbing anything else in it."""

from __future__ import annotations

import fcntl
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from shallow.book.claims.rows import OUTCOME, Row
from shallow.book.store import replace_files


def yaml() -> YAML:
    """The one format of the ledger's files; a file in this format survives load and dump byte by byte."""
    writer = YAML()
    writer.preserve_quotes = True
    writer.width = 120
    return writer


def write(path: Path, row: Row) -> None:
    """Put the outcome of a row into its file; comments, order and folding of the file stay.

    The file is replaced atomically and under a lock on its folder, so that chapters executed side by side lose nothing.
    A file that already says so is left alone.
    """
    with _locked(path.parent):
        entries = yaml().load(path)
        entry = next(entry for entry in entries if entry["id"] == row.id)
        if any(plain(entry.get(key)) != plain(getattr(row, key)) for key in ("verdict", *OUTCOME)):
            _put(entry, row)
            content = io.BytesIO()
            yaml().dump(entries, content)
            replace_files({path: content.getvalue()})


def plain(value: object) -> object:
    """A value of an outcome, however the file folds it; None for one that says nothing."""
    return dict(value) if isinstance(value, Mapping) and value else " ".join(value.split()) if value else None


def _put(entry: CommentedMap, row: Row) -> None:
    """The outcome goes in front of the verdict, which closes every row and so holds the comments after it."""
    for key in ("reason", *OUTCOME):
        entry.pop(key, None)
        if value := getattr(row, key):
            entry.insert(len(entry) - 1, key, CommentedMap(value) if key == "parts" else value)
    if row.parts:
        entry["parts"].fa.set_flow_style()
    entry["verdict"] = row.verdict


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # releases the lock
