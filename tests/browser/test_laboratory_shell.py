"""What every laboratory has from its shell, in Chromium, on a page from disk: one view, scrubbing, questions, links."""

import copy
import re

import pytest
from browser import laboratory_page
from browser.laboratory_page import position, press, status, train_to_the_end
from playwright.sync_api import Page, expect

chromium, lab, presets, write, page = laboratory_page.fixtures(*laboratory_page.TRIED)

DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
BAR = 56  # height of the bar of the theme
one = pytest.mark.parametrize("lab", ["cyclic_labels"], indirect=True)

# Upper and lower end of all the elements together that are seen.
EXTENT = """(selector) => {
  const all = [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect());
  const boxes = all.filter(box => box.height > 0);
  return [Math.min(...boxes.map(box => box.top)), Math.max(...boxes.map(box => box.bottom))];
}"""
# How many pixels of a canvas are painted.
INK = """(canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
  .filter((value, k) => k % 4 === 3 && value > 0).length"""
OVER = """document.querySelector(".lab-run").textContent === "Run again" """
# Places on the page of everything that must not move, and its height.
PLACES = """() => [...document.querySelectorAll(
  ".lab-run, .lab figure, .lab-control, .lab-status, .lab-copies, .lab summary"), document.documentElement]
  .map(one => one.getBoundingClientRect()).flatMap(box => [box.top + scrollY, box.height, box.left])"""


def opened(page: Page, address: str, size: dict) -> Page:
    """The page at that size, its laboratory in place."""
    page.set_viewport_size(size)
    page.goto(address)
    expect(page.locator(".lab canvas").first).to_be_visible()
    return page


def test_on_a_desk_controls_run_bar_and_two_plots_are_one_view(page, write):
    opened(page, write(), DESK)
    expect(page.locator(".lab-side + .lab-plots figure:visible")).to_have_count(2)
    top, bottom = page.evaluate(
        EXTENT, ".lab-run, .lab-scrubber, .lab-fields *, .lab-presets, .lab-side + .lab-plots *"
    )
    assert bottom - top <= DESK["height"] - BAR
    side, plots = (page.locator(part).bounding_box() for part in (".lab-side", ".lab-side + .lab-plots"))
    assert side["x"] + side["width"] <= plots["x"] and side["y"] == pytest.approx(plots["y"], abs=2)


def test_on_a_phone_the_run_bar_stays_and_the_plots_are_below_it(page, write):
    opened(page, write(), PHONE)
    top, bottom = page.evaluate(EXTENT, ".lab-run, .lab-scrubber, .lab-side + .lab-plots canvas")
    assert bottom - top <= PHONE["height"] - BAR
    for seen in (".lab-plots", ".lab-presets", ".lab-fields", ".lab-python"):
        page.locator(seen).last.evaluate("one => one.scrollIntoView({ block: 'end', behavior: 'instant' })")
        assert page.locator(".lab-bar").evaluate("bar => bar.getBoundingClientRect().top") >= 0
        expect(page.locator(".lab-run")).to_be_in_viewport(ratio=1)
        expect(page.locator(".lab-scrubber")).to_be_in_viewport(ratio=1)


sizes = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])


@pytest.mark.parametrize(("size", "slow"), [(DESK, 1), (PHONE, 1), (PHONE, 8)], ids=["desk", "phone", "slow phone"])
def test_nothing_moves_when_it_runs(page, write, size, slow):
    """Nor on a machine that is eight times slower, which is at its first records when it is paused."""
    opened(page, write(), size)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slow})
    places = page.evaluate(PLACES)
    page.locator(".lab-run").click()
    for _ in range(5):
        page.wait_for_timeout(200)
        assert page.evaluate(PLACES) == places
    if page.locator(".lab-run").text_content() == "Pause":
        press(page, "Pause")
    page.wait_for_timeout(200)
    assert page.evaluate(PLACES) == places


@sizes
def test_nothing_moves_at_the_first_records(page, write, size):
    """Of which more may be told than of the last one, as a law for the first step; all of it is seen."""
    opened(page, write(), size)
    places = page.evaluate(PLACES)
    for _ in range(3):
        said = status(page)
        page.get_by_role("button", name="One record", exact=True).evaluate("button => button.click()")
        expect(page.locator(".lab-status")).not_to_have_text(re.compile(f"^(Training.|{re.escape(said)})$"))
        assert page.evaluate(PLACES) == places
        assert page.locator(".lab-status").evaluate("words => words.scrollHeight <= words.clientHeight")


