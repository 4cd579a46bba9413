"""The page of recorded runs: a table that fits its column on a desk, a phone and paper, and says the rest on demand."""

import pytest
from playwright.sync_api import expect

ADDRESS = "book/provenance.html"
DESK, PHONE, SHEET = ({"width": width, "height": 1000} for width in (1400, 390, 700))
# How far something reaches beyond its column, or what is in it beyond what is seen.
BEYOND = """them => Math.max(...them.map(one =>
  Math.max(one.scrollWidth - one.clientWidth, one.offsetWidth - one.parentElement.clientWidth)))"""


@pytest.mark.parametrize(("window", "media"), [(DESK, "screen"), (PHONE, "screen"), (SHEET, "print")])
def test_the_table_fits_its_column(page, site, window, media):
    page.set_viewport_size(window)
    page.emulate_media(media=media)
    page.goto(f"{site}/{ADDRESS}")
    table = page.locator("table.ledger-records")
    assert table.locator("details:not([open])").count() > 100
    assert table.evaluate_all(BEYOND) <= 1
    table.locator("details").evaluate_all("them => them.forEach(one => { one.open = true; })")
    assert table.evaluate_all(BEYOND) <= 1


def test_a_row_is_short_and_unfolds_by_keyboard(page, site):
    page.goto(f"{site}/{ADDRESS}")
    rows = page.locator("table.ledger-records tr[id]")
    mean = page.locator("table.ledger-records").bounding_box()["height"] / rows.count()
    assert mean < 70
    first = rows.first
    first.locator("summary").press("Enter")
    for term in ("cells", "data", "made", "used in", "compared"):
        expect(first.get_by_text(term, exact=True)).to_be_visible()
