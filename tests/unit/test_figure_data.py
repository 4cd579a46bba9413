"""The recorded runs behind a figure are those that its cell has loaded, and those of the variables that it reads."""

import ast

import figure_data
import nbformat
import pytest
import references
from nbclient import NotebookClient

from shallow.book import figures, records

START = """
import matplotlib.pyplot as plt
from shallow.book import figures, records
figures.use()
kept = {}

def load(name):
    records.loaded.append(name)
    return range(3)
"""
#: Code, and the records behind it.
CELLS = [
    ("fig, ax = plt.subplots()\nax.plot(range(3));", []),
    ('fig, ax = plt.subplots()\nax.plot(load("toy/one"));', ["toy/one"]),
    ('runs, _ = load("toy/two"), 1\nkept["it"] = load("toy/room/three")', ["toy/room/three", "toy/two"]),
    ('rest = load("/".join(["toy", "five"]))', ["toy/five"]),
    ("fig, ax = plt.subplots()\nfor run in [runs]:\n    ax.plot(run);", ["toy/two"]),
    ("more = sorted(runs)", ["toy/two"]),
    ("def draw(ax):\n    ax.plot(more)\n\nfig, ax = plt.subplots()\ndraw(ax)", ["toy/two"]),
    ('fig, ax = plt.subplots()\nax.plot(kept["it"], rest);', ["toy/five", "toy/room/three"]),
    ('runs = load("toy/four")\nfig, ax = plt.subplots()\nax.plot(runs);', ["toy/four"]),
    ("fig, ax = plt.subplots()\nax.plot(runs);", ["toy/four"]),
]


@pytest.fixture(scope="module")
def executed() -> nbformat.NotebookNode:
    code = [START, *(code for code, _ in CELLS)]
    cells = [nbformat.v4.new_markdown_cell("# Title"), *map(nbformat.v4.new_code_cell, code)]
    return NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3", timeout=120).execute()


def test_figures_have_the_records_behind_their_cells_and_the_variables_that_these_read(executed):
    found = figure_data.behind(executed.cells)
    assert [found[place] for place, _ in enumerate(CELLS, 2)] == [behind for _, behind in CELLS]
    picture = executed.cells[3].outputs[-1]
    assert list(picture.data) == ["text/plain", "image/png"] and picture.metadata[figures.BEHIND] == {"": ["toy/one"]}


def test_the_code_of_a_recorded_run_is_that_of_its_cell():
    """The line at which its cell begins, in the file as it stands."""
    name, recipe = next(iter(records.recipes().items()))
    place, _, line = figure_data.code(name).partition("#L")
    following = (references.ROOT / place).read_text(encoding="utf-8").splitlines()[int(line) - 1 :]
    assert next(text for text in following if text.startswith("def ")).startswith(f"def {recipe.cell.__name__}(")
    said = figure_data.line("#L1", [name], "runs", "", "https://example.org")
    assert f'<a href="https://example.org/{place}#L{line}" aria-label="code of {name.split("/")[-1]}">code</a>)' in said


@pytest.mark.parametrize(
    ("code", "needed", "bound"),
    [
        ("x = [y for y in z]", {"z"}, {"x"}),
        ("x = x + 1", {"x"}, {"x"}),
        ("x += y", {"x", "y"}, {"x"}),
        ("for x in y:\n    z[x] = x", {"y", "z"}, {"x", "z"}),
        ("def f(a):\n    b = a\n    return b + c", {"c"}, {"f"}),
    ],
)
def test_what_a_statement_needs_and_binds(code, needed, bound):
    assert figure_data.flow(ast.parse(code).body[0]) == (needed, bound)
