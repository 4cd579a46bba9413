"""A downloaded notebook begins with how to get the library; the page and its other cells stay as they are."""

from types import SimpleNamespace
from unittest import mock

import downloads
import nbformat
import pytest

URL = "https://example.org/somebody/networks"


@pytest.fixture
def site(tmp_path):
    """What the hook sees of Sphinx, with one notebook where the theme has copied it."""
    config = SimpleNamespace(html_title="A book", html_theme_options={"repository_url": URL})
    (tmp_path / "_sources" / "book").mkdir(parents=True)
    cells = [nbformat.v4.new_markdown_cell("# A page"), nbformat.v4.new_code_cell("1 + 1")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "_sources" / "book" / "page.ipynb")
    return SimpleNamespace(outdir=str(tmp_path), config=config)


def test_the_first_cell_says_how_to_run_the_others(site, tmp_path):
    file = tmp_path / "_sources" / "book" / "page.ipynb"
    before = nbformat.read(file, as_version=4).cells
    downloads._page(site, "book/page", "page.html", {"ipynb_source": "book/page.ipynb"}, None)
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    first, *others = notebook.cells
    assert others == before and first.cell_type == "markdown"
    assert f"[A book]({URL})" in first.source
    assert f"git clone {URL}\n> cd networks\n> make book" in first.source


def test_a_page_without_a_notebook_is_left_alone(site):
    downloads._page(site, "book/glossary", "page.html", {}, None)


def test_it_comes_after_the_copy_of_the_theme():
    app = mock.Mock()
    downloads.setup(app)
    (event, _), how = app.connect.call_args
    assert event == "html-page-context" and how["priority"] > 501
