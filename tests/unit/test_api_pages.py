"""The pages of the library: complete, and made from docstrings that Sphinx can read."""

import ast
import re
from collections import Counter

import pytest
from references import BOOK, ROOT

LIBRARY = ROOT / "lib" / "shallow"
FILES = {
    ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts): path
    for path in LIBRARY.rglob("*.py")
    if not path.stem.startswith("__")
}


@pytest.mark.parametrize(
    "pages", [["library.md"], [f"library/{path.name}" for path in (BOOK / "library").glob("*.md")]]
)
def test_every_module_stands_once_in_the_overview_and_on_a_page(pages):
    text = "\n".join((BOOK / page).read_text(encoding="utf-8") for page in pages)
    listed = Counter(re.findall(r"^(?:\.\. automodule:: |   )(shallow\.[\w.]+)$", text, flags=re.M))
    assert set(FILES) <= set(listed) and set(listed.values()) == {1}


@pytest.mark.parametrize("name", FILES)
def test_what_is_public_has_a_docstring(name):
    """Without one autodoc leaves it out."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert ast.get_docstring(tree)
    assert [one.name for one in defined if not one.name.startswith("_") and not ast.get_docstring(one)] == []
