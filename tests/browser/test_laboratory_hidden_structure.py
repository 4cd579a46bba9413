"""The laboratory of hidden structure in Chromium, on a page from disk: it agrees with the library and obeys."""

import copy
import re

import matplotlib
import numpy as np
import pytest
from browser import laboratory_page
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import Page, expect

from experiments.hidden_structure import drawing, laboratory

matplotlib.use("agg")

NAME = "hidden_structure"
SETTINGS = [
    laboratory.settings(dimension=3, points=10, depth=5, width=8, rate=0.01, epochs=40, loss="logit", networks=20),
    laboratory.settings(dimension=7, points=10, depth=3, width=32, rate=0.001, epochs=10, seed=0),
    laboratory.polynomial(inputs=100, samples=2000, degree=8, width=64, epochs=10),
    laboratory.polynomial(inputs=20, samples=1000, degree=7, width=8, epochs=20, first="5 epochs", seed=2**32 - 1),
]
TRAIN = """(settings) => {
  const { compute, columns, needs } = ShallowLab.models.hidden_structure;
  const run = compute(...needs.map((name) => ShallowLab[name]())).start(settings), all = [run.values];
  while (!run.done) if (run.advance().values !== all[all.length - 1]) all.push(run.values);
  const values = Object.fromEntries(columns.map(([key]) => [key, all.map((one) => one[key])]));
  return { values, theta: run.weights().map((one) => [...one]) };
}"""
chromium, presets, write, page = laboratory_page.fixtures(NAME, laboratory.recorded, drawing.first_preset, "frozen")


def epoch(page: Page) -> int:
    """The epoch that is shown."""
    return int(re.match(r"epoch ([\d,]+)", page.locator(".lab-counter").text_content())[1].replace(",", ""))


def plots(page: Page) -> list[str]:
    """Titles of the plots that are seen."""
    return [one.text_content() for one in page.locator(".lab-plots figure:not([hidden]) figcaption").all()]


def test_every_preset_opens_with_the_book_s_run_and_two_agree_with_it(page, write, presets):
    """One of each experiment; the others are trained to the end in Node, whose engine is Chromium's."""
    page.goto(write())
    for preset in presets:
        press(page, preset["label"])
        recorded = status(page)
        assert recorded.startswith(f"The book's run. After epoch {preset['settings']['epochs']}: ")
        if preset["key"] not in ("plane", "cubic"):
            continue
        said = train_to_the_end(page)
        same = recorded.removeprefix("The book's run. ")
        assert said.startswith(f"{same} Agrees with the book's run: yes, every number to "), said
        assert float(re.search(r"number to (\S+) of its size or of 0.001", said)[1]) < 1e-9


def test_twenty_networks_are_dots_and_their_first_epochs_agree(page, write, presets):
    (twenty,) = (preset for preset in presets if preset["key"] == "twenty")
    page.goto(write())
    press(page, twenty["label"])
    assert "14 of 20 networks are at chance, 3 right on 90 % or more" in status(page)
    assert plots(page)[0].startswith("Twenty networks") and "Accuracy in every orthant" not in plots(page)
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=60_000)
    for done in (1, 2):
        press(page, "Step")
        expect(page.locator(".lab-status")).to_contain_text(f"After epoch {done}:", timeout=60_000)
    loss, empty = (twenty["run"]["values"][name][2] for name in ("loss", "empty"))
    assert f"mean {empty:.2f}, " in status(page) and status(page).endswith(f"; training loss {loss:.3f}.")


def test_another_run_is_told_from_the_book_s(page, write, presets):
    changed = [copy.deepcopy(preset) for preset in presets if preset["key"] == "plane"]
    changed[0]["run"]["values"]["loss"][5] *= 1 + 2e-9
    changed.append(copy.deepcopy(presets[-1]))  # of which the page's text starts
    page.goto(write(changed))
    assert train_to_the_end(page).endswith("Agrees with the book's run: no, from epoch 5.")


@pytest.mark.parametrize("chosen", SETTINGS)
def test_settings_train_as_the_library_does(page, write, chosen):
    page.goto(write())
    found, wanted = page.evaluate(TRAIN, chosen), laboratory.train(chosen)
    for name, curve in wanted.values.items():
        here, there = np.array(found["values"][name], float), np.array(curve, float)
        assert np.allclose(here, there, rtol=1e-9, atol=1e-12, equal_nan=True), name
    for theta, networks in zip(found["theta"], wanted.networks, strict=True):
        assert np.abs(np.array(theta) - networks[-1].parameters[0]).max() < 1e-9


