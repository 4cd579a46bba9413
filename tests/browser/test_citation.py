"""How a chapter is cited: its button in a browser, its entries, and what the heads of the built pages say."""

import re

import pdf
import pytest
import references
from browser.conftest import SITE
from browser.test_pages import axe  # noqa: F401
from playwright.sync_api import Page, expect
from pybtex.database import parse_string

PAGES = [references.pages()[0], *pdf.chapters()]
CHAPTER = "book/heavy_tails/index"


def the_panel(page: Page, address: str):
    """The panel of a page whose button has the focus."""
    page.goto(address, wait_until="domcontentloaded")  # nothing here needs pictures or scripts
    page.get_by_role("button", name="Cite", exact=True).focus()
    expect(page.locator("#cite-panel")).to_be_hidden()
    page.keyboard.press("Enter")
    return page.locator("#cite-panel")


def test_the_button_opens_and_closes_by_keyboard_and_gives_the_entries(page, site):
    panel = the_panel(page, f"{site}/{CHAPTER}.html")
    expect(panel).to_be_visible()
    page.keyboard.press("Tab")
    assert panel.evaluate("panel => panel.contains(document.activeElement)")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.get_by_role("button", name="Copy").click()
    expect(panel.locator("[data-tooltip='Copied!']")).to_be_attached()
    copied = parse_string(page.evaluate("navigator.clipboard.readText()"), "bibtex")
    assert len(copied.entries) == 2
    for kind, mark in (("BibTeX", "@incollection{shallow"), ("RIS", "TY  - CHAP")):
        with page.expect_download() as waiting:
            panel.get_by_role("link", name=kind).click()
        assert waiting.value.path().read_text(encoding="utf-8").startswith(mark)
        assert re.fullmatch(r"shallow\d{4}heavytails\.(bib|ris)", waiting.value.suggested_filename)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="Cite", exact=True)).to_be_focused()


@pytest.mark.parametrize("width", [1400, 390])
def test_the_panel_fits_its_window_and_can_be_read(page, site, axe, width):  # noqa: F811
    page.set_viewport_size({"width": width, "height": 844})
    panel = the_panel(page, f"{site}/{CHAPTER}.html")
    expect(panel).to_be_visible()
    box = panel.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] >= 0 and box["y"] + box["height"] <= 844
    button = page.get_by_role("button", name="Cite", exact=True).bounding_box()
    launch = page.locator(".article-header-buttons").bounding_box()
    assert button["y"] >= 0 and button["x"] + button["width"] <= launch["x"] + 1
    page.evaluate(axe)
    found = page.evaluate("axe.run({ include: [['#cite-panel'], ['.cite-button']] })")
    assert [one["id"] for one in found["violations"]] == [] and len(found["passes"]) > 5


def test_it_works_from_a_disk_without_scripts(opened):
    panel = the_panel(opened(java_script_enabled=False), (SITE / f"{CHAPTER}.html").as_uri())
    expect(panel).to_be_visible()
    text = panel.locator("pre").inner_text()
    assert text.strip() == (SITE / f"{CHAPTER}.bib").read_text(encoding="utf-8").strip()
    assert len(parse_string(text, "bibtex").entries) == 2


@pytest.mark.parametrize("name", PAGES)
def test_the_head_of_a_page_says_what_it_is(page, site, name):
    page.goto(f"{site}/{name}.html", wait_until="domcontentloaded")
    tags = page.locator("meta[name^='citation_']").evaluate_all("tags => tags.map(tag => [tag.name, tag.content])")
    said = dict(tags)
    assert said.keys() >= {"citation_title", "citation_author", "citation_publication_date", "citation_language"}
    heading = page.locator("h1").last.evaluate("title => title.textContent.replace(/^[\\d. ]+|#$/g, '')")
    assert heading in said["citation_title"]
    resolved = page.evaluate("link => new URL(link, location).pathname", said["citation_fulltext_html_url"])
    assert resolved.endswith(f"/{name}.html")


def test_the_foot_has_the_change_log_and_figures_the_cells_that_draw_them(page, site):
    page.goto(f"{site}/{CHAPTER}.html", wait_until="domcontentloaded")
    expect(page.locator("footer").get_by_role("link", name="Change log")).to_have_attribute(
        "href", re.compile("CHANGELOG.md$")
    )
    figures = page.locator(".cell_output figure[id]").count()
    cells = page.locator(".figure-data a:text-is('cell')").evaluate_all("links => links.map(link => link.href)")
    source = (references.ROOT / f"{CHAPTER}.md").read_text(encoding="utf-8").splitlines()
    assert len(cells) == figures == source.count("  figure:")
    assert all(re.search(rf"/blob/(main|[0-9a-f]{{40}})/{CHAPTER}\.md\?plain=1#L\d+$", link) for link in cells)
    lines = [int(link.rpartition("L")[2]) for link in cells]
    assert all("{code-cell}" in " ".join(source[max(line - 4, 0) : line]) for line in lines)
