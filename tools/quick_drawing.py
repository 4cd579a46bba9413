"""Figures a third faster, to the same pixels: for the kernels of a build, which draw three hundred of them.

Matplotlib's constrained layout asks every axis for its ticks a dozen times between two changes of the layout, draws
each figure once without ink to arrive at that layout, and parses a label's mathematics anew in each figure.  `install`
leaves out the repetitions while a figure is being saved.  Readers' notebooks have Matplotlib as it is.
"""

import os
from functools import lru_cache, wraps

from matplotlib.axis import Axis
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser

FAST = {"compress_level": 1}  # pictures are compressed for good when they are made light
LABELS = 10_000


def install() -> None:
    """Replace Matplotlib's methods in this process; once."""
    if hasattr(Axis._update_ticks, "__wrapped__"):
        return
    ticks: dict = {}  # of the figure that is being saved

    @replaces(FigureCanvasBase)
    def print_figure(original, canvas, *args, **options):
        ticks.clear()
        try:
            return original(canvas, *args, **options)
        finally:
            ticks.clear()

    @replaces(Axis)
    def _update_ticks(original, axis):
        if not axis.get_figure(root=True).canvas.is_saving():
            return original(axis)
        state = axis, *axis.get_view_interval(), *axis.axes.bbox.bounds
        if state not in ticks:
            for old in [one for one in ticks if one[0] is axis]:  # whose positions and labels it has no longer
                del ticks[old]
            ticks[state] = original(axis)
        return ticks[state]

    @replaces(Figure)
    def draw(original, figure, renderer):
        """Of a drawing without ink before the real one, the layout."""
        inkless = "draw_path" in vars(renderer)
        if not (inkless and figure.canvas.is_saving()):
            return original(figure, renderer)
        if engine := figure.get_layout_engine():
            engine.execute(figure)

    @replaces(FigureCanvasAgg)
    def print_png(original, canvas, *args, pil_kwargs=None, **options):
        return original(canvas, *args, pil_kwargs=FAST | (pil_kwargs or {}), **options)

    parse = MathTextParser._parse_cached.__wrapped__  # Matplotlib's cache is one for each figure, and small
    parsers: dict = {}
    parsed = lru_cache(LABELS)(lambda output, *args: parse(parsers[output], *args))

    def _parse_cached(parser, *args):
        parsers.setdefault(parser._output_type, parser)
        return parsed(parser._output_type, *args)

    MathTextParser._parse_cached = _parse_cached
    # What is parsed holds open fonts, which two processes would read at one position: as Matplotlib forgets its own.
    os.register_at_fork(after_in_child=parsed.cache_clear)


def replaces(owner: type):
    """Put a function that takes the original first in the place of the method of its name."""

    def put(method):
        original = getattr(owner, method.__name__)
        setattr(owner, method.__name__, wraps(original)(lambda *args, **options: method(original, *args, **options)))

    return put
