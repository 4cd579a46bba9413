"""The laboratory of simplicity bias in Chromium, on a page from disk: it agrees with the library and obeys."""

import copy
import re

import matplotlib
import numpy as np
import pytest
from browser import laboratory_page
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import Page, expect

from experiments.simplicity_bias import drawing, laboratory

matplotlib.use("agg")

NAME = "simplicity_bias"
SETTINGS = [
    laboratory.settings(n=100, batch="32", margin=0.0, start="Gaussian", scale=0.01, steps=1000, seed=2**32 - 1),
    laboratory.settings(n=2000, width=16, scale=1e-4, noise=0.25, steps=1000, seed=7),
]
TRAIN = """(settings) => {
  const { compute, columns } = ShallowLab.models.simplicity_bias;
  const run = compute(ShallowLab.streams(), ShallowLab.plane()).start(settings), all = [run.values];
  while (!run.done) if (run.advance().values !== all[all.length - 1]) all.push(run.values);
  return Object.fromEntries(columns.map(([key]) => [key, all.map((one) => one[key])]));
}"""
chromium, presets, write, page = laboratory_page.fixtures(NAME, laboratory.recorded, drawing.first_preset, "cut")


def step(page: Page) -> int:
    """The step that is shown."""
    return int(re.match(r"step ([\d,]+)", page.locator(".lab-counter").text_content())[1].replace(",", ""))


def test_every_preset_opens_with_the_book_s_run_and_agrees_with_it(page, write, presets):
    page.goto(write())
    for preset in presets:
        press(page, preset["label"])
        recorded = status(page)
        assert recorded.startswith("The book's run. After step 10,000: 99 % of the network in ")
        said = train_to_the_end(page)
        same = recorded.removeprefix("The book's run. ")
        assert said.startswith(f"{same} Agrees with the book's run: yes, every number to ")
        assert float(re.search(r"number to (\S+) of its size or of 0.001", said)[1]) < 1e-12


def test_another_run_is_told_from_the_book_s(page, write, presets):
    changed = copy.deepcopy(presets[:1])
    changed[0]["run"]["values"]["test"][5] *= 1 + 2e-9
    page.goto(write(changed))
    assert train_to_the_end(page).endswith("Agrees with the book's run: no, from step 5.")


@pytest.mark.parametrize("chosen", SETTINGS)
def test_settings_train_as_the_library_does(page, write, chosen):
    page.goto(write())
    found, (wanted, _) = page.evaluate(TRAIN, chosen), laboratory.train(chosen)
    assert set(found) == set(wanted)
    assert all(np.allclose(found[name], wanted[name], rtol=1e-12, atol=1e-14) for name in wanted)


def test_run_pause_step_rewind_and_new_start(page, write):
    page.goto(write())
    page.get_by_label("steps", exact=True).select_option("300000")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    press(page, "Run")
    page.wait_for_function('document.querySelector(".lab-counter").textContent !== "step 0 of 300,000"')
    press(page, "Pause")
    page.wait_for_timeout(200)
    stopped = step(page)
    page.wait_for_timeout(400)
    assert 0 < stopped == step(page) < 300_000
    press(page, "Step")
    page.wait_for_function(f'!document.querySelector(".lab-counter").textContent.startsWith("step {stopped:,} ")')
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    for taken in (1, 2):
        press(page, "Step")
        expect(page.locator(".lab-status")).to_contain_text(f"After step {taken}:", timeout=30_000)
    press(page, "New start")
    expect(page.get_by_label("seed")).to_have_value("1")
    assert page.url.endswith("&steps=300000&batch=all&seed=1")


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
    page.goto("about:blank")
    page.go_back()
    expect(page.locator(".lab-python code")).to_have_text(program)
    assert train_to_the_end(page) == said


def test_what_the_controls_do_not_offer_is_left_out_of_the_address(page, write):
    page.goto(write() + "#lab=simplicity_bias&n=20&rate=0.2&scale=1&steps=17&noise=2")
    expect(page.get_by_label("learning rate")).to_have_attribute("aria-valuetext", "0.2")
    assert page.get_by_label("steps", exact=True).input_value() == "10000" and "n=20&" in page.url
    assert page.get_by_label("noise").input_value() == "0.09"


def test_everything_has_a_name_and_the_plots_have_words_and_a_table(page, write):
    page.goto(write())
    laboratory_page.check_words(page, rows=12)


def test_words_of_the_text_start_a_preset(page, write):
    page.goto(write())
    page.get_by_role("button", name="Try.").click()
    press(page, "To the end")
    page.wait_for_function('document.querySelector(".lab-run").textContent === "Run again"', timeout=60_000)
    assert "margin=0&" in page.url and "in 4 groups of neurons" in status(page)


def test_it_fits_a_phone_and_both_themes(page, write):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(write())
    laboratory_page.check_phone_and_themes(page)


def test_without_scripts_there_is_a_picture(chromium, write):
    opened = chromium.new_page(java_script_enabled=False)
    opened.goto(write())
    expect(opened.get_by_alt_text("The run.")).to_be_visible()
    opened.close()
