"""What code a result depends on: a hash over the content of every definition that a function uses, directly or not.

Names and modules do not count: definitions are numbered in the order in which they are met, and a reference stands for
that number, so that code may be moved and renamed.  Docstrings, comments, annotations and layout do not count, nor do
definitions that are not used, nor the checks of arguments in :mod:`shallow.checks`: a new initialisation in `nets`
marks no recorded run stale, a changed line of a trainer marks all that it trained.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "shallow"
#: Modules that are not followed: what comes from there is another library's, or refuses arguments and does no more.
LEFT_OUT = {"shallow.extras", "shallow.checks"}
_WHOLE = "*"  # in the place of a name: all definitions of a module that is used other than by its attributes
_AT_IMPORT = ""  # in the place of a name: the statements that run when a module is imported
#: Parts of a syntax tree that change no result, or that not every Python has.
_SILENT = {"annotation", "returns", "ctx", "kind", "type_comment", "type_params", "type_ignores", "simple"}

Place = tuple[str, str]  # module and name


def of(function: Callable) -> str:
    """Sixteen hexadecimal digits that change when the code of `function`, or code that it uses, changes.

    Starting from the function's own definition, every name that stands for a definition of this library, or of the
    package of the function, is followed.  The files are read once, when the process first needs them.

    Raises:
        ValueError: when the function is not defined at the top level of a module that can be imported, or imports are
            written in a way that cannot be followed.
    """
    place = (function.__module__, function.__qualname__)
    with _LOCK:
        library = _library(frozenset({PACKAGE, place[0].partition(".")[0]}))
        if not library.is_module(place[0]) or place[1] not in library.module(place[0]).definitions:
            raise ValueError(f"function must be defined at the top level of a module, got {'.'.join(place)}")
        return library.digest(place)


_LOCK = threading.Lock()


@functools.cache
def _library(packages: frozenset[str]) -> _Library:
    return _Library(packages)


@dataclass
class _Module:
    """A parsed module: what it defines by name, what its imported names stand for, and its other statements."""

    name: str
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, Place] = field(default_factory=dict)  # name -> (module, name there), or (module, _WHOLE)
    foreign: dict[str, str] = field(default_factory=dict)  # name -> what of another library it is
    statements: list[ast.stmt] = field(default_factory=list)


class _Library:
    """The packages whose code is followed, as their files were when they were read."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages
        self.modules: dict[str, _Module] = {}
        self.codes: dict[Place, tuple[str, list[Place]]] = {}
        self.digests: dict[Place, str] = {}
        self.known: dict[str, bool] = {}

    def digest(self, start: Place) -> str:
        """The hash of the graph of definitions that begins at `start`."""
        if start not in self.digests:
            numbers, texts, queue = {start: 0}, [], [start]
            for place in queue:
                text, references = self.code(place)
                for used in references:
                    if used not in numbers:
                        numbers[used] = len(numbers)
                        queue.append(used)
                texts.append(f"{text}\0{[numbers[used] for used in references]}")
            self.digests[start] = hashlib.sha256("\1".join(texts).encode()).hexdigest()[:16]
        return self.digests[start]

    def code(self, place: Place) -> tuple[str, list[Place]]:
        """What stands at a place as text with a sign for every reference, and the references in order."""
        if place not in self.codes:
            module, name = self.module(place[0]), place[1]
            if name == _WHOLE:  # its names may be looked up by a string
                names = sorted(module.definitions)
                self.codes[place] = "\n".join(names), [(module.name, name) for name in names]
            else:
                references: list[Place] = []
                nodes = module.statements if name == _AT_IMPORT else module.definitions[name]
                text = "\n".join(self.text(node, module, name, references) for node in nodes)
                if name != _AT_IMPORT and module.statements:
                    references.append((module.name, _AT_IMPORT))
                self.codes[place] = text, references
        return self.codes[place]

    def text(self, value: object, module: _Module, name: str, references: list[Place]) -> str:
        """A part of a syntax tree as text, the same on every Python; what it refers to is added to the references.

        A local name counts as the definition of that name, if there is one: a dependency more than there need be.
        """
        if isinstance(value, list):
            counted = [one for one in value if not (_is_text(one) or _is_check(one, module))]
            return f"[{','.join(self.text(one, module, name, references) for one in counted)}]"
        if not isinstance(value, ast.AST):
            return repr(value)
        if isinstance(value, ast.Name | ast.Attribute):
            if place := self.refers(value, module.name):
                references.append(place)
                return "§"
            if isinstance(value, ast.Name) and value.id in module.foreign:
                return module.foreign[value.id]
        parts = [
            self.text(part, module, name, references)
            for key, part in _parts(value, module)
            if key not in _SILENT and part is not None and part != [] and not (key == "name" and part == name)
        ]
        return f"{type(value).__name__}({','.join(parts)})"

    def refers(self, node: ast.expr, module: str) -> Place | None:
        """What a name, or an attribute of a module, stands for, if that is followed."""
        if isinstance(node, ast.Name):
            return self.place(module, node.id)
        owner = self.refers(node.value, module) if isinstance(node, ast.Attribute) else None
        return self.place(owner[0], node.attr) if owner and owner[1] == _WHOLE else None

    def place(self, module: str, name: str) -> Place | None:
        """Where a name of a module is defined: there, where that module imports it from, or as a submodule."""
        found = self.module(module)
        if name in found.definitions:
            return module, name
        if target := found.imported.get(name):
            return target if target[1] == _WHOLE else self.place(*target)
        return (f"{module}.{name}", _WHOLE) if self.is_module(f"{module}.{name}") else None

    def module(self, name: str) -> _Module:
        """The parsed module of that name."""
        if name not in self.modules:
            module = self.modules[name] = _Module(name)
            for node in ast.parse(Path(importlib.util.find_spec(name).origin).read_bytes()).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._note_imports(node, module)
                elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                    module.definitions.setdefault(node.name, []).append(node)
                elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                    for bound in _bound(node):
                        module.definitions.setdefault(bound, []).append(node)
                elif not (_is_text(node) or _is_for_types(node)):
                    module.statements.append(node)
        return self.modules[name]

    def _note_imports(self, node: ast.Import | ast.ImportFrom, module: _Module) -> None:
        followed = [alias for alias in node.names if isinstance(node, ast.Import) and self.is_module(alias.name)]
        if followed or getattr(node, "level", 0):
            message = f"{module.name} must import as in `from package import module`, got {ast.unparse(node)!r}"
            raise ValueError(message)
        for alias in node.names:
            whole = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            if self.is_module(whole):
                module.imported[alias.asname or alias.name] = (whole, _WHOLE)
            elif isinstance(node, ast.ImportFrom) and self.is_module(node.module):
                module.imported[alias.asname or alias.name] = (node.module, alias.name)
            else:
                module.foreign[alias.asname or alias.name.partition(".")[0]] = whole

    def is_module(self, name: str) -> bool:
        """Whether that is a module whose code is followed."""
        if name.partition(".")[0] not in self.packages or name in LEFT_OUT:
            return False
        if name not in self.known:
            try:
                self.known[name] = importlib.util.find_spec(name) is not None
            except ModuleNotFoundError:  # its last part is a function, not a module
                self.known[name] = False
        return self.known[name]


def _bound(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    """The names that an assignment at the top of a module binds."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _parts(node: ast.AST, module: _Module) -> Iterator[tuple[str, object]]:
    """The parts of a node; decorators from :mod:`shallow.checks` are checks as well."""
    for key, part in ast.iter_fields(node):
        yield key, [one for one in part if not _is_checks(one, module)] if key == "decorator_list" else part


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_check(node: object, module: _Module) -> bool:
    """Whether that calls a function of :mod:`shallow.checks`: it returns nothing; results have passed it."""
    call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return call is not None and _is_checks(call.func, module)


def _is_checks(node: ast.expr, module: _Module) -> bool:
    name = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(name, ast.Name) and module.imported.get(name.id) == ("shallow", "checks")


def _is_for_types(node: ast.stmt) -> bool:
    """Whether that is ``if TYPE_CHECKING:``, which never runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
