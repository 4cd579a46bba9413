"""What is behind each figure, as an extension of Sphinx: a line below its caption links the cell that draws it, in the
source of the page as it was last committed, and the recorded runs, each with its data and the code that made them.

These are the runs that the figure's cell has loaded, which its picture says (`shallow.book.figures.use`), and those of
earlier cells whose variables the cell reads, directly or not.
"""

import ast
import inspect
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

import jupytext
from docutils import nodes
from jupyter_cache import get_cache
from nbformat import NotebookNode

from shallow.book import paths, records
from shallow.book.figures import BEHIND


def flow(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names of which a statement needs an earlier value, and those that it binds or puts something into."""
    inside = list(ast.walk(statement))
    names = [one for one in inside if isinstance(one, ast.Name)]
    of_comprehensions = [one for part in inside if isinstance(part, ast.comprehension) for one in ast.walk(part.target)]
    local = {one.arg for one in inside if isinstance(one, ast.arg)}
    local |= {one.id for one in of_comprehensions if isinstance(one, ast.Name)}
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)} - local
    bound = {one.id for one in names if isinstance(one.ctx, ast.Store)} - local
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return read - bound, {statement.name}
    if isinstance(statement, ast.AugAssign):
        read |= bound
    elif not isinstance(statement, ast.Assign):  # a loop binds before it reads
        read -= bound
    into = [one for one in inside if isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store)]
    filled = {name.id for one in into for name in ast.walk(one.value) if isinstance(name, ast.Name)}
    return read, bound | filled


def texts(statement: ast.stmt) -> set[object]:
    """The constants in a statement, among them the names of records that it loads itself."""
    return {one.value for one in ast.walk(statement) if isinstance(one, ast.Constant)}


def calls(statement: ast.stmt) -> bool:
    """Whether a statement calls something when it is run."""
    defines = isinstance(statement, ast.FunctionDef | ast.ClassDef)
    return not defines and any(isinstance(one, ast.Call) for one in ast.walk(statement))


def behind(cells: Sequence[NotebookNode]) -> dict[int, list[str]]:
    """The recorded runs behind each code cell of an executed notebook, by its place among all cells."""
    loads, sources, found = {}, {}, {}
    for cell in cells:
        for output in cell.get("outputs", ()):
            for number, names in output.get("metadata", {}).get(BEHIND, {}).items():
                loads[number or str(cell.execution_count)] = names
    for place, cell in enumerate(cells):
        if cell.cell_type == "code":
            statements = ast.parse(cell.source).body
            own, all_here = set(loads.get(str(cell.execution_count), ())), set()
            unnamed = own.difference(*map(texts, statements))  # what functions have loaded
            for statement in statements:
                needed, bound = flow(statement)
                here = own & texts(statement) or (unnamed if calls(statement) else set())
                here = here.union(*(sources.get(name, ()) for name in needed))
                sources |= dict.fromkeys(bound, here)
                all_here |= here
            found[place] = sorted(all_here)
    return found


def code(name: str) -> str | None:
    """Where the cell of a recorded run is defined, "experiments/...py#L12"; None if there is no such run."""
    try:
        cell = inspect.unwrap(records.recipe(name).cell)
    except KeyError:
        return None
    file = Path(inspect.getsourcefile(cell)).resolve().relative_to(paths.ROOT)
    return f"{file.as_posix()}#L{inspect.getsourcelines(cell)[1]}"


def line(cell: str, names: list[str], runs: str, up: str, tree: str) -> str:
    """The line below a caption, from addresses of the cell, of the page of recorded runs and of the source's tree.

    `up` leads to the root.
    """
    links = [f'<a href="{cell}">cell</a>']
    for name in names:
        anchor, short = f"{runs}#record-{name.replace('/', '-')}", escape(name.split("/")[-1])
        data = f'<a href="{up}records/{name}.nc" download aria-label="data of {short}">data</a>'
        made = f', <a href="{tree}/{place}" aria-label="code of {short}">code</a>' if (place := code(name)) else ""
        links.append(f'<a href="{anchor}">{short}</a> ({data}{made})')
    return f'<span class="figure-data">Behind it: {", ".join(links)}</span>'


def source(app, number: int) -> str:
    """Address of a line of the page that is read, as it was last committed, or else in the branch."""
    changed = app.env.metadata[app.env.docname].get("changed", "main")
    repository = app.config.html_theme_options["repository_url"]
    file = app.env.doc2path(app.env.docname, base=False)
    return f"{repository}/blob/{changed.split()[0]}/{file}?plain=1#L{number}"


def _read(app, doctree) -> None:
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    figures = [(cell, figure) for cell in cells for figure in cell.findall(nodes.figure)]
    if not figures:
        return
    cache = get_cache(Path(app.outdir).parent / ".jupyter_cache")
    with suppress(KeyError):  # a page that could not be executed, which is an error of its own, is not there
        executed = cache.merge_match_into_notebook(jupytext.read(app.env.doc2path(app.env.docname)))[1]
        found, up = behind(executed.cells), "../" * app.env.docname.count("/")
        runs = app.builder.get_relative_uri(app.env.docname, f"{paths.BOOK.name}/provenance")
        tree = f"{app.config.html_theme_options['repository_url']}/blob/main"
        for cell, figure in figures:
            shown = line(source(app, cell.line), found[cell["cell_index"]], runs, up, tree)
            figure += nodes.legend("", nodes.paragraph("", "", nodes.raw("", shown, format="html")))


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("doctree-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
