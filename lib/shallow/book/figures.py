"""The look of the book: one style sheet, one vocabulary of colours, the plots that several sections share.

A chapter calls `use()` once and then draws with matplotlib as usual.  Colours are named by what they mean
(`COLOURS["train"]`), come from Okabe and Ito's palette, which stays distinct under the common kinds of colour
blindness, and never carry a meaning alone: line styles, markers or labels repeat it for grey printing.
Every helper draws on the axes that it is given and returns nothing, so that a cell may end with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import ArrayLike

from shallow.book import records, session
from shallow.stats import Interval

STYLE = "shallow.book.book"  # book.mplstyle beside this module

COLOURS = {
    "train": "#0072B2",
    "test": "#D55E00",
    "label_plus": "#009E73",
    "label_minus": "#CC79A7",
    "live": "#000000",
    "recorded": "#0072B2",
    "null": "#8A8A8A",
    "threshold": "#D55E00",
    "shade": "#EEF2F6",
}

#: Hues without a fixed meaning, for a page to say what they mean there.
BLUE, ORANGE, GREEN, PINK = PALETTE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"

# Eight cluster curves: the hue says which, the line style says it again in grey.
_HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8A8A8A")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (3, 3)))

#: In the metadata of all that a notebook displays: the records that its cell has loaded so far, under "", and those
#: that earlier cells have loaded, by their execution counts.  The site links them below its figures.
BEHIND = "shallow.records"
_EARLIER: dict[str, list[str]] = {}


def use() -> None:
    """Set the style of the book for the session; in a notebook also two pixels of PNG per page pixel.

    Notebook figures are not cropped, so that panels of one size stay of one size on the page.  A reader's notebook does
    not stop where an assertion fails, see :func:`shallow.book.session.soften`.  What it displays says in its metadata
    which recorded runs have been loaded up to then.
    """
    plt.style.use(STYLE)
    try:
        shell = get_ipython()  # type: ignore[name-defined]  (defined inside IPython only)
    except NameError:
        return
    if not hasattr(shell, "kernel"):
        return
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("retina", bbox_inches=None)
    session.soften(shell)
    shell.events.register("post_run_cell", _cell_done)
    shell.display_pub.unregister_hook(_with_records)  # of an earlier call
    shell.display_pub.register_hook(_with_records)


def _cell_done(result) -> None:
    """What has been loaded was loaded by the cell that has just been run."""
    if records.loaded:
        _EARLIER[str(result.execution_count)] = records.loaded.copy()
        records.loaded.clear()


def _with_records(message: dict) -> dict:
    """A message that displays something, with the records behind it."""
    if (_EARLIER or records.loaded) and message["msg_type"] == "display_data":
        message["content"]["metadata"][BEHIND] = _EARLIER | {"": records.loaded.copy()}
    return message


def cluster_styles(periods: int) -> list[dict]:
    """Keyword arguments for `Axes.plot`, one for each of the 2 * periods <= 8 label clusters, in order."""
    return [{"color": _HUES[c], "linestyle": _DASHES[c]} for c in range(2 * periods)]


def mode_styles(count: int) -> list[dict]:
    """Keyword arguments for `Axes.plot`, one for each mode of an ordered family, first (darkest) to last.

    Modes are ordered, so their colours are: a dark-to-light scale that keeps its order in grey.
    """
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, count))
    return [{"color": tuple(shades[k]), "linestyle": _DASHES[k % len(_DASHES)]} for k in range(count)]


def losses(ax: Axes, epochs: ArrayLike, train: ArrayLike, test: ArrayLike) -> None:
    """Training (solid) and test loss (dashed) against the epoch; all three of shape (records,).

    The test curve lies on top: it is the one whose bumps a reader looks for.
    """
    ax.plot(epochs, train, color=COLOURS["train"], linestyle="-", label="training loss")
    ax.plot(epochs, test, color=COLOURS["test"], linestyle="--", label="test loss")
    ax.set(xlabel="epoch", ylabel="loss")
    ax.legend()


def heatmap(ax: Axes, values: ArrayLike, x: ArrayLike, y: ArrayLike, label: str, *, low: float, high: float) -> None:
    """Values (len(y), len(x)) as colours from `low` to `high`, with a bar named `label`; missing values stay grey."""
    shown = np.ma.masked_invalid(values)
    mesh = ax.pcolormesh(x, y, shown, vmin=low, vmax=high, shading="nearest", rasterized=True)
    ax.set_facecolor("#C9C9C9")
    ax.grid(False)
    ax.figure.colorbar(mesh, ax=ax, label=label, pad=0.02)


def fan(
    ax: Axes,
    x: ArrayLike,
    median: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    label: str | None = None,
    colour: str = COLOURS["live"],
    linestyle: str = "-",
    linewidth: float | None = None,
) -> None:
    """A curve within its band: the line `median`, the region from `low` to `high` shaded; all (points,)."""
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    ax.plot(x, median, color=colour, linestyle=linestyle, linewidth=linewidth, label=label)


def errorbars(ax: Axes, x: ArrayLike, found: Iterable[Interval], *, scale: float = 1.0, **looks) -> None:
    """Estimates with their intervals, all times `scale`, against x (points,); `looks` go to `Axes.errorbar`."""
    middle, low, high = scale * np.array([[one.estimate, one.low, one.high] for one in found]).T
    ends = np.maximum([middle - low, high - middle], 0)  # an end may miss its estimate by rounding
    ax.errorbar(x, middle, ends, **{"capsize": 2} | looks)


def log_ticks(axis: Axis) -> None:
    """Plain numbers at 1, 2, 5, 10, ... on a logarithmic axis of few decades, where minor labels crowd."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def swarm(values: ArrayLike, near: float, *, step: float = 0.05, half: float = 0.25) -> np.ndarray:
    """Offsets (points,) by which dots of about one height stand beside each other, about the middle of their column.

    Heights in one band of width `near` are dealt to both sides by turns, so that no column leans: a slope would look
    like a trend.  Neighbours are `step` apart, or closer where they would leave the column of width 2 * `half`.
    """
    values = np.asarray(values, float)
    offsets, bands = np.empty(len(values)), np.floor(values / near)
    for band in np.unique(bands):
        row = np.flatnonzero(bands == band)
        sides = np.arange(len(row)) - (len(row) - 1) / 2
        sides = sides[np.argsort(np.abs(sides), kind="stable")]  # the lowest in the middle, then left and right
        reach = max(np.abs(sides).max(), half / step)
        offsets[row[np.argsort(values[row], kind="stable")]] = half * sides / reach
    return offsets


