"""In one kernel, a page gives the same when it is run once more, and when its sections are run from last to first.

A normal test run takes the shortest page; with SHALLOW_INTERACTIVE=all (`make interactive`) every page takes part.
"""

import os
import re

import jupytext
import pytest
import references
from nbclient import NotebookClient
from nbformat import NotebookNode

ALL = os.environ.get("SHALLOW_INTERACTIVE") == "all"
SHORT = [references.BOOK / "claims.md"]
pytestmark = pytest.mark.timeout(3600)


def sections(notebook: NotebookNode) -> list[list[int]]:
    """Positions of the code cells above the first heading, and below each further one, where there are any."""
    found: list[list[int]] = [[]]
    for k, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and re.search(r"^#{2,4} ", cell.source, re.MULTILINE):
            found.append([])
        if cell.cell_type == "code" and cell.source.strip():
            found[-1].append(k)
    return [numbers for numbers in found if numbers]


@pytest.fixture(scope="module", params=references.chapters() if ALL else SHORT, ids=lambda path: path.stem)
def once(request):
    """The sections of a page, what runs its cells in a reader's kernel, and what that gives at the first time."""
    notebook = jupytext.read(request.param)
    place = {"metadata": {"path": str(request.param.parent)}}
    options = {"timeout": references.TIMEOUT, "kernel_name": "python3", "coalesce_streams": True}
    client = NotebookClient(notebook, resources=place, **options)

    def run(numbers: list[int]) -> dict[int, list[dict]]:
        """What is compared of the outputs of these cells, run in this order.  Raises CellExecutionError."""
        found = {k: references.comparable(client.execute_cell(notebook.cells[k], k).outputs) for k in numbers}
        return {k: [one | {"execution_count": None} for one in outputs] for k, outputs in found.items()}

    with client.setup_kernel(env=os.environ | {"SHALLOW_STRICT": "0"}):
        yield sections(notebook), run, run(sum(sections(notebook), []))


def test_a_second_run_gives_the_same(once):
    _, run, outputs = once
    assert run(list(outputs)) == outputs


def test_sections_from_last_to_first_give_the_same(once):
    parts, run, outputs = once
    for section in reversed(parts):
        assert run(section) == {k: outputs[k] for k in section}
