"""The pages of the library, as an extension of Sphinx: what autodoc, intersphinx and codeautolink need to know.

Docstrings are reStructuredText, which has a role for mathematics where those of the library have dollar signs.  They
are replaced before anything is parsed: stars, bars and colons in a formula are no markup.
"""

import ast
import re
from pathlib import Path

import jupytext
from docutils import nodes
from sphinx.ext import intersphinx
from sphinx_codeautolink.extension.block import CodeBlockAnalyser
from sphinx_codeautolink.extension.directive import PrefaceMarker

MATHEMATICS = re.compile(r"(?<!\\)\$([^$]+)\$")
HIDDEN = "\x00"
SIGNATURE = re.compile(r"<dl>\s*((?:<dd>(?:(?!</?dd>).)*</dd>\s*)+)</dl>", re.S)
LINE = re.compile("<dd>(.*?)</dd>", re.S)
#: Where annotations name a class, and where its documentation has it.
PUBLIC = [
    (r"^np\.", "numpy."),
    (r"^nn\.", "torch.nn."),
    (r"^t\.", "typing."),
    (r"^torch\.nn\.modules\.\w+", "torch.nn"),
    (r"^xarray\.core\.\w+", "xarray"),
    (r"\._\w+(?=\.)", ""),
]


def with_roles(text: str) -> str:
    """A docstring whose mathematics, each on one line, has the role `math`."""

    def role(found: re.Match) -> str:
        apart = "\\ " * text[found.end() : found.end() + 1].isalnum()  # a role ends before white space or punctuation
        return f":math:`{' '.join(found[1].split())}`{apart}"

    return MATHEMATICS.sub(role, text)


def public(name: str) -> str:
    """The name of a class of another library under which its documentation can be found."""
    for pattern, short in PUBLIC:
        name = re.sub(pattern, short, name)
    return name


def _docstring(app, what, name, thing, options, lines) -> None:
    lines[:] = with_roles("\n".join(lines)).split("\n")
    if what in ("attribute", "data", "property"):  # napoleon would take what stands before a colon for a type
        lines[0] = lines[0].replace(":", HIDDEN)


def _after_napoleon(app, what, name, thing, options, lines) -> None:
    lines[:] = [line.replace(HIDDEN, ":") for line in lines]


def _skip(app, what, name, thing, skip, options) -> bool | None:
    """Fields of a named tuple have a text of Python's own; ours is among the attributes of its class."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field number") else None


def _elsewhere(app, env, node, content):
    name = public(target := node.get("reftarget", ""))
    if name == target:
        return None
    node["reftarget"] = name
    return intersphinx.missing_reference(app, env, node, content)


def imports(page: Path) -> str:
    """The statements of a notebook's cells that import something, one on each line."""
    cells = [cell.source for cell in jupytext.read(page).cells if cell.cell_type == "code"]
    found = [
        node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return "\n".join(map(ast.unparse, found))


def _hidden_imports(app, doctree) -> None:
    """The cell in which a page imports what it needs is not shown, so that codeautolink cannot read it."""
    if any(node.get("nb_element") == "cell_code_source" for node in doctree.findall(nodes.container)):
        doctree.insert(0, PrefaceMarker(content=imports(Path(doctree["source"])), level="file"))


class _AnySource:
    """A folder of sources that has any file: codeautolink knows a page from earlier builds only if it ends in .rst."""

    def __truediv__(self, name: str) -> Path:
        return Path(__file__)


def _relink(app) -> None:
    """Link the code of every page that is written; codeautolink forgets those whose own source is as it was.

    A page is also written anew when the title of one of its sections has changed, or a section.
    """
    links = next(one.handler.__self__ for one in app.events.listeners["build-finished"] if _of_codeautolink(one))
    if links.cache:
        links.cache.src_dir = _AnySource()
        links.cache.read()

    def written(app, page, template, context, doctree) -> None:
        if doctree is not None:
            links.outdated_docs.add(str(Path(page)))

    app.connect("html-page-context", written)


def one_list(html: str) -> str:
    """A page whose signatures of several lines are lines: Sphinx makes each a list of definitions without a term."""
    return SIGNATURE.sub(lambda found: LINE.sub(r'<span class="sig-line">\1</span>', found[1]), html)


def _signatures(app, page, template, context, doctree) -> None:
    if "body" in context:
        context["body"] = one_list(context["body"])


def _of_codeautolink(listener) -> bool:
    return type(getattr(listener.handler, "__self__", None)).__name__ == "SphinxCodeAutoLink"


def _end_section(self, node) -> None:
    """The text of a theorem or an exercise is a section without a title, of which codeautolink knows nothing."""
    if self.title_stack:
        self.title_stack.pop()


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _docstring, priority=100)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=900)
    app.connect("autodoc-skip-member", _skip)
    app.connect("missing-reference", _elsewhere, priority=900)
    app.connect("doctree-read", _hidden_imports, priority=480)  # before codeautolink
    app.connect("builder-inited", _relink)
    app.connect("html-page-context", _signatures)
    CodeBlockAnalyser.depart_section = _end_section
    return {"parallel_read_safe": True, "parallel_write_safe": True}
