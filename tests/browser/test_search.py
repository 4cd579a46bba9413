"""The search finds sections and claims, with excerpts, by keyboard, served and from the disk."""

import pytest
from browser.conftest import SITE
from playwright.sync_api import Page, expect


def sought(page: Page, address: str, words: str) -> Page:
    page.goto(f"{address}/search.html?q={words}")
    expect(page.locator("p.search-summary")).to_contain_text("Search finished")
    return page


@pytest.mark.parametrize("place", ["served", "from the disk"])
def test_the_number_of_a_claim_finds_its_page(page, site, place):
    shown = sought(page, site if place == "served" else SITE.as_uri(), "CL-14")
    first = shown.locator("#search-results li li > a").first
    expect(first).to_contain_text("CL-14:")
    assert first.get_attribute("href") == "book/claims/CL-14.html"
    for excerpt in shown.locator("#search-results p.context").all_text_contents():
        assert excerpt and "Suggest edit" not in excerpt and "Binder" not in excerpt
    assert not any("CL-140" in text for text in shown.locator("#search-results mark").all_text_contents())


def test_sections_are_offered_and_opened_by_keyboard(page, site):
    shown = sought(page, site, "weight decay bumps")
    place = shown.get_by_role("link", name="Weight decay does not prevent bumps")
    place.press("Enter")
    page.wait_for_url("**/penalty.html*#*")
    heading = page.locator("article h2", has_text="Weight decay does not prevent bumps")
    expect(heading).to_be_in_viewport()


def test_other_forms_of_a_word_are_found_and_results_follow_typing(page, site):
    shown = sought(page, site, "symmetries")
    assert "symmetry" in {text.lower() for text in shown.locator("#search-results mark").all_text_contents()}
    shown.locator("#main-content input[name=q]").fill("gabor function")
    expect(shown.locator("#search-results ul.search")).to_contain_text("Gabor function")
    assert page.url.endswith("?q=gabor%20function")
    shown.locator("#main-content input[name=q]").fill("xyzzy")
    expect(shown.locator("p.search-summary")).to_have_text("Search finished: nothing has all these words.")


def test_only_the_page_of_the_search_loads_what_it_looks_through(page, site):
    page.goto(f"{site}/book/glossary.html")
    assert page.locator("script[src*=search_sections], script[src*=searchindex]").count() == 0
