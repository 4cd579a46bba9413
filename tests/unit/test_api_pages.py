"""The pages of the library: complete, and made from docstrings that Sphinx can read."""

import ast
import re
import textwrap
from collections import Counter
from pathlib import Path

import api_pages
import pytest
from references import BOOK, ROOT
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

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


def test_mathematics_becomes_a_role():
    text = "Costs $O(n +\n    m)$ for the $k$th of $|x_*|$ at \\$1."
    assert api_pages.with_roles(text) == "Costs :math:`O(n + m)` for the :math:`k`\\ th of :math:`|x_*|` at \\$1."


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("np.ndarray", "numpy.ndarray"),
        ("numpy.random._generator.Generator", "numpy.random.Generator"),
        ("torch._C.Generator", "torch.Generator"),
        ("torch.nn.modules.module.Module", "torch.nn.Module"),
        ("xarray.core.dataset.Dataset", "xarray.Dataset"),
        ("shallow.nets.TwoLayer", "shallow.nets.TwoLayer"),
    ],
)
def test_classes_of_other_libraries_are_known_by_their_public_names(name, known):
    assert api_pages.public(name) == known


def test_imports_of_a_page_are_those_of_all_its_cells():
    found = api_pages.imports(BOOK / "cyclic_labels" / "index.md").splitlines()
    assert "from shallow.train import univariate" in found and all(" import " in f" {line}" for line in found)


def test_a_signature_of_several_lines_is_no_list():
    lines = "<dl>\n<dd><em>x</em>,</dd>\n<dd><em>y</em>,</dd>\n</dl>"
    spans = '<span class="sig-line"><em>x</em>,</span>\n<span class="sig-line"><em>y</em>,</span>\n'
    others = "<dl><dt>x</dt><dd>the <dl><dt>y</dt><dd>first</dd></dl></dd></dl>"
    assert api_pages.one_list(lines + others) == spans + others


def built(folder: Path) -> str:
    """The HTML of the first of two pages, of which the second documents a function that the first calls."""
    folders = dict(srcdir=folder, outdir=folder / "html", doctreedir=folder / "doctrees", confdir=None)
    settings = {"extensions": ["myst_parser", "sphinx_codeautolink", "api_pages"], "default_role": "literal"}
    with docutils_namespace():
        Sphinx(**folders, buildername="html", confoverrides=settings, status=None, warningiserror=True).build()
    return (folder / "html" / "index.html").read_text(encoding="utf-8")


def test_code_stays_linked_when_only_another_page_has_changed(tmp_path):
    index = """\
        # First
        ```{toctree}
        second
        ```
        ```{code} python
        import json
        json.dumps(1)
        ```
        """
    second = "# {title}\n```{{py:function}} json.dumps(x)\n```\n"
    (tmp_path / "index.md").write_text(textwrap.dedent(index), encoding="utf-8")
    for title in ("Second", "Other"):
        (tmp_path / "second.md").write_text(second.format(title=title), encoding="utf-8")
        page = built(tmp_path)
        assert title in page and page.count('class="sphinx-codeautolink-a"') == 1
