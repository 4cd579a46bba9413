"""Print one SHA-256 over the names and contents of all files under the given paths.

    python tools/fingerprint.py lib records

The Makefile compares fingerprints to know whether chapters must run again (their library or records changed) and
whether anything changed since the last green test run.  Caches and build products are left out, unless such a
folder is itself given as a path.  A path that does not exist counts as empty.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

SKIP = {"__pycache__", "_build", "node_modules", "vendor"}
KEEP = {".ci", ".github", ".jupyter"}


def walk(path: Path) -> Iterator[Path]:
    """All files under `path` in a fixed order, without caches, build products and hidden folders."""
    if path.is_file():
        yield path
    for folder, subfolders, files in os.walk(path):
        subfolders[:] = sorted(
            name
            for name in subfolders
            if name not in SKIP and not name.endswith(".egg-info") and (name in KEEP or not name.startswith("."))
        )
        yield from (Path(folder, name) for name in sorted(files))


def fingerprint(paths: list[str]) -> str:
    """SHA-256, as hexadecimal digits, of every file's path and bytes."""
    digest = hashlib.sha256()
    for path in paths:
        for file in walk(Path(path)):
            content = file.read_bytes()
            digest.update(f"{file.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


if __name__ == "__main__":
    print(fingerprint(sys.argv[1:]))
