"""Pages are linked in processes of their own, and what they warn of is heard."""

import logging as plain
from unittest import mock

import parallel_links
import pytest
from docutils.nodes import literal_block
from sphinx.util import logging
from sphinx_codeautolink import extension
from sphinx_codeautolink.extension import block
from sphinx_codeautolink.parse import parse_names


def test_every_page_is_linked_and_its_warnings_arrive(tmp_path, caplog):
    def page(name: str) -> None:
        (tmp_path / name).touch()
        logging.getLogger("links").warning("no place for %s", name)

    names = [f"page {i}" for i in range(5)]
    # Builds of other tests leave handlers, which make an error of a warning.
    with caplog.at_level(plain.WARNING), mock.patch.multiple(plain.getLogger("sphinx"), propagate=True, handlers=[]):
        parallel_links.in_parallel([lambda name=name: page(name) for name in names])
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    assert sorted(caplog.messages) == [f"no place for {name}" for name in names]


def test_an_error_in_a_page_is_one_of_the_build():
    def broken() -> None:
        raise LookupError("no such page")

    with pytest.raises(Exception, match="no such page"):
        parallel_links.in_parallel([broken, broken])


def test_a_name_is_resolved_once_unless_its_place_is_gone():
    resolve = mock.Mock(return_value="numpy.linalg.svd")
    location = parallel_links.resolved_once(resolve)
    name = mock.Mock(resolved_location=None)
    assert location(name, inventory := {"numpy.linalg.svd": "svd.html"}) == "numpy.linalg.svd"
    name.resolved_location = "numpy.linalg.svd"
    assert location(name, inventory) == "numpy.linalg.svd" and resolve.call_count == 1
    name.resolved_location = "shallow.moved.away"
    assert location(name, inventory) == "numpy.linalg.svd" and resolve.call_count == 2


def test_names_in_a_cell_are_those_of_all_cells_parsed_again():
    cells = [
        "import numpy as np",
        "a = np.linalg\nfor b in ():\n    a.svd(b)",
        "def c():\n    return np.ones(3)",
        "a.qr",
    ]
    further = parallel_links.Names()
    for page in ("one", "two"):
        for count in range(1, len(cells) + 1):
            cell, head = literal_block(), "\n".join(cells[: count - 1])
            cell.source, source = page, "\n".join(cells[:count])
            if count == 2:
                with pytest.raises(SyntaxError):
                    further(f"{head}\n%matplotlib", cell)
            new = [name for name in parse_names(source, cell) if name.lineno > (count > 1) * (head.count("\n") + 1)]
            assert further(source, cell) == new and new


def test_the_extension_of_sphinx_hands_its_pages_over(monkeypatch):
    done, events = mock.Mock(), {}
    monkeypatch.setattr(extension, "link_html", done)
    monkeypatch.setattr(extension, "resolve_location", extension.resolve_location)
    monkeypatch.setattr(block, "parse_names", parse_names)
    monkeypatch.setattr(parallel_links, "ParallelTasks", parallel_links.SerialTasks)
    monkeypatch.setattr(parallel_links, "gc", mock.Mock())  # whose thresholds are the process's
    app = mock.Mock()
    app.connect = lambda event, call, priority: events.update({event: (call, priority)})
    parallel_links.setup(app)
    extension.link_html("book/index", builder_name="html")
    call, priority = events["build-finished"]
    assert priority > 500 and not done.called
    call(app, None)
    done.assert_called_once_with("book/index", builder_name="html")
