"""The laboratory of heavy tails in Chromium, on a page from disk: it agrees with the library, obeys, shows its laws."""

import copy

import matplotlib
import numpy as np
import pytest
from browser import laboratory_page
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import expect

from experiments.heavy_tails import drawing, laboratory
from shallow import stats

matplotlib.use("agg")

NAME = "heavy_tails"
SETTINGS = [
    laboratory.settings(optimiser="Adam", rate=0.32, update="text", labels="permuted", features="text", steps=4),
    laboratory.settings(rate=250.0, student="softplus", width=400, steps=3, seed=2**32 - 1),
]
TRAIN = """(settings) => {
  const { compute, columns } = ShallowLab.models.heavy_tails;
  const run = compute(ShallowLab.streams(), ShallowLab.algebra()).start(settings), all = [run.values];
  while (!run.done) { run.advance(); all.push(run.values); }
  return Object.fromEntries(columns.map(([key]) => [key, all.map((one) => one[key])]));
}"""


chromium, presets, write, page = laboratory_page.fixtures(NAME, laboratory.recorded, drawing.first_preset, "permuted")


def test_every_preset_opens_with_the_book_s_run_and_agrees_with_it(page, write, presets):
    page.goto(write())
    for preset in presets:
        press(page, preset["label"])
        recorded = status(page)
        assert recorded.startswith("The book's run. ")
        said = train_to_the_end(page)
        same = recorded.removeprefix("The book's run. ")
        assert said.startswith(f"{same} Agrees with the book's run: yes, every number to ")
        assert float(said.split(" to ")[-1].split()[0]) < 1e-12
    assert "exponent 3.98; the law of such matrices has 4.01" in said


def test_another_run_is_told_from_the_book_s(page, write, presets):
    changed = copy.deepcopy(presets[2:3])
    changed[0]["run"]["values"]["test"][1] *= 1 + 2e-9
    page.goto(write(changed))
    assert train_to_the_end(page).endswith("Agrees with the book's run: no, from step 1.")


@pytest.mark.parametrize("chosen", SETTINGS)
def test_settings_train_as_the_library_does(page, write, chosen):
    page.goto(write())
    found, (wanted, _) = page.evaluate(TRAIN, chosen), laboratory.train(chosen)
    assert set(found) == set(wanted)
    assert all(np.allclose(found[name], wanted[name], rtol=1e-9, atol=0) for name in wanted)


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
    page.goto("about:blank")
    page.go_back()
    expect(page.locator(".lab-python code")).to_have_text(program)
    assert train_to_the_end(page) == said


def test_the_axis_is_changed_without_a_new_run(page, write):
    page.goto(write())
    said, before = status(page), page.locator(".lab-plot canvas").first.screenshot()
    page.get_by_label("eigenvalues", exact=True).select_option("linear")
    assert status(page) == said and page.url.endswith("axis=linear")
    assert page.locator(".lab-plot canvas").first.screenshot() != before


def test_what_takes_too_long_is_refused_and_a_matrix_alone_has_two_plots(page, write):
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


def test_everything_has_a_name_and_the_plots_have_words_and_a_table(page, write):
    page.goto(write())
    laboratory_page.check_words(page, rows=11)


def test_words_of_the_text_start_a_preset(page, write):
    page.goto(write())
    page.get_by_role("button", name="Try.").click()
    page.wait_for_function('document.querySelector(".lab-run").textContent === "Run again"', timeout=60_000)
    assert "labels=permuted" in page.url and "Agrees with the book's run: yes" in status(page)


def test_it_fits_a_phone_and_both_themes(page, write):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(write())
    laboratory_page.check_phone_and_themes(page)
