"""The laboratory of hidden structure in Chromium, on a page from disk: it obeys its reader."""

from browser import laboratory_page
from browser.laboratory_page import open_preset, press, status
from playwright.sync_api import Page, expect

chromium, lab, presets, write, page = laboratory_page.fixtures("hidden_structure")


def plots(page: Page) -> list[str]:
    """Titles of the plots that are seen."""
    return [one.text_content() for one in page.locator(".lab-plots figure:not([hidden]) figcaption").all()]


def test_twenty_networks_are_dots_and_their_first_epochs_agree(page, write, presets):
    (twenty,) = (preset for preset in presets if preset["key"] == "twenty")
    page.goto(write())
    open_preset(page, twenty)
    assert "14 of 20 networks are at chance, 3 right on 90 % or more" in status(page)
    assert plots(page)[0].startswith("Twenty networks") and "Accuracy in every orthant" not in plots(page)
    press(page, "Back to 0")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=60_000)
    for done in (1, 2):
        press(page, "One record")
        expect(page.locator(".lab-status")).to_contain_text(f"After epoch {done}:", timeout=60_000)
    loss, empty = (twenty["run"]["values"][name][2] for name in ("loss", "empty"))
    assert f"mean {empty:.2f}, " in status(page) and status(page).endswith(f"; training loss {loss:.3f}.")


def test_the_experiment_decides_which_controls_and_plots_there_are(page, write):
    page.goto(write())
    assert plots(page) == ["Accuracy in every orthant", "Accuracy while it learns", "Training loss"]
    expect(page.get_by_label("dimensions", exact=True)).to_be_visible()
    expect(page.get_by_label("degree", exact=True)).to_be_hidden()
    page.get_by_label("train on", exact=True).select_option("hidden direction")
    expect(page.get_by_label("dimensions", exact=True)).to_be_hidden()
    expect(page.get_by_label("degree", exact=True)).to_be_visible()
    expect(page.locator(".lab-status")).to_contain_text("Before training: 0 % of the neurons", timeout=30_000)
    assert plots(page)[0] == "The network's answers, against the sum v of the inputs" and len(plots(page)) == 4
    assert "polynomial_task(4, degree=3, inputs=40" in page.locator(".lab-python code").text_content()
    page.get_by_label("train on", exact=True).select_option("empty orthant")
    assert status(page).startswith("The book's run.")
    page.get_by_label("dimensions", exact=True).select_option("2")
    expect(page.locator(".lab-status")).to_contain_text("Before training:", timeout=30_000)
    assert plots(page)[:2] == ["What the network says over the plane", "Accuracy while it learns"]
    assert "Accuracy in every orthant" in plots(page)[2:]