@sizes
def test_no_words_move_the_page(page, write, size):
    opened(page, write(), size)
    places = page.evaluate(PLACES)
    for words in (".lab-status", ".lab-counter", ".lab-time", ".lab-legend .u-value", ".lab-copies > span"):
        assert page.locator(words).count()
        for length in (0, 3, 30):
            page.evaluate(
                "([words, count]) => document.querySelectorAll(words).forEach(one => "
                "{ one.textContent = 'more words '.repeat(count); })",
                [words, length],
            )
            assert page.evaluate(PLACES) == places, words


@pytest.mark.parametrize("lab", ["cyclic_labels", "heavy_tails"], indirect=True)
def test_the_book_s_run_is_gone_through_by_the_keyboard(page, write, lab):
    """Of which the page has the end alone: it is trained again, and every moment is that of the run."""
    unit, last = {"cyclic_labels": ("step", 20_000), "heavy_tails": ("step", 10)}[lab]
    page.goto(write())
    end, scrubber = status(page).removeprefix("The book's run. "), page.get_by_role("slider", name=f"{unit} that")
    ink = "() => [...document.querySelectorAll('.lab-plot canvas')].map(one => one.toDataURL())"
    scrubber.focus()
    page.keyboard.press("Home")
    page.wait_for_function(OVER, timeout=60_000)
    assert position(page) == 0 and "book's run" in status(page) and not status(page).startswith("The book's run")
    seen = [page.evaluate(ink)]
    page.keyboard.press("ArrowRight")
    expect(scrubber).to_have_attribute("aria-valuetext", f"{unit} {200 if last > 10 else 1} of {last:,}")
    seen.append(page.evaluate(ink))
    page.keyboard.press("End")
    assert status(page).startswith(end)
    seen.append(page.evaluate(ink))
    assert all(len(set(pictures)) == 3 for pictures in zip(*seen, strict=True))


@one
def test_scrubbing_pauses_and_the_end_goes_on(page, write):
    page.goto(write())
    page.get_by_label("speed").select_option("slow")
    press(page, "Run")
    page.wait_for_function("document.querySelector('.lab-scrubber').value > 5")
    page.get_by_role("slider", name="step that").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lab-run")).to_have_text("Run")
    stopped = position(page)
    assert status(page).startswith(f"Step {stopped:,}: ")
    page.wait_for_timeout(300)
    assert position(page) == stopped
    page.keyboard.press("End")
    expect(page.locator(".lab-run")).to_have_text("Pause")
    page.wait_for_function(f'!document.querySelector(".lab-counter").textContent.startsWith("step {stopped:,} ")')
    assert position(page) > stopped


@one
def test_the_reader_s_last_run_stays_until_it_is_forgotten(page, write):
    page.goto(write())
    losses = page.locator(".lab-plot canvas").nth(1)
    press(page, "New start")
    expect(page.locator(".lab-ghost")).to_be_hidden()
    train_to_the_end(page)
    press(page, "New start")
    expect(page.locator(".lab-ghost")).to_be_visible()
    with_ghost = losses.evaluate(INK)
    press(page, "forget")
    expect(page.locator(".lab-ghost")).to_be_hidden()
    assert with_ghost > 1.2 * losses.evaluate(INK)  # grid and words alone


@one
def test_a_preset_asks_first_and_tells_after(page, write, presets):
    asking = copy.deepcopy(presets[:3])
    for preset in asking:
        preset |= {"ask": f"What of {preset['key']}?", "note": f"That of {preset['key']}."}
    page.goto(write(asking))
    _, second, third = asking
    press(page, second["label"])
    expect(page.get_by_text(second["ask"])).to_be_visible()
    expect(page.get_by_text(second["note"])).to_be_hidden()
    expect(page.locator(".lab-counter")).to_have_text(re.compile(r"\w+ 0 of "))  # which the next frame draws
    train_to_the_end(page)
    expect(page.get_by_text(second["note"])).to_be_visible()
    press(page, third["label"])
    expect(page.get_by_text(third["note"])).to_be_hidden()
    page.locator(".lab-answer:visible").click()
    expect(page.get_by_text(third["note"])).to_be_visible()
    assert status(page).startswith("The book's run. ")


@pytest.mark.parametrize("lab", ["hidden_structure"], indirect=True)
def test_the_time_of_a_long_run_is_told_before(page, write, presets):
    page.goto(write())
    press(page, next(preset for preset in presets if preset["key"] == "ten")["label"])
    expect(page.locator(".lab-time")).to_have_text(re.compile(r"^takes about \d+ (s|min)$"))
    press(page, "Run")
    expect(page.locator(".lab-time")).to_have_text(re.compile(r"^\d+ (s|min) left$"), timeout=20_000)


