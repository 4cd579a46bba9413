"""Hold the rules of the ledger to what was fixed: `tests/book/rules.json` keeps a digest of each.

    python tools/rule_lock.py

writes that file anew after a row was added or a rule was changed in the open: what was fixed in `test` stays in
`test_was`, what was fixed in `parameters` in `parameters_was`, and `test_why` says why.  A rule that was changed in
silence is named instead, with exit status 1.  So is a row that has gone, and a change at the head of a file, where
terms of the rules are defined; to accept one of these, take its line out of the lock by hand, where a review sees it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from shallow.book import claims, paths

LOCK = paths.ROOT / "tests" / "book" / "rules.json"
RULE = ("head", "test", "parameters")  # of a file the first, of a row the others
Lock = dict[str, dict[str, str]]


def current(folder: Path = paths.CLAIMS) -> Lock:
    """The digests of the ledger as it stands: of every file's head by chapter, of every row's rule by id."""
    heads = {chapter: {"head": _digest(_head(folder / f"{chapter}.yml"))} for chapter in claims.documents(folder)}
    return heads | {row.id: _locked(row) for row in claims.everything(folder)}


def _head(path: Path) -> str:
    """The comments above the first row, which define the terms of the rules."""
    return re.split(r"^ *- ", path.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0].replace("#", "")


def _locked(row: claims.Row) -> dict[str, str]:
    texts = {key: getattr(row, key) for key in ("test", "parameters", "test_was", "parameters_was")}
    return {key: _digest(text) for key, text in texts.items() if text}


def _digest(value: object) -> str:
    """Sixteen hexadecimal digits of a text, or of a mapping, whatever its folding and its order."""
    words = json.dumps(" ".join(value.split()) if isinstance(value, str) else value, sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def faults(fixed: Lock, found: Lock) -> list[str]:
    """What has changed in silence between the lock and the ledger, in words that name the row."""
    gone = [f"{name}: has gone" for name in fixed if name not in found]
    return gone + [
        f"{name}: {fault}" for name in fixed if name in found for fault in _changes(fixed[name], found[name])
    ]


def _changes(fixed: dict[str, str], found: dict[str, str]) -> Iterator[str]:
    for key in RULE:
        kept = f"{key}_was"
        if fixed.get(key) == found.get(key):
            if fixed.get(kept) != found.get(kept):
                yield f"`{kept}` is not what it was"
        elif found.get(kept) != fixed.get(key):
            yield f"`{key}` has changed" + (f": `{kept}` must hold the text that was fixed" if key != "head" else "")


def read(path: Path = LOCK) -> Lock:
    """The lock; empty where there is none yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(folder: Path = paths.CLAIMS, path: Path = LOCK) -> int:
    """Renew the lock, or say what forbids it."""
    try:
        found = current(folder)
        refused = faults(read(path), found)
    except claims.LedgerError as error:
        refused = [str(error)]
    if refused:
        print("\n".join(refused))
        return 1
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
