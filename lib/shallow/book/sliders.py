"""Sliders: with a kernel they draw anew at every move; on the static page the browser switches precomputed frames.

One description, a function that draws and the values of its arguments, serves both readers:

    def picture(epoch, width):
        fig, ax = plt.subplots()
        ...
        return fig

    sliders.explore(picture, alt="Output of the network.", epoch=[0, 500, 20_000], width=[128, 512])

In a strict session (:mod:`shallow.book.session`), as when the book is built, every combination becomes a WebP picture,
of which the page's script, sliders.js, shows the one that is chosen: nothing but the browser is needed.

A page must stay light: 40 pictures of 720 pixels weigh 0.5 to 0.9 MB, fetched when a reader comes near.
"""

import base64
import html
import io
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ipywidgets as widgets
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from shallow.book import session

MAX_FRAMES = 160
MAX_KILOBYTES = 1500
PIXELS = 720  # the width of every picture

Draw = Callable[..., Figure]
Alt = str | Callable[..., str]
Labels = dict[str, str | Callable[[Any], str]]


@dataclass(frozen=True)
class Axis:
    """One slider: its name, the values it takes, how each value is written, and where it starts."""

    name: str
    values: tuple
    texts: tuple[str, ...]
    start: int

    def __str__(self) -> str:
        return f"{self.title}: {len(self.values)} values"

    @property
    def title(self) -> str:
        """The name as the reader sees it."""
        return self.name.replace("_", " ")

    def slider(self) -> widgets.SelectionSlider:
        """A slider that shows the written value; its `index` is what links and observers follow."""
        return widgets.SelectionSlider(
            options=self.texts,
            index=self.start,
            description=self.title,
            tooltip=self.title,
            style={"description_width": "initial"},
            layout={"flex": "1 1 16em", "width": "auto", "min_width": "14em"},
        )


class SliderSet(widgets.VBox):
    """Play and sliders above a picture that the kernel draws.  Its text form is that of `Frames`.

    controls    the sliders themselves, in the order of the axes
    """

    def __init__(self, axes: Sequence[Axis], picture: Sequence[widgets.Widget]) -> None:
        self.axes = tuple(axes)
        self.controls = tuple(axis.slider() for axis in axes)
        last = len(axes[0].values) - 1
        play = widgets.Play(max=last, value=axes[0].start, interval=500, layout={"flex": "0 0 auto"})
        self.link = widgets.jslink((play, "value"), (self.controls[0], "index"))
        bar = widgets.HBox([play, *self.controls], layout={"flex_flow": "row wrap", "align_items": "center"})
        super().__init__([bar, *picture])
        self.add_class("shallow-sliders")

    def __repr__(self) -> str:
        return _named(self.axes)


@dataclass(frozen=True)
class Frames:
    """Sliders of a built page and every picture, the last axis moving fastest.

    Its text form names the axes only, so that it is equal in every run.
    """

    axes: Sequence[Axis]
    pictures: Sequence[str] = field(repr=False)

    def __repr__(self) -> str:
        return _named(self.axes)

    def _repr_html_(self) -> str:
        # Without scripts there are no controls, and the picture at the start.
        controls = "".join(map(_control, self.axes))
        start = 0
        for axis in self.axes:
            start = start * len(axis.values) + axis.start
        figures = "".join(
            f'<figure class="shallow-frame"{"" if k == start else " hidden"}>{picture}</figure>'
            for k, picture in enumerate(self.pictures)
        )
        play = '<button type="button">Play</button>'
        bar = f'<div class="sliders-bar" hidden>{play}{controls}</div>'
        return f'<div class="shallow-sliders" data-interval="200">{bar}{figures}</div>'


def explore(
    draw: Draw,
    *,
    alt: Alt,
    labels: Labels | None = None,
    start: dict[str, Any] | None = None,
    **values: Sequence,
) -> SliderSet | Frames:
    """A picture with one slider per axis: drawn by the kernel, in a strict session precomputed for every combination.

    Args:
        draw: called with one value of each axis by keyword, returns a matplotlib Figure, which is closed; it may return
            the same Figure each time.  Fix the limits of its axes, so that only content moves.
        alt: text alternative: a sentence, to which the values are added, or a function of the same keywords.
        labels: how the values of an axis are written: a format such as "{:,}" or a function; None: a plain form.
        start: the value of each axis that is shown first and printed; default the first value.
        **values: the axes, in order: name=[values]; Play moves the first.

    Raises:
        ValueError: for axes without two distinct values, an unknown start, a draw that returns no Figure, an empty
            text; for precomputed frames also if they are of unequal size, more than MAX_FRAMES or than MAX_KILOBYTES
            in the page.

    Cost: one drawing per frame, about 0.1 s.
    """
    labels, start = labels or {}, start or {}
    if not values or (labels | start).keys() - values.keys():
        given = f"labels and start name {sorted(labels | start)}, the axes are {list(values)}"
        raise ValueError(f"axes must be given as in epoch=[0, 100], and named as they are: {given}")
    axes = [_axis(name, tuple(chosen), labels.get(name), start) for name, chosen in values.items()]

    def render(choice: Sequence[int]) -> tuple[str, tuple[int, int]]:
        return _render(draw, axes, choice, alt)

    return _frames(render, axes) if session.is_strict() else _live(render, axes)


