"""No section of a page reads a name whose meaning depends on what ran last; and the search for such names bites."""

import jupytext
import nbformat
import pytest
import references
from interactive import names


def notebook(*parts: str):
    """A page with a heading before each part but the first."""
    cells = [nbformat.v4.new_code_cell(parts[0])]
    for number, part in enumerate(parts[1:], start=1):
        cells += [nbformat.v4.new_markdown_cell(f"## Section {number}"), nbformat.v4.new_code_cell(part)]
    return nbformat.v4.new_notebook(cells=cells)


def found(*parts: str) -> list[tuple[str, str]]:
    """Reader and name of each hazard of such a page."""
    return [(hazard.reader, hazard.name) for hazard in names.tangled(names.sections(notebook(*parts)))]


@pytest.mark.parametrize("path", references.chapters(), ids=lambda path: path.stem)
def test_sections_agree_on_their_names(path):
    assert [str(hazard) for hazard in names.tangled(names.sections(jupytext.read(path)))] == []


@pytest.mark.parametrize(
    ("parts", "hazard"),
    [
        (("x = 1", "print(x)", "x = 2"), ("Section 1", "x")),
        (("", "x = 1", "x = 2", "print(x)"), ("Section 3", "x")),
        (("x = 1", "x = x + 1\nprint(x)"), ("Section 1", "x")),
        (("x = 1", "x += 1"), ("Section 1", "x")),
        (("x = 1", "print([x for _ in range(2)])", "for x in range(3):\n    print(x)"), ("Section 1", "x")),
        (("x = 1\ndef f():\n    return x", "print(f())", "x = 2"), ("Section 1", "x")),
        (("x = 1\ndef f():\n    return x\ndef g():\n    return f()", "print(g())", "x = 2"), ("Section 1", "x")),
        (("x = 1\ndef f():\n    return x", "x = 2\nprint(f())"), ("Section 1", "x")),
        (("", "x = 1\ndef draw(k):\n    return x\nsliders.explore(draw, k=[1, 2])", "x = 2"), ("Section 1", "x")),
        (("", "if True:\n    x = 1", "x = 2", "print(x)"), ("Section 3", "x")),
    ],
)  # fmt: skip
def test_a_tangled_name_is_found(parts, hazard):
    assert hazard in found(*parts)


@pytest.mark.parametrize(
    "parts",
    [
        ("x = 1", "print(x)", "print(x)"),
        ("", "x = 1\nprint(x)", "x = 2\nprint(x)"),
        ("", "def f():\n    x = 1\n    return x", "x = 2\nprint(f(), x)"),
        ("", "for k in range(3):\n    print(k)", "for k in range(9):\n    print(k)"),
        ("import numpy as np", "import numpy as np\nprint(np)", "print(np)"),
        ("", "def f(x):\n    return x\nprint(f(1))", "x = 2\nprint(f(x))"),
    ],
)
def test_names_of_one_section_are_its_own(parts):
    assert found(*parts) == []
