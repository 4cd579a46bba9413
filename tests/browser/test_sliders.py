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


def written(box: Locator) -> str:
    """The values that belong to the picture shown."""
    return box.locator("figcaption").text_content()


def check_keyboard_and_mouse(page: Page, box: Locator, slider: Locator) -> None:
    handle, track = slider.locator(".noUi-handle"), slider.locator(".noUi-target").bounding_box()
    handle.focus()
    page.keyboard.press("Home")
    first, values = picture(box), written(box)
    page.keyboard.press("ArrowRight")
    expect(box.locator("figcaption")).not_to_have_text(values)
    page.keyboard.press("Home")
    expect(box.locator("figcaption")).to_have_text(values)
    assert picture(box) == first
    grip = handle.bounding_box()
    page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] + 5, grip["y"], steps=5)
    page.mouse.up()
    expect(box.locator("figcaption")).not_to_have_text(values)
    assert picture(box) != first
    page.keyboard.press("Home")


def check_play(page: Page, box: Locator) -> None:
    """Play runs through the first slider; Stop goes back and ends the motion."""
    box.locator(".noUi-handle").first.focus()
    page.keyboard.press("Home")
    begin = last = written(box)
    box.get_by_role("button", name="Play").click()
    for _ in range(2):
        expect(box.locator("figcaption")).not_to_have_text(last, timeout=10_000)
        last = written(box)
    box.get_by_role("button", name="Stop").click()
    expect(box.locator("figcaption")).to_have_text(begin)
    page.wait_for_timeout(700)
    assert written(box) == begin


def check_names(box: Locator) -> None:
    """A screen reader hears what each handle moves and the value it stands at, and a text for the picture."""
    for slider in box.locator(".widget-slider").all():
        handle, readout = slider.locator(".noUi-handle"), slider.locator(".widget-readout")
        expect(handle).to_have_attribute("aria-label", slider.locator("label").text_content())
        expect(handle).to_have_attribute("aria-valuetext", readout.text_content())
        assert f"{slider.locator('label').text_content()} {readout.text_content()}" in written(box)
    assert len(box.locator("img").get_attribute("alt")) > 10


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_sliders_of_a_chapter_move_their_pictures(page, site, log, chapter):
    page.goto(f"{site}/{chapter.relative_to(references.ROOT).with_suffix('.html')}", wait_until="networkidle")
    page.locator(".shallow-sliders img").first.wait_for(timeout=60_000)
    boxes = page.locator(".shallow-sliders").all()
    assert len(boxes) == len(CALL.findall(chapter.read_text(encoding="utf-8")))
    for box in boxes:
        box.scroll_into_view_if_needed()
        check_names(box)
        for slider in box.locator(".widget-slider").all():
            check_keyboard_and_mouse(page, box, slider)
        check_play(page, box)
        check_names(box)
    assert log.clean(), log
