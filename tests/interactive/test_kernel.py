"""In one kernel, a page gives the same when it is run once more, and when its sections are run from last to first.

A normal test run takes the shortest page; with SHALLOW_INTERACTIVE=all (`make interactive`) every page takes part.
"""

import os

import jupytext
import pytest
import references
from interactive import live

ALL = os.environ.get("SHALLOW_INTERACTIVE") == "all"
SHORT = [references.BOOK / "claims.md"]
pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module", params=references.chapters() if ALL else SHORT, ids=lambda path: path.stem)
def once(request):
    """A page's notebook, a kernel that has run it, and the outputs."""
    notebook = jupytext.read(request.param)
    with live.kernel(notebook, request.param.parent) as kernel:
        yield notebook, kernel, kernel.run(sum(live.sections(notebook), []))


def test_a_second_run_gives_the_same(once):
    _, kernel, outputs = once
    again = kernel.run(list(outputs))
    assert [number for number in outputs if again[number] != outputs[number]] == []


def test_sections_from_last_to_first_give_the_same(once):
    notebook, kernel, outputs = once
    for section in reversed(live.sections(notebook)):
        again = kernel.run([number for number in section if number in outputs])
        assert [number for number in again if again[number] != outputs[number]] == []
