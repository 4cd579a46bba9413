"""The laboratory in Chromium, on a page from disk: it trains the book's runs, obeys its reader, needs nothing else."""

import copy
import re

import matplotlib
import pytest
from browser import laboratory_page
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import Page, expect

from experiments.cyclic_labels import drawing, laboratory
from shallow.book import laboratories

matplotlib.use("agg")

NAME = "cyclic_labels"
END = 'document.querySelector(".lab-counter").textContent.startsWith("epoch 20,000")'
TRAIN = """(settings) => {
  const run = ShallowLab.models.cyclic_labels.compute(ShallowLab.streams()).start(settings);
  const train = [run.values.train], test = [run.values.test];
  while (!run.done) { run.advance(); train.push(run.values.train); test.push(run.values.test); }
  return { train, test, weights: run.weights().map((group) => [...group]) };
}"""
SETTINGS = [
    laboratory.settings((3, 0, 7, 20, 1, 5), step=0.01, width=128, initial="near zero", seed=2**32 - 1),
    laboratory.settings((20, 2, 20, 20, 20, 20), step=0.1, width=1024, loss="mean", seed=0),
    laboratory.settings((0, 1, 0, 0, 1, 0), step=0.003, width=32, initial="antisymmetric", seed=11),
]


chromium, presets, write, page = laboratory_page.fixtures(NAME, laboratory.recorded, drawing.first_preset, "balanced")


def epoch(page: Page) -> int:
    """The epoch that is shown."""
    return int(re.match(r"epoch ([\d,]+)", page.locator(".lab-counter").text_content())[1].replace(",", ""))


def test_every_preset_opens_with_the_book_s_run_and_trains_it_again(page, write, presets):
    page.goto(write())
    for preset in presets:
        press(page, preset["label"])
        assert status(page).startswith("The book's run. Epoch 20,000: training loss ")
        recorded = status(page).removeprefix("The book's run. ")
        assert train_to_the_end(page) == f"{recorded} Identical to the book's run: yes, to the last bit."


def test_another_run_is_told_from_the_book_s(page, write, presets):
    changed = copy.deepcopy(presets[:2])
    losses = changed[0]["run"]["values"]["test"]
    losses[37] = float.fromhex("0x1p-53") * 2 * losses[37] + losses[37]
    changed[1]["run"]["checksum"] ^= 1
    page.goto(write(changed))
    assert "run: no, from epoch 3,700." in train_to_the_end(page)
    press(page, changed[1]["label"])
    assert "run: no, the last weights differ." in train_to_the_end(page)


@pytest.mark.parametrize("chosen", SETTINGS)
def test_settings_train_as_the_library_does(page, write, chosen):
    page.goto(write())
    found = page.evaluate(TRAIN, chosen)
    _, run = laboratory.train(chosen)
    assert {name: values.tolist() for name, values in laboratory.losses(chosen, run).items()} == {
        name: found[name] for name in ("train", "test")
    }
    assert found["weights"] == [run.network.W[:, 0].tolist(), run.network.b.tolist(), run.network.v.tolist()]


def test_run_pause_step_rewind_and_new_start(page, write):
    page.goto(write())
    page.get_by_label("speed").select_option("slow")
    press(page, "Run")
    page.wait_for_function('document.querySelector(".lab-counter").textContent !== "epoch 0 of 20,000"')
    press(page, "Pause")
    page.wait_for_timeout(400)  # the record under way is still drawn
    stopped = epoch(page)
    page.wait_for_timeout(400)
    assert 0 < epoch(page) == stopped < 10_000 and status(page).startswith(f"Epoch {stopped:,}:")
    press(page, "Step")
    expect(page.locator(".lab-status")).to_contain_text(f"Epoch {stopped + 100:,}:")
    seed = page.get_by_label("seed")
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Epoch 0:")
    expect(seed).to_have_value(str(laboratory.SEED))
    press(page, "New start")
    expect(seed).to_have_value(str(laboratory.SEED + 1))
    assert page.url.endswith(f"&seed={laboratory.SEED + 1}") and epoch(page) == 0


def test_training_waits_while_it_is_out_of_sight(page, write):
    page.goto(write())
    page.get_by_label("speed").select_option("slow")
    press(page, "Run")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    hidden = None
    while hidden != epoch(page):
        hidden = epoch(page)
        page.wait_for_timeout(400)
    assert hidden < 15_000
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(f'!document.querySelector(".lab-counter").textContent.startsWith("epoch {hidden:,} ")')


def test_the_keyboard_changes_settings_and_the_address_keeps_them(page, write):
    page.goto(write())
    page.get_by_label("cluster 6").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("first weights").select_option("near zero")
    page.get_by_label("seed").fill("123")
    page.keyboard.press("Tab")
    expect(page.locator(".lab-status")).to_contain_text("51 points")
    assert "c6=2&" in page.url and "initial=near+zero" in page.url and page.url.endswith("seed=123")
    program = page.locator(".lab-python code").text_content()
    said = train_to_the_end(page)
    assert "cyclic.from_counts([10, 10, 10, 10, 9, 2], seed=123)" in program and "Identical" not in said
    page.goto("about:blank")
    page.go_back()
    expect(page.locator(".lab-python code")).to_have_text(program)
    assert train_to_the_end(page) == said


def test_what_cannot_be_run_is_refused(page, write):
    page.goto(write() + "#lab=cyclic_labels&c1=0&c2=0&c3=0&c4=0&c5=0&c6=0&step=17&seed=-1&width=x")
    expect(page.locator(".lab-status")).to_have_text("Give at least one cluster a point.")
    expect(page.locator(".lab-run")).to_be_disabled()
    assert page.get_by_label("step", exact=True).input_value() == "0.001"
    page.get_by_label("seed").fill("words")
    page.keyboard.press("Tab")
    expect(page.get_by_label("seed")).to_have_attribute("aria-invalid", "true")


def test_everything_has_a_name_and_the_plots_have_words_and_a_table(page, write):
    page.goto(write())
    laboratory_page.check_words(page, rows=11)


def test_words_of_the_text_start_a_preset(page, write):
    page.goto(write())
    page.get_by_role("button", name="Try.").click()
    page.wait_for_function(END, timeout=30_000)
    expect(page.locator(".lab-status")).to_contain_text("no bump of the test loss. Identical to the book's run: yes")


def test_in_a_cell_s_output_the_same_laboratory_appears(page, write, presets):
    """As JupyterLab shows an output: it sets the markup, then puts every script in anew, so that it runs."""
    shown = laboratories.show(NAME, presets, picture=drawing.first_preset(), alt="The run.", inline=True)
    page.set_content("<!DOCTYPE html>")
    page.evaluate(
        """(markup) => {
          document.body.innerHTML = markup;
          for (const script of document.body.querySelectorAll("script")) {
            script.replaceWith(document.createRange().createContextualFragment(script.outerHTML));
          }
        }""",
        shown._repr_html_(),
    )
    assert "Identical to the book's run: yes" in train_to_the_end(page)


def test_it_fits_a_phone_and_both_themes(page, write):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(write())
    laboratory_page.check_phone_and_themes(page)


def test_without_scripts_there_is_a_picture(chromium, write):
    page = chromium.new_page(java_script_enabled=False)
    page.goto(write())
    expect(page.get_by_alt_text("The run.")).to_be_visible()
    assert page.locator(".lab").count() == 0
    page.close()
