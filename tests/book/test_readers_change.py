"""What a reader changes on a page reaches its verdicts: a claim is decided by the data that the page holds."""

import ast

import jupytext
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import references

from shallow.book import paths, provenance, records
from shallow.book.claims import ledger as ledgers
from shallow.book.claims.rules import rules

PAGES = [page for page in references.chapters() if (paths.CLAIMS / f"{page.parent.name}.yml").exists()]


def calls(code: str, owner: str, function: str) -> list[ast.Call]:
    """The calls of `owner.function` in some code."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return [call for call in found if ast.unparse(call.func) == f"{owner}.{function}"]


def texts(nodes: list[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize("page", PAGES, ids=references.name_of)
def test_a_claim_is_decided_by_the_records_that_its_page_has_loaded(page):
    cells = [cell.source for cell in references.code_cells(jupytext.read(page))]
    loaded, silent = set(), []
    for cell in cells:
        for call in calls(cell, "provenance", "load"):
            loaded |= {*texts(call.args)} & records.recipes().keys()
        for call in calls(cell, "ledger", "show"):
            given = {one.arg for one in call.keywords}
            if None in given:  # **several of them
                continue
            for id in texts(call.args):
                for name, source in rules(page.parent.name)[id].sources.items():
                    named = {source} if isinstance(source, str) else {*source} if isinstance(source, tuple) else set()
                    if named and named <= loaded and name not in given:
                        silent.append(f"{id}: {name}")
    assert silent == []


def deciding(page) -> set[str]:
    """The records by which the claims that a page shows are decided."""
    code = "\n".join(cell.source for cell in references.code_cells(jupytext.read(page)))
    shown = {id for call in calls(code, "ledger", "show") for id in texts(call.args)}
    sources = [one for id in shown for one in rules(page.parent.name)[id].sources.values()]
    return {name for one in sources for name in ((one,) if isinstance(one, str) else one or ())}


def decides_by_records(page) -> bool:
    """Whether some cell of a page decides a claim by a record that the page has loaded."""
    code = "\n".join(cell.source for cell in references.code_cells(jupytext.read(page)))
    return any(call.keywords for call in calls(code, "ledger", "show")) and bool(calls(code, "provenance", "load"))


@pytest.mark.parametrize("page", list(filter(decides_by_records, PAGES)), ids=references.name_of)
def test_half_of_the_runs_are_other_numbers_in_the_boxes(page, monkeypatch):
    """Of every record that the page loads half of the replicates are left; the cells run until a box says otherwise."""
    load, shown, halved = records.load, [], []

    def half(name):
        recipe, runs = records.recipe(name), load(name)
        count = runs.sizes.get(recipe.replicates, 0)
        larger = recipe.replicates == "n"  # sizes, of which rules ask for the larger ones
        rest = slice(count // 2, None) if larger else slice(None, (count + 1) // 2)
        halved.extend([name] if count > 1 else [])
        return runs if count < 2 else runs.isel({recipe.replicates: rest})

    monkeypatch.delenv("SHALLOW_STRICT", raising=False)
    monkeypatch.delenv("SHALLOW_LEDGER", raising=False)
    monkeypatch.setattr(provenance, "load", half)
    monkeypatch.setattr(ledgers, "show_in_page", lambda box: shown.append(repr(box)))
    monkeypatch.chdir(page.parent)
    namespace = {"__name__": "page", "display": lambda *_: None}
    with mpl.rc_context({"backend": "agg"}):
        for cell in references.code_cells(jupytext.read(page)):
            exec(compile(cell.source, str(page), "exec"), namespace)
            plt.close("all")
            if any("The ledger says" in text for text in shown):
                return
    if not deciding(page) & {*halved}:
        pytest.skip("no claim of the page is decided by runs that differ by chance")
    pytest.fail("all boxes say what the ledger says")
