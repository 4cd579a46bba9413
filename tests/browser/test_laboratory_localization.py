"""The laboratory of localised fields in Chromium, on a page from disk: it agrees with the library and obeys."""

import copy
import re

import matplotlib
import numpy as np
import pytest
from browser import laboratory_page
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import Page, expect

from experiments.localization import drawing, laboratory

matplotlib.use("agg")

NAME = "localization"
SETTINGS = [
    laboratory.settings(steps=100, batch="1000"),
    laboratory.settings(steps=100, kind="Gaussian twin", biases="from ±1/2", positive=0.25, seed=2**32 - 1),
    laboratory.settings(steps=100, kind="heavy-tailed twin", gain=0.4, width=8, rate=5, biases="held to signs"),
]
TRAIN = """(settings) => {
  const { compute } = ShallowLab.models.localization;
  const run = compute(ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.vectors()).start(settings);
  while (!run.done) run.advance();
  return run.weights().map((part) => [...part]);
}"""
chromium, presets, write, page = laboratory_page.fixtures(
    NAME, laboratory.recorded, drawing.laboratory_picture, "negative"
)


def step(page: Page) -> int:
    """The step that is shown."""
    return int(re.match(r"step ([\d,]+)", page.locator(".lab-counter").text_content())[1].replace(",", ""))


def without_pace(said: str) -> str:
    """What happened, without the steps in a second."""
    return re.sub(r" [\d,]+ steps a second\.", "", said)


def test_every_preset_opens_with_the_book_s_run(page, write, presets):
    page.goto(write())
    for preset in presets:
        press(page, preset["label"])
        assert status(page).startswith("The book's run. After step 1,000: ")
        assert status(page).count("inverse participation ratio") == (1 if preset["key"] == "negative" else 2)


@pytest.fixture(scope="module")
def short() -> list[dict]:
    """The presets of the process and its heavy-tailed twin, a hundred steps of them."""
    return [laboratory.preset(*one, chosen | {"steps": 100}) for *one, chosen in laboratory.PRESETS[::4]]


def test_training_agrees_with_the_book_s_run(page, write, short):
    page.goto(write(short))
    for one in short:
        press(page, one["label"])
        same, said = status(page).removeprefix("The book's run. "), train_to_the_end(page)
        assert re.search(r" [1-9][\d,]* steps a second\. Agrees", said)
        assert without_pace(said).startswith(f"{same} Agrees with the book's run: yes, every number to ")
        assert float(re.search(r"number to (\S+) of its size or of 0.001", said)[1]) < 1e-11


def test_another_run_is_told_from_the_book_s(page, write, short):
    changed = copy.deepcopy(short[:1])
    changed[0]["run"]["values"]["ipr_plus"][5] *= 1 + 2e-8
    page.goto(write(changed))
    assert train_to_the_end(page).endswith("Agrees with the book's run: no, from step 5.")


@pytest.mark.parametrize("chosen", SETTINGS)
def test_settings_train_as_the_library_does(page, write, chosen):
    page.goto(write())
    W, b = page.evaluate(TRAIN, chosen)
    last = laboratory.train(chosen).last
    assert np.abs(np.reshape(W, last.W[0].shape) - last.W[0]).max() < 1e-12
    assert np.abs(b - last.b[0]).max() < 1e-12


def test_run_pause_step_rewind_and_new_start(page, write):
    page.goto(write())
    page.get_by_label("steps (the book's: 2000)").select_option("4000")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    press(page, "Run")
    page.wait_for_function('document.querySelector(".lab-counter").textContent !== "step 0 of 4,000"')
    press(page, "Pause")
    page.wait_for_timeout(500)
    stopped = step(page)
    page.wait_for_timeout(400)
    assert 0 < stopped == step(page) < 4000
    press(page, "Step")
    page.wait_for_function(f'!document.querySelector(".lab-counter").textContent.startsWith("step {stopped:,} ")')
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    for taken in (1, 2):
        press(page, "Step")
        expect(page.locator(".lab-status")).to_contain_text(f"After step {taken}:", timeout=30_000)
    press(page, "New start")
    expect(page.get_by_label("seed")).to_have_value("1")
    assert page.url.endswith("&seed=1&rate=20&steps=4000&batch=200")


def test_the_keyboard_changes_settings_and_the_address_keeps_them(page, write):
    page.goto(write())
    page.get_by_role("slider", name="gain").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_label("kind of data").select_option("heavy-tailed twin")
    page.get_by_label("biases", exact=True).select_option("held to signs")
    page.get_by_label("share of +").select_option("0.25")
    page.get_by_label("batch (the book's: 1000)").select_option("40")
    page.get_by_label("steps (the book's: 2000)").select_option("100")
    program, said = page.locator(".lab-python code").text_content(), train_to_the_end(page)
    assert 'networks.pair(2, lengths=(2, 1), tails="heavy")' in program and "bounds=bounds" in program
    assert "kind=heavy-tailed+twin&gain=2&" in page.url and page.url.endswith("steps=100&batch=40")
    assert said.startswith("After step 100:") and "Agrees" not in said
    page.goto("about:blank")
    page.go_back()
    expect(page.locator(".lab-python code")).to_have_text(program)
    assert without_pace(train_to_the_end(page)) == without_pace(said)


def test_equal_classes_are_refused_and_what_is_not_offered_is_left_out(page, write):
    page.goto(write() + "#lab=localization&gain=0.5&steps=17&slow=1.5&rate=3")
    expect(page.get_by_role("slider", name="gain")).to_have_attribute("aria-valuetext", "0.5")
    assert page.get_by_label("steps (the book's: 2000)").input_value() == "1000" and "slow=1.5&" in page.url
    page.get_by_label("length, class −1").select_option("1.5")
    expect(page.locator(".lab-status")).to_have_text("The classes are equal: there is nothing to learn.")
    expect(page.locator(".lab-run")).to_be_disabled()


def test_everything_has_a_name_and_the_plots_have_words_and_a_table(page, write):
    page.goto(write())
    laboratory_page.check_words(page, rows=12)


def test_words_of_the_text_start_a_preset(page, write):
    page.goto(write())
    page.get_by_role("button", name="Try.").click()
    press(page, "To the end")
    page.wait_for_function('document.querySelector(".lab-run").textContent === "Run again"', timeout=120_000)
    assert "Agrees with the book's run: yes" in status(page)
    assert "offset=0.5&" in page.url and "40 negative biases" in status(page) and "no positive bias" in status(page)


def test_it_fits_a_phone_and_both_themes(page, write):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(write())
    laboratory_page.check_phone_and_themes(page)


def test_without_scripts_there_is_a_picture(chromium, write):
    opened = chromium.new_page(java_script_enabled=False)
    opened.goto(write())
    expect(opened.get_by_alt_text("The run.")).to_be_visible()
    opened.close()