def test_the_experiment_decides_which_controls_and_plots_there_are(page, write):
    page.goto(write())
    assert plots(page) == ["Accuracy in every orthant", "Accuracy while it learns", "Training loss"]
    expect(page.get_by_label("dimensions")).to_be_visible()
    expect(page.get_by_label("degree")).to_be_hidden()
    page.get_by_label("train on").select_option("hidden direction")
    expect(page.get_by_label("dimensions")).to_be_hidden()
    expect(page.get_by_label("degree")).to_be_visible()
    expect(page.locator(".lab-status")).to_contain_text("Before training: 0 % of the units", timeout=30_000)
    assert plots(page)[0] == "|cos| of every unit with the hidden direction" and len(plots(page)) == 4
    assert "polynomial_task(4, degree=3, inputs=40" in page.locator(".lab-python code").text_content()
    page.get_by_label("train on").select_option("empty orthant")
    assert status(page).startswith("The book's run.")
    page.get_by_label("dimensions").select_option("2")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    assert "What the network says over the plane" in plots(page)


def test_run_pause_step_rewind_and_new_start(page, write):
    page.goto(write())
    page.get_by_label("train on").select_option("hidden direction")
    page.get_by_label("epochs", exact=True).select_option("500")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    press(page, "Run")
    page.wait_for_function('document.querySelector(".lab-counter").textContent !== "epoch 0 of 500"')
    press(page, "Pause")
    page.wait_for_timeout(300)
    stopped = epoch(page)
    page.wait_for_timeout(500)
    assert 0 < stopped == epoch(page) < 500
    press(page, "Step")
    expect(page.locator(".lab-counter")).to_have_text(f"epoch {stopped + 1} of 500", timeout=30_000)
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    press(page, "Step")
    expect(page.locator(".lab-status")).to_contain_text("After epoch 1:", timeout=30_000)
    press(page, "New start")
    expect(page.get_by_label("seed", exact=True)).to_have_value("5")
    assert "experiment=hidden+direction" in page.url and page.url.endswith("&epochs=500&seed=5")


def test_the_keyboard_changes_settings_and_the_address_keeps_them(page, write):
    page.goto(write())
    page.get_by_role("slider", name="learning rate").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("dimensions").select_option("3")
    page.get_by_label("points of a class").select_option("10")
    page.get_by_label("hidden layers").select_option("2")
    page.get_by_label("units in a layer").select_option("16")
    page.get_by_label("cross-entropy").select_option("logit")
    page.get_by_label("epochs", exact=True).select_option("20")
    program, said = page.locator(".lab-python code").text_content(), train_to_the_end(page)
    assert "(3, 16, 16, 1)" in program and "rate=0.01" in program and '"bce-logit"' in program
    assert "dimension=3&points=10&depth=2&rate=0.01&loss=logit" in page.url
    assert said.startswith("After epoch 20:") and "Agrees" not in said
    page.goto("about:blank")
    page.go_back()
    expect(page.locator(".lab-python code")).to_have_text(program)
    assert train_to_the_end(page) == said


def test_what_would_take_too_long_is_refused(page, write):
    page.goto(write() + "#lab=hidden_structure&dimension=7&depth=5&epochs=500&networks=20")
    assert status(page).startswith("This would take about ") and page.locator(".lab-run").is_disabled()
    page.get_by_label("networks, of").select_option("1")
    page.get_by_label("units in a layer").select_option("8")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)


def test_everything_has_a_name_and_the_plots_have_words_and_a_table(page, write):
    page.goto(write())
    laboratory_page.check_words(page, rows=11)
    heads = page.locator(".lab-table thead th").all_text_contents()
    assert heads == ["epoch", "training loss", "accuracy, empty orthant", "accuracy, other orthants"]


def test_words_of_the_text_start_a_preset(page, write):
    page.goto(write())
    page.get_by_role("button", name="Try.").click()
    press(page, "To the end")
    page.wait_for_function('document.querySelector(".lab-run").textContent === "Run again"', timeout=60_000)
    assert "first=1+epoch" in page.url and "explains 0 % of the variance" in status(page)


def test_it_fits_a_phone_and_both_themes(page, write):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(write())
    laboratory_page.check_phone_and_themes(page)


def test_without_scripts_there_is_a_picture(chromium, write):
    opened = chromium.new_page(java_script_enabled=False)
    opened.goto(write())
    expect(opened.get_by_alt_text("The run.")).to_be_visible()
    opened.close()
