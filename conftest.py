"""Let nbval test the chapters themselves: `pytest book/cyclic_labels/bumps.md` runs its cells and compares the outputs.

With SHALLOW_EXECUTED=_build/.jupyter_cache in the environment the outputs of the build that has just been made are
compared instead, each cell with the same reference in the same way; a page that is not there is run.
"""

import gc
import os
from unittest import mock

import references
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams
from xdist.scheduler import LoadFileScheduling

os.environ["SHALLOW_STRICT"] = "1"  # for the kernels of chapters too


class ChapterCell(IPyNbCell):
    """A cell of a chapter; pictures, widgets and standard error are left out of the comparison, rounding is allowed."""

    def compare_outputs(self, test, ref, skip_compare=None):
        test, ref = references.comparable(test), references.comparable(ref)
        return super().compare_outputs(references.settled(test, ref), ref, skip_compare)

    def runtest(self):
        if self.parent.executed is None:
            super().runtest()
        elif self.options["check"]:
            outputs = coalesce_streams(self.parent.executed[self.cell_num].outputs)
            if not self.compare_outputs(outputs, coalesce_streams(self.cell.outputs)):
                self.raise_cell_error("Cell outputs differ", "\n".join(self.comparison_traceback))

    def reportinfo(self):
        return self.path, 0, self.name


class Chapter(IPyNbFile):
    """A chapter together with its stored outputs; nothing is written to disk."""

    executed = None  # the cells as the build has executed them, if those are to be compared

    def setup(self):
        if self.executed is None:
            super().setup()

    def collect(self):
        try:
            notebook = references.merge(self.path)
        except references.StaleReference as error:
            raise self.CollectError(str(error)) from error
        if cache := os.environ.get("SHALLOW_EXECUTED"):
            self.executed = references.executed(self.path, cache)
        with mock.patch("nbval.plugin.nbformat.read", lambda *_, **__: notebook):
            cells = list(super().collect())
        return [
            ChapterCell.from_parent(self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options)
            for cell in cells
        ]


class Scheduling(LoadFileScheduling):
    """Tests of a file share its fixtures in one process; those of one page of the site need no other page."""

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        return test.partition("[")[2] if file.endswith("browser/test_pages.py") and "[" in test else file


def pytest_collection_finish(session):
    """What is imported by now is kept: the collector need not look through it again and again."""
    gc.freeze()


def pytest_xdist_make_scheduler(config, log):
    """The order in which processes get tests."""
    return Scheduling(config, log)


def pytest_collect_file(file_path, parent):
    """Collect the executed pages of `book/`."""
    if parent.config.option.nbval and file_path.suffix == ".md" and references.is_notebook(file_path):
        return Chapter.from_parent(parent, path=file_path)
    return None
