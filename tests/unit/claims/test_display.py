"""What a chapter and the page of claims show."""

import pytest

from shallow.book import claims, paths
from shallow.book.claims import display
from shallow.book.claims.rows import KINDS, first_rules


def test_every_verdict_has_its_own_symbol_word_and_colour():
    assert list(display.STYLE) == list(claims.VERDICTS)
    symbols, colours = zip(*display.STYLE.values(), strict=True)
    assert len(set(symbols)) == len(set(colours)) == len(claims.VERDICTS)
    for verdict, (symbol, _) in display.STYLE.items():
        assert symbol in display.badge(verdict) and verdict in display.badge(verdict)


def test_page_of_claims(toy, folder):
    page = claims.table(folder)._repr_html_()
    assert page.count("<tr id=") == 3 and page.count("<tbody>") == 1
    assert 'href="toy/falls.html#to-02"' in page and "#to-03" not in page, "only decided rows have a cell"
    assert "nobody has looked" in page and 'href="#document-toy"' in page
    assert set(KINDS) <= set(page.split('data-kind="')[1].split('"')[0].split())
    assert page.index("The curve falls.") < page.index("words") < page.index("In numbers</summary>slope -0.5")


def test_a_rule_is_told_with_its_limits_and_with_the_first_one(toy, folder):
    terms = display.rule_terms(toy["TO-02"], first_rules(folder)["TO-02"])
    for piece in ("slope below 0", "n = 10", "quoted: on purpose", "look", "n: 7", "it was vague"):
        assert piece in terms
    assert "above 0.25, (b) below 1/2; both in {0, 1}" in display.rule_terms(toy["TO-01"])


def test_links_lead_to_the_page_of_a_claim_from_any_page(toy, folder, monkeypatch, shown):
    monkeypatch.setattr(paths, "BOOK", folder.parent)
    monkeypatch.chdir(folder.parent / "toy")
    toy.show("TO-02")
    assert 'href="../toy/index.html"' in claims.overview(folder)._repr_html_()
    assert 'href="../toy/falls.html#to-02"' in claims.table(folder)._repr_html_()
    for display_of in (shown[0], claims.table(folder)):
        assert 'href="../claims/TO-02.html"' in display_of._repr_html_()


def test_counts_at_a_glance(toy, folder):
    table, overview = claims.counts_table(folder), claims.overview(folder)
    line = "3 claims, 1 reproduced, 1 partly, 1 untested, 1 read otherwise"
    assert line in repr(table) and table._repr_html_().count("<td") == 2 * (len(claims.VERDICTS) + 2)
    assert repr(overview) == f"Toy: {line}\n    Toys rise & shine.\nAll: {line}"
    assert all("read otherwise" in shown._repr_html_() for shown in (table, overview))
    html = overview._repr_html_()
    assert html.count('title="1 partly">◐&nbsp;1</span>') == 2
    assert "Toys rise &amp; shine." in html and "contradicted" not in html


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([0.04, 0.01104, 0.1346], ["0.04", "0.01", "0.13"]),
        ([0.56, 0.4, 0.7005], ["0.56", "0.40", "0.70"]),
        ([-0.001, -0.03, 0.2], ["0.00", "-0.03", "0.20"]),
        ([25636.4, 22000.1, 31000.0], ["25,636", "22,000", "31,000"]),
        ([1, 0, 2.5], ["1.0", "0.0", "2.5"]),
        ([2.0, 2.0, 2.0], ["2.00", "2.00", "2.00"]),
        ([0.5, None, None], ["0.500", "-", "-"]),
        (0.822538, ["0.823"]),
        (1e-9, ["1e-09"]),
        (0.0, ["0"]),
        (1, ["1"]),
        (True, ["yes"]),
        (None, ["-"]),
        ("left", ["left"]),
    ],
)
def test_numbers_have_the_digits_that_their_intervals_support(value, shown):
    assert display.written(value) == shown
