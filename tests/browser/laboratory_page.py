"""A page with one laboratory, as the book has it, on disk, and a Chromium that must find no fault with it."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from browser.conftest import CHROMIUM, OPTIONS
from matplotlib.figure import Figure
from playwright.sync_api import Browser, Page, expect, sync_playwright

from shallow.book import laboratories


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium; without one, or without the script of the plots, the tests are skipped or fail."""
    missing = [] if CHROMIUM else ["no Chromium on PATH"]
    if not (laboratories.STATIC / laboratories.STYLES[0]).exists():
        missing.append("no uPlot in book/_static/vendor (run `make book`)")
    if missing:
        (pytest.fail if os.environ.get("SHALLOW_BROWSER") == "required" else pytest.skip)(" and ".join(missing))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


@contextlib.contextmanager
def watched(browser: Browser) -> Iterator[Page]:
    """An empty page; whatever it complains of is a fault."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    opened, faults = context.new_page(), []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    yield opened
    context.close()
    assert faults == []


def write(file: Path, name: str, presets: Sequence[dict], picture: Callable[[], Figure], tried: str) -> str:
    """Write the page and give its address; `tried` is the key of a preset that its text starts."""
    shown = laboratories.show(name, presets, picture=picture(), alt="The run.", inline=False)
    static = laboratories.STATIC.as_uri()
    links = [f'<link rel="stylesheet" href="{static}/{style}">' for style in laboratories.STYLES]
    links += [f'<script defer src="{static}/{script}"></script>' for script in laboratories.scripts(name)]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    start = f'<button type="button" class="lab-try" data-lab="{name}" data-preset="{tried}">Try.</button>'
    body = f'<p>{start}</p>{shown._repr_html_()}<p style="margin-top: 3000px">The end.</p>'
    page = f"<!DOCTYPE html><html><head>{head}{''.join(links)}</head><body>{body}</body></html>"
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


def fixtures(
    name: str, recorded: Callable[[], list[dict]], picture: Callable[[], Figure], tried: str
) -> tuple[Callable, Callable, Callable, Callable]:
    """For a module of tests: `chromium`, `presets` (what the page carries), `write` and `page`.

    `write(presets)` writes a page as the book has it and gives its address; `page` is an empty one.
    """

    @pytest.fixture(scope="module", name="chromium")
    def one_browser() -> Iterator[Browser]:
        with chromium() as opened:
            yield opened

    @pytest.fixture(scope="module")
    def presets() -> list[dict]:
        return recorded()

    @pytest.fixture(name="write")
    def written(tmp_path: Path, presets: list[dict]) -> Callable[..., str]:
        return lambda given=presets: write(tmp_path / "page.html", name, given, picture, tried)

    @pytest.fixture
    def page(chromium: Browser) -> Iterator[Page]:
        with watched(chromium) as opened:
            yield opened

    return one_browser, presets, written, page


def press(page: Page, name: str) -> None:
    """Press a button of the laboratory."""
    page.locator(".lab").get_by_role("button", name=name, exact=True).click()


def status(page: Page) -> str:
    """The line that says what happened."""
    return page.locator(".lab-status").text_content()


def train_to_the_end(page: Page) -> str:
    """Press Run, and To the end where that is not at once, and give what the laboratory says."""
    page.locator(".lab-run").click()
    end = page.locator(".lab").get_by_role("button", name="To the end", exact=True)
    end.evaluate("button => button.click()")  # which a run that is already over ignores
    page.wait_for_function('document.querySelector(".lab-run").textContent === "Run again"', timeout=60_000)
    return status(page)


def check_words(page: Page, rows: int) -> None:
    """Every plot has words, every field a name, and the curves stand in a table of `rows` rows."""
    said = status(page)
    for plot in page.locator(".lab-plot").all():
        assert plot.get_attribute("aria-label").endswith(said)
    for field in page.locator(".lab :is(input, select)").all():
        assert len(field.evaluate("field => field.labels[0].textContent")) > 3
    assert page.locator(".lab-status").get_attribute("aria-live") == "polite"
    assert page.locator(".lab-table tbody tr").count() == rows


def check_phone_and_themes(page: Page) -> None:
    """On a phone nothing is wider than the window, and the dark theme changes the plots."""
    expect(page.locator(".lab-plot canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    light = page.locator(".lab-plot canvas").last.screenshot()
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(200)
    assert page.locator(".lab-plot canvas").last.screenshot() != light
