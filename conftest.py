"""Let nbval test the chapters themselves: `pytest book/cyclic_labels.md` runs each cell and compares its outputs."""

import os
from unittest import mock

import references
from nbval.plugin import IPyNbCell, IPyNbFile

os.environ["SHALLOW_STRICT"] = "1"  # for the kernels of chapters too


class ChapterCell(IPyNbCell):
    """A cell of a chapter; pictures, widgets and standard error are left out of the comparison, rounding is allowed."""

    def compare_outputs(self, test, ref, skip_compare=None):
        test, ref = references.comparable(test), references.comparable(ref)
        return super().compare_outputs(references.settled(test, ref), ref, skip_compare)

    def reportinfo(self):
        return self.path, 0, self.name


class Chapter(IPyNbFile):
    """A chapter together with its stored outputs; nothing is written to disk."""

    def collect(self):
        try:
            notebook = references.merge(self.path)
        except references.StaleReference as error:
            raise self.CollectError(str(error)) from error
        with mock.patch("nbval.plugin.nbformat.read", lambda *_, **__: notebook):
            cells = list(super().collect())
        return [
            ChapterCell.from_parent(self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options)
            for cell in cells
        ]


def pytest_collect_file(file_path, parent):
    """Collect the executed pages of `book/`."""
    if parent.config.option.nbval and file_path.suffix == ".md" and references.is_notebook(file_path):
        return Chapter.from_parent(parent, path=file_path)
    return None
