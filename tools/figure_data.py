"""The data behind each figure, as an extension of Sphinx: a line below its caption links the recorded runs.

Which ones these are is read from the code, not run: the statements of the page's cells up to the figure, what the
names in them stand for, and the functions of `experiments` that they use.  A record counts where its name is a text
there, or is made of such texts, as in f"chapter/{name}".
"""

import ast
import functools
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import jupytext
from docutils import nodes

from shallow.book import paths

PACKAGE = "experiments"
HOLE = "\0"
Place = tuple[str, str]  # a module and a name in it; no name is the module itself


@functools.cache
def known() -> frozenset[str]:
    """The names of all recorded runs."""
    return frozenset(f"{file.parent.name}/{file.stem}" for file in paths.RECORDS.glob("*/*.json"))


def named(texts: set[str]) -> list[str]:
    """The records among texts, of which those with holes are filled by others."""
    everything = "\n".join(known())
    texts = {text for text in texts if all(part in everything for part in text.split(HOLE))}
    words = {text for text in texts if re.fullmatch(r"\w+", text)}
    for _ in range(2):  # the name of a chapter is put before a text that may be filled in itself
        hole = f"(?:{'|'.join(sorted(map(re.escape, words)))})"
        forms = [hole.join(map(re.escape, text.split(HOLE))) for text in texts if HOLE in text]
        made = re.compile("|".join(forms) or r"\b\B")
        words |= {short for _, _, short in (name.partition("/") for name in known()) if made.fullmatch(short)}
    return sorted(name for name in known() if name in texts or made.fullmatch(name))


def texts_in(statement: ast.AST) -> set[str]:
    """The texts and whole numbers in some code; f"{this} kind" and "this" + that as texts with a hole."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
            found.add(str(node.value))
        elif isinstance(node, ast.JoinedStr | ast.BinOp):
            found.add(pattern(node))
    return found - {HOLE}


def pattern(node: ast.expr) -> str:
    """A text with a hole for each of its parts that is not one."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(pattern, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return pattern(node.left) + pattern(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else HOLE


@functools.cache
def file_of(module: str) -> Path | None:
    """The file of a module of the package, None for anything else."""
    base = paths.ROOT.joinpath(*module.split("."))
    files = [file for file in (base.with_suffix(".py"), base / "__init__.py") if file.exists()]
    return files[0] if module.partition(".")[0] == PACKAGE and files else None


class Scope:
    """What the names of a module, or of a page up to a cell, stand for: imports, and the code that defines others."""

    def __init__(self) -> None:
        self.imported: dict[str, Place] = {}
        self.texts: dict[str, set[str]] = {}  # of a name of a page
        self.definitions: dict[str, list[ast.stmt]] = {}  # of a name of a module

    def note_imports(self, statement: ast.stmt) -> None:
        """Remember what a statement imports, if it does."""
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                whole = f"{statement.module}.{alias.name}"
                place = (whole, "") if file_of(whole) else (str(statement.module), alias.name)
                self.imported[alias.asname or alias.name] = place


@functools.cache
def scope(module: str) -> Scope:
    """The names of a module of the package."""
    found = Scope()
    for statement in ast.parse(file_of(module).read_text(encoding="utf-8")).body:
        found.note_imports(statement)
        for name in flow(statement)[1]:
            found.definitions.setdefault(name, []).append(statement)
    return found


