"""Every laboratory in Chromium, on a page from disk: it trains the book's runs, agrees with the library, serves all."""

import copy
import importlib

import numpy as np
import pytest
from browser import laboratory_page
from browser.laboratory_page import check_agrees, position, press, status, to_the_end, train_to_the_end
from in_node import apart
from playwright.sync_api import expect

from experiments.cyclic_labels import laboratory as labels
from experiments.heavy_tails import laboratory as heavy
from experiments.hidden_structure import laboratory as hidden
from experiments.localization import laboratory as local
from experiments.simplicity_bias import laboratory as bias

chromium, lab, presets, write, page = laboratory_page.fixtures(*laboratory_page.TRIED)

#: What is said of the book's runs, and how near training comes to them.
OPENED = {
    "cyclic_labels": ("Epoch 20,000: training loss ", 0),
    "heavy_tails": ("", 1e-12),
    "hidden_structure": ("After epoch {epochs}: ", 1e-9),
    "localization": ("After step 1,000: ", 0),
    "simplicity_bias": ("After step 10,000: 99 % of the network in ", 1e-12),
}
#: Where presets are long: those that are trained again here.  The others are in node, whose engine is Chromium's.
SHORT = {"hidden_structure": ("plane", "cubic"), "localization": ()}


def test_presets_open_with_the_book_s_runs_and_train_them_again(page, write, lab, presets):
    begins, most = OPENED[lab]
    page.goto(write())
    for preset in presets:
        press(page, preset["label"])
        recorded = status(page)
        assert recorded.startswith("The book's run. " + begins.format(**preset["settings"]))
        if preset["key"] not in SHORT.get(lab, [preset["key"]]):
            continue
        said = train_to_the_end(page)
        if lab == "cyclic_labels":
            same = recorded.removeprefix("The book's run. ")
            assert said == f"{same} Identical to the book's run: yes, to the last bit."
        else:
            check_agrees(recorded, said, most)


#: A preset, a number of its run, a relative difference, and where it is seen.
CHANGED = {
    "cyclic_labels": ("poor", "test", 37, 2**-52, "epoch 3,700"),
    "heavy_tails": ("spike", "test", 1, 2e-9, "step 1"),
    "hidden_structure": ("plane", "loss", 5, 2e-9, "epoch 5"),
    "localization": ("two", "ipr_plus", 5, 2e-8, "step 5"),
    "simplicity_bias": ("many", "test", 5, 2e-9, "step 5"),
}


def test_another_run_is_told_from_the_book_s(page, write, lab, presets):
    key, column, record, relative, place = CHANGED[lab]
    changed = copy.deepcopy(presets)
    (preset,) = (one for one in changed if one["key"] == key)
    preset["run"]["values"][column][record] *= 1 + relative
    page.goto(write(changed))
    press(page, preset["label"])
    assert train_to_the_end(page).endswith(f" book's run: no, from {place}.")


TRAIN = """([name, settings]) => {
  const { compute, columns, needs } = ShallowLab.models[name];
  const run = compute(...needs.map((part) => ShallowLab[part]())).start(settings), all = [run.values];
  while (!run.done) if (run.advance().values !== all[all.length - 1]) all.push(run.values);
  const values = Object.fromEntries(columns.map(([key]) => [key, all.map((one) => one[key])]));
  return [values, run.weights().flatMap((part) => [...part])];
}"""
SETTINGS = {
    "cyclic_labels": [
        labels.settings((3, 0, 7, 20, 1, 5), step=0.01, width=128, initial="near zero", seed=2**32 - 1),
        labels.settings((20, 2, 20, 20, 20, 20), step=0.1, width=1024, loss="mean", seed=0),
        labels.settings((0, 1, 0, 0, 1, 0), step=0.003, width=32, initial="antisymmetric", seed=11),
    ],
    "heavy_tails": [
        heavy.settings(optimiser="Adam", rate=0.32, update="text", labels="permuted", features="text", steps=4),
        heavy.settings(rate=250.0, student="softplus", width=400, steps=3, seed=2**32 - 1),
    ],
    "hidden_structure": [
        hidden.settings(dimension=3, points=10, depth=5, width=8, rate=0.01, epochs=40, loss="logit", networks=20),
        hidden.settings(dimension=7, points=10, depth=3, width=32, rate=0.001, epochs=10, seed=0),
        hidden.polynomial(inputs=100, samples=2000, degree=8, width=64, epochs=10),
        hidden.polynomial(inputs=20, samples=1000, degree=7, width=8, epochs=20, first="5 epochs", seed=2**32 - 1),
    ],
    "localization": [
        local.settings(steps=100, batch="1000"),
        local.settings(steps=100, kind="Gaussian twin", biases="from ±1/2", positive=0.25, seed=2**32 - 1),
        local.settings(steps=100, kind="heavy-tailed twin", gain=0.4, width=8, rate=5, biases="held to signs"),
    ],
    "simplicity_bias": [
        bias.settings(n=100, batch="32", margin=0.0, start="Gaussian", scale=0.01, steps=1000, seed=2**32 - 1),
        bias.settings(n=2000, width=16, scale=1e-4, noise=0.25, steps=1000, seed=7),
    ],
}
#: How near numbers and weights come to the library's; numbers below the least are compared with it.
NEAR = {
    "cyclic_labels": (0, 1e-300, 0),
    "heavy_tails": (1e-9, 1e-300, 1e-9),
    "hidden_structure": (1e-9, 1e-3, 1e-9),
    "localization": (1e-9, 1e-3, 1e-12),
    "simplicity_bias": (1e-12, 1e-2, 1e-12),
}


