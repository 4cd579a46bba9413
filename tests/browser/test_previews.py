"""What links lead to, beside them: by pointer, keyboard and touch, from a disk; and legible links and figures."""

import re

import pytest
import references
from browser.conftest import SITE
from playwright.sync_api import expect

PAGE = "book/cyclic_labels/index.html"
BOX = ".preview"
# One address of each kind: a figure and an equation of the page, a statement and a section of another one, a work.
KINDS = {
    'a[href="#fig-mechanism"]': r"Fig\. 1\.\d+ The output",
    'a[href="#equation-eq-step"]': r"\(1\.2\)",
    'a[href="theory.html#thm-poor-cluster"]': r"Theorem 1\.1",
    'a[href="theory.html#sec-theory-trainer"]': r"Why an epoch costs so little\s*Full-batch descent",
    'a[href^="../bibliography.html#"]': r"Cash Bowman",
}


def link(page, selector):
    return page.locator(f"article {selector}.internal").first


@pytest.fixture
def story(page, site):
    page.goto(f"{site}/{PAGE}")
    page.wait_for_function("() => window.MathJax?.startup?.promise?.then(() => true)", timeout=60_000)
    return page


def test_the_pointer_shows_each_kind_and_can_go_into_it(story):
    for selector, text in KINDS.items():
        link(story, selector).hover()
        box = story.locator(BOX)
        expect(box).to_have_text(re.compile(text))
        expect(box).to_be_in_viewport(ratio=0.99)
        assert "\\(" not in box.inner_text()  # mathematics is set
        box.hover()
        story.wait_for_timeout(400)
        expect(box).to_be_visible()
        story.mouse.move(2, 2)
        expect(box).to_have_count(0)


def test_a_picture_is_there(story):
    link(story, 'a[href="#fig-mechanism"]').hover()
    picture = story.locator(f"{BOX} img")
    story.wait_for_function("picture => picture.complete && picture.naturalWidth > 100", arg=picture.element_handle())
    assert picture.get_attribute("alt")


def test_the_keyboard_opens_it_and_escape_closes_it(story):
    one = link(story, 'a[href="theory.html#sec-theory-trainer"]')
    story.evaluate("link => link.focus({ focusVisible: true })", one.element_handle())
    box = story.get_by_role("dialog", name="Preview: Why an epoch costs so little")
    expect(box).to_be_visible()
    assert one.get_attribute("aria-expanded") == "true"
    story.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(one).to_be_focused()
    story.keyboard.press("Shift+Tab")
    story.keyboard.press("Tab")
    expect(box).to_be_visible()
    story.keyboard.press("Tab")  # a preview has nothing to stop at
    expect(story.locator(BOX).get_by_text("Why an epoch costs so little")).to_have_count(0)


def test_a_tap_follows_the_link(opened, site):
    page = opened(has_touch=True)
    page.goto(f"{site}/{PAGE}")
    link(page, 'a[href="theory.html#sec-theory-trainer"]').tap()
    page.wait_for_url(re.compile(r"theory\.html#sec-theory-trainer$"))


def test_from_a_disk(page):
    page.goto((SITE / PAGE).as_uri())
    link(page, 'a[href="theory.html#thm-poor-cluster"]').hover()
    expect(page.locator(BOX)).to_contain_text("Theorem 1.1")


@pytest.mark.usefixtures("available")
@pytest.mark.parametrize("name", references.pages())
def test_each_page_carries_what_its_text_refers_to(name):
    """And loads what sets the mathematics of it."""
    text = (SITE / f"{name}.html").read_text(encoding="utf-8")
    carried = re.findall(r'<template data-preview="([^"]*)">(.*?)</template>', text, re.S)
    assert len(dict(carried)) == len(carried)
    assert not re.search(r' id="|<a\b', "".join(shown for _, shown in carried))
    if any('class="math' in shown for _, shown in carried):
        assert "equations.js" in text
    referred = re.findall(r'<a class="reference internal" href="([^"]*#(?:equation-|fig-|prop-|thm-)[^"]*)"', text)
    if not re.match(r"book/(claims|provenance|library)\b", name):
        assert set(referred) <= set(dict(carried))


def test_links_are_legible_wherever_they_stand(page, site):
    """One colour, also in tables and under the pointer."""
    page.goto(f"{site}/book/provenance.html")
    colours = "links => links.map(link => getComputedStyle(link).color)"
    assert len(set(page.locator("article td a").evaluate_all(colours))) == 1
    page.goto(f"{site}/{PAGE}")
    links = page.locator("article :is(p, td) > a.internal:not(.image-reference)")
    assert len(set(links.evaluate_all(colours))) == 1
    before = links.first.evaluate("link => getComputedStyle(link).color")
    links.first.hover()
    assert links.first.evaluate("link => getComputedStyle(link).color") == before


def test_a_figure_of_several_panels_is_legible_on_a_phone(page, site):
    """Its type is at least half as large as on a desk; it scrolls in its own box, the page does not."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/{PAGE}")
    shares = "pictures => pictures.map(picture => picture.clientWidth / picture.getAttribute('width'))"
    assert min(page.locator("article figure > a.image-reference > img").evaluate_all(shares)) > 0.5
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
