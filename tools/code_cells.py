"""The code cells of a page in HTML, as an extension of Sphinx: what a name stands for is a link to its documentation.

Names get their meaning from the imports of all cells of the page, also of those that are not shown.  Names,
punctuation and white space, to which the style sheets give the colour of plain text, have no marks.
"""

import ast
from html import escape
from pathlib import Path

import jupytext
from docutils import nodes
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

MARKS = {kind: mark for kind, mark in STANDARD_TYPES.items() if mark not in ("n", "nn", "p", "w")}
Link = tuple[str, str]  # an address and the documented name


def meanings(cells: list[str]) -> dict[str, str]:
    """What the names that cells import stand for; one that is also bound in another way stands for nothing."""
    found, bound = {}, set()
    for node in (node for cell in cells for node in ast.walk(ast.parse(cell))):
        if isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return {name: meaning for name, meaning in found.items() if name not in bound}


def full_name(node: ast.AST, known: dict[str, str]) -> str | None:
    """What a name, or a chain of attributes, stands for."""
    if isinstance(node, ast.Attribute):
        base = full_name(node.value, known)
        return base and f"{base}.{node.attr}"
    return known.get(node.id) if isinstance(node, ast.Name) else None


def links(source: str, known: dict[str, str], addresses: dict[str, str]) -> dict[int, tuple[int, Link]]:
    """Where links begin in a cell, and where they end; the longest chain that is documented is one, on one line."""
    lines, starts, found = source.splitlines(keepends=True), [0], {}
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:  # columns are counted in bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(source)):  # a chain comes before its parts, which begin where it does
        if (name := full_name(node, known)) in addresses and node.lineno == node.end_lineno:
            end = place(node.lineno, node.end_col_offset)
            found.setdefault(place(node.lineno, node.col_offset), (end, (addresses[name], name)))
    return found


def highlighted(source: str, language: str, found: dict[int, tuple[int, Link]]) -> str:
    """The code as Sphinx and the theme have it, with its links."""
    shown, at, end, mark = [], 0, None, ""
    for kind, text in get_lexer_by_name(language, stripnl=False).get_tokens(source):  # ends with a line break
        new = MARKS.get(kind, "")
        if new != mark or at in found or at == end:
            shown += ["</span>"] * bool(mark) + ["</a>"] * (at == end)
            if at in found:
                end, (address, name) = found[at]
                shown.append(f'<a class="code-link" href="{escape(address)}" title="{escape(name)}">')
            shown += [f'<span class="{new}">'] * bool(new)
            mark = new
        shown.append(escape(text, quote=False))
        at += len(text)
    code = f'<div class="highlight"><pre>{"".join(shown)}</pre></div>'
    return f'<div class="highlight-{language} notranslate">{code}</div>\n'


def _resolved(app, doctree, docname) -> None:
    sources = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code_source"]
    if app.builder.format != "html" or not sources:
        return
    page = jupytext.read(Path(app.env.doc2path(docname)))
    known = meanings([cell.source for cell in page.cells if cell.cell_type == "code"])
    documented = app.env.get_domain("py").objects
    addresses = {
        name: f"{app.builder.get_relative_uri(docname, one.docname)}#{one.node_id}" for name, one in documented.items()
    }
    for block in (block for node in sources for block in node.findall(nodes.literal_block)):
        source = block.astext()
        html = highlighted(source, block["language"], links(source, known, addresses))
        block.replace_self(nodes.raw("", html, format="html"))


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("doctree-resolved", _resolved)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
