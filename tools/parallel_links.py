"""Links in the code of pages, as an extension of Sphinx: sphinx_codeautolink sets them in several pages at a time.

It parses every page that was written once more, one after the other, which is a quarter of the time of rendering.  And
it imports what any page names, whichever has changed: half the time of rendering one.
"""

import os
from collections.abc import Callable
from functools import partial

from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available
from sphinx_codeautolink import extension


def setup(app) -> dict:
    """Called by Sphinx."""
    extension.resolve_location = resolved_once(extension.resolve_location)
    set_links, pages = extension.link_html, []
    extension.link_html = lambda *of, **how: pages.append(partial(set_links, *of, **how))
    app.connect("build-finished", lambda app, problem: in_parallel(pages), priority=600)  # its own is 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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
