"""A notebook that is downloaded from its page runs where it lies: in an empty folder, beside no other file."""

import os

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Page

# The page that trains a network and takes half a minute; it shows a slider, tables and figures.
NAME = "one_network"
# That of a reader, whom nothing has asked to be strict.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "SHALLOW_STRICT"}


@pytest.fixture
def downloaded(page: Page, site: str, tmp_path):
    """The file that the page's download button gives, alone in its folder."""
    page.goto(f"{site}/book/{NAME}.html")
    page.get_by_role("button", name="Download this page").click()
    with page.expect_download() as waiting:
        page.locator("a.btn-download-notebook-button").click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def test_a_downloaded_notebook_runs_in_an_empty_folder(downloaded):
    assert downloaded.name == f"{NAME}.ipynb"
    notebook = nbformat.read(downloaded, as_version=4)
    assert "git clone" in notebook.cells[0].source and notebook.cells[0].cell_type == "markdown"
    place = {"metadata": {"path": str(downloaded.parent)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute(env=ENVIRONMENT)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not any(output.output_type == "error" for output in outputs)
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"image/png", "text/markdown", "application/vnd.jupyter.widget-view+json"} <= kinds
    assert [file.name for file in downloaded.parent.iterdir()] == [downloaded.name]