def events(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Names in the order in which they are read or bound, and whether they are bound there."""
    first, later = (), ast.iter_child_nodes(node)
    if isinstance(node, ast.Name):
        yield node.id, isinstance(node.ctx, ast.Store)
    elif isinstance(node, ast.Assign):
        first, later = [node.value], node.targets
    elif isinstance(node, ast.For | ast.comprehension):
        first = [node.iter]
        later = [one for one in later if one is not node.iter]
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        first = node.generators
        later = [one for one in later if one not in first]
    elif isinstance(node, ast.FunctionDef | ast.Lambda):
        yield from ((one.arg, True) for one in ast.walk(node.args) if isinstance(one, ast.arg))
    for one in (*first, *later):
        yield from events(one)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name, True


def flow(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names of which a statement needs an earlier value, and those that it binds or puts something into."""
    seen = list(events(statement))
    first = dict(reversed(seen))
    into = [node.value for node in ast.walk(statement) if isinstance(node, ast.Subscript | ast.Attribute)
            and isinstance(node.ctx, ast.Store)]  # fmt: skip
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {name for name, binds in first.items() if not binds}, {statement.name}
    filled = {node.id for one in into for node in ast.walk(one) if isinstance(node, ast.Name)}
    return {name for name, binds in first.items() if not binds}, {name for name, binds in seen if binds} | filled


def places(statement: ast.AST, imported: dict[str, Place]) -> Iterator[Place]:
    """What a statement uses of the modules that are imported: `drawing.curves`, or `curves` alone."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            module, name = imported[node.value.id]
            if not name:
                yield module, node.attr
        elif isinstance(node, ast.Name) and node.id in imported and imported[node.id][1]:
            yield imported[node.id]


@functools.cache
def direct(place: Place) -> tuple[set[str], list[Place]]:
    """The texts in a definition, and what it uses of the package."""
    module, name = place
    if (file := file_of(module)) is None:
        return set(), []
    if name not in scope(module).definitions and file.name == "__init__.py":  # a rule, by the name of its claim
        inner = [f"{module}.{one.stem}" for one in sorted(file.parent.glob("*.py")) if one != file]
        module = next((one for one in inner if name in scope(one).definitions), module)
    own, texts, used = scope(module), set(), []
    for statement in own.definitions.get(name, ()):
        texts |= texts_in(statement)
        used += [(module, other) for other in sorted(flow(statement)[0] & own.definitions.keys())]
        used += places(statement, own.imported)
    return texts, used


def reached(place: Place) -> set[str]:
    """The texts in a definition and in all those of the package that it uses."""
    found, queue, met = set(), [place], {place}
    for one in queue:
        texts, used = direct(one)
        found |= texts
        queue += [other for other in dict.fromkeys(used) if other not in met]
        met |= set(used)
    return found


def behind(page: Path) -> dict[str, list[str]]:
    """The recorded runs behind each figure of a page, by the figure's name; those without any have no key."""
    here, found = Scope(), {}
    for cell in jupytext.read(page).cells:
        if cell.cell_type != "code":
            continue
        drawn = set()
        for statement in ast.parse(cell.source).body:
            here.note_imports(statement)
            needed, bound = flow(statement)
            texts = texts_in(statement).union(*(here.texts.get(name, ()) for name in needed))
            texts = texts.union(*map(reached, places(statement, here.imported)))
            for name in bound:
                here.texts[name] = texts
            drawn |= texts
        figure = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        if figure and (names := named(drawn)):
            found[figure] = names
    return found


def line(names: list[str], up: str) -> str:
    """The line below a caption, from a page that is so far below the site's root."""
    links = ", ".join(f'<a href="{up}records/{name}.nc" download>{escape(name.split("/")[-1])}</a>' for name in names)
    return f'<span class="figure-data">Data: {links}</span>'


def _read(app, doctree) -> None:
    docname = app.env.docname
    page = Path(app.env.doc2path(docname))
    figures = {name: figure for figure in doctree.findall(nodes.figure) for name in (*figure["ids"], *figure["names"])}
    if page.suffix != ".md" or not figures:
        return
    for name, names in behind(page).items():
        figure = figures.get(name) or figures.get(nodes.make_id(name))
        if figure is not None:
            shown = nodes.raw("", line(names, "../" * docname.count("/")), format="html")
            figure += nodes.legend("", nodes.paragraph("", "", shown))


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("doctree-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
