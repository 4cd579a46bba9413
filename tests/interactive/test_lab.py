"""`make lab`: every page opens as a notebook, runs in the browser, and its sliders answer to a live kernel."""

import os
import re

import jupytext
import pytest
import references
from playwright.sync_api import Page, expect

ALL = os.environ.get("SHALLOW_INTERACTIVE") == "all"
SHORT = references.BOOK / "speed.md"  # prints, tables and figures within seconds
WITH_SLIDERS = references.BOOK / "one_network.md"
TIMEOUT = 60_000  # milliseconds for what the server or the kernel has to do; cells may take longer
LONG = 300_000


def open_notebook(page: Page, lab, path) -> None:
    page.goto(lab.url(path.relative_to(references.ROOT).as_posix()))
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Python 3 (ipykernel) | Idle", timeout=TIMEOUT)


def run_all(page: Page, path) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
    count = len(references.code_cells(jupytext.read(path)))
    expect(page.locator(".jp-CodeCell .jp-InputPrompt").last).to_have_text(f"[{count}]:", timeout=LONG)


def failed(page: Page) -> list[str]:
    """Tracebacks and dialogs on the screen."""
    return page.locator("[data-mime-type='application/vnd.jupyter.error'], .jp-Dialog").all_inner_texts()


@pytest.mark.parametrize("path", references.chapters() if ALL else [SHORT], ids=lambda path: path.stem)
def test_page_opens_as_a_notebook(lab, page, path):
    before = path.read_bytes()
    open_notebook(page, lab, path)
    cells = jupytext.read(path).cells
    expect(page.locator("#jp-main-statusbar")).to_contain_text(f"Cell 1/{len(cells)}")
    title = re.search(r"^# (.+)$", cells[0].source, re.MULTILINE)[1].replace("'", "’")  # as MyST sets it
    expect(page.locator(".jp-NotebookPanel h1").first).to_have_text(title)
    assert lab.kernels() == {path.name: "python3"}
    expect(page.locator(".jp-FileEditor")).to_have_count(0)
    assert failed(page) == [] and path.read_bytes() == before


def test_run_all_shows_every_output(lab, page):
    open_notebook(page, lab, SHORT)
    run_all(page, SHORT)
    expected = [len(cell.outputs) > 0 for cell in references.merge(SHORT).cells]
    outputs = [cell.locator(".jp-OutputArea-output").count() > 0 for cell in page.locator(".jp-CodeCell").all()]
    assert outputs == expected and any(expected) and failed(page) == []


@pytest.mark.skipif(not ALL, reason="trains networks in the lab: `make interactive`")
def test_sliders_draw_with_a_live_kernel(lab, page):
    open_notebook(page, lab, WITH_SLIDERS)
    run_all(page, WITH_SLIDERS)
    assert failed(page) == []
    for box in page.locator(".shallow-sliders").all():
        box.scroll_into_view_if_needed()
        picture, values = box.locator("img"), box.locator("figcaption")
        for slider in box.locator(".widget-slider").all():
            handle = slider.locator(".noUi-handle")
            handle.press("Home")
            expect(values).to_contain_text(slider.locator(".widget-readout").inner_text(), timeout=TIMEOUT)
            first, source = values.inner_text(), picture.get_attribute("src")
            handle.press("ArrowRight")
            expect(values).not_to_have_text(first, timeout=TIMEOUT)
            assert picture.get_attribute("src") != source
            handle.press("Home")
            expect(values).to_have_text(first, timeout=TIMEOUT)
            assert picture.get_attribute("src") == source
    assert failed(page) == []
