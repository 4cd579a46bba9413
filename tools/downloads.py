"""What a notebook that is downloaded from its page has beyond the page's source, as an extension of Sphinx.

Its first cell says how to get the library.  And what only the book can resolve is written out, since a notebook lies
anywhere: numbers of figures, equations and propositions, works, titles of other pages, claims with their verdicts; a
caption is a cell behind its figure.  Code is left alone.  The page itself, the references of the tests and Binder,
which opens the page of a clone, have none of it.
"""

import functools
import posixpath
import re
from pathlib import Path

import nbformat
from pybtex.database import parse_file

from shallow.book import claims, paths
from shallow.book.claims.display import STYLE

ROLE = re.compile(r"\{(claim|doc|prf:ref|ref|numref|eq|cite:t|cite|term)\}`([^`]+)`")
EXPLICIT = re.compile(r"(.+?)\s*<([^<>]+)>", re.DOTALL)
EQUATION = re.compile(r"^```\{math\}\n:label: ([\w-]+)\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
LABEL = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
FIRST = """\
> **To run this notebook** you need the library and the recorded runs of the book it is from, [{title}]({url}). Once, in
> a terminal, with Python 3.11 or newer, git, make and node:
>
> ```sh
> git clone {url}
> cd {folder}
> make book    # installs everything into .venv, then builds the pages
> ```
>
> Then choose `.venv` as the kernel (in VS Code: *Select Kernel, Python Environments*), or leave the notebook and call
> `make lab`, which opens all pages in JupyterLab. The notebook may lie in any folder. In an environment of your own,
> `pip install --editable ".[book]"` in the clone does it too.
>
> Change what you like: where a result is not the book's, both are shown, and nothing stops."""


class Words:
    """What the book puts for the roles of a page; those that it cannot resolve, of which Sphinx warns, stay."""

    def __init__(self, env, page: str):
        self.env, self.page = env, page
        self.rows = {row.id: row for row in claims.everything()}
        self.numbers = {
            label: (kind, ".".join(map(str, number)))
            for kinds in env.toc_fignumbers.values()
            for kind, labels in kinds.items()
            for label, number in labels.items()
        }

    def text(self, source: str) -> str:
        """A Markdown cell without roles and labels."""
        text = LABEL.sub("", source)
        for pattern, said in ((EQUATION, self.equation), (ROLE, self.role)):
            text = pattern.sub(functools.partial(_or_as_it_is, said), text)
        return text

    def equation(self, label: str, formula: str) -> str:
        return f"$$\n{formula} \\tag{{{self.numbers[f'equation-{label}'][1]}}}\n$$"

    def role(self, role: str, given: str) -> str:
        """Raises KeyError for what the book does not have."""
        if role == "claim":
            row = self.rows[given]
            return f"({given} {STYLE[row.verdict][0]} {row.verdict})"
        if role.startswith("cite"):
            works = [self.work(key.strip()) for key in given.split(",")]
            if role == "cite":
                return f"[{'; '.join(f'{who}, {year}' for who, year in works)}]"
            return ", ".join(f"{who} [{year}]" for who, year in works)
        explicit = EXPLICIT.fullmatch(given)
        if explicit or role == "term":
            return explicit[1] if explicit else given
        if role == "doc":
            page = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), given))
            return f"*{self.env.titles[page].astext()}*"
        if role == "ref":
            return f"*{self.env.get_domain('std').labels[given][2]}*"
        kind, number = self.numbers[f"equation-{given}" if role == "eq" else given]
        return {"displaymath": f"({number})", "figure": f"Fig. {number}"}.get(kind, f"{kind.capitalize()} {number}")

    def work(self, key: str) -> tuple[str, str]:
        """Authors and year."""
        entry = _works()[key]
        names = [" ".join([*one.prelast_names, *one.last_names]) for one in entry.persons["author"]]
        return f"{names[0]} *et al.*" if len(names) > 2 else " and ".join(names), entry.fields["year"]


@functools.cache
def _works():
    """The entries of the bibliography by key, which takes longer to read than a page to write."""
    return parse_file(paths.BOOK / "references.bib").entries


def _or_as_it_is(said, found: re.Match) -> str:
    try:
        return said(*found.groups())
    except KeyError:
        return found[0]


def readable(notebook: nbformat.NotebookNode, words: Words) -> nbformat.NotebookNode:
    """The notebook with everything written out that only the book resolves, and a caption behind each figure."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = words.text(cell.source)
        cells.append(cell)
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if "caption" in figure:
            number = f"**{words.role('numref', figure['name'])}** " if figure.get("name") in words.numbers else ""
            caption = number + words.text(figure["caption"])
            cells.append(nbformat.v4.new_markdown_cell(caption, id=f"caption-{len(cells)}"))
    notebook.cells = cells
    return notebook


def with_first_cell(notebook: nbformat.NotebookNode, title: str, url: str) -> nbformat.NotebookNode:
    """The notebook behind a cell that says how to get the library from the repository at `url`."""
    text = FIRST.format(title=title, url=url, folder=url.rstrip("/").rpartition("/")[2])
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="how-to-run"))
    return notebook


def _page(app, name, template, context, doctree) -> None:
    """The theme has just copied the page's notebook to where its button downloads it from."""
    if "ipynb_source" in context:
        file = Path(app.outdir, "_sources", context["ipynb_source"])
        url = app.config.html_theme_options["repository_url"]
        notebook = readable(nbformat.read(file, as_version=4), Words(app.env, name))
        nbformat.write(with_first_cell(notebook, app.config.html_title, url), file)


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("html-page-context", _page, priority=900)  # the theme copies at 501
    return {"parallel_read_safe": True, "parallel_write_safe": True}
