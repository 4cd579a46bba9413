"""What a chapter and the page of claims show."""

import numpy as np
from unit.claims.conftest import FALLS

from shallow.book import claims, paths
from shallow.book.claims import display
from shallow.book.claims.rows import KINDS


def test_every_verdict_has_its_own_symbol_word_and_legible_colour():
    assert list(display.STYLE) == list(claims.VERDICTS)
    symbols, colours = zip(*display.STYLE.values(), strict=True)
    assert len(set(symbols)) == len(set(colours)) == len(claims.VERDICTS)
    for verdict, (symbol, colour) in display.STYLE.items():
        assert symbol in display.badge(verdict) and verdict in display.badge(verdict)
        channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = np.dot(linear, [0.2126, 0.7152, 0.0722])
        assert 1.05 / (luminance + 0.05) >= 4.5, f"white on {colour} is hard to read"


def test_claim_shows_source_rule_and_parameters(decided):
    page = decided.claim("TO-01", "TO-02")
    assert repr(page).splitlines()[0].startswith("TO-01 (Section 1): The curve rises")
    for piece in ("<details", "(a) slope above 0, (b) below 1", "n: 10", "Section 2; Figure 3", "n = 10"):
        assert piece in page._repr_html_()
    assert "&lt;b&gt;other&lt;/b&gt;" in page._repr_html_(), "text of the ledger is not markup"


def test_a_card_counts_and_a_table_has_every_line(decided):
    card, report = decided.card(), decided.report("TO-03", "answered", finding="slope 0.1 [0.0, 0.2]")
    assert repr(card).splitlines()[1] == "3 claims: 1 partly, 1 answered, 1 untested"
    assert 'href="toy.html#to-01"' in card._repr_html_() and "claims.html#toy" in card._repr_html_()
    assert decided.lines(report, report)._repr_html_().count('<tr data-decided="TO-03 answered">') == 2


def test_page_of_claims(decided, folder):
    page = claims.table(folder)._repr_html_()
    assert page.count("<tr id=") == 3 and page.count("<tbody>") == 1
    assert 'href="toy.html#to-01"' in page and 'href="toy.html#to-02"' not in page, "only tested rows have a cell"
    assert "nobody has looked" in page and 'href="#document-toy"' in page
    assert set(KINDS) <= set(page.split('data-kind="')[1].split('"')[0].split())


def test_an_answer_stands_first_and_the_numbers_are_folded(answered, folder):
    report = answered.report("TO-02", FALLS)
    assert repr(report) == (
        "TO-02 · partly (a reproduced, b contradicted) · our reading: reproduced, (b) is a matter of words · "
        "The curve falls. · slope -0.5 [-0.6, -0.4]"
    )
    box, line, page = (shown._repr_html_() for shown in (report, answered.lines(report), claims.table(folder)))
    order = ["The curve falls.", "by the rule:", "&nbsp;partly", "(a)", "our reading:", "a matter of words", "<details"]
    places = [box.index(piece) for piece in order]
    assert places == sorted(places) and box.index("slope -0.5") > places[-1]
    for html in (line, page):
        assert html.index("The curve falls.") < html.index("words") < html.index("In numbers</summary>slope -0.5")


def test_other_readings_are_counted_beside_the_rules(answered, folder):
    said = "3 claims, 1 partly, 1 answered, 1 untested, 1 read otherwise"
    assert said in repr(claims.counts_table(folder)) and said in repr(claims.overview(folder))
    for shown in (claims.counts_table(folder), claims.overview(folder), answered.card()):
        assert "read otherwise" in shown._repr_html_()


def test_links_lead_to_the_page_of_a_claim_from_any_page(answered, folder, monkeypatch):
    monkeypatch.setattr(paths, "BOOK", folder.parent)
    (folder.parent / "toy").mkdir()
    (folder.parent / "toy" / "index.md").touch()
    monkeypatch.chdir(folder.parent / "toy")
    assert 'href="../toy/index.html"' in claims.overview(folder)._repr_html_()
    assert 'href="../toy/falls.html#to-02"' in claims.table(folder)._repr_html_()
    assert 'href="../claims.html#toy"' in answered.card()._repr_html_()
    for shown in (answered.claim("TO-02"), answered.report("TO-02", FALLS), claims.table(folder)):
        assert 'href="../claims/TO-02.html"' in shown._repr_html_()


def test_counts_at_a_glance(decided, folder):
    table, overview = claims.counts_table(folder), claims.overview(folder)
    line = "3 claims, 1 partly, 1 answered, 1 untested"
    assert table._repr_html_().count("<td") == 2 * (len(claims.VERDICTS) + 1)
    assert repr(overview) == f"Toy: {line}\n    Toys rise & shine.\nAll: {line}"
    html = overview._repr_html_()
    assert html.count('title="1 partly"') == 2 and "Toys rise &amp; shine." in html and "reproduced" not in html
