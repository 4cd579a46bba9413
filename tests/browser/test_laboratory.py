"""The laboratory of cyclic labels in Chromium, on a page from disk: points that move, sight, outputs."""

import copy

import numpy as np
from browser import laboratory_page
from browser.laboratory_page import position, press, to_the_end, train_to_the_end
from matplotlib.figure import Figure
from playwright.sync_api import expect

from experiments.cyclic_labels import laboratory
from shallow.book import laboratories

chromium, lab, presets, write, page = laboratory_page.fixtures("cyclic_labels")


def test_other_last_weights_are_told_from_the_book_s(page, write, presets):
    changed = copy.deepcopy(presets[:1])
    changed[0]["run"]["checksum"] ^= 1
    page.goto(write(changed))
    assert "Differs from the book's run in its last weights." in train_to_the_end(page)


def test_a_point_can_be_drawn_elsewhere(page, write, presets):
    page.goto(write())
    opening = next(preset for preset in presets if preset["opens"])
    lone = opening["run"]["arrays"]["x"][-1]
    over = page.locator(".lab-plot .u-over").first
    box = over.bounding_box()
    left = box["x"] + (lone + 0.5) * box["width"]
    for top in np.arange(box["y"], box["y"] + box["height"], 4):  # where its label is, the axis knows
        page.mouse.move(left, top)
        if over.evaluate("over => over.style.cursor") == "grab":
            break
    page.mouse.down()
    page.mouse.move(box["x"] + 0.2 * box["width"], top, steps=4)
    field = page.get_by_label("points moved")
    expect(field).to_have_value("49:-0.300")
    page.mouse.up()
    page.wait_for_function('document.querySelector(".lab-counter").textContent !== "step 0 of 20,000"')
    assert "moved=49%3A-0.300" in page.url
    moved = opening["settings"] | {"moved": "49:-0.300"}
    said = to_the_end(page)
    train, test = (values[-1] for values in laboratory.losses(moved, laboratory.train(moved)[1]).values())
    assert f"training loss {train:.2f}, test loss {test:.2f}" in said
    field.fill("")
    field.press("Enter")
    expect(page.locator(".lab-status")).to_contain_text("The book's run.")
    field.fill("49:0.7")
    field.press("Enter")
    expect(page.locator(".lab-status")).to_contain_text("does not fit: points moved are places from −0.5 to 0.5")


def test_training_waits_while_it_is_out_of_sight(page, write):
    page.goto(write())
    page.get_by_label("speed").select_option("slow")
    press(page, "Run")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    hidden = None
    while hidden != position(page):
        hidden = position(page)
        page.wait_for_timeout(400)
    assert hidden < 15_000
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(f'!document.querySelector(".lab-counter").textContent.startsWith("step {hidden:,} ")')


def test_what_cannot_be_run_is_refused(page, write):
    page.goto(write() + "#lab=cyclic_labels&c1=0&c2=0&c3=0&c4=0&c5=0&c6=0&step=17&seed=-1&width=x")
    expect(page.locator(".lab-status")).to_have_text("Give at least one cluster a point.")
    expect(page.locator(".lab-run")).to_be_disabled()
    assert page.get_by_label("learning rate", exact=True).input_value() == "0.0001"
    page.get_by_label("seed").fill("words")
    page.keyboard.press("Tab")
    expect(page.get_by_label("seed")).to_have_attribute("aria-invalid", "true")


def test_in_a_cell_s_output_the_same_laboratory_appears(page, lab, presets):
    """As JupyterLab shows an output: it sets the markup, then puts every script in anew, so that it runs."""
    shown = laboratories.show(lab, presets, picture=Figure(), alt="The run.", inline=True)
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
