"""The page of claims in a browser: filters, groupings, addresses, links, downloads, the table without scripts."""

import csv
import hashlib
import json
import re

import pytest
from browser.conftest import SITE
from playwright.sync_api import Page, expect

from shallow.book import claims

ROWS = claims.everything()


def visible(page: Page) -> list[str]:
    """Ids of the claims that are shown, in their order on the page."""
    rows = page.locator("#ledger tr[data-verdict]:visible")
    return rows.evaluate_all("rows => rows.map(row => row.id.toUpperCase())")  # one by one: half a minute


def ids(**wanted: str) -> list[str]:
    """Ids of the claims with these values, in the order of the book."""
    return [row.id for row in ROWS if all(getattr(row, field) == value for field, value in wanted.items())]


@pytest.fixture
def ledger(page, site) -> Page:
    """The page of claims, its filters ready."""
    page.goto(f"{site}/book/claims.html")
    page.locator(".ledger-filters").wait_for()
    return page


@pytest.mark.parametrize(("field", "value"), [("chapter", "localization"), ("kind", "theorem"), ("verdict", "partly")])
def test_one_filter(ledger, field, value):
    ledger.locator(f".ledger-filters [name={field}]").select_option(value)
    assert visible(ledger) == ids(**{field: value}) != []
    expect(ledger.locator(".ledger-filters output")).to_have_text(f"{len(visible(ledger))} of {len(ROWS)} claims")
    assert ledger.evaluate("location.hash") == f"#{field}={value}"


def test_filters_and_words_combine_and_clear(ledger):
    ledger.locator(".ledger-filters [name=rank]").select_option("headline")
    ledger.locator(".ledger-filters [name=text]").fill("undersampling CURVES")
    found = visible(ledger)
    assert found and set(found) < set(ids(rank="headline"))
    assert all("undersampling" in ledger.locator(f"#{id.lower()}").inner_text().lower() for id in found)
    ledger.locator(".ledger-filters [type=reset]").click()
    expect(ledger.locator(".ledger-filters output")).to_have_text(f"{len(ROWS)} of {len(ROWS)} claims")
    assert ledger.evaluate("location.hash") == ""


def test_an_address_holds_a_view(page, site):
    page.goto(f"{site}/book/claims.html#chapter=heavy_tails&rank=headline&text=adam")
    page.locator(".ledger-filters").wait_for()
    shown = visible(page)
    assert shown and set(shown) < set(ids(chapter="heavy_tails", rank="headline"))
    page.evaluate("location.hash = '#kind=table'")
    expect(page.locator(".ledger-filters [name=kind]")).to_have_value("table")
    assert visible(page) == ids(kind="table")
    page.evaluate("location.hash = '#kind=nonsense&unknown=1'")
    expect(page.locator(".ledger-filters output")).to_have_text(f"{len(ROWS)} of {len(ROWS)} claims")


def test_a_number_leads_to_its_claims_and_the_filters_stay_in_view(ledger):
    ledger.locator(".ledger-counts tbody tr").filter(has_text="contradicted").get_by_role("link").first.click()
    expected = ids(verdict="contradicted", chapter="cyclic_labels")
    assert visible(ledger) == expected != []
    expect(ledger.locator(".ledger-filters")).to_be_in_viewport()
    ledger.locator(".ledger-filters [type=reset]").click()
    ledger.locator("#hs-49").scroll_into_view_if_needed()
    expect(ledger.locator(".ledger-filters")).to_be_in_viewport()


def test_an_address_of_a_row_shows_it_though_a_filter_hides_it(page, site, ledger):
    page.goto(f"{site}/book/claims.html#heavy_tails")
    expect(page.locator("#heavy_tails")).to_be_in_viewport()
    ledger.locator(".ledger-filters [name=chapter]").select_option("cyclic_labels")
    ledger.evaluate("location.hash = '#lo-61'")
    expect(ledger.locator("#lo-61")).to_be_in_viewport()


def test_without_scripts_the_table_is_complete(opened, site):
    page = opened(java_script_enabled=False)
    page.goto(f"{site}/book/claims.html")
    assert page.locator(".ledger-filters").count() == 0
    assert page.locator("#ledger tr[data-verdict]").count() == len(ROWS)
    expect(page.locator(f"#{ROWS[-1].id.lower()}")).to_contain_text(ROWS[-1].verdict)


def test_text_stands_out_from_the_dark_ground(ledger):
    ledger.evaluate("document.documentElement.dataset.theme = 'dark'")
    colours = ledger.locator("#ledger td").first.evaluate(
        """node => {
          const shade = (colour) => Math.max(...colour.match(/[\\d.]+/g).slice(0, 3));
          let ground = node;
          while (/, 0\\)|transparent/.test(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
          return [shade(getComputedStyle(node).color), shade(getComputedStyle(ground).backgroundColor)];
        }"""
    )
    assert abs(colours[0] - colours[1]) > 120, colours


def downloaded(page: Page, name: str) -> bytes:
    """What the link of that name gives."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name, exact=True).first.click()
    return waiting.value.path().read_bytes()


def test_the_ledger_can_be_downloaded(ledger):
    whole = json.loads(downloaded(ledger, "claims.json"))
    assert [(one["id"], one["verdict"]) for one in whole["claims"]] == [(row.id, row.verdict) for row in ROWS]
    table = csv.DictReader(downloaded(ledger, "claims.csv").decode().splitlines())
    assert [row["finding"] for row in table] == [one["finding"] for one in whole["claims"]]
    assert whole["$schema"] == "claims.schema.json" and b"json-schema.org" in downloaded(ledger, "JSON schema")


def test_a_claim_has_a_page_that_works_from_a_disk(page, available):
    """From a row of the table to its claim's page, the data behind it, and the section that decides it."""
    page.goto((SITE / "book" / "claims.html").as_uri())
    page.locator("#cl-14").get_by_role("link", name="cite, rerun").click()
    expect(page).to_have_title("CL-14: partly - What shallow networks learn: an executable book")
    expect(page.locator("#cite")).to_contain_text("Claim CL-14.")
    expect(page.locator("#rerun")).to_contain_text("python -m shallow claim CL-14\n")
    assert page.locator(".claim-numbers tbody tr").count() > 5
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    whole = json.loads((SITE / "book" / "claims.json").read_text(encoding="utf-8"))
    data = downloaded(page, "data")
    assert hashlib.sha256(data).hexdigest() == whole["records"]["cyclic_labels/bumps/designs"]["sha256"]
    page.get_by_role("link", name="The section that decides it").click()
    expect(page).to_have_url(re.compile(r"/book/cyclic_labels/bumps\.html#cl-14$"))
    expect(page.locator("#cl-14")).to_be_attached()
