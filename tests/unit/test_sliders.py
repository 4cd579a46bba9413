"""Sliders: every position shows its own picture, the page carries text for it, and wrong calls are refused."""

import base64
import html
import io
import itertools
import json
import re

import matplotlib
import matplotlib.pyplot as plt
import pytest
from PIL import Image

from shallow.book import sliders

matplotlib.use("agg")

EPOCHS, WIDTHS = [0, 500, 20_000], [128, 512]


def picture(epoch, width=128):
    figure, ax = plt.subplots(figsize=(4, 3), facecolor="white")
    ax.bar(["epoch", "width"], [epoch, width])
    ax.set(ylim=(0, 20_000))
    return figure


def described(epoch, width):
    return f"Bars of height {epoch} & {width}."


def frames(sliders):
    """The figures in the HTML of a built page: whether a reader without scripts sees them, and what they contain."""
    figures = re.findall(r'<figure class="shallow-frame"( hidden)?>(.*?)</figure>', sliders._repr_html_())
    return [(not hidden, content) for hidden, content in figures]


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """As in a build: frames that need no kernel."""
    monkeypatch.setenv("SHALLOW_STRICT", "1")


def test_every_position_of_two_sliders_has_its_own_picture():
    grid = sliders.explore(picture, alt=described, epoch=EPOCHS, width=WIDTHS, start={"width": 512})
    found = frames(grid)
    for (shown, content), (epoch, width) in zip(found, itertools.product(EPOCHS, WIDTHS), strict=True):
        assert shown == ((epoch, width) == (0, 512))
        assert f'alt="Bars of height {epoch} &amp; {width}."' in content
        assert f"<figcaption>epoch {epoch:,}, width {width}</figcaption>" in content
    pictures = [base64.b64decode(re.search(r"base64,([^\"]+)", content)[1]) for _, content in found]
    assert len(set(pictures)) == len(EPOCHS) * len(WIDTHS)
    assert plt.get_fignums() == []
    assert repr(grid) == "Sliders(epoch: 3 values; width: 2 values)"
    image = Image.open(io.BytesIO(pictures[0]))
    assert (image.format, image.size) == ("WEBP", (720, 540))
    assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_slider_writes_values_and_begins_at_start():
    labels = {"epoch": "{:.0e}", "width": lambda width: f'"{width}"'}
    box = sliders.explore(picture, alt="Bars.", epoch=EPOCHS, width=WIDTHS, labels=labels, start={"epoch": 500})
    found = re.findall(r'type="range" max="(\d)" value="(\d)" data-texts="([^"]*)"', box._repr_html_())
    assert [(most, start, json.loads(html.unescape(texts))) for most, start, texts in found] == [
        ("2", "1", ["0e+00", "5e+02", "2e+04"]),
        ("1", "0", ['"128"', '"512"']),
    ]
    (content,) = [content for shown, content in frames(box) if shown]
    assert 'alt="Bars; epoch 5e+02, width &quot;128&quot;."' in content


def grown(epoch):
    return plt.figure(figsize=(4, 3 + epoch))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (dict(), "axes must be given as in"),
        (dict(epoch=[7]), "epoch needs at least two values"),
        (dict(epoch=[0.1, 0.1000001]), r"written differently, got \['0.1', '0.1'\]"),
        (dict(epoch=[0, 1], start={"epoch": 2}), "start of epoch must be one of its values, got 2"),
        (dict(epoch=[0, 1], start={"width": 2}), r"name \['width'\], the axes are \['epoch'\]"),
        (dict(epoch=[0, 1], alt=lambda epoch: None), "alt must give a text, got None at epoch 0"),
        (dict(epoch=EPOCHS), "3 frames weigh .* kB in the page, at most 5 are"),
        (dict(epoch=range(100), width=[1, 2]), "200 frames, each about 15 kB; at most 160"),
        (dict(epoch=[0, 1], draw=lambda epoch: plt.subplots()), "return a matplotlib Figure, got tuple at epoch 0"),
        (dict(epoch=[0, 1], draw=grown), r"figures of one size, got \[\(720, 540\), \(720, 720\)\]"),
    ],
)
def test_wrong_calls_are_refused(monkeypatch, call, message):
    monkeypatch.setattr(sliders, "MAX_KILOBYTES", 5)
    call = {"draw": picture, "alt": "Bars."} | call
    with pytest.raises(ValueError, match=message):
        sliders.explore(call.pop("draw"), **call)
    plt.close("all")


@pytest.mark.parametrize("setting", ["", "0"])
def test_a_reader_with_a_kernel_gets_pictures_drawn_anew(monkeypatch, setting):
    monkeypatch.setenv("SHALLOW_STRICT", setting)
    drawn = []

    def draw(epoch, width):
        drawn.append((epoch, width))
        return picture(epoch, width)

    box = sliders.explore(draw, alt=described, epoch=EPOCHS, width=WIDTHS)
    assert drawn == [(0, 128)]
    box.controls[0].index = 2
    box.controls[1].index = 1
    assert drawn == [(0, 128), (20_000, 128), (20_000, 512)]
    assert 'alt="Bars of height 20000 &amp; 512."' in box.children[1].value
    play = box.children[0].children[0]
    assert (play.min, play.max) == (0, len(EPOCHS) - 1)
    assert (box.link.source, box.link.target) == ((play, "value"), (box.controls[0], "index"))
    assert repr(box) == "Sliders(epoch: 3 values; width: 2 values)"
