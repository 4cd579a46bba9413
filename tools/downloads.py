"""The first cell of a notebook that is downloaded from its page: how to get the library, as an extension of Sphinx.

The page itself, the references of the tests and Binder, which opens the page of a clone, do not have that cell.
"""

from pathlib import Path

import nbformat

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
        nbformat.write(with_first_cell(nbformat.read(file, as_version=4), app.config.html_title, url), file)


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("html-page-context", _page, priority=900)  # the theme copies at 501
    return {"parallel_read_safe": True, "parallel_write_safe": True}
