"""A page with one laboratory, as the book has it, on disk, and a Chromium that must find no fault with it."""

import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import pytest
from browser.conftest import CHROMIUM, OPTIONS, Log, watched
from matplotlib.figure import Figure
from playwright.sync_api import Browser, Page, sync_playwright

from shallow.book import laboratories

matplotlib.use("agg")

#: The laboratories, and the preset that the text of the page starts.
TRIED = {
    "cyclic_labels": "balanced",
    "heavy_tails": "permuted",
    "hidden_structure": "frozen",
    "localization": "negative",
    "simplicity_bias": "cut",
}


@functools.cache
def recorded(name: str) -> list[dict]:
    """What the page of a laboratory carries."""
    return importlib.import_module(f"experiments.{name}.laboratory").recorded()


def markup(name: str, presets: list[dict], more: str = "") -> str:
    """A page with one laboratory, `more` in its head."""
    shown = laboratories.show(name, presets, picture=Figure(), alt="The run.", inline=False)
    static = laboratories.STATIC.as_uri()
    links = [f'<link rel="stylesheet" href="{static}/{style}">' for style in laboratories.STYLES]
    links += [f'<script defer src="{static}/{script}"></script>' for script in laboratories.scripts(name)]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    start = f'<button type="button" class="lab-try" data-lab="{name}" data-preset="{TRIED[name]}">Try.</button>'
    body = f'<p>{start}</p>{shown._repr_html_()}<p style="margin-top: 3000px">The end.</p>'
    column = f'<main style="max-width: 784px; margin: auto">{body}</main>'  # as wide as the book's on a desk
    return f"<!DOCTYPE html><html lang=en><head>{head}{more}{''.join(links)}</head><body>{column}</body></html>"


def fixtures(*names: str) -> tuple[Callable, ...]:
    """For a module of tests of these laboratories: `chromium`, `lab` (the name), `presets`, `write` and `page`.

    `write(presets, more)` writes a page as the book has it, `more` in its head, and gives its address; `page` is an
    empty one, which must complain of nothing.  Without Chromium, or without the script of the plots, the tests are
    skipped or fail.
    """

    @pytest.fixture(scope="module")
    def chromium() -> Iterator[Browser]:
        missing = [] if CHROMIUM else ["no Chromium on PATH"]
        if not (laboratories.STATIC / laboratories.STYLES[0]).exists():
            missing.append("no uPlot in book/_static/vendor (run `make book`)")
        if missing:
            (pytest.fail if os.environ.get("SHALLOW_BROWSER") == "required" else pytest.skip)(" and ".join(missing))
        with sync_playwright() as playwright:
            yield (opened := playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS))
            opened.close()

    @pytest.fixture(scope="module", params=names)
    def lab(request) -> str:
        return request.param

    @pytest.fixture(scope="module")
    def presets(lab: str) -> list[dict]:
        return recorded(lab)

    @pytest.fixture
    def write(tmp_path: Path, lab: str) -> Callable[..., str]:
        def written(presets: list[dict] | None = None, more: str = "") -> str:
            file = tmp_path / "page.html"
            file.write_text(markup(lab, presets or recorded(lab), more), encoding="utf-8")
            return file.as_uri()

        return written

    @pytest.fixture
    def page(chromium: Browser) -> Iterator[Page]:
        context = chromium.new_context(viewport={"width": 1280, "height": 1000})
        yield watched(context.new_page(), log := Log())
        context.close()
        assert log.clean(), log

    return chromium, lab, presets, write, page


def press(page: Page, name: str) -> None:
    """Press a button of the laboratory."""
    page.locator(".lab").get_by_role("button", name=name, exact=True).click()


def open_preset(page: Page, preset: dict) -> None:
    """Choose a preset and have its answer shown, the book's run."""
    press(page, preset["label"])
    if page.locator(".lab-answer:visible").count():
        page.locator(".lab-answer:visible").click()


def status(page: Page) -> str:
    """The line that says what happened."""
    return page.locator(".lab-status").text_content()


def position(page: Page) -> int:
    """The epoch or step that is shown."""
    return int(re.match(r"\w+ ([\d,]+)", page.locator(".lab-counter").text_content())[1].replace(",", ""))


def without_pace(said: str) -> str:
    """What happened, without the steps in a second, which one laboratory tells."""
    return re.sub(r" [\d,]+ steps a second\.", "", said)


def to_the_end(page: Page) -> str:
    """Press To the end where the run is not at once, and give what the laboratory says."""
    end = page.locator(".lab").get_by_role("button", name="To the end", exact=True)
    end.evaluate("button => button.click()")  # which a run that is already over ignores
    page.wait_for_function('document.querySelector(".lab-run").textContent === "Run again"', timeout=120_000)
    return status(page)


def train_to_the_end(page: Page) -> str:
    """Press Run and give what the laboratory says in the end."""
    page.locator(".lab-run").click()
    return to_the_end(page)


def check_agrees(page: Page, recorded: str, said: str, most: float) -> None:
    """What is said of a run is what was said of the book's, whose numbers are as near as `most`."""
    same = recorded.removeprefix("The book's run. ")
    assert without_pace(said).startswith(f"{same} Agrees with the book's run to "), said
    apart = float(page.locator(".lab-status").get_attribute("data-apart"))
    digits = int(re.search(r"to (\d+) digits", said)[1])
    assert apart < most and apart <= 10.0**-digits
