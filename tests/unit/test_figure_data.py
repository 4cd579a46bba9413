"""The recorded runs behind a figure are read from its code: none is missed, and none of another figure is taken."""

import ast
import json

import figure_data
import pytest
from docutils import nodes

from shallow.book import paths

HEAD = "---\nkernelspec: {display_name: Python 3, language: python, name: python3}\n---\n"
CELL = "```{{code-cell}} ipython3\n---\nmystnb: {{figure: {{name: {}, caption: A}}}}\n---\n{}\n```\n"
LOADERS = """
from shallow.book import records
NAMES = {"a": "one"}

def early(which="a"):
    return records.load(f"toy/{NAMES[which]}")

def sizes(n):
    name = f"size_{n}" + "_more"
    return records.load(f"toy/{name}")

def other():
    return records.load("toy/other")
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package with a module of loaders, and records of these names."""
    for name in ("one", "two", "other", "size_8_more", "size_9_more"):
        (tmp_path / "records" / "toy").mkdir(parents=True, exist_ok=True)
        (tmp_path / "records" / "toy" / f"{name}.json").write_text(json.dumps({}), encoding="utf-8")
    (tmp_path / "experiments" / "toy" / "rules").mkdir(parents=True)
    for file, text in {"__init__": "", "toy/__init__": "", "toy/loaders": LOADERS, "toy/rules/__init__": ""}.items():
        (tmp_path / "experiments" / f"{file}.py").write_text(text, encoding="utf-8")
    rule = "from experiments.toy import loaders\ndef to_01(runs=None):\n    return loaders.sizes(9)\n"
    (tmp_path / "experiments" / "toy" / "rules" / "topic.py").write_text(rule, encoding="utf-8")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "RECORDS", tmp_path / "records")
    caches = (figure_data.known, figure_data.file_of, figure_data.scope, figure_data.direct)
    for one in caches:
        one.cache_clear()
    yield tmp_path
    for one in caches:
        one.cache_clear()


def test_figures_have_the_records_that_their_statements_reach(toy):
    cells = {
        "literal": 'import x\nruns = records.load("toy/two")\nfor ax in axes:\n    ax.plot(runs)',
        "again": "for ax in axes:\n    ax.plot(runs.mean())",
        "function": "from experiments.toy import loaders\nfor ax in axes:\n    ax.plot(loaders.early())",
        "rebound": "runs = loaders.sizes(8)\nfig, ax = draw(runs)",
        "filled": 'kept = {}\nkept["it"] = loaders.other()\nnames = [runs for runs in "abc"]',
        "later": "draw(kept)",
        "live": "fig, ax = plt.subplots()\nax.plot(range(3))",
        "rule": "from experiments.toy import rules\ndraw(rules.to_01())",
    }
    page = toy / "page.md"
    page.write_text(HEAD + "\n".join(CELL.format(*item) for item in cells.items()), encoding="utf-8")
    assert figure_data.behind(page) == {
        "literal": ["toy/two"],
        "again": ["toy/two"],
        "function": ["toy/one"],
        "rebound": ["toy/size_8_more"],
        "filled": ["toy/other"],
        "later": ["toy/other"],
        "rule": ["toy/size_9_more"],
    }


def test_a_caption_gets_links_that_lead_from_its_page(toy, monkeypatch):
    figure = nodes.figure("", nodes.caption("", "A"), names=["literal"])
    document = nodes.container("", figure)
    page = toy / "page.md"
    page.write_text(HEAD + CELL.format("literal", 'draw(records.load("toy/two"))'), encoding="utf-8")
    env = type("Env", (), {"docname": "book/toy/index", "doc2path": lambda self, name: str(page)})()
    figure_data._read(type("App", (), {"env": env})(), document)
    (shown,) = figure.findall(nodes.raw)
    assert shown.astext() == (
        '<span class="figure-data">Data: <a href="../../records/toy/two.nc" download>two</a></span>'
    )


def test_what_a_name_stands_for_ends_where_it_is_bound_anew():
    needed, bound = figure_data.flow(ast.parse("x = [y for y in z]\nz = x").body[0])
    assert (needed, bound) == ({"z"}, {"x", "y"})
