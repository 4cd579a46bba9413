"""What came out, by claim: `book/claims/found/<chapter>.json`, which machines write and no hand touches."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from filelock import FileLock

from shallow.book import paths
from shallow.book.store import replace_files
from shallow.stats import Interval

#: Of a number that is written again: what it may differ by, as a share, and count as the same.
CLOSE = 1e-3


def file_of(chapter: str, folder: Path) -> Path:
    """Where the outcomes of a chapter are kept, in a ledger's folder."""
    return folder / "found" / f"{chapter}.json"


def read(chapter: str, folder: Path) -> dict[str, dict]:
    """All outcomes of a chapter by claim; none where there is no file yet."""
    path = file_of(chapter, folder)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def entry(outcome, records: list[str]) -> dict:
    """An :class:`~shallow.book.claims.rules.Outcome` as plain data."""
    said = {"verdict": outcome.verdict, "parts": outcome.parts, "answer": outcome.answer, "finding": outcome.finding}
    return {key: one for key, one in said.items() if one} | {"numbers": plain(outcome.numbers), "records": records}


def plain(numbers: Mapping[str, object]) -> dict[str, object]:
    """Numbers to six digits, an interval as [estimate, low, high], None for what is not finite."""
    return {
        name: list(map(_plain, vars(value).values())) if isinstance(value, Interval) else _plain(value)
        for name, value in numbers.items()
    }


def _plain(value: object) -> bool | int | float | str | None:
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value if isinstance(value, int | None) else " ".join(str(value).split())


def write(chapter: str, folder: Path, id: str, new: dict) -> None:
    """Put the outcome of a claim into its file, unless it says the same already; the first verdict is kept.

    The file is replaced atomically and under a lock, so that chapters executed side by side lose nothing.
    """
    path = file_of(chapter, folder)
    path.parent.mkdir(exist_ok=True)
    lock = paths.ROOT / "_build" / "found.lock"  # where git ignores it
    lock.parent.mkdir(exist_ok=True)
    with FileLock(lock):
        outcomes = read(chapter, folder)
        new = {"first": outcomes.get(id, new).get("first", new["verdict"]), **new}
        if not _same(new, outcomes.get(id, {})):
            outcomes[id] = new
            lines = [f"{json.dumps(id)}: {_text(outcomes[id])}" for id in sorted(outcomes)]
            replace_files({path: ("{\n" + ",\n".join(lines) + "\n}\n").encode()})


def _text(outcome: dict) -> str:
    """A key a line, and a number a line, so that a difference is readable."""
    numbers = [f"   {_json(name)}: {_json(value)}" for name, value in outcome["numbers"].items()]
    lines = [f"  {_json(key)}: {_json(value)}" for key, value in outcome.items() if key != "numbers"]
    lines.append('  "numbers": {' + ",".join(f"\n{line}" for line in numbers) + "}")
    return "{\n" + ",\n".join(lines) + "}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _same(new: dict, old: dict) -> bool:
    without = [{key: one for key, one in each.items() if key != "numbers"} for each in (new, old)]
    numbers = [each.get("numbers", {}) for each in (new, old)]
    return (
        without[0] == without[1]
        and list(numbers[0]) == list(numbers[1])
        and all(_close(one, numbers[1][name]) for name, one in numbers[0].items())
    )


def _close(a: object, b: object) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return all(map(_close, a, b))
    if isinstance(a, float) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=CLOSE)
    return a == b
