"""The laboratory of hidden structure in Chromium, on a page from disk: it obeys its reader."""

import re

from browser import laboratory_page
from browser.laboratory_page import open_preset, press, status
from playwright.sync_api import Page, expect

chromium, lab, presets, write, page = laboratory_page.fixtures("hidden_structure")


def plots(page: Page) -> list[str]:
    """Titles of the plots that are seen."""
    return [one.text_content() for one in page.locator(".lab-plots figure:not([hidden]) figcaption").all()]


def test_ten_networks_are_squares_and_dots_and_their_first_epochs_agree(page, write, presets):
    (ten,) = (preset for preset in presets if preset["key"] == "ten")
    page.goto(write())
    open_preset(page, ten)
    assert "right on 75 % of their empty orthants or more: 6 of 10 networks; no better than guessing: 1." in status(
        page
    )
    assert [title.split(" ")[0] for title in plots(page)[:2]] == ["What", "Accuracy"]
    assert "ten networks" in plots(page)[0] and "Accuracy in every orthant" not in plots(page)
    press(page, "Back to 0")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=60_000)
    for done in (1, 2):
        press(page, "One record")
        expect(page.locator(".lab-status")).to_contain_text(f"After epoch {done}:", timeout=60_000)
    loss, empty = (ten["run"]["values"][name][2] for name in ("loss", "empty"))
    assert f"right on {empty:.0%} there".replace("%", " %") in status(page)
    assert status(page).endswith(f"; training loss {loss:.3f}.")


def test_the_experiment_decides_which_controls_and_plots_there_are(page, write):
    page.goto(write())
    assert plots(page) == [
        "What the network says, in a plane through four orthants",
        "Accuracy on new points while it learns",
        "Accuracy in every orthant",
        "Training loss",
    ]
    expect(page.get_by_label("dimensions", exact=True)).to_be_visible()
    expect(page.get_by_label("degree", exact=True)).to_be_hidden()
    page.get_by_label("train on", exact=True).select_option("hidden direction")
    expect(page.get_by_label("dimensions", exact=True)).to_be_hidden()
    expect(page.get_by_label("degree", exact=True)).to_be_visible()
    expect(page.locator(".lab-status")).to_contain_text("Before training: 0 % of the neurons", timeout=30_000)
    assert plots(page)[0].startswith("Every neuron") and len(plots(page)) == 5
    assert "polynomial_task(0, degree=7, inputs=40" in page.locator(".lab-python code").text_content()
    page.get_by_label("train on", exact=True).select_option("empty orthant")
    assert status(page).startswith("The book's run.")
    page.get_by_label("dimensions", exact=True).select_option("6")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    page.get_by_label("networks", exact=True).select_option("10")
    expect(page.locator(".lab-status")).to_contain_text("of 10 networks", timeout=30_000)
    assert plots(page)[1] == "Accuracy of ten networks, each in its empty orthant"


def test_a_colour_has_one_meaning(page, write, presets):
    """In the keys of all plots: orange is where no training point is, blue where some are, violet the first layer."""
    meant = {"test": "without|none|no training|one network", "train": "with training|training points|shells with"}
    meant |= {"plus": "outer", "minus": "inner", "purple": "first layer|points along", "shade": r"\|v\|"}
    page.goto(write())
    page.locator(".lab-more").evaluate("more => { more.open = true; }")
    seen = set()
    for preset in presets:
        open_preset(page, preset)
        for item in page.locator("figure:not([hidden]) .lab-key span").all():
            colour = re.search(r"--lab-(\w+)", item.locator("path").get_attribute("style"))[1]
            seen.add(colour)
            assert re.search(meant.get(colour, "."), item.text_content()), (colour, item.text_content())
    assert seen == {*meant, "text", "quiet"}
