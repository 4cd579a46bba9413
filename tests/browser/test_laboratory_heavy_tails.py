"""The laboratory of heavy tails in Chromium, on a page from disk: its axis, its controls, its laws."""

from browser import laboratory_page
from browser.laboratory_page import press, status
from playwright.sync_api import expect

chromium, lab, presets, write, page = laboratory_page.fixtures("heavy_tails")


def test_the_axis_is_changed_without_a_new_run(page, write):
    page.goto(write())
    said, before = status(page), page.locator(".lab-plot canvas").first.screenshot()
    page.get_by_label("eigenvalues", exact=True).select_option("linear")
    assert status(page) == said and page.url.endswith("axis=linear")
    assert page.locator(".lab-plot canvas").first.screenshot() != before


def test_what_takes_too_long_is_refused_and_a_matrix_alone_has_two_plots(page, write, presets):
    page.goto(write() + "#lab=heavy_tails&width=2000&rate=17&steps=11")
    expect(page.locator(".lab-status")).to_contain_text("a step takes too long")
    expect(page.locator(".lab-run")).to_be_disabled()
    expect(page.get_by_label("learning rate")).to_have_attribute("aria-valuetext", "1")
    page.get_by_label("optimiser", exact=True).select_option("none")
    expect(page.locator(".lab-status")).to_contain_text("the law of such matrices has 4.87", timeout=30_000)
    expect(page.locator(".lab-plot:visible")).to_have_count(2)
    page.get_by_label("optimiser", exact=True).select_option("GD")
    page.get_by_role("combobox", name="neurons").select_option("200")
    expect(page.locator(".lab-plot:visible")).to_have_count(4)
    press(page, presets[-1]["label"])
    expect(page.locator(".lab-plot:visible")).to_have_count(2)
    assert "exponent 3.98; the law of such matrices has 4.01" in status(page)