def few_ticks(ax: Axes) -> None:
    """For a small histogram of large eigenvalues: these in thousands, densities in powers of ten, and few numbers."""
    ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 3))
    ax.locator_params(axis="x", nbins=3)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}")
    ax.set_xlabel("eigenvalue / 1000")


def clusters(ax: Axes, periods: int, *, ticks: bool = True) -> None:
    """Shade the clusters of label -1 on the interval [-1/2, 1/2] and put ticks at the label boundaries.

    The label sgn sin(2 pi P x) changes at the multiples of 1/(2P); the 2P half-periods are the clusters.
    """
    edges = [Fraction(k, 2 * periods) for k in range(-periods, periods + 1)]
    for left, right in pairwise(edges):
        if np.sin(np.pi * periods * float(left + right)) < 0:
            ax.axvspan(float(left), float(right), color=COLOURS["shade"], zorder=0, linewidth=0)
    ax.set_xlim(-0.5, 0.5)
    if ticks:
        ax.set_xticks(list(map(float, edges)), [str(edge).replace("-", "\N{MINUS SIGN}") for edge in edges])
    ax.grid(False, axis="x")


def sample(ax: Axes, x: ArrayLike, y: ArrayLike) -> None:
    """Training points (points,) at their labels: triangles up for label +1, down for -1."""
    x, y = np.asarray(x), np.asarray(y)
    markers = (("label_plus", "^", y > 0, "label +1"), ("label_minus", "v", y <= 0, "label \N{MINUS SIGN}1"))
    for name, marker, rows, label in markers:
        ax.plot(
            x[rows],
            y[rows],
            marker=marker,
            linestyle="none",
            color=COLOURS[name],
            markeredgecolor="white",
            markeredgewidth=0.4,
            markersize=6,
            label=label,
            zorder=3,
        )


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Markdown:
    """A small table as Markdown; cells are written by str, so round them (or pass an Interval) before.

    Raises ValueError for a row of another length than the header.
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"rows must have {len(header)} cells each, got {len(row)} in {row!r}")
    lines = [header, ["---"] * len(header), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))
