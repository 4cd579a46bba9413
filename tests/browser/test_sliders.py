"""Sliders on the static page move the picture that the reader sees: by keyboard, by mouse, by Play; with no kernel."""

import re

import pytest
import references
from playwright.sync_api import Locator, Page, expect

CALL = re.compile(r"^sliders\.\w+\(", re.MULTILINE)
CHAPTERS = [path for path in references.chapters() if CALL.search(path.read_text(encoding="utf-8"))]


def picture(box: Locator) -> bytes:
    """The pixels that the reader sees of a set's one picture."""
    image = box.locator("img:visible")
    expect(image).to_have_count(1)
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    return image.screenshot(animations="disabled")


def caption(box: Locator) -> Locator:
    """The values that belong to the picture shown."""
    return box.locator("figure:not([hidden]) figcaption")


def check_keyboard_and_mouse(page: Page, box: Locator, slider: Locator) -> None:
    slider.focus()
    page.keyboard.press("Home")
    first, values = picture(box), caption(box).text_content()
    page.keyboard.press("ArrowRight")
    expect(caption(box)).not_to_have_text(values)
    page.keyboard.press("Home")
    expect(caption(box)).to_have_text(values)
    assert picture(box) == first
    track = slider.bounding_box()
    page.mouse.click(track["x"] + track["width"] - 5, track["y"] + track["height"] / 2)
    expect(caption(box)).not_to_have_text(values)
    assert picture(box) != first
    page.keyboard.press("Home")


def check_play(page: Page, box: Locator) -> None:
    """Play runs through the first slider, until it is stopped or at the end."""
    slider, play = box.locator("input").first, box.get_by_role("button")
    slider.focus()
    page.keyboard.press("Home")
    begin = caption(box).text_content()
    box.evaluate("box => { box.dataset.interval = 1000; }")  # time to stop it after one picture
    play.click()
    expect(play).to_have_text("Pause")
    expect(caption(box)).not_to_have_text(begin)
    play.click()
    expect(play).to_have_text("Play")
    page.wait_for_timeout(1200)
    assert slider.input_value() == "1"
    box.evaluate("box => { box.dataset.interval = 20; }")
    play.click()
    expect(play).to_have_text("Play")
    assert slider.input_value() == slider.get_attribute("max")


def check_names(box: Locator) -> None:
    """A screen reader hears what each slider moves and the value it stands at, and a text for the picture."""
    for slider in box.locator("label").all():
        name = slider.evaluate("label => label.firstChild.data.trim()")
        value = slider.locator(".sliders-value").text_content()
        expect(box.get_by_role("slider", name=name)).to_have_attribute("aria-valuetext", value)
        assert f"{name} {value}" in caption(box).text_content()
    assert len(box.locator("img:visible").get_attribute("alt")) > 10


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_sliders_of_a_chapter_move_their_pictures(page, site, chapter):
    page.goto(f"{site}/{chapter.relative_to(references.ROOT).with_suffix('.html')}")
    boxes = page.locator("div.shallow-sliders").all()
    assert len(boxes) == len(CALL.findall(chapter.read_text(encoding="utf-8")))
    for box in boxes:
        box.scroll_into_view_if_needed()
        check_names(box)
        for slider in box.locator("input").all():
            check_keyboard_and_mouse(page, box, slider)
        check_play(page, box)
        check_names(box)


def test_without_scripts_the_first_picture_stays_and_nothing_that_cannot_move_it(opened, site):
    page = opened(java_script_enabled=False)
    page.goto(f"{site}/{CHAPTERS[0].relative_to(references.ROOT).with_suffix('.html')}")
    box = page.locator("div.shallow-sliders").first
    expect(box.locator("img:visible")).to_have_count(1)
    expect(box.locator("input:visible")).to_have_count(0)
