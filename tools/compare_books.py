"""Compare two built books, to change the house and no number: claims, printed outputs and pictures.

    python tools/compare_books.py OLD NEW

OLD and NEW are folders `_build` of two trees, on one processor.  Compared are, but for the last of several digits,
verdict, parts, answer and finding of every claim and the numbers behind it, by name, of which there may be more
than before; the lines that the cells of every page print, in any order within the page; and the pixels of its pictures.
Every difference is a line; the exit status is 1 if there is one.
"""

import base64
import hashlib
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from PIL import Image

from shallow.book import paths
from shallow.book.claims.rounding import settled

CLOSE = 2e-3  # as a share: numbers of one claim are told to three digits


def claims(old: Path, new: Path) -> Iterator[str]:
    """Claims that are not what they were."""
    was, now = (
        {one["id"]: one for one in json.loads((build / "html/book/claims.json").read_text("utf-8"))["claims"]}
        for build in (old, new)
    )
    yield from (f"{id}: only in one of the books" for id in was.keys() ^ now.keys())
    for id in was.keys() & now.keys():
        for key in ("verdict", "parts", "answer", "finding"):
            one, other = was[id][key], now[id][key]
            if (settled(other, one) if isinstance(one, str) and isinstance(other, str) else other) != one:
                yield f"{id}: {key} was {one!r}, is {other!r}"
        there = {number["name"]: number for number in now[id]["numbers"]}
        yield from (f"{id}: number {one}" for one in was[id]["numbers"] if not _same(one, there.get(one["name"], {})))


def _same(one: dict, other: dict) -> bool:
    pairs = [(one.get(key), other.get(key)) for key in ("value", "low", "high")]
    return all(a == b or _are_numbers(a, b) and math.isclose(a, b, rel_tol=CLOSE, abs_tol=1e-9) for a, b in pairs)


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def pages(build: Path) -> dict[str, tuple[Counter, Counter]]:
    """Printed lines and pictures of each executed page, by its path in the book."""
    cache, found = get_cache(str(build / ".jupyter_cache")), {}
    for record in cache.list_cache_records():
        name = record.uri.partition("/book/")[2]
        found[name] = max(found.get(name, (0, None)), (record.pk, record), key=lambda pair: pair[0])
    return {name: _outputs(cache.get_cache_bundle(pk).nb) for name, (pk, _) in found.items()}


def _outputs(notebook: nbformat.NotebookNode) -> tuple[Counter, Counter]:
    lines, pictures = Counter(), Counter()
    for output in (one for cell in notebook.cells for one in cell.get("outputs", [])):
        if output.get("name") == "stderr" or output.get("metadata", {}).get("nbval-ignore-output"):
            continue
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain", "")
        lines.update(
            _present(line.strip()) for line in text.splitlines() if line.strip() and "object at 0x" not in line
        )
        pictures.update(_pixels(data[kind]) for kind in data if kind == "image/png")
    return lines, pictures


def _pixels(picture: str) -> str:
    """A hash of a picture, however it is compressed."""
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        return hashlib.sha256(f"{image.size}".encode() + image.convert("RGBA").tobytes()).hexdigest()


FORMER = json.loads((paths.ROOT / "records" / "former_names.json").read_text("utf-8"))


def _present(line: str) -> str:
    """A line with the present names of records."""
    return re.sub(r"\b[a-z_]+/\w+", lambda name: FORMER.get(name[0], name[0]), line)


def outputs(old: Path, new: Path) -> Iterator[str]:
    """Lines and pictures that are gone from a page, or new on it."""
    was, now = pages(old), pages(new)
    yield from (f"{name}: only in one of the books" for name in was.keys() ^ now.keys())
    for name in sorted(was.keys() & now.keys()):
        gone, came = list((was[name][0] - now[name][0]).elements()), list((now[name][0] - was[name][0]).elements())
        for line in list(gone):
            if twin := next((one for one in came if settled(one, line) == line), None):
                gone.remove(line)
                came.remove(twin)
        yield from (f"{name}: - {line}" for line in gone)
        yield from (f"{name}: + {line}" for line in came)
        lost = sum((was[name][1] - now[name][1]).values())
        more = sum((now[name][1] - was[name][1]).values())
        if lost or more:
            yield f"{name}: {lost} pictures are gone, {more} are new, of {sum(was[name][1].values())}"


if __name__ == "__main__":
    found = [*claims(*map(Path, sys.argv[1:])), *outputs(*map(Path, sys.argv[1:]))]
    print("\n".join(found) or "The books are the same")
    sys.exit(bool(found))
