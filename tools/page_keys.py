"""What an executed page rests on beside its own cells: a key for each page, which changes when it has to run again.

A page of a chapter rests on the modules that its cells import, directly or not; on the records and the ledger of the
chapters whose modules or records these name; and, since records are held against the code that makes them, on all
recipes of these chapters.  Other pages, which speak of the whole book, rest on everything.
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
        self.imports = functools.cache(lambda file: frozenset(self._imported(file.read_text(encoding="utf-8"))))
        self.named = functools.cache(lambda file: frozenset(self._named(file.read_text(encoding="utf-8"))))

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
        found, due, named = set(), set(self._imported(code)), self._named(code)
        while due:
            found |= due
            named |= {chapter for file in due for chapter in self.named(file)}
            due = {file for one in due for file in self.imports(one)}
            due |= {self.root / "experiments" / chapter / "recorded.py" for chapter in named}
            due -= found
        return found | {self.root / path for one in named for path in (f"records/{one}", f"book/claims/{one}.yml")}

    def _named(self, code: str) -> set[str]:
        return {one for one in self.chapters if f'"{one}/' in code or f"experiments.{one}" in code}

    def _imported(self, code: str) -> Iterator[Path]:
        """The files of the library and the experiments that statements of import in code name.

        Of a package of rules that is imported as a whole, or of which a name is that is no module, all.
        """
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._files(alias.name)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from self._files(node.module)
                for alias in node.names:
                    module = list(self._files(f"{node.module}.{alias.name}"))
                    yield from module
                    if alias.name == "rules" or node.module.endswith(".rules") and module[-1].name == "__init__.py":
                        yield from module[-1].parent.glob("*.py")

    def _files(self, name: str) -> Iterator[Path]:
        """The file of a module, if it is one of the book's, after those of the packages that it lies in."""
        top, *rest = name.split(".")
        if top in ("shallow", "experiments"):
            path = (self.root / "lib" if top == "shallow" else self.root) / top
            for part in ["", *rest]:
                path = path / part
                yield from filter(Path.is_file, [path / "__init__.py", path.with_suffix(".py")])
