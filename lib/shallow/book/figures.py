"""The look of the book: one style sheet, one vocabulary of colours, the plots that several sections share.

A chapter calls `use()` once and then draws with matplotlib as usual.  Colours are named by what they mean
(`COLOURS["train"]`), come from Okabe and Ito's palette, which stays distinct under the common kinds of colour
blindness, and never carry a meaning alone: line styles, markers or labels repeat it for grey printing.
Every helper draws on the axes that it is given and returns nothing, so that a cell may end with it.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import LogLocator
from numpy.typing import ArrayLike

from shallow import checks

STYLE = "shallow.book"

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

# Eight cluster curves: the hue says which, the line style says it again in grey.
_HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8A8A8A")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (3, 3)))


def use() -> None:
    """Set the style of the book for the session; in a notebook also two pixels of PNG per page pixel.

    Notebook figures are not cropped, so that panels of one size stay of one size on the page.
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


def cluster_styles(periods: int) -> list[dict]:
    """Keyword arguments for `Axes.plot`, one for each of the 2 * periods label clusters, left to right.

    Raises ValueError for more clusters than can be told apart (periods > 4).
    """
    if not 1 <= periods <= len(_HUES) // 2:
        raise ValueError(f"periods must lie in 1..{len(_HUES) // 2} to have distinct styles, got {periods}")
    return [{"color": _HUES[c], "linestyle": _DASHES[c]} for c in range(2 * periods)]


