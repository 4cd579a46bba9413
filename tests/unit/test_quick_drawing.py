"""Figures of a build are those of Matplotlib, to the last pixel."""

import io
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import matplotlib.pyplot as plt
import numpy as np
import pytest
import quick_drawing
from matplotlib.axis import Axis
from PIL import Image


def pictures() -> list[np.ndarray]:
    """A figure of everything that a layout looks at, as pixels; then with other limits, and larger."""
    with plt.style.context("shallow.book.book"):
        fig, ((first, second), (third, fourth)) = plt.subplots(2, 2, figsize=(6, 5), sharex="col")
        x = np.geomspace(1e-3, 1e3, 50)
        first.loglog(x, x**2, label="$x^2$")
        first.legend()
        first.twinx().plot(x, 1e7 * np.sin(x), ":")
        fig.colorbar(second.pcolormesh(np.arange(12.0).reshape(3, 4)), ax=second, label="value")
        third.set(title="below", xlabel="$x$, and a long label", ylabel="$10^x$")
        fourth.set_aspect("equal")
        fourth.xaxis.tick_top()
        fig.suptitle("all")
        fig.align_ylabels()
        found = [pixels(fig)]
        first.set(xlim=(1e-1, 1e9), ylim=(5, 7))
        found.append(pixels(fig))
        fig.set_size_inches(8, 4)
        found.append(pixels(fig))
        plt.close(fig)
    return found


def pixels(figure) -> np.ndarray:
    figure.savefig(file := io.BytesIO())
    return np.asarray(Image.open(file))


def counted(patch: pytest.MonkeyPatch) -> list:
    """A list that grows whenever Matplotlib looks for the ticks of an axis."""
    asked, update = [], Axis._update_ticks
    patch.setattr(Axis, "_update_ticks", lambda axis: asked.append(axis) or update(axis))
    return asked


def quick() -> tuple[list[np.ndarray], int]:
    """The same pictures in a process with the changes, and how often ticks were looked for there."""
    with pytest.MonkeyPatch.context() as patch:
        asked = counted(patch)
        quick_drawing.install()
        asked.clear()
        return pictures(), len(asked)


def test_pictures_are_matplotlib_s_with_fewer_questions(monkeypatch):
    asked = counted(monkeypatch)
    expected = pictures()
    with get_context("fork").Pool(1) as pool:
        found, questions = pool.apply(quick)
    assert 4 * questions < len(asked)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


def powers(_: int = 0) -> bytes:
    """A figure of formulas alone, as pixels."""
    figure, ax = plt.subplots(figsize=(3, 3))
    ax.set(xscale="log", yscale="log", xlim=(1e-5, 1e3), ylim=(1e-3, 1e5))
    found = pixels(figure)
    plt.close(figure)
    return found.tobytes()


def by_forks() -> set[bytes]:
    """What two forks of a process that has drawn draw side by side."""
    quick_drawing.install()
    first = powers()
    with get_context("fork").Pool(2) as pool:
        return {first, *pool.map(powers, range(40), chunksize=1)}


def test_forks_of_one_process_draw_alike():
    """Though both read the same files of fonts, at once."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:  # whose processes may have their own
        assert len(pool.submit(by_forks).result()) == 1
