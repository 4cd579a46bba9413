"""Every page works in a browser with no network: no outside request, no error, mathematics, downloads, for everybody.

Each page is opened once: its tests go on from one another, on a desk, then on a phone, then on a desk again.
"""

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

import downloads
import jupytext
import nbformat
import pytest
import references
import vendor
from browser.conftest import DESK, SITE, Log, watched
from playwright.sync_api import Browser, Page, expect

from shallow.book import laboratories

NPM = references.ROOT / "_build" / "npm"
PHONE = {"width": 390, "height": 844}
HEAVIEST = 3e6  # bytes
# What axe calls these is a hindrance for somebody: nothing of it may be on a page.
SERIOUS = ("serious", "critical")
# The theme's own doing, on every page alike: (rule, part of the faulty element).
OF_THE_THEME = (
    ("label-content-name-mismatch", "search-button__button"),
    ("label-content-name-mismatch", "theme-switch-button"),
    ("label-content-name-mismatch", "Toggle hidden content"),
    ("aria-required-children", "citation-list"),
)

# What the browser has fetched for this page alone: itself and its pictures, not the scripts and fonts of all pages.
FETCHED = """() => performance.getEntries()
  .filter(e => e.entryType === "navigation" || (e.initiatorType === "img" && e.name.includes("/_images/")))
  .reduce((sum, e) => sum + e.decodedBodySize, 0)"""
# The scripts of laboratories that the page loads.
LOADED = """() => [...document.scripts]
  .map(one => one.src.match(/_static\\/((?:lab|vendor\\/uplot)\\/[^?]*)/)?.[1]).filter(Boolean)"""
# Until the browser has shown what was changed, and what the scripts of the page then do; after a change of the window's
# size headless Chromium sometimes never asks for the next frame.
SETTLED = """() => Promise.race([new Promise(done => setTimeout(done, 5000)),
  new Promise(done => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done))))])"""
# Words of the text, without code, in which a dollar sign would be mathematics that nobody has set.
TEXT = """() => { const text = document.querySelector("article").cloneNode(true);
  text.querySelectorAll("pre, code, script, mjx-container").forEach(one => one.remove()); return text.textContent; }"""
# Most of a page's elements, all alike for axe: what formulas consist of, and the later rows of long tables.
THINNED = """() => {
  document.querySelectorAll("mjx-math, mjx-assistive-mml").forEach(formula => formula.replaceChildren());
  document.querySelectorAll("article tbody > tr:nth-child(n + 20)").forEach(row => row.remove());
}"""
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


@dataclass
class Shown:
    """A page of the site in its window, and what it did while it was loaded."""

    name: str
    page: Page
    log: Log

    @property
    def source(self) -> str:
        """The Markdown of the page."""
        return (references.ROOT / f"{self.name}.md").read_text(encoding="utf-8")

    def has_mathematics(self) -> bool:
        """Whether the prose, code and literal text aside, contains a formula between dollars."""
        prose = re.sub(r"^```\{code-cell\}.*?^```|`[^`\n]+`", "", self.source, flags=re.MULTILINE | re.DOTALL)
        return re.search(r"\$[^$\s][^$]*\$", prose) is not None


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, Log]]:
    """One for all pages, as a reader has: it keeps the scripts that they share, half of what opening one costs."""
    with browser.new_context() as window:
        yield watched(page := window.new_page(), log := Log()), log
        page.close()


@pytest.fixture(scope="module", params=references.pages())
def shown(request, tab: tuple[Page, Log], site: str) -> Shown:
    """Each page, opened, its formulas set."""
    page, log = tab
    page.goto("about:blank")  # what the page before still does is no fault of this one
    log.forget()
    page.set_viewport_size(DESK)
    page.goto(f"{site}/{request.param}.html")
    if page.locator("script[src*=mathjax]").count():
        page.wait_for_function("() => window.MathJax?.startup?.promise?.then(() => true)", timeout=60_000)
    return Shown(request.param, page, log)


@pytest.fixture(scope="session")
def axe(available) -> str:
    """The source of axe-core in the version that `package.json` pins, fetched once into _build/npm."""
    wanted = json.loads((references.ROOT / "package.json").read_text(encoding="utf-8"))["testing"]["axe-core"]
    source = NPM / f"axe-{wanted['version']}.js"
    if not source.exists():
        NPM.mkdir(parents=True, exist_ok=True)
        archive = vendor.fetch("axe-core", wanted["version"], wanted["integrity"], NPM)
        with tarfile.open(archive) as tar:
            source.write_bytes(tar.extractfile("package/axe.min.js").read())
        archive.unlink()
    return source.read_text(encoding="utf-8")


def test_page_is_light(shown):
    fetched = shown.page.evaluate(FETCHED)
    assert (SITE / f"{shown.name}.html").stat().st_size <= fetched <= HEAVIEST