@one
def test_a_link_runs_what_the_reader_ran_and_the_program_is_copied(page, write):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{write()}#lab=cyclic_labels&seed=7")
    expect(page.locator(".lab-status")).to_contain_text("Step 0:")
    press(page, "Copy link")
    expect(page.get_by_text("Link copied.")).to_be_visible()
    assert "run=" not in page.evaluate("navigator.clipboard.readText()")
    said = train_to_the_end(page)
    press(page, "Copy link")
    page.wait_for_function("navigator.clipboard.readText().then(text => text.endsWith('&run=1'))")
    press(page, "Copy Python")
    expect(page.get_by_text("Python copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(".lab-python code").text_content()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(OVER, timeout=60_000)
    assert status(page) == said


@one
def test_without_a_clipboard_the_program_is_selected(page, write):
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined });")
    page.goto(write())
    press(page, "Copy Python")
    assert page.evaluate("String(getSelection())").strip() == page.locator(".lab-python code").text_content().strip()
    expect(page.get_by_text("Python selected")).to_be_visible()


@one
def test_a_field_that_does_not_fit_is_told_in_words_and_forgiven(page, write, presets):
    page.goto(write())
    seed = page.get_by_label("seed", exact=True)
    for wrong in ("words", "-1", ""):
        seed.fill(wrong)
        page.keyboard.press("Tab")
        expect(page.locator(".lab-status")).to_contain_text(f"“{wrong}” does not fit: seed is a whole number")
        expect(seed).to_have_attribute("aria-invalid", "true")
    press(page, presets[1]["label"])
    expect(seed).to_have_attribute("aria-invalid", "false")


POLICY = """<meta http-equiv="Content-Security-Policy" content="worker-src 'none'">"""
# A computation that cannot even begin.
BROKEN = """<script>const Native = Worker; window.Worker = class extends Native {
  constructor() { super(URL.createObjectURL(new Blob(["throw new Error('Not here.')"]))); }
};</script>"""


@one
@pytest.mark.parametrize("more", [POLICY, BROKEN], ids=["policy", "throws"])
def test_where_nothing_can_be_trained_the_book_s_run_stays(chromium, write, presets, more):
    """With a sentence that says why; other settings are not offered to be run."""
    page = chromium.new_page()
    page.goto(write(more=more))
    said = page.locator(".lab-status")
    expect(said).to_contain_text("It cannot be trained here:")
    expect(said).to_contain_text("The book's run. Step 20,000: ")
    for name in ("Run", "To the end", "Back to 0"):
        expect(page.locator(".lab").get_by_role("button", name=name, exact=True)).to_be_disabled()
    press(page, presets[1]["label"])
    expect(said).to_contain_text("The book's run. Step 20,000: ")
    page.get_by_label("seed", exact=True).fill("77")
    page.keyboard.press("Tab")
    expect(said).to_contain_text("It cannot be trained here:")
    expect(page.locator(".lab-run")).to_be_disabled()
    page.close()


@one
def test_a_worker_that_dies_is_followed_by_another(chromium, write):
    page = chromium.new_page()
    page.add_init_script("""const Native = Worker; let count = 0; window.Worker = class extends Native {
      postMessage(asked) {
        if (++count === 3) this.onerror({ message: "out of memory" }); else super.postMessage(asked);
      }
    };""")
    page.goto(write())
    press(page, "Run")
    expect(page.locator(".lab-status")).to_contain_text("the computation stopped (out of memory). Run tries once more.")
    assert status(page).startswith("The book's run. ")
    assert "Identical to the book's run: yes" in train_to_the_end(page)
    page.close()


@one
def test_on_paper_plots_shrink_with_the_sheet(page, write):
    page.add_init_script("ResizeObserver.prototype.observe = () => {};")  # which printing does not wait for
    opened(page, write(), DESK)
    page.emulate_media(media="print")
    page.evaluate("document.querySelector('main').style.width = '600px'")
    right = page.evaluate("document.querySelector('main').getBoundingClientRect().right")
    for canvas in page.locator(".lab-plot canvas").all():
        box = canvas.bounding_box()
        assert box["width"] > 200 and box["x"] + box["width"] <= right
    expect(page.locator(".lab-run")).to_be_hidden()
    expect(page.locator(".lab-status")).to_be_visible()
