"""The laboratory of simplicity bias in Chromium, on a page from disk: it obeys its reader."""

from browser import laboratory_page
from browser.laboratory_page import check_comes_back, train_to_the_end
from playwright.sync_api import expect

chromium, lab, presets, write, page = laboratory_page.fixtures("simplicity_bias")


def test_the_keyboard_changes_settings_and_the_address_keeps_them(page, write):
    page.goto(write())
    page.get_by_role("slider", name="points").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_label("margin").select_option("0.5")
    page.get_by_label("start", exact=True).select_option("Gaussian")
    page.get_by_label("steps", exact=True).select_option("1000")
    page.get_by_label("points in a batch").select_option("8")
    program, said = page.locator(".lab-python code").text_content(), train_to_the_end(page)
    assert "with_margin(rng, 500, 2, 0.5)" in program and "batch=8" in program and "nets.small(" in program
    assert "n=500&margin=0.5" in page.url and page.url.endswith("steps=1000&batch=8&seed=0")
    assert said.startswith("After step 1,000:") and "Agrees" not in said
    check_comes_back(page, program, said)


def test_what_the_controls_do_not_offer_is_left_out_of_the_address(page, write):
    page.goto(write() + "#lab=simplicity_bias&n=20&rate=0.2&scale=1&steps=17&noise=2")
    expect(page.get_by_label("learning rate")).to_have_attribute("aria-valuetext", "0.2")
    assert page.get_by_label("steps", exact=True).input_value() == "10000" and "n=20&" in page.url
    assert page.get_by_label("noise").input_value() == "0.09"
