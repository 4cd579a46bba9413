"""The laboratory of heavy tails in Chromium, on a page from disk: its axis, its controls, its laws."""

from browser import laboratory_page
from browser.laboratory_page import press, status, train_to_the_end
from playwright.sync_api import Locator, Page, expect

chromium, lab, presets, write, page = laboratory_page.fixtures("heavy_tails")


def test_the_axis_is_changed_without_a_new_run(page, write):
    page.goto(write())
    said, before = status(page), page.locator(".lab-plot canvas").first.screenshot()
    page.get_by_label("axis of eigenvalues", exact=True).select_option("linear")
    assert status(page) == said and page.url.endswith("axis=linear")
    assert page.locator(".lab-plot canvas").first.screenshot() != before


def labelled(presets: list[dict], key: str) -> str:
    """The label of a preset's button."""
    return next(preset["label"] for preset in presets if preset["key"] == key)


def plots(page: Page) -> Locator:
    """The plots that there are, the folded ones among them."""
    return page.locator(".lab-plots figure:not([hidden])")


def test_a_matrix_alone_has_two_plots_and_no_field_without_effect(page, write, presets):
    page.goto(write())
    press(page, labelled(presets, "nothing"))
    shown = [one.text_content() for one in page.locator(".lab-settings .lab-control:visible label").all()]
    assert [label.split()[0] for label in shown] == ["optimiser", "neurons", "seed", "axis"]
    expect(plots(page)).to_have_count(2)


def test_without_the_leading_pair_there_is_no_law_and_the_plots_tell_null_and_gain(page, write):
    page.goto(f"{write()}#lab=heavy_tails&optimiser=Adam&steps=1")
    assert "predicted: 41,789" in train_to_the_end(page)
    page.get_by_label("leading pair cut", exact=True).select_option("gradient")
    assert "cut=gradient" in page.url and 'cut="gradient"' in page.locator(".lab-python code").text_content()
    assert "predicted" not in train_to_the_end(page)
    expect(page.locator(".lab-key").first).not_to_contain_text("by theory")
    page.locator(".lab-more").evaluate("more => { more.open = true; }")
    told = [box.get_attribute("aria-label") for box in plots(page).locator("[role=img]").all()]
    assert "permuted within columns is 2.4" in told[1] and "% above that of the untrained network" in told[2]


def test_what_takes_too_long_is_refused(page, write, presets):
    page.goto(write() + "#lab=heavy_tails&width=2000&rate=17&steps=11")
    expect(page.locator(".lab-status")).to_contain_text("a step takes too long")
    expect(page.locator(".lab-run")).to_be_disabled()
    expect(page.get_by_label("learning rate")).to_have_attribute("aria-valuetext", "1")
    page.get_by_label("optimiser", exact=True).select_option("none")
    expect(page.locator(".lab-status")).to_contain_text("the law of such matrices has 4.87", timeout=30_000)
    page.get_by_label("optimiser", exact=True).select_option("GD")
    page.get_by_role("combobox", name="neurons").select_option("200")
    expect(plots(page)).to_have_count(4)
    press(page, labelled(presets, "nothing"))
    said = "exponent 3.98; the law of such matrices has 4.01"
    expect(page.locator(".lab-status")).to_contain_text(said, timeout=30_000)
