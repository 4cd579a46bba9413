"""The laboratory of heavy tails in Chromium, on a page from disk: its draws, its controls, its laws."""

import numpy as np
from browser import laboratory_page
from browser.laboratory_page import check_comes_back, press, status, train_to_the_end
from playwright.sync_api import expect

from shallow import stats

chromium, lab, presets, write, page = laboratory_page.fixtures("heavy_tails")


def test_draws_are_numpy_s(page, write):
    page.goto(write())
    drawn = page.evaluate('[...ShallowLab.streams().named("heavy tails", 0, "student").normal(100000)]')
    wanted = stats.stream("heavy tails", 0, "student").standard_normal(100_000)
    assert np.abs(np.array(drawn) / wanted - 1).max() < 1e-13


def test_steps_one_at_a_time_rewind_and_a_new_start(page, write):
    page.goto(write())
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    for step in (1, 2):
        press(page, "Step")
        expect(page.locator(".lab-status")).to_contain_text(f"After step {step}:", timeout=30_000)
        expect(page.locator(".lab-counter")).to_have_text(f"step {step} of 10")
    press(page, "New start")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    expect(page.get_by_label("seed")).to_have_value("1")
    assert "Agrees" not in status(page)


def test_the_keyboard_changes_settings_and_the_address_keeps_them(page, write):
    page.goto(write())
    page.get_by_label("learning rate").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("learning rate")).to_have_attribute("aria-valuetext", "1.3")
    page.get_by_role("slider", name="steps").fill("1")
    page.get_by_label("labels", exact=True).select_option("permuted")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    program, said = page.locator(".lab-python code").text_content(), train_to_the_end(page)
    assert "trainer.step(1.3)" in program and '"permuted").permutation(y)' in program
    assert "rate=1.3&steps=1&labels=permuted" in page.url
    assert said.startswith("After step 1:") and "(predicted: " in said
    check_comes_back(page, program, said)


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
