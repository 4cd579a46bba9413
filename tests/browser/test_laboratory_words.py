"""The words of every laboratory in Chromium: what its plots and settings are."""

from browser import laboratory_page
from browser.laboratory_page import open_preset

chromium, lab, presets, write, page = laboratory_page.fixtures(*laboratory_page.TRIED)

#: Where words are painted: notes the text, and how far its ends lie inside of the canvas, in its pixels.
PAINTED = """
const paint = CanvasRenderingContext2D.prototype.fillText;
window.painted = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const { width } = this.measureText(text), { a, e } = this.getTransform(), { canvas, textAlign } = this;
  if (a > 0) {  // not turned, as the names of vertical axes are
    const left = a * (x - ({ right: 1, end: 1, center: 0.5 }[textAlign] ?? 0) * width) + e;
    painted.push([String(text), left, canvas.width - left - a * width]);
  }
  return paint.apply(this, arguments);
};
"""
#: What the first plot's key explains.
MARKS = {
    "cyclic_labels": [
        "line through the two clusters beside a lone point",
        "training point, label +1",
        "label −1",
        "clusters 1, 3, 5: label −1; drag a point to move it",
    ],
    "heavy_tails": ["tick: one eigenvalue now", "the largest after step 1, by theory"],
    "hidden_structure": ["says outer class", "says inner class", "shells with training points", "shells without"],
    "localization": ["positive weight", "negative weight", "between the signs of the biases b"],
    "simplicity_bias": [
        "output weight a > 0",
        "a < 0",
        "where small ones turn",
        "border of a point: seen on one side of it",
    ],
}


def test_plots_say_what_they_show_and_cut_no_word(page, write, presets):
    page.add_init_script(PAINTED)
    page.goto(write())
    page.locator(".lab-more").evaluate("more => { more.open = true; }")
    for preset in presets:
        open_preset(page, preset)
        assert page.locator(".lab-plots").first.locator("figure:not([hidden])").count() == 2
        figures = page.locator(".lab-plots figure:not([hidden])")
        titles, boxes = figures.locator("figcaption").all_text_contents(), figures.locator("[role=img]").all()
        told = [
            box.get_attribute("aria-label").removeprefix(f"{title}. ") for title, box in zip(titles, boxes, strict=True)
        ]
        assert len(set(told)) == len(told) and all(one.endswith(".") for one in told)
        assert not [one for one in told for word in ("undefined", "null", "NaN", "nothing") if word in one]
    page.wait_for_timeout(100)
    painted = page.evaluate("painted")
    assert len(painted) > 50 and [word for word in painted if min(word[1:]) < -1] == []


def test_settings_points_and_bands_are_explained(page, write, lab):
    page.goto(write())
    for field in page.locator(".lab-settings :is(input, select)").all():
        words = field.evaluate("field => document.getElementById(field.getAttribute('aria-describedby'))?.textContent")
        assert words and len(words) > 10 and "undefined" not in words
    key = page.locator(".lab-key").first
    assert key.locator("span").all_text_contents() == MARKS[lab]
    assert key.locator("svg path").count() == len(MARKS[lab])
    if lab == "cyclic_labels":  # numbered as in the text
        labels = page.locator(".lab-range label").all_text_contents()
        assert [label.split()[:2] for label in labels] == [["cluster", str(c)] for c in range(1, 7)]
