"""The first page: what it opens with fits a screen, and its laboratory trains a network there."""

import pytest
import references
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import Page, expect

FIRST = references.pages()[0]
SCREEN = {"width": 1280, "height": 800}
# What the plot of the losses shows, as pixels.
INK = """() => [...document.querySelectorAll(".lab-plot canvas")].pop().toDataURL()"""


@pytest.fixture
def first(page: Page, site: str) -> Page:
    """The first page on a screen of 1280 x 800, its laboratory in place."""
    page.set_viewport_size(SCREEN)
    page.goto(f"{site}/{FIRST}.html")
    expect(page.locator(".lab-plot canvas").last).to_be_visible()
    return page


def test_the_first_screen_holds_the_answer_and_the_laboratory(first):
    bottom = "element => element.getBoundingClientRect().bottom"
    assert first.get_by_text("In short:").evaluate(bottom) < SCREEN["height"]
    assert first.locator(".lab-run").evaluate(bottom) < SCREEN["height"]
    assert first.locator(".lab-key").first.evaluate(bottom) < SCREEN["height"]
    assert first.evaluate("document.querySelectorAll('article .lab').length") == 1


def test_it_trains_the_book_s_runs_again_to_the_last_bit(first):
    press(first, "Back to 0")
    expect(first.locator(".lab-status")).to_contain_text("Step 0:")
    start = first.evaluate(INK)
    said = train_to_the_end(first)
    assert said.startswith("Step 20,000: training loss ") and "and the test loss comes down again" in said
    assert said.endswith("Identical to the book's run: yes, to the last bit.")
    assert first.evaluate(INK) != start
    first.get_by_role("button", name="deal the points evenly").click()
    expect(first.locator(".lab-status")).to_contain_text("Identical to the book's run: yes", timeout=60_000)
    assert "no bump of the test loss" in status(first)


def test_the_keyboard_runs_it(first):
    run = first.locator(".lab-run")
    first.keyboard.press("Tab")
    for _ in range(200):
        if run.evaluate("button => button === document.activeElement"):
            break
        first.keyboard.press("Tab")
    expect(run).to_be_focused()
    first.keyboard.press("Enter")
    first.wait_for_function("""document.querySelector(".lab-run").textContent === "Pause" """, timeout=30_000)
    first.keyboard.press("Enter")
    expect(run).not_to_have_text("Pause")