def of_the_library(lab: str, chosen: dict) -> tuple[dict, list]:
    """Numbers at the records, and the last weights where the laboratory keeps them."""
    match lab, importlib.import_module(f"experiments.{lab}.laboratory").train(chosen):
        case "cyclic_labels", (_, run):
            return labels.losses(chosen, run), [run.network.W, run.network.b, run.network.v]
        case "hidden_structure", run:
            return run.values, [networks[-1].parameters for networks in run.networks]
        case "localization", run:
            return local.measured(run), [run.last.W, run.last.b]
        case "simplicity_bias", (values, network):
            return values, [network.W, network.v]
        case _, (values, _):
            return values, []


@pytest.mark.parametrize(("lab", "chosen"), [(lab, one) for lab in SETTINGS for one in SETTINGS[lab]], indirect=["lab"])
def test_settings_train_as_the_library_does(page, write, lab, chosen):
    page.goto(write())
    values, weights = page.evaluate(TRAIN, [lab, chosen])
    (wanted, last), (of_values, least, of_weights) = of_the_library(lab, chosen), NEAR[lab]
    assert apart(values, wanted, least) <= of_values
    if last:
        assert np.abs(weights - np.concatenate([*map(np.ravel, last)])).max() <= of_weights


@pytest.mark.parametrize(
    ("lab", "settings", "last", "seed"),
    [
        ("hidden_structure", "experiment=hidden+direction&epochs=500", "epoch 500", 4),
        ("localization", "steps=4000", "step 4,000", 0),
        ("simplicity_bias", "steps=300000", "step 300,000", 0),
    ],
    indirect=["lab"],
)
def test_run_pause_step_rewind_and_new_start(page, write, lab, settings, last, seed):
    unit, _, end = last.partition(" ")
    page.goto(f"{write()}#lab={lab}&{settings}")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    press(page, "Run")
    page.wait_for_function(f'document.querySelector(".lab-counter").textContent !== "{unit} 0 of {end}"')
    press(page, "Pause")
    page.wait_for_timeout(500)
    stopped = position(page)
    page.wait_for_timeout(500)
    assert 0 < stopped == position(page) < int(end.replace(",", ""))
    press(page, "Step")
    page.wait_for_function(f'!document.querySelector(".lab-counter").textContent.startsWith("{unit} {stopped:,} ")')
    assert position(page) == stopped + 1 or unit == "step"  # whose records are further apart
    press(page, "Rewind")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    for taken in (1, 2):
        press(page, "Step")
        expect(page.locator(".lab-status")).to_contain_text(f"After {unit} {taken}:", timeout=30_000)
    press(page, "New start")
    expect(page.get_by_label("seed", exact=True)).to_have_value(str(seed + 1))
    assert all(f"{part}&" in f"{page.url}&" for part in (*settings.split("&"), f"seed={seed + 1}"))


def test_everything_has_a_name_and_the_plots_have_words_and_a_table(page, write, lab):
    page.goto(write())
    said = status(page)
    for plot in page.locator(".lab-plot").all():
        assert plot.get_attribute("aria-label").endswith(said)
    for field in page.locator(".lab :is(input, select)").all():
        assert len(field.evaluate("field => field.labels[0].textContent")) > 3
    assert page.locator(".lab-status").get_attribute("aria-live") == "polite"
    rows = 12 if lab in ("localization", "simplicity_bias") else 11
    assert page.locator(".lab-table tbody tr").count() == rows


#: What stands in the address and in words after the button in the text.
STARTED = {
    "cyclic_labels": ("c6=", "no bump of the test loss. Identical to the book's run: yes"),
    "heavy_tails": ("labels=permuted", "Agrees with the book's run: yes"),
    "hidden_structure": ("first=1+epoch", "explains 0 % of the variance"),
    "localization": ("offset=0.5&", "40 negative biases, no positive bias, Agrees with the book's run: yes"),
    "simplicity_bias": ("margin=0&", "in 4 groups of neurons"),
}


def test_words_of_the_text_start_a_preset(page, write, lab):
    page.goto(write())
    page.get_by_role("button", name="Try.").click()
    said = to_the_end(page)
    address, words = STARTED[lab]
    assert address in page.url and all(part in said for part in words.split(", "))


def test_it_fits_a_phone_and_both_themes(page, write):
    """On a phone nothing is wider than the window, and the dark theme changes the plots."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(write())
    expect(page.locator(".lab-plot canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    light = page.locator(".lab-plot canvas").last.screenshot()
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(200)
    assert page.locator(".lab-plot canvas").last.screenshot() != light


def test_without_scripts_there_is_a_picture(chromium, write):
    opened = chromium.new_page(java_script_enabled=False)
    opened.goto(write())
    expect(opened.get_by_alt_text("The run.")).to_be_visible()
    assert opened.locator(".lab").count() == 0
    opened.close()
