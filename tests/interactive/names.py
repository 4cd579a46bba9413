"""Which names of a chapter belong to which of its sections: what a cell reads may depend on the order of running.

Every cell of a chapter shares one namespace.  A section may build on an earlier one; run without it, it stops with a
NameError, which tells the reader what is missing.  Worse is a name that two sections bind to different things: a third
section that relies on it gets whichever ran last, without a word.  `tangled` finds these from the code alone.
"""

import ast
import re
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

TOP = "top of the page"
HEADING = re.compile(r"^#{2,4} (.+)$", re.MULTILINE)
FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1", re.MULTILINE | re.DOTALL)
# What shows a picture long after its cell has run: its function reads the names as they are then.
LATE = ("explore", "live")


@dataclass
class Section:
    """The code between two headings, and how its names are used.

    bound       name: the statements that bind it, as text, in their order
    relied      names that are read before the section itself binds them
    overridden  names that the section binds before it calls a function of another section which reads them
    late        names that its sliders read when they are moved
    """

    title: str
    cells: list[int] = field(default_factory=list)
    statements: list[ast.stmt] = field(default_factory=list)
    bound: dict[str, list[str]] = field(default_factory=dict)
    relied: set[str] = field(default_factory=set)
    overridden: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)


@dataclass(frozen=True, order=True)
class Hazard:
    """`reader` gets `name` from `provider` when the chapter runs in order, and from any of `others` when not."""

    reader: str
    name: str
    provider: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name!r} of {self.provider!r} is read in {self.reader!r}, and bound anew in {list(self.others)}"


def sections(notebook) -> list[Section]:
    """The sections of a notebook that hold code, in order: above the first heading, then one for each heading."""
    found = [Section(TOP)]
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            found += [Section(title) for title in HEADING.findall(FENCE.sub("", cell.source))]
        elif cell.cell_type == "code":
            found[-1].cells.append(number)
            found[-1].statements += ast.parse(cell.source).body
    return _read([section for section in found if section.cells])


def tangled(found: Sequence[Section]) -> list[Hazard]:
    """The names whose meaning in some section depends on which other section ran last."""
    binders = {}
    for section in found:
        for name in section.bound:
            binders.setdefault(name, []).append(section)
    dangers = []
    for place, section in enumerate(found):
        for name in section.relied & binders.keys():
            earlier = [binder for binder in binders[name] if binder in found[:place]]
            provider = earlier[-1] if earlier else section
            dangers += _danger(section, name, provider, binders[name])
        for name in section.overridden:
            dangers += _danger(section, name, section, binders[name])
        for name in section.late & binders.keys():
            before = [binder for binder in binders[name] if binder in found[: place + 1]]
            dangers += _danger(section, name, (before or [section])[-1], binders[name])
    return sorted(set(dangers))


def _danger(reader: Section, name: str, provider: Section, binders: Sequence[Section]) -> Iterator[Hazard]:
    """The hazard, if a section other than the provider binds the name, and not by the very same statements."""
    others = [one.title for one in binders if one is not provider and one.bound[name] != provider.bound.get(name)]
    if others:
        yield Hazard(reader.title, name, provider.title, tuple(others))


def _read(found: list[Section]) -> list[Section]:
    """Fill in what each section binds, relies on and overrides."""
    functions: dict[str, tuple[Section, set[str]]] = {}  # name: where it was defined, what its body reads
    for section in found:
        for statement in _flat(section.statements):
            reads = _reads(statement)
            section.relied |= reads - section.bound.keys()
            called = _closure(reads, functions)
            section.relied |= called - section.bound.keys()
            foreign = {one for one in (reads | called) & functions.keys() if functions[one][0] is not section}
            section.overridden |= section.bound.keys() & {name for one in foreign for name in functions[one][1]}
            if _is_late(statement):
                section.late |= (reads | called) - functions.keys()
            for name in _binds(statement):
                section.bound.setdefault(name, []).append(ast.unparse(statement))
                functions.pop(name, None)
            if isinstance(statement, ast.FunctionDef):
                functions[statement.name] = (section, _body_reads(statement))
    return found


def _flat(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order of their running; a loop or a branch is taken apart into its head and its body."""
    for statement in statements:
        body = [part for name in ("body", "orelse", "finalbody") for part in getattr(statement, name, [])]
        if isinstance(statement, ast.For | ast.While | ast.If | ast.With | ast.Try):
            yield _head(statement)
            yield from _flat(body)
        else:
            yield statement


def _head(statement: ast.stmt) -> ast.stmt:
    """A compound statement with an empty body."""
    names = {name: getattr(statement, name) for name in statement._fields} | {"body": [ast.Pass()]}
    names |= {name: [] for name in ("orelse", "finalbody") if name in names}
    return ast.copy_location(type(statement)(**names), statement)


def _table(statement: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(statement), "cell", "exec")


def _binds(statement: ast.stmt) -> set[str]:
    symbols = _table(statement).get_symbols()
    return {one.get_name() for one in symbols if one.is_assigned() or one.is_imported() or one.is_namespace()}


def _reads(statement: ast.stmt) -> set[str]:
    """Global names that the statement reads when it runs: not what a function that it defines will read when called."""
    table = _table(statement)
    names = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        names.add(statement.target.id)
    if not isinstance(statement, ast.FunctionDef):
        names |= _inner(table)
    return names


def _body_reads(statement: ast.FunctionDef) -> set[str]:
    return _inner(_table(statement))


def _inner(table: symtable.SymbolTable) -> set[str]:
    """Global names that are read in the functions, lambdas and comprehensions of a table."""
    names = set()
    for child in table.get_children():
        names |= {one.get_name() for one in child.get_symbols() if one.is_global() and one.is_referenced()}
        names |= _inner(child)
    return names


def _closure(reads: set[str], functions: dict[str, tuple[Section, set[str]]]) -> set[str]:
    """What the functions among `reads` read when they are called, directly or through one another."""
    called: set[str] = set()
    todo = reads & functions.keys()
    while todo:
        called |= todo
        todo = {name for one in todo for name in functions[one][1]} & functions.keys() - called
    return {name for one in called for name in functions[one][1]}


def _is_late(statement: ast.stmt) -> bool:
    """Whether a statement makes sliders."""
    return any(isinstance(node, ast.Attribute) and node.attr in LATE for node in ast.walk(statement))
