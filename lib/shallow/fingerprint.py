"""What code a result depends on: a hash over every definition of the library that a function uses, directly or not.

Only definitions in use count: a new initialisation in `nets` marks no recorded run stale, a changed line of a trainer
marks all that it trained.  Source text is compared as syntax: comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "shallow"
_WHOLE = "*"  # stands for all definitions of a module that is used other than by its attributes


def of(function: Callable) -> str:
    """Sixteen hexadecimal digits that change when the code of `function`, or library code that it uses, changes.

    Starting from the function's own definition, every name that occurs in a definition is followed to where this
    library, or the package of the function, defines it.  A name that is shadowed is followed too: it can only add to
    what is hashed.

    Raises:
        ValueError: when the function is not defined at the top level of a module that can be imported.
    """
    start = (function.__module__, function.__qualname__)
    packages = frozenset({PACKAGE, start[0].partition(".")[0]})
    if not _is_module(start[0], packages) or start[1] not in _module(start[0], packages).definitions:
        raise ValueError(f"function must be defined at the top level of a module, got {'.'.join(start)}")
    pending, seen = [start], {}
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        module = _module(place[0], packages)
        if place[1] == _WHOLE:
            nodes = module.statements
            pending += [(place[0], name) for name in module.definitions]
        else:
            nodes = module.definitions.get(place[1], []) + module.statements
        seen[place] = "\n".join(ast.unparse(node) for node in nodes)
        pending += [used for node in nodes for used in _uses(node, module)]
    text = "\0".join(f"{module} {name}\0{seen[module, name]}" for module, name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Module:
    """A parsed module: what it defines by name, what its imported names stand for, and its other statements."""

    name: str
    packages: frozenset[str]  # whose code is followed
    definitions: dict[str, list[ast.stmt]]
    imported: dict[str, tuple[str, str]]  # name -> (module, name there); (module, _WHOLE) for a module itself
    statements: list[ast.stmt]


def _module(name: str, packages: frozenset[str]) -> _Module:
    return _parsed(name, packages, Path(importlib.util.find_spec(name).origin).read_bytes())


@functools.lru_cache(maxsize=256)
def _parsed(name: str, packages: frozenset[str], source: bytes) -> _Module:
    found = _Module(name, packages, {}, {}, [])
    for node in _without_docstrings(ast.parse(source)).body:
        if isinstance(node, ast.Import) and not any(_is_module(alias.name, packages) for alias in node.names):
            continue
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.level):
            raise ValueError(f"{name} must import as in `from package import module`, got {ast.unparse(node)!r}")
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = (f"{node.module}.{alias.name}", _WHOLE)
                target = inner if _is_module(inner[0], packages) else (node.module, alias.name)
                if _is_module(target[0], packages):
                    found.imported[alias.asname or alias.name] = target
        elif names := _bound(node):
            for bound in names:
                found.definitions.setdefault(bound, []).append(node)
        else:
            found.statements.append(node)
    return found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant()), *rest]:
                node.body = rest
    return tree


def _bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return []


def _uses(node: ast.AST, module: _Module) -> Iterator[tuple[str, str]]:
    """The places (module, name) of the library that a piece of code of `module` refers to."""
    through = set()  # occurrences of a module as `module.attribute`
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            place, inner = module.imported.get(part.value.id, (None, None))
            if inner == _WHOLE:
                through.add(part.value)
                yield _resolved(place, part.attr, module.packages)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part not in through:
            if part.id in module.definitions:
                yield module.name, part.id
            elif part.id in module.imported:
                yield _resolved(*module.imported[part.id], module.packages)


def _resolved(place: str, name: str, packages: frozenset[str]) -> tuple[str, str]:
    """Where a name of a module is defined: there, in a submodule, or where that module imports it from."""
    if name != _WHOLE and _is_module(f"{place}.{name}", packages):
        return f"{place}.{name}", _WHOLE
    module = _module(place, packages)
    if name in module.imported and name not in module.definitions:
        return _resolved(*module.imported[name], packages)
    return place, name


@functools.cache
def _is_module(name: str | None, packages: frozenset[str]) -> bool:
    if (name or "").partition(".")[0] not in packages:
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its last part is a function, not a module
        return False
