"""A page in one kernel, as a reader uses it: run through more than once, in another order."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import references
from nbclient import NotebookClient
from nbformat import NotebookNode


class Kernel:
    """A running kernel with the cells of one notebook."""

    def __init__(self, client: NotebookClient) -> None:
        self.client, self.cells = client, client.nb.cells

    def run(self, numbers: Sequence[int]) -> dict[int, list[NotebookNode]]:
        """Run these cells in this order; what is compared of their outputs.  Raises CellExecutionError."""
        return {number: self._compared(self.client.execute_cell(self.cells[number], number)) for number in numbers}

    @staticmethod
    def _compared(cell: NotebookNode) -> list[NotebookNode]:
        kept = references.comparable(cell.outputs)
        for output in kept:
            output.pop("execution_count", None)
        return kept


def sections(notebook: NotebookNode) -> list[list[int]]:
    """Positions of the code cells above the first heading, and below each further one, where there are any."""
    found: list[list[int]] = [[]]
    for k, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and re.search(r"^#{2,4} ", cell.source, re.MULTILINE):
            found.append([])
        if cell.cell_type == "code" and cell.source.strip():
            found[-1].append(k)
    return [numbers for numbers in found if numbers]


@contextmanager
def kernel(notebook: NotebookNode, folder: Path = references.BOOK) -> Iterator[Kernel]:
    """A kernel in `folder`, as a reader has it: sliders draw live, and another result stands beside the ledger's."""
    client = NotebookClient(
        notebook,
        timeout=references.TIMEOUT,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    with client.setup_kernel(env=os.environ | {"SHALLOW_STRICT": "0"}):
        yield Kernel(client)