def mode_styles(count: int) -> list[dict]:
    """Keyword arguments for `Axes.plot`, one for each mode of an ordered family, first (darkest) to last.

    Modes are ordered, so their colours are: a dark-to-light scale that keeps its order in grey.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, count))
    return [{"color": tuple(shades[k]), "linestyle": _DASHES[k % len(_DASHES)]} for k in range(count)]


def losses(ax: Axes, epochs: ArrayLike, train: ArrayLike, test: ArrayLike, *, log: bool = False) -> None:
    """Training (solid) and test loss (dashed) against the epoch; all three of shape (records,).

    The test curve lies on top: it is the one whose bumps a reader looks for.
    """
    epochs, train, test = _same_length(epochs=epochs, train=train, test=test)
    ax.plot(epochs, train, color=COLOURS["train"], linestyle="-", label="training loss")
    ax.plot(epochs, test, color=COLOURS["test"], linestyle="--", label="test loss")
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="epoch", ylabel="loss")
    ax.legend()


def heatmap(
    ax: Axes, values: ArrayLike, x: ArrayLike, y: ArrayLike, label: str, *,
    log: bool = False, low: float | None = None, high: float | None = None,
) -> None:
    """Values (len(y), len(x)) as colours, with a colour bar named `label`; missing values stay grey.

    `log` scales the colours logarithmically and leaves values <= 0 grey as well; `low` and `high` fix the
    ends of the scale, so that two panels can be compared.  Raises ValueError for shapes that do not fit.
    """
    checks.unmasked(values=values, x=x, y=y)
    values, x, y = np.asarray(values, dtype=float), np.asarray(x), np.asarray(y)
    if values.shape != (len(y), len(x)):
        raise ValueError(f"values must have shape (len(y), len(x)) = {(len(y), len(x))}, got {values.shape}")
    shown = np.ma.masked_where(~np.isfinite(values) | (log & (values <= 0)), values)
    scale = (LogNorm if log else Normalize)(low, high)
    mesh = ax.pcolormesh(x, y, shown, norm=scale, shading="nearest", rasterized=True)
    ax.set_facecolor("#C9C9C9")
    ax.grid(False)
    # 1, 2, 5, 10, ... on a log scale: some label even where it spans less than a decade
    ticks = dict(ticks=LogLocator(subs=(1.0, 2.0, 5.0)), format="%g") if log else {}
    bar = ax.figure.colorbar(mesh, ax=ax, label=label, pad=0.02, **ticks)
    if log:
        bar.minorticks_off()


def fan(
    ax: Axes, x: ArrayLike, median: ArrayLike, low: ArrayLike, high: ArrayLike, *,
    label: str | None = None, colour: str = COLOURS["live"], linestyle: str = "-",
) -> None:
    """A curve within its band: the line `median`, the region from `low` to `high` shaded; all (points,)."""
    x, median, low, high = _same_length(x=x, median=median, low=low, high=high)
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    ax.plot(x, median, color=colour, linestyle=linestyle, label=label)


def clusters(ax: Axes, periods: int, *, ticks: bool = True) -> None:
    """Shade the clusters of label -1 on the interval [-1/2, 1/2] and put ticks at the label boundaries.

    The label sgn sin(2 pi P x) changes at the multiples of 1/(2P); the 2P half-periods are the clusters.
    """
    if periods < 1:
        raise ValueError(f"periods must be at least 1, got {periods}")
    edges = [Fraction(k, 2 * periods) for k in range(-periods, periods + 1)]
    for left, right in pairwise(edges):
        middle = float(left + right) / 2
        if np.sin(2 * np.pi * periods * middle) < 0:
            ax.axvspan(float(left), float(right), color=COLOURS["shade"], zorder=0, linewidth=0)
    ax.set_xlim(-0.5, 0.5)
    if ticks:
        ax.set_xticks([float(edge) for edge in edges], [_fraction(edge) for edge in edges])
    ax.grid(False, axis="x")


def sample(ax: Axes, x: ArrayLike, y: ArrayLike, *, height: ArrayLike | None = None) -> None:
    """Training points (points,): triangles up for label +1, down for -1, at their label or at `height`."""
    x, y = _same_length(x=x, y=y)
    height = y if height is None else np.broadcast_to(height, x.shape)
    markers = (("label_plus", "^", y > 0, "label +1"), ("label_minus", "v", y <= 0, "label \N{MINUS SIGN}1"))
    for name, marker, rows, label in markers:
        ax.plot(
            x[rows], height[rows], marker=marker, linestyle="none", color=COLOURS[name],
            markeredgecolor="white", markeredgewidth=0.4, markersize=6, label=label, zorder=3,
        )


def spectrum(ax: Axes, values: ArrayLike, *, label: str | None = None, top: int = 0, **style) -> None:
    """Eigenvalues (count,) in descending order against their rank, log-log; the first `top` are ringed.

    Values <= 0 (round-off of a singular matrix) cannot be drawn and are left out; ranks are kept.
    """
    checks.unmasked(values=values)
    values = np.sort(np.asarray(values, dtype=float))[::-1]
    if values.ndim != 1 or not len(values):
        raise ValueError(f"values must be a non-empty vector of eigenvalues, got shape {values.shape}")
    ranks, shown = np.arange(1, len(values) + 1), values > 0
    style = {"marker": "o", "markersize": 3.5, "linewidth": 1.0} | style
    ax.loglog(ranks[shown], values[shown], label=label, **style)
    if top:
        ax.loglog(
            ranks[:top], values[:top], "o", markersize=9, markerfacecolor="none",
            markeredgecolor=COLOURS["test"], label=f"first {top}",
        )
    ax.set(xlabel="rank of the eigenvalue", ylabel="eigenvalue")


def intervals(ax: Axes, names: Sequence[str], found: Sequence, *, threshold: float | None = None) -> None:
    """One row per name: estimate and interval of each `stats.Interval` (fields estimate, low, high).

    `threshold` draws the value that a rule compares with.  Rows run from top to bottom in the given order.
    """
    if len(names) != len(found) or not len(names):
        raise ValueError(f"names and found must have one length >= 1, got {len(names)} and {len(found)}")
    rows = np.arange(len(names))
    ax.hlines(rows, [f.low for f in found], [f.high for f in found], color=COLOURS["live"], linewidth=1.5)
    ax.plot([f.estimate for f in found], rows, "o", color=COLOURS["live"])
    if threshold is not None:
        ax.axvline(threshold, color=COLOURS["threshold"], linestyle=":", linewidth=1.3)
    ax.set_yticks(rows, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")


def _fraction(value: Fraction) -> str:
    """A short tick label: 0, 1/3 or, with a true minus sign, -1/3."""
    return str(value).replace("-", "\N{MINUS SIGN}")


def _same_length(**vectors: ArrayLike) -> list[np.ndarray]:
    """The vectors as arrays; ValueError naming them when their lengths differ."""
    checks.unmasked(**vectors)
    arrays = {name: np.asarray(vector) for name, vector in vectors.items()}
    if len({array.shape for array in arrays.values()}) != 1 or next(iter(arrays.values())).ndim != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"expected vectors of one length, got {shapes}")
    return list(arrays.values())


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Markdown:
    """A small table as Markdown; cells are written by str, so round them (or pass an Interval) before.

    Raises ValueError for a row of another length than the header.
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"rows must have {len(header)} cells each, got {len(row)} in {row!r}")
    lines = [header, ["---"] * len(header), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))
