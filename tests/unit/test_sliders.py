"""Sliders: every position shows its own picture, the page carries text for it, and wrong calls are refused."""

import base64
import io
import itertools
import re

import ipywidgets as widgets
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from shallow.book import session, sliders

matplotlib.use("agg")

EPOCHS, WIDTHS = [0, 500, 20_000], [128, 512]


def picture(epoch, width=128):
    figure, ax = plt.subplots(figsize=(4, 3), facecolor="white")
    ax.bar(["epoch", "width"], [epoch, width])
    ax.set(ylim=(0, 20_000))
    return figure


def described(epoch, width):
    return f"Bars of height {epoch} & {width}."


def shown(box):
    """The HTML that a reader sees: down through the selected children of the stacks."""
    inner = box.children[1]
    while isinstance(inner, widgets.Stack):
        inner = inner.children[inner.selected_index]
    return inner.value


def image_in(markup):
    return Image.open(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]+)", markup)[1])))


def move(box, control, index):
    """What the browser does at a move of a slider: give its index to every linked partner."""
    slider = box.controls[control]
    slider.index = index
    for link in box.links:
        if link.source[0] is slider:
            setattr(*link.target, index)


@pytest.fixture(scope="module")
def grid():
    return sliders.frames(picture, alt=described, epoch=EPOCHS, width=WIDTHS, start={"width": 512})


def test_every_position_of_two_sliders_shows_its_own_picture(grid):
    pictures = set()
    for (i, epoch), (j, width) in itertools.product(enumerate(EPOCHS), enumerate(WIDTHS)):
        move(grid, 0, i)
        move(grid, 1, j)
        assert f'alt="Bars of height {epoch} &amp; {width}."' in shown(grid)
        assert f"<figcaption>epoch {epoch:,}, width {width}</figcaption>" in shown(grid)
        pictures.add(shown(grid))
    assert len(pictures) == len(EPOCHS) * len(WIDTHS)


def test_play_moves_the_first_slider(grid):
    play = grid.children[0].children[0]
    assert isinstance(play, widgets.Play)
    assert (play.min, play.max) == (0, len(EPOCHS) - 1)
    assert grid.links[0].source == (play, "value")
    assert grid.links[0].target == (grid.controls[0], "index")


def test_slider_writes_values_and_begins_at_start():
    box = sliders.frames(
        picture, alt="Bars.", epoch=EPOCHS, width=WIDTHS,
        labels={"epoch": "{:.0e}", "width": lambda width: f"m = {width}"}, start={"epoch": 500},
    )
    assert box.controls[0].options == ("0e+00", "5e+02", "2e+04")
    assert box.controls[1].options == ("m = 128", "m = 512")
    assert (box.controls[0].index, box.controls[1].index) == (1, 0)
    assert 'alt="Bars; epoch 5e+02, width m = 128."' in shown(box)


def test_plain_labels():
    box = sliders.frames(
        lambda initial_scale, design: picture(0), alt="Bars.",
        initial_scale=np.array([0.1, 1e-3]), design=["iid", "equi"],
    )
    assert [control.options for control in box.controls] == [("0.1", "0.001"), ("iid", "equi")]
    assert box.controls[0].description == "initial scale"


def test_frames_are_webp_of_the_asked_width_with_a_pure_background(grid):
    image = image_in(shown(grid))
    assert image.format == "WEBP"
    assert image.size == (720, 540)
    assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_few_colours_stay_close_to_the_drawing():
    figure, ax = plt.subplots()
    ax.imshow(np.random.default_rng(0).normal(size=(30, 30)))
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=720 / figure.get_figwidth())
    exact = np.asarray(Image.open(drawn).convert("RGB"), dtype=int)
    box = sliders.frames(lambda epoch: figure, alt="Noise.", epoch=[0, 1])
    packed = np.asarray(image_in(shown(box)).convert("RGB"), dtype=int)
    assert np.abs(packed - exact).max() <= 12
    assert np.abs(packed - exact).mean() <= 1.5


def test_text_form_is_the_same_in_every_run(grid):
    bundle = grid._repr_mimebundle_()
    assert bundle["text/plain"] == "Sliders(epoch: 3 values; width: 2 values)"


def test_weight_is_reported_and_figures_are_closed():
    before = plt.get_fignums()
    box = sliders.frames(picture, alt="Bars.", epoch=EPOCHS)
    assert box.kilobytes == pytest.approx(sum(len(frame.value) for frame in box.children[1].children) / 1000)
    assert plt.get_fignums() == before


def grown(epoch):
    return plt.figure(figsize=(4, 3 + epoch))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (dict(), "no axis given"),
        (dict(epoch=[]), "epoch needs at least two values"),
        (dict(epoch=[7]), "epoch needs at least two values"),
        (dict(epoch=[0.1, 0.1000001]), r"written differently, got \['0.1', '0.1'\]"),
        (dict(epoch=[0, 1], start={"epoch": 2}), "start of epoch must be one of its values, got 2"),
        (dict(epoch=[0, 1], start={"width": 2}), r"start names \['width'\], the axes are \['epoch'\]"),
        (dict(epoch=[0, 1], labels={"width": "{}"}), r"labels names \['width'\]"),
        (dict(epoch=[0, 1], alt=""), "alt must give a text"),
        (dict(epoch=[0, 1], alt=lambda epoch: None), "alt must give a text, got None at epoch 0"),
        (dict(epoch=range(100), width=[1, 2]), "200 frames, at most 160"),
        (dict(epoch=[0, 1], draw=lambda epoch: plt.subplots()), "return a matplotlib Figure, got tuple at epoch 0"),
        (dict(epoch=[0, 1], draw=grown), r"figures of one size, got \[\(720, 540\), \(720, 720\)\]"),
    ],
)
def test_wrong_calls_are_refused(call, message):
    call = {"draw": picture, "alt": "Bars."} | call
    with pytest.raises(ValueError, match=message):
        sliders.frames(call.pop("draw"), **call)
    plt.close("all")


def test_heavy_pages_are_refused(monkeypatch):
    monkeypatch.setattr(sliders, "MAX_KILOBYTES", 5)
    with pytest.raises(ValueError, match="3 frames weigh .* kB in the page, at most 5 kB"):
        sliders.frames(picture, alt="Bars.", epoch=EPOCHS)


@pytest.mark.parametrize(("setting", "recomputes"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_the_environment_chooses_between_frames_and_recomputing(monkeypatch, setting, recomputes):
    monkeypatch.delenv(session.LIVE, raising=False)
    if setting is not None:
        monkeypatch.setenv(session.LIVE, setting)
    drawn = []

    def draw(epoch, width):
        drawn.append((epoch, width))
        return picture(epoch, width)

    box = sliders.explore(draw, alt=described, epoch=EPOCHS, width=WIDTHS)
    if not recomputes:
        assert drawn == list(itertools.product(EPOCHS, WIDTHS))
        return
    assert drawn == [(0, 128)]
    box.controls[0].index = 2
    box.controls[1].index = 1
    assert drawn == [(0, 128), (20_000, 128), (20_000, 512)]
    assert 'alt="Bars of height 20000 &amp; 512."' in shown(box)
    assert repr(box) == "Sliders(epoch: 3 values; width: 2 values)"
