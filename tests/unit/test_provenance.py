"""A recorded run shows itself where it is used: with its cost, its state and a link to its row."""

import re
from functools import partial

import jupytext
import nbformat
import pytest
import references
from planted.forge import NAME, rewrite

from shallow.book import provenance, records

CHAPTER = """
(first)=
## A title

(second)=
(third)=
### Another $x$

```{code-cell} ipython3
# a comment is no title
one = provenance.load("planted/quick")
```

(fourth)=
Text.

```{code-cell} ipython3
same = provenance.load("planted/quick").mean(), provenance.load(
    "planted/chaotic"
)
```
"""


@pytest.fixture
def planted(recorded):
    """One planted record, another that is missing, and a chapter that uses the first; returns the book's folder."""
    (recorded / "planted.md").write_text(CHAPTER, encoding="utf-8")
    (recorded / "pairs.json").unlink()
    return recorded


@pytest.fixture
def shown(monkeypatch):
    """What is displayed, as the outputs of a notebook."""
    outputs = []

    def display(thing, metadata):
        data = {"text/plain": repr(thing), "text/html": thing._repr_html_()}
        outputs.append(nbformat.v4.new_output("display_data", data, metadata=metadata))

    monkeypatch.setattr(provenance, "display", display)
    return outputs


@pytest.fixture
def changed(planted):
    return partial(rewrite, planted, "quick")


def test_loading_shows_cost_state_and_a_link(planted, changed, shown):
    changed(seconds=3725.4, date="2026-01-02")
    assert provenance.load(NAME).identical(records.load(NAME))
    (output,) = shown
    said = "Recorded run planted/quick: 3 cells, computing time 1:02:05, 2026-01-02; fresh"
    assert output.data["text/plain"] == said
    html = output.data["text/html"]
    assert 'href="provenance.html#record-planted-quick">quick</a>' in html
    for what, suffix in (("data", "nc"), ("manifest", "json")):
        assert f'<a href="../records/planted/quick.{suffix}" download>{what}</a>' in html


def test_a_confirmed_record_says_how_much_was_redone(planted, changed, shown):
    present, alike = records.manifest(NAME)["fingerprint"], {"date": "2026-01-03", "processor": "A", "rule": "exact"}
    note = alike | {"fingerprint": present, "whole": True, "cells": [0, 2], "seconds": [1.0, 1.0]}
    changed(fingerprint="0" * 16, seconds=3.0, seconds_by={"seed": [0.15, 2.7, 0.15]}, redone=[note])
    provenance.load(NAME)
    for text in shown[0].data.values():
        said = "; confirmed: the present code has redone 10% of the computing, 2 of 3 cells"
        assert text.removesuffix("</small>").endswith(said)
    row = rows(provenance.table("planted", planted))["quick"]
    assert "<td>0:00:03</td><td>10%</td><td>confirmed</td>" in row


def test_nothing_in_a_manifest_is_taken_as_markup(planted, changed, shown):
    forged = '<script>alert("x")</script>|[a](b)`c`'
    changed(date=forged, processor=forged, device=forged)
    provenance.load(NAME)
    for text in (*shown[0].data.values(), provenance.table("planted", planted).html):
        assert not re.search(r"<script|\[a\]\(b\)|`c`", text)


def test_uses_are_found_with_the_nearest_target_and_its_title(planted):
    used = provenance.uses(planted)
    assert {name: [(use.target, use.title) for use in places] for name, places in used.items()} == {
        NAME: [("third", "Another $x$"), ("fourth", "FOURTH")],
        "planted/chaotic": [("fourth", "FOURTH")],
    }
    first = used[NAME][0]
    assert first.link == '<a href="planted.html#third">Another <i>x</i></a>'
    (planted / "page.md").write_text('provenance.load("planted/quick")', encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md loads 'planted/quick' above its first target"):
        provenance.uses(planted)


def rows(table):
    """The rows of a table of records by the ends of their names."""
    return {
        row.partition("<code>")[2].partition("</code>")[0]: row for row in re.findall(r"<tr id=.*?</tr>", table.html)
    }


def test_fresh_stale_missing_and_unused_are_told_apart(planted, changed, shown):
    table = provenance.table("planted", planted)
    found = rows(table)
    assert set(found) == {"quick", "pairs"} and ">Planted <small>1 record, 3 cells" in table.html
    assert 'id="record-planted-quick"' in found["quick"] and "<dt>cells</dt><dd>3</dd>" in found["quick"]
    assert "records/planted/quick.nc" in found["quick"] and "<td>fresh</td>" in found["quick"]
    assert re.search(
        r"<dt>used in</dt><dd><a [^>]*#third.*Another.*</a>, <a [^>]*#fourth.*FOURTH</a></dd>", found["quick"]
    )
    assert "<b>not used</b>" in found["pairs"] and "is missing" in found["pairs"]
    changed(fingerprint="0" * 16, device="cuda", processor="A card")
    stale = rows(provenance.table("planted", planted))["quick"]
    assert "<td>0%</td><td><b>stale</b></td>" in stale and "cuda, A card</a>" in stale
    provenance.load(NAME)
    for text in shown[0].data.values():
        assert "STALE" in text and "python -m shallow record planted/quick" in text and "fresh" not in text


def test_the_book_uses_every_recorded_run_and_no_other():
    assert set(provenance.uses()) == set(records.recipes())


DECIDING = list(filter(references.has_ledger, references.chapters()))


@pytest.mark.parametrize("chapter", DECIDING, ids=lambda path: path.stem)
def test_chapters_load_by_provenance_and_outside_figures(chapter):
    """The line of a record would be in the figure; papers show none, their claims link to the pages that do."""
    cells = jupytext.read(chapter).cells
    assert not any("records.load(" in cell.source for cell in cells)
    figures = [cell.source for cell in cells if "figure" in cell.metadata.get("mystnb", {})]
    assert not any("provenance.load(" in source for source in figures)


def test_recipes_have_one_line_of_words_without_markup():
    about = {name: recipe.about for name, recipe in records.recipes().items()}
    assert [name for name, words in about.items() if not words or set("\n`$*") & set(words)] == []
