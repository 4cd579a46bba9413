"""The pages of the library as they were built: everything is there, and code leads to it."""

import ast

import references
from browser.conftest import SITE
from sphinx.util.inventory import InventoryFile

PAGES = [name for name in references.pages() if name.startswith("book/library/")]


def is_command(one):
    """Whether that is a command of the terminal, which `-h` documents."""
    return any(ast.unparse(decorator).startswith("click.command") for decorator in one.decorator_list)


def test_every_public_function_has_a_place(available):
    lib, public = references.ROOT / "lib", set()
    for path in (lib / "shallow").rglob("*.py"):
        module = ".".join(path.relative_to(lib).with_suffix("").parts)
        if not path.stem.startswith("__"):
            defined = ast.parse(path.read_text(encoding="utf-8")).body
            defined = [one for one in defined if isinstance(one, ast.FunctionDef | ast.ClassDef)]
            names = [one.name for one in defined if not is_command(one)]
            public |= {f"{module}.{name}" for name in names if not name.startswith("_")}
    with (SITE / "objects.inv").open("rb") as file:
        kinds = InventoryFile.load(file, "", lambda base, address: address)
    places = {name: where[2] for kind in kinds for name, where in kinds[kind].items() if kind.startswith("py:")}
    assert len(public) > 200 and sorted(public - set(places)) == []
    assert {places[name].partition(".html")[0] for name in public} <= set(PAGES)
    overview = (references.BOOK / "library.md").read_text(encoding="utf-8").split()
    assert {name.rpartition(".")[0] for name in public} <= set(overview)


def test_a_call_in_a_cell_leads_to_its_function(page, site):
    page.goto(f"{site}/book/heavy_tails/exponents.html")
    link = page.locator("div.cell_input a.code-link", has_text="tails.hill").first
    link.click()
    assert page.url == f"{site}/book/library/spectra.html#shallow.spectra.tails.hill"
    assert page.locator(":target").inner_text().startswith("shallow.spectra.tails.hill(")
    assert page.locator(":target .viewcode-link").count() == 1
