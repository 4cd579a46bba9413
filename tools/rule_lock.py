"""Hold the rules of the ledger to what was fixed: `tests/book/rules.json` keeps the words of each.

    python tools/rule_lock.py

writes that file anew after a row was added, or a rule was changed in the open: its row says in `changed` what was
changed and why, in other words than before, and the first text goes to `book/claims/first_rules.json`.  A rule that was
changed in silence is named instead, with exit status 1.  So is a row that has gone, and a change at the head of a file,
where terms of the rules are defined; to accept one of these, take it out of the lock by hand, where a review sees it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from shallow.book import claims, paths
from shallow.book.claims.display import parameters
from shallow.book.claims.rows import first_rules

LOCK = paths.ROOT / "tests" / "book" / "rules.json"
RULE = ("head", "rule", "parameters")  # of a file the first, of a row the others
Lock = dict[str, dict[str, str]]


def current(folder: Path = paths.CLAIMS) -> Lock:
    """The words of the ledger as it stands: of every file's head by chapter, of every row's rule by id."""
    heads = {chapter: {"head": _head(folder / f"{chapter}.yml")} for chapter in claims.documents(folder)}
    return heads | {row.id: _words(row) for row in claims.everything(folder)}


def _head(path: Path) -> str:
    """The comments above the first row, which define the terms of the rules."""
    text = re.split(r"^ *- ", path.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
    return " ".join(text.replace("#", "").split())


def _words(row: claims.Row) -> dict[str, str]:
    texts = {"rule": row.rule, "parameters": parameters(row.parameters), "changed": row.changed}
    return {key: " ".join(text.split()) for key, text in texts.items() if text}


def faults(fixed: Lock, found: Lock) -> list[str]:
    """What has changed in silence between the lock and the ledger, in words that name the row."""
    gone = [f"{name}: has gone" for name in fixed if name not in found]
    return gone + [f"{name}: {one}" for name in fixed if name in found for one in _changes(fixed[name], found[name])]


def _changes(fixed: dict[str, str], found: dict[str, str]) -> Iterator[str]:
    in_the_open = found.get("changed") not in (None, fixed.get("changed"))
    for key in RULE:
        if fixed.get(key) != found.get(key) and not (in_the_open and key != "head"):
            yield f"`{key}` has changed" + (": `changed` must say what and why" if key != "head" else "")


def read(path: Path = LOCK) -> Lock:
    """The lock; empty where there is none yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(folder: Path = paths.CLAIMS, path: Path = LOCK) -> int:
    """Renew the lock and the first rules, or say what forbids it."""
    try:
        found, fixed = current(folder), read(path)
        refused = faults(fixed, found)
    except claims.LedgerError as error:
        refused = [str(error)]
    if refused:
        print("\n".join(refused))
        return 1
    first = first_rules(folder)
    for name in found.keys() & fixed.keys():
        for key in ("rule", "parameters"):
            if found[name].get(key) != fixed[name].get(key):
                first.setdefault(name, {}).setdefault(key, fixed[name][key])
    _write(folder / "first_rules.json", dict(sorted(first.items())))
    _write(path, found)
    return 0


def _write(path: Path, entries: dict) -> None:
    path.write_text(json.dumps(entries, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
