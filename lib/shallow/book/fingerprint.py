"""What code a result depends on: a hash over the content of every definition that a function uses, directly or not.

Names and modules do not count: definitions are numbered in the order in which they are met, and a reference stands for
that number, so that code may be moved and renamed.  What else does not count is in :mod:`shallow.book.canonical_code`.
Definitions that are not used do not count either: a new initialisation in `nets` marks no recorded run stale, a changed
line of a trainer marks all that it trained.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shallow.book.canonical_code import WHOLE, Code, Place, clean, stored_names

PACKAGE = "shallow"
EXTRAS = "shallow.extras"  # what is imported from there is another library's
_AT_IMPORT = ""  # in the place of a name: the statements that run when a module is imported


def of(function: Callable) -> str:
    """Sixteen hexadecimal digits that change when the code of `function`, or code that it uses, changes.

    Starting from the function's own definition, every name that stands for a definition of this library, or of the
    package of the function, is followed.  The files are read once, when the process first needs them.

    Raises:
        ValueError: when the function is not defined at the top level of a module that can be imported, or imports are
            written in a way that cannot be followed.
    """
    place = (function.__module__, function.__qualname__)
    library = _library(frozenset({PACKAGE, place[0].partition(".")[0]}))
    if not library.is_module(place[0]) or place[1] not in library.module(place[0]).definitions:
        raise ValueError(f"function must be defined at the top level of a module, got {'.'.join(place)}")
    return library.digest(place)


@functools.cache
def _library(packages: frozenset[str]) -> _Library:
    return _Library(packages)


@dataclass
class _Module:
    """A parsed module: what it defines by name, what its imported names stand for, and its other statements."""

    name: str
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, Place] = field(default_factory=dict)  # name -> (module, name there), or (module, WHOLE)
    statements: list[ast.stmt] = field(default_factory=list)


class _Library:
    """The packages whose code is followed, as their files were when they were read."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages
        self.modules: dict[str, _Module] = {}
        self.codes: dict[Place, Code] = {}
        self.digests: dict[Place, str] = {}
        self.known: dict[str, bool] = {}

    def digest(self, start: Place) -> str:
        """The hash of the graph of definitions that begins at `start`."""
        if start not in self.digests:
            numbers, texts, queue = {start: 0}, [], [start]
            for place in queue:
                code = self.code(place)
                for used in code.references:
                    if used not in numbers:
                        numbers[used] = len(numbers)
                        queue.append(used)
                texts.append(f"{code.text}\0{[numbers[used] for used in code.references]}")
            self.digests[start] = hashlib.sha256("\1".join(texts).encode()).hexdigest()[:16]
        return self.digests[start]

    def code(self, place: Place) -> Code:
        """The canonical code at a place; a definition leads to what runs when its module is imported."""
        if place not in self.codes:
            self.codes[place] = Code()  # what a definition that uses itself sees
            module, name = self.module(place[0]), place[1]
            if name == WHOLE:  # its names may be looked up by a string
                names = sorted(module.definitions)
                self.codes[place] = Code("\n".join(names), [(module.name, name) for name in names])
            elif name == _AT_IMPORT:
                self.codes[place] = clean(module.statements, module.name, self)
            else:
                found = clean(module.definitions[name], module.name, self)
                found.references += [(module.name, _AT_IMPORT)] if module.statements else []
                self.codes[place] = found
        return self.codes[place]

    def module(self, name: str) -> _Module:
        """The parsed module of that name."""
        if name not in self.modules:
            self.modules[name] = self._parsed(_Module(name), Path(importlib.util.find_spec(name).origin).read_bytes())
        return self.modules[name]

    def _parsed(self, module: _Module, source: bytes) -> _Module:
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._note_imports(node, module)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.AugAssign):
                for bound in (names := stored_names(node)):
                    own = node if len(names) == 1 else ast.parse(ast.unparse(node)).body[0]
                    module.definitions.setdefault(bound, []).append(own)
            elif not (_is_text(node) or _is_for_types(node)):
                module.statements.append(node)
        return module

    def _note_imports(self, node: ast.Import | ast.ImportFrom, module: _Module) -> None:
        followed = [alias for alias in node.names if isinstance(node, ast.Import) and self.is_module(alias.name)]
        if followed or getattr(node, "level", 0):
            message = f"{module.name} must import as in `from package import module`, got {ast.unparse(node)!r}"
            raise ValueError(message)
        for alias in node.names if isinstance(node, ast.ImportFrom) else []:
            if self.is_module(f"{node.module}.{alias.name}"):
                module.imported[alias.asname or alias.name] = (f"{node.module}.{alias.name}", WHOLE)
            elif self.is_module(node.module):
                module.imported[alias.asname or alias.name] = (node.module, alias.name)

    def is_module(self, name: str) -> bool:
        """Whether that is a module of the packages."""
        if name.partition(".")[0] not in self.packages or name == EXTRAS:
            return False
        if name not in self.known:
            try:
                self.known[name] = importlib.util.find_spec(name) is not None
            except ModuleNotFoundError:  # its last part is a function, not a module
                self.known[name] = False
        return self.known[name]

    def place(self, module: str, name: str) -> Place | None:
        """Where a name of a module is defined: there, where that module imports it from, or as a submodule."""
        found = self.module(module)
        if name in found.definitions:
            return module, name
        if target := found.imported.get(name):
            return target if target[1] == WHOLE else self.place(*target)
        return (f"{module}.{name}", WHOLE) if self.is_module(f"{module}.{name}") else None

    def is_foreign(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether an import is of other libraries alone."""
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [f"{node.module}"]
        return not getattr(node, "level", 0) and not any(map(self.is_module, names))

    def is_check(self, place: Place) -> bool:
        """Whether that is a function that only refuses arguments."""
        nodes = self.module(place[0]).definitions.get(place[1], [])
        plain = len(nodes) == 1 and isinstance(nodes[0], ast.FunctionDef) and not nodes[0].decorator_list
        return plain and self.code(place).is_empty


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_for_types(node: ast.stmt) -> bool:
    """Whether that is ``if TYPE_CHECKING:``, which never runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
