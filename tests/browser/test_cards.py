"""The card of a claim beside its mark: by pointer, keyboard and touch, on a phone, from a disk; and the way back."""

import re

import pytest
import references
from browser.conftest import SITE
from playwright.sync_api import expect

PAGE = "book/cyclic_labels/index.html"
CARD = ".claim-card"


def mark(page, id="CL-14"):
    return page.get_by_role("link", name=re.compile(rf"^claim {id}")).first


@pytest.fixture
def story(page, site):
    page.goto(f"{site}/{PAGE}")
    return page


def test_the_pointer_opens_and_leaves_it(story):
    mark(story).hover()
    card = story.locator(CARD)
    expect(card).to_contain_text("They say")
    expect(card).to_contain_text("We found:")
    expect(card).to_contain_text("reproduced")
    card.hover()
    story.wait_for_timeout(500)
    expect(card).to_be_visible()
    story.mouse.move(2, 2)
    expect(card).to_have_count(0)


def test_the_keyboard_goes_through_its_links_and_on(story):
    story.evaluate("mark => mark.focus({ focusVisible: true })", mark(story).element_handle())
    card = story.get_by_role("dialog", name="Claim CL-14")
    expect(card).to_be_visible()
    assert mark(story).get_attribute("aria-expanded") == "true"
    for name in ("evidence", "its own page"):
        story.keyboard.press("Tab")
        expect(card.get_by_role("link", name=name)).to_be_focused()
    story.keyboard.press("Tab")
    expect(story.get_by_role("dialog", name="Claim CL-14")).to_have_count(0)
    story.evaluate("mark => mark.focus({ focusVisible: true })", mark(story).element_handle())
    story.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(mark(story)).to_be_focused()


def test_a_tap_opens_it_and_a_second_one_follows(opened, site):
    page = opened(has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/{PAGE}")
    mark(page).tap()
    expect(page.locator(CARD)).to_be_visible()
    box = page.locator(CARD).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    mark(page).tap()
    page.wait_for_url(re.compile(r"bumps\.html#cl-14$"))


def test_from_a_disk_to_the_evidence_and_back_to_the_sentence(page):
    page.goto((SITE / PAGE).as_uri())
    mark(page).hover()
    page.locator(CARD).get_by_role("link", name="evidence").click()
    expect(page).to_have_url(re.compile(r"/bumps\.html#cl-14$"))
    page.locator("#cl-14 > .claim-back a, #does-a-lone-point-make-a-bump > .claim-back a").first.click()
    page.wait_for_url(re.compile(r"#cl-14-cited-\d+$"))
    expect(page.locator("a.claim:target")).to_be_in_viewport()


@pytest.mark.parametrize("name", references.pages())
def test_a_page_with_marks_has_a_legend_and_a_card_for_each(page, site, name):
    page.goto(f"{site}/{name}.html")
    marks = set(page.locator("a.claim").evaluate_all("marks => marks.map(mark => mark.id.split('-cited-')[0])"))
    cards = page.locator("template[data-card]").evaluate_all("cards => cards.map(card => card.dataset.card)")
    assert {id.upper() for id in marks} == set(cards)
    assert page.locator(".claim-legend").count() == bool(marks)