def test_page_loads_the_scripts_of_its_own_laboratory(shown):
    own = [one.get_attribute("data-laboratory") for one in shown.page.locator(".shallow-lab").all()]
    assert shown.page.evaluate(LOADED) == [script for name in own for script in laboratories.scripts(name)]


def test_page_can_be_downloaded(shown, site):
    stem = shown.name.rpartition("/")[2]
    links = shown.page.locator("a.btn-download-source-button, a[href*='_sources/']")
    addresses = {link.get_attribute("href") for link in links.all()}
    text = shown.page.request.get(f"{site}/_sources/{shown.name}.md").text()
    assert any(address.endswith(f"{stem}.md") for address in addresses)
    assert text == shown.source
    if references.is_notebook(references.ROOT / f"{shown.name}.md"):
        assert any(address.endswith(f"{stem}.ipynb") for address in addresses)
        notebook = nbformat.reads(shown.page.request.get(f"{site}/_sources/{shown.name}.ipynb").text(), as_version=4)
        nbformat.validate(notebook)
        expected = jupytext.reads(text, fmt="md:myst")
        assert "git clone" in notebook.cells[0].source
        code, expected_code = ([one.source for one in references.code_cells(all)] for all in (notebook, expected))
        assert code == expected_code
        words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        assert not any(downloads.ROLE.search(source) for source in words)
        captions = sum("caption" in cell.metadata.get("mystnb", {}).get("figure", {}) for cell in expected.cells)
        assert len(notebook.cells) == len(expected.cells) + 1 + captions


def test_mathematics_is_typeset_and_fits_its_column(shown):
    formulas = shown.page.locator("article mjx-container")
    if shown.has_mathematics():  # the fonts are those of the site: a visible formula has width
        assert formulas.first.bounding_box()["width"] > 2
    assert shown.page.locator("mjx-merror, article .math:not(:has(mjx-container))").count() == 0
    assert "$" not in shown.page.evaluate(TEXT)
    shown.page.evaluate("document.querySelectorAll('article details').forEach(fold => { fold.open = true; })")
    shown.page.evaluate(SETTLED)
    assert shown.page.evaluate(CLIPPED) == []


def test_page_fits_a_phone(shown):
    """With everything unfolded."""
    shown.page.set_viewport_size(PHONE)
    shown.page.evaluate(SETTLED)
    width = shown.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"], shown.page.evaluate(TOO_WIDE)


def hindrances(page: Page, axe: str, *, colours: bool = True) -> list[tuple[str, str]]:
    """What axe finds serious on a page, thinned: rule and element.

    Contrast and links told by colour alone, most of axe's time, are looked at only with `colours`.
    """
    page.evaluate(THINNED)
    page.evaluate(axe)
    rules = {rule: {"enabled": colours} for rule in ("color-contrast", "link-in-text-block")}
    options = {"resultTypes": ["violations"], "rules": rules}
    found = page.evaluate("options => axe.run(document, options)", options)
    assert found["passes"]
    return [
        (fault["id"], node["html"][:160])
        for fault in found["violations"]
        if fault["impact"] in SERIOUS
        for node in fault["nodes"]
        if not any(fault["id"] == rule and part in node["html"] for rule, part in OF_THE_THEME)
    ]


def test_axe_finds_nothing_serious(shown, axe):
    """With everything unfolded, on a desk again.  Evidence and library have the colours of the papers."""
    shown.page.set_viewport_size(DESK)
    evidence = shown.name.count("/") > 1 and not shown.name.endswith(("/index", "/theory"))
    assert hindrances(shown.page, axe, colours=not evidence) == []


def test_page_needs_nothing_from_outside(shown):
    """Whatever was done with it."""
    expect(shown.page.locator("article h1").first).to_be_visible()
    assert shown.log.clean(), shown.log


def test_axe_finds_nothing_serious_on_a_claim_s_page(page, site, axe):
    page.goto(f"{site}/book/claims/CL-14.html")
    assert hindrances(page, axe) == []


#: A link and what stands beside it: a claim's card, and a preview that scrolls, so that it must be reached by keyboard.
BESIDE = [("a.claim", ".claim-card"), ('article a[href="theory.html#thm-poor-cluster"].internal', ".preview[tabindex]")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("link", "beside"), BESIDE)
def test_axe_finds_nothing_serious_beside_a_link(page, site, axe, theme, link, beside):
    page.add_init_script(f"localStorage.setItem('theme', '{theme}'); localStorage.setItem('mode', '{theme}');")
    page.goto(f"{site}/book/cyclic_labels/index.html")
    page.locator(link).first.hover()
    expect(page.locator(beside)).to_be_visible()
    assert hindrances(page, axe) == []
