"""Links in the code of pages, as an extension of Sphinx: sphinx_codeautolink does nothing twice, and uses all cores.

By itself it parses all cells before a cell once more, and every page that was written, one after the other; and it
imports what any page names, whichever has changed: a third of the time of rendering all, half of that of one.

Garbage is looked for seldom in the whole build: at Python's own thresholds that takes nearly a third of all computing,
most of it spent on the trees of pages, which Sphinx keeps.
"""

import ast
import gc
import os
from collections.abc import Callable
from functools import partial

from docutils import nodes
from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available
from sphinx_codeautolink import extension
from sphinx_codeautolink.extension import block
from sphinx_codeautolink.parse import ImportTrackerVisitor, Name


def setup(app) -> dict:
    """Called by Sphinx."""
    gc.set_threshold(50_000, 20, 100)
    extension.resolve_location = resolved_once(extension.resolve_location)
    block.parse_names = Names()
    set_links, pages = extension.link_html, []
    extension.link_html = lambda *of, **how: pages.append(partial(set_links, *of, **how))
    app.connect("build-finished", lambda app, problem: in_parallel(pages), priority=600)  # its own is 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Names:
    """Called with the code of a page up to and with a cell: the names in what has come to it since the last call."""

    def __init__(self) -> None:
        self.page, self.source, self.known = "", "", None

    def __call__(self, source: str, cell: nodes.Element) -> list[Name]:
        goes_on = self.known and cell.source == self.page and source.startswith(f"{self.source}\n")
        begin = len(self.source) + 1 if goes_on else 0
        tree = ast.increment_lineno(ast.parse(source[begin:]), source.count("\n", 0, begin))
        if not goes_on:
            self.known = ImportTrackerVisitor(cell)
        self.page, self.source, self.known.doctree_node, self.known.accessed = cell.source, source, cell, []
        self.known.visit(tree)
        return self.known.accessed


def resolved_once(resolve: Callable[..., str]) -> Callable[..., str]:
    """Resolve a name in code, unless an earlier build has: after a change of anything behind pages none is kept."""

    def location(name, inventory) -> str:
        found = name.resolved_location
        return found if found in inventory else resolve(name, inventory)

    return location


def in_parallel(tasks: list[Callable[[], None]]) -> None:
    """Call each in a process of its own, as many at a time as there are cores; their warnings are Sphinx's."""
    running = (ParallelTasks if parallel_available else SerialTasks)(os.cpu_count())
    for task in tasks:
        running.add_task(task)
    running.join()
