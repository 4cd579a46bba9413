"""Every page works in a browser with no network: no outside request, no error, mathematics, search, downloads."""

import re

import jupytext
import nbformat
import pytest
import references
from playwright.sync_api import Page, expect

from shallow.book import claims

PAGES = references.pages()
PHONE = {"width": 390, "height": 844}

# The outermost elements that reach beyond the right edge of the window.
TOO_WIDE = """() => {
  const wide = element => element.getBoundingClientRect().right > innerWidth + 1;
  const found = [...document.querySelectorAll("article *")].filter(e => wide(e) && !wide(e.parentElement));
  return found.slice(0, 5).map(e => e.outerHTML.slice(0, 200));
}"""
# Displayed equations that reach beyond their block, or to their number.
CLIPPED = """() => [...document.querySelectorAll("article div.math")].filter(block => {
  const equation = block.querySelector("mjx-math"), number = block.querySelector(".eqno");
  if (!equation || !block.clientWidth) return false;
  const room = block.clientWidth - (number ? number.offsetWidth : 0);
  return equation.getBoundingClientRect().width > room + 2;
}).map(block => block.id || block.innerText.slice(0, 80))"""


def source(name: str) -> str:
    """The Markdown of a page."""
    return (references.ROOT / f"{name}.md").read_text(encoding="utf-8")


def has_mathematics(name: str) -> bool:
    """Whether a page's prose, code and literal text aside, contains a formula between dollars."""
    prose = re.sub(r"^```\{code-cell\}.*?^```|`[^`\n]+`", "", source(name), flags=re.MULTILINE | re.DOTALL)
    return re.search(r"\$[^$\s][^$]*\$", prose) is not None


every_page = pytest.mark.parametrize("name", PAGES)
every_page_with_mathematics = pytest.mark.parametrize("name", list(filter(has_mathematics, PAGES)))


@every_page
def test_page_needs_nothing_from_outside(page, site, log, name):
    page.goto(f"{site}/{name}.html", wait_until="networkidle")
    expect(page.locator("article h1").first).to_be_visible()
    assert log.clean(), log


def typeset(page: Page) -> None:
    """Wait until MathJax, which loads after the page, has set all formulas."""
    page.wait_for_function("Boolean(window.MathJax?.startup?.promise)", timeout=60_000)
    page.evaluate("MathJax.startup.promise")


@every_page_with_mathematics
def test_mathematics_is_typeset_and_fits_its_column(page, site, name):
    page.goto(f"{site}/{name}.html")
    formulas = page.locator("article mjx-container")
    formulas.first.wait_for(state="attached", timeout=60_000)
    typeset(page)
    assert page.locator("article .math").count() <= formulas.count()
    assert page.locator("article mjx-merror").count() == 0
    # The fonts are those of the site: a visible formula has width.
    assert formulas.first.bounding_box()["width"] > 2
    page.evaluate("document.querySelectorAll('article details').forEach(fold => { fold.open = true; })")
    page.wait_for_timeout(500)
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize(("chapter", "term"), [("cyclic_labels", "bump"), ("localization", "Gabor")])
def test_search_finds_the_subject_of_a_chapter(page, site, log, chapter, term):
    """From the field of another page to the chapter, which shows where the term is."""
    name = f"book/{claims.documents()[chapter].paper}"
    page.goto(f"{site}/{PAGES[0]}.html")
    page.keyboard.press("Control+k")
    page.locator("input[type=search]:focus").fill(term)
    page.keyboard.press("Enter")
    summary = page.locator("#search-results p.search-summary, #search-results > p").first
    expect(summary).to_have_text(re.compile(r"Search finished"), timeout=30_000)
    assert 0 < page.locator("#search-results ul.search > li > a").count() < len(PAGES)
    # By keyboard: excerpts arrive late and push the links down, under a mouse that is about to click.
    page.locator(f"#search-results ul.search a[href*='{name}.html']").first.press("Enter")
    page.wait_for_url(f"{site}/{name}.html*", timeout=30_000)
    expect(page.locator("article h1").first).to_be_visible()
    assert term.lower() in page.locator("article").inner_text().lower()
    assert log.clean(), log


@every_page
def test_page_can_be_downloaded(page, site, name):
    page.goto(f"{site}/{name}.html")
    stem = name.rpartition("/")[2]
    links = page.locator("a.btn-download-source-button, a[href*='_sources/']")
    addresses = {link.get_attribute("href") for link in links.all()}
    text = page.request.get(f"{site}/_sources/{name}.md").text()
    assert any(address.endswith(f"{stem}.md") for address in addresses)
    assert text == source(name)
    if references.is_notebook(references.ROOT / f"{name}.md"):
        assert any(address.endswith(f"{stem}.ipynb") for address in addresses)
        notebook = nbformat.reads(page.request.get(f"{site}/_sources/{name}.ipynb").text(), as_version=4)
        nbformat.validate(notebook)
        expected = jupytext.reads(text, fmt="md:myst")
        first, *cells = [cell.source for cell in notebook.cells]
        assert "git clone" in first and cells == [cell.source for cell in expected.cells]


@every_page
def test_page_fits_a_phone(page, site, name):
    page.set_viewport_size(PHONE)
    page.goto(f"{site}/{name}.html", wait_until="networkidle")
    if has_mathematics(name):
        typeset(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], page.evaluate(TOO_WIDE)
