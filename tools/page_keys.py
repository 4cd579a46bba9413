"""What an executed page rests on beside its own cells: a key for each page, which changes when it has to run again.

A page of a chapter rests on the modules that its cells import, directly or not, and on those that hold the rules of the
claims that they name; on the records and the ledger of the chapters that these name; and, since records are held
against the code that makes them, on all recipes of these chapters.  Other pages, which speak of the whole book, rest on
everything.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import fingerprint

CELL = re.compile(r"^`{3}\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)(.*?)^`{3}", re.MULTILINE | re.DOTALL)
RULE = re.compile(r"^def ([a-z]{2}_\d\d+)\(", re.MULTILINE)  # as in shallow.book.claims.rules


def keys(root: Path, pages: Iterable[Path]) -> dict[str, str]:
    """Key by path of each page of the book in `root`."""
    sources = Sources(root)
    return {str(page): sources.key(Path(page)) for page in pages}


class Sources:
    """The modules, records and ledgers of a book, read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.chapters = sorted(file.parent.name for file in root.glob("experiments/*/recorded.py"))
        self.hash = functools.cache(lambda path: fingerprint.fingerprint([str(path)]))
        self.needs = functools.cache(lambda file: self._needs(file.read_text(encoding="utf-8")))
        self.rules = {
            name.upper().replace("_", "-"): file
            for file in root.glob("experiments/*/*/*.py")
            for name in RULE.findall(file.read_text(encoding="utf-8"))
        }

    def key(self, page: Path) -> str:
        """The key of one page."""
        if page.resolve().parent.name not in self.chapters:
            paths = [self.root / name for name in ("lib", "experiments", "records", "benchmarks", "book/claims")]
        else:
            paths = sorted(self.closure("\n".join(CELL.findall(page.read_text(encoding="utf-8")))))
        parts = [self.hash(path) for path in (self.root / "requirements.lock", *paths)]
        return hashlib.sha256("".join(parts).encode()).hexdigest()

    def closure(self, code: str) -> set[Path]:
        """All files that code rests on: modules, and the records and ledgers of the chapters that it names."""
        found, (due, named) = set(), self._needs(code)
        while due:
            found |= due
            needs = [self.needs(file) for file in due]
            named = named.union(*(chapters for _, chapters in needs))
            due = {self.root / "experiments" / chapter / "recorded.py" for chapter in named}
            due = due.union(*(files for files, _ in needs)) - found
        claims = [self.root / "book" / "claims" / name for one in named for name in (f"{one}.yml", f"found/{one}.json")]
        return found | {*claims, *(self.root / "records" / one for one in named)}

    def _needs(self, code: str) -> tuple[set[Path], set[str]]:
        """The files of the library and the experiments that code imports or has claims decided by, and its chapters.

        What names a chapter: to import something of it, to name a record, and to give its name to a function.
        """
        files, names = set(), set()
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import):
                files.update(*(self._files(alias.name) for alias in node.names))
            elif isinstance(node, ast.ImportFrom):
                files.update(*(self._files(f"{node.module}.{alias.name}") for alias in node.names))
            elif isinstance(node, ast.Call):
                names |= {one.value for one in node.args if isinstance(one, ast.Constant)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                files.update(filter(None, [self.rules.get(node.value)]))
                names.update(node.value.split("/")[:-1][:1])
        names |= {file.relative_to(self.root).parts[1] for file in files}
        return files, names & set(self.chapters)

    def _files(self, name: str) -> Iterator[Path]:
        """The file of a module, if it is one of the book's, after those of the packages that it lies in."""
        top, *rest = name.split(".")
        if top in ("shallow", "experiments"):
            path = (self.root / "lib" if top == "shallow" else self.root) / top
            for part in ["", *rest]:
                path = path / part
                yield from filter(Path.is_file, [path / "__init__.py", path.with_suffix(".py")])
