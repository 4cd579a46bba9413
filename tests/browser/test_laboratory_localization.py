"""The laboratory of localised fields in Chromium, on a page from disk: it obeys its reader."""

import re

import pytest
from browser import laboratory_page
from browser.laboratory_page import check_agrees, open_preset, status, train_to_the_end
from playwright.sync_api import expect

from experiments.localization import laboratory

chromium, lab, presets, write, page = laboratory_page.fixtures("localization")


@pytest.fixture(scope="module")
def short() -> list[dict]:
    """Presets of the process, of two other tails and of a trained constant, a hundred steps of them."""
    chosen = ("two", "bumps_without_light", "constant")
    return [laboratory.preset(*one, to | {"steps": 100}) for *one, to in laboratory.PRESETS if one[0] in chosen]


def test_training_agrees_with_the_book_s_run(page, write, short):
    page.goto(write(short))
    for one in short:
        open_preset(page, one)
        recorded, said = status(page), train_to_the_end(page)
        assert re.search(r" [1-9][\d,]* steps a second\. Agrees", said)
        check_agrees(page, recorded, said, 1e-11)


def test_equal_classes_are_refused_and_what_is_not_offered_is_left_out(page, write):
    page.goto(write() + "#lab=localization&gain=0.5&steps=17&slow=1.5&rate=3")
    expect(page.get_by_role("slider", name="gain")).to_have_attribute("aria-valuetext", "0.5")
    assert page.get_by_label("steps", exact=True).input_value() == "1000" and "slow=1.5&" in page.url
    page.get_by_label("length, fast class").select_option("1.5")
    expect(page.locator(".lab-status")).to_have_text("The classes are equal: there is nothing to learn.")
    expect(page.locator(".lab-run")).to_be_disabled()
    page.get_by_label("tails, fast class").select_option("Gaussian")
    expect(page.locator(".lab-run")).to_be_enabled()


def test_a_trained_constant_is_told_and_stands_in_the_table(page, write, presets):
    page.goto(write())
    heads = page.locator(".lab-table thead th")
    assert "constant" not in status(page) and "constant" not in heads.all_text_contents()
    open_preset(page, next(preset for preset in presets if preset["key"] == "constant"))
    assert re.search(r"; constant 0\.\d\d\.$", status(page)) and "constant" in heads.all_text_contents()