def _frames(render: Callable, axes: Sequence[Axis]) -> Frames:
    """Sliders that the browser moves, over a picture for every combination."""
    choices = list(itertools.product(*(range(len(axis.values)) for axis in axes)))
    if len(choices) > MAX_FRAMES:
        raise ValueError(f"values make {len(choices)} frames, each about 15 kB; at most {MAX_FRAMES} are allowed")
    rendered = list(map(render, choices))
    if len(sizes := {size for _, size in rendered}) > 1:
        raise ValueError(f"draw must return figures of one size, got {sorted(sizes)} pixels")
    pictures = [picture for picture, _ in rendered]
    kilobytes = sum(map(len, pictures)) / 1000
    if kilobytes > MAX_KILOBYTES:
        frames = f"{len(choices)} frames weigh {kilobytes:.0f} kB in the page, at most {MAX_KILOBYTES} are allowed"
        raise ValueError(f"{frames}: give fewer values or a plainer picture")
    return Frames(tuple(axes), pictures)


def _live(render: Callable, axes: Sequence[Axis]) -> SliderSet:
    """The same sliders over one picture that the kernel draws anew; an error in draw is shown below it."""
    picture, errors = widgets.HTML(), widgets.Output()
    sliders = SliderSet(axes, [picture, errors])

    @errors.capture(clear_output=True)
    def redraw(change: Any = None) -> None:
        shown, _ = render([slider.index for slider in sliders.controls])
        picture.value = f'<figure class="shallow-frame">{shown}</figure>'

    for slider in sliders.controls:
        slider.continuous_update = False  # draw once, where the handle is let go
        slider.observe(redraw, names="index")
    redraw()
    return sliders


def _named(axes: Sequence[Axis]) -> str:
    return f"Sliders({'; '.join(map(str, axes))})"


def _control(axis: Axis) -> str:
    """A slider in HTML; sliders.js writes the value beside it."""
    texts = html.escape(json.dumps(axis.texts))
    slider = f'<input type="range" max="{len(axis.values) - 1}" value="{axis.start}" data-texts="{texts}">'
    return f'<label>{html.escape(axis.title)} {slider}<span class="sliders-value" aria-hidden="true"></span></label>'


def _axis(name: str, values: tuple, label: str | Callable[[Any], str] | None, start: dict[str, Any]) -> Axis:
    write = label if callable(label) else label.format if label else _plain
    texts = tuple(write(value) for value in values)
    if len(set(texts)) < max(2, len(values)):
        raise ValueError(f"{name} needs at least two values that are written differently, got {list(texts)}")
    if name in start and start[name] not in values:
        raise ValueError(f"start of {name} must be one of its values, got {start[name]!r}")
    return Axis(name, values, texts, values.index(start[name]) if name in start else 0)


def _plain(value: Any) -> str:
    """Integers with thousands separators, floats in short form, anything else as it is."""
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:,}" if hasattr(value, "__index__") else f"{value:g}"


def _render(draw: Draw, axes: Sequence[Axis], choice: Sequence[int], alt: Alt) -> tuple[str, tuple[int, int]]:
    """One combination as the content of a figure: picture with its text, caption of values; and its size in pixels."""
    chosen = {axis.name: axis.values[k] for axis, k in zip(axes, choice, strict=True)}
    written = ", ".join(f"{axis.title} {axis.texts[k]}" for axis, k in zip(axes, choice, strict=True))
    figure = draw(**chosen)
    if not isinstance(figure, Figure):
        raise ValueError(f"draw must return a matplotlib Figure, got {type(figure).__name__} at {written}")
    picture, size = _webp(figure)
    plt.close(figure)
    text = alt(**chosen) if callable(alt) else f"{alt.removesuffix('.')}; {written}." if alt else ""
    if not text:
        raise ValueError(f"alt must give a text, got {text!r} at {written}")
    source = base64.b64encode(picture).decode("ascii")
    markup = (
        f'<img loading="lazy" src="data:image/webp;base64,{source}" alt="{html.escape(text)}" '
        f'width="{size[0]}" height="{size[1]}" decoding="sync" style="max-width: 100%; height: auto">'
        f"<figcaption>{html.escape(written)}</figcaption>"
    )
    return markup, size


def _webp(figure: Figure) -> tuple[bytes, tuple[int, int]]:
    """The figure as WebP, `PIXELS` wide, and its size.

    A palette of 128 colours without loss: for plots about half the bytes of lossy quality 80, with no smear
    around letters; large areas keep their colour exactly, any other is off by about 2 % at most.
    """
    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=PIXELS / figure.get_figwidth(), pil_kwargs={"compress_level": 1})
    with Image.open(drawn) as image:
        full = image.convert("RGB")
    few = full.quantize(128, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    few.convert("RGB").save(packed, "webp", lossless=True, quality=60, method=4)
    return packed.getvalue(), full.size
