"""Which lines of the library the tests execute, and which of its errors they never see.

    python tools/coverage_report.py [.coverage] [--library lib/shallow] [--least 90]

reads what `pytest --cov=lib/shallow` has recorded, prints the share of executed lines of every subpackage, and ends
with exit status 1 when the whole has less than `--least` percent or when a `raise` was never executed.

Functions that numba compiles are left out of both counts, as Python never runs them: those with a decorator that
compiles, by numba's name or by one that the library gave it (``compiled = numba.njit(cache=True)``), and those that
such a call takes as its argument.  What compiled functions call is compiled in the same way.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parents[1]
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "register_jitable", "overload"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A module of the library.

    Attributes:
        compiled: lines of functions that numba compiles, decorators and signatures excepted.
        raises: first and last line of every `raise` outside of them.
    """

    compiled: frozenset[int]
    raises: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Count:
    """Lines of a module or package that can be traced, how many of them were executed, and those that are compiled."""

    lines: int = 0
    executed: int = 0
    compiled: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.lines + other.lines, self.executed + other.executed, self.compiled + other.compiled)

    @property
    def percent(self) -> float:
        return 100 * self.executed / self.lines if self.lines else 100.0


def read(text: str, compilers: Iterable[str] = ()) -> Source:
    """Compiled lines and errors of a module's source; `compilers` are decorators that other modules have named."""
    tree = ast.parse(text)
    inner = {line for function in compiled_functions(tree, compilers) for line in body(function)}
    raises = (node for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.lineno not in inner)
    return Source(frozenset(inner), tuple(sorted((node.lineno, node.end_lineno or node.lineno) for node in raises)))


def body(function: Function) -> range:
    """Lines of a function's body: what stands above it is executed when it is defined."""
    return range(function.body[0].lineno, (function.end_lineno or function.lineno) + 1)


def compiled_functions(tree: ast.Module, compilers: Iterable[str]) -> list[Function]:
    """The functions of a module that only numba executes."""
    compilers = COMPILERS | named_compilers(tree) | set(compilers)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and compiles(node.func, compilers))
    given = {argument.id for call in calls for argument in call.args if isinstance(argument, ast.Name)}
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    return [one for one in functions if one.name in given or any(compiles(d, compilers) for d in one.decorator_list)]


def named_compilers(tree: ast.Module) -> set[str]:
    """Names of decorators that compile: of ``compiled = numba.njit(cache=True)``, with options alone."""
    made = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    plain = (node for node in made if not node.value.args and compiles(node.value, COMPILERS))
    return {target.id for node in plain for target in node.targets if isinstance(target, ast.Name)}


def compiles(node: ast.expr, compilers: set[str]) -> bool:
    """Whether a decorator or a called name is one of numba's: ``njit``, ``numba.njit``, ``numba.njit(cache=True)``."""
    while isinstance(node, ast.Call):
        node = node.func
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)) in compilers


def examine(data: Coverage, library: Path) -> Iterator[tuple[str, Count, list[str]]]:
    """For every module its subpackage, its count, and the places of errors that were never raised."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(library.rglob("*.py"))}
    compilers = set().union(*(named_compilers(ast.parse(text)) for text in texts.values()))
    for path, text in texts.items():
        source = read(text, compilers)
        _, statements, _, missing, _ = data.analysis2(str(path))
        lines = set(statements) - source.compiled
        count = Count(len(lines), len(lines - set(missing)), len(set(statements) & source.compiled))
        shown = text.splitlines()
        unseen = [
            f"{path.relative_to(library.parent)}:{first}: {shown[first - 1].strip()}"
            for first, last in source.raises
            if lines.intersection(range(first, last + 1)) & set(missing)
        ]
        relative = path.relative_to(library).parts
        yield (relative[0] if len(relative) > 1 else "modules"), count, unseen


def report(data: Coverage, library: Path, least: float) -> tuple[str, bool]:
    """The report as text, and whether everything is as it should be."""
    packages: dict[str, Count] = {}
    unseen: list[str] = []
    for package, count, places in examine(data, library):
        packages[package] = packages.get(package, Count()) + count
        unseen += places
    whole = sum(packages.values(), Count())
    lines = [f"{'':14}{'lines':>8}{'executed':>10}{'percent':>9}{'compiled':>10}"]
    lines += [
        f"{name:14}{count.lines:8}{count.executed:10}{count.percent:9.1f}{count.compiled:10}"
        for name, count in [*sorted(packages.items()), ("together", whole)]
    ]
    lines += [f"Lines of functions that numba compiles, not counted: {whole.compiled}."]
    enough = whole.percent >= least
    if not enough:
        lines += [f"Fewer than {least:g} % of the lines are executed."]
    lines += [f"Errors that no test has seen: {len(unseen)}.", *(f"  {place}" for place in unseen)]
    return "\n".join(lines), enough and not unseen


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, default=ROOT / ".coverage", help="file written by pytest --cov")
    parser.add_argument("--library", type=Path, default=ROOT / "lib" / "shallow")
    parser.add_argument("--least", type=float, default=90.0, help="percent of lines that must be executed")
    chosen = parser.parse_args(arguments)
    if not chosen.data.is_file():
        parser.error(f"data: there is no file {chosen.data}; run pytest with --cov first")
    data = Coverage(data_file=str(chosen.data))
    data.load()
    text, passed = report(data, chosen.library.resolve(), chosen.least)
    print(text)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
