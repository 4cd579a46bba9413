"""The book's style and plot helpers: what is drawn is what was given, and it survives grey printing."""

import base64
import io
from fractions import Fraction

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from nbclient import NotebookClient
from PIL import Image

from shallow.book import figures
from shallow.stats import Interval

matplotlib.use("agg")


@pytest.fixture
def ax():
    with plt.style.context(figures.STYLE):
        figure, axes = plt.subplots()
        yield axes
    plt.close(figure)


def test_notebook_pictures_have_two_pixels_per_page_pixel():
    cells = ["from shallow.book import figures; figures.use()", "import matplotlib.pyplot as plt; plt.plot([0, 1]);"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    (output,) = notebook.cells[1].outputs
    image = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
    assert image.size == (1400, 825)
    assert output.metadata["image/png"]["width"] == 700


def test_styles_tell_curves_apart_without_colour():
    styles = figures.cluster_styles(4)
    for part in ("color", "linestyle"):
        assert len({str(style[part]) for style in styles}) == 8
    luminance = [np.dot(to_rgb(style["color"]), [0.2126, 0.7152, 0.0722]) for style in figures.mode_styles(8)]
    assert all(np.diff(luminance) > 0.02)


def test_heatmap_puts_every_value_at_its_place(ax):
    values = np.arange(1.0, 7.0).reshape(2, 3)
    values[0, 0] = np.nan
    figures.heatmap(ax, values, x=[10, 20, 30], y=[0, 500], label="variance", low=0, high=10)
    (mesh,) = ax.collections
    edges, shown = mesh.get_coordinates(), mesh.get_array().reshape(2, 3)
    assert np.array_equal(shown.mask, np.isnan(values))
    column, row = 2, 1
    assert edges[row, column, 0] < 30 < edges[row, column + 1, 0]
    assert edges[row, column, 1] < 500 < edges[row + 1, column, 1]
    assert shown[row, column] == 6 and mesh.norm(5) == pytest.approx(0.5)
    assert mesh.colorbar.ax.get_ylabel() == "variance"


def test_errorbars_reach_from_low_to_high_and_never_backwards(ax):
    found = [Interval(0.4, 0.3, 0.6), Interval(1.0, 0.9, 1.0 - 1e-16)]
    figures.errorbars(ax, [1, 2], iter(found), scale=100, color=figures.BLUE)
    (drawn,) = ax.containers
    middle, caps, (bars,) = drawn
    assert middle.get_ydata() == pytest.approx([40, 100]) and len(caps) == 2 and middle.get_color() == figures.BLUE
    assert np.array(bars.get_segments())[..., 1] == pytest.approx(np.array([[30, 60], [90, 100]]))
    figures.errorbars(ax, [1, 2], found, capsize=0)
    assert not ax.containers[1][1]


def test_few_ticks_count_eigenvalues_in_thousands(ax):
    ax.set_xlim(0, 6000)
    figures.few_ticks(ax)
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "2", "4", "6"]


def test_labels_of_few_decades_are_plain_numbers_that_do_not_crowd(ax):
    ax.set(yscale="log", ylim=(2, 70))
    figures.log_ticks(ax.yaxis)
    ax.figure.canvas.draw()
    shown = [label.get_text() for which in ("major", "minor") for label in ax.get_yticklabels(which=which)]
    assert [one for one in shown if one and 2 <= float(one) <= 70] == ["2", "5", "10", "20", "50"]


def test_a_swarm_leans_to_no_side_and_keeps_to_its_column():
    values = np.random.default_rng(0).permutation(np.r_[np.linspace(0.5, 0.59, 10), np.full(15, 0.7), 0.95])
    beside = figures.swarm(values, 0.1, step=0.02, half=0.1)
    for low, high, gap in ((0.5, 0.6, 0.02), (0.69, 0.71, 0.2 / 14), (0.9, 1, 0)):
        row = np.sort(beside[(low <= values) & (values < high)])
        assert np.allclose(np.diff(row), gap) and np.isclose(row.sum(), 0)
    assert np.abs(beside).max() == pytest.approx(0.1)
    low = values < 0.6
    assert abs(np.corrcoef(values[low], beside[low])[0, 1]) < 0.2  # sorted runs beside each other would have 1


@pytest.mark.parametrize("periods", [1, 3, 4])
def test_clusters_shade_exactly_the_negative_labels(ax, periods):
    figures.clusters(ax, periods)
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    points = np.random.default_rng(0).uniform(-0.5, 0.5, 500)
    shaded = np.array([any(left < point < right for left, right in spans) for point in points])
    assert np.array_equal(shaded, np.sin(2 * np.pi * periods * points) < 0)
    written = [Fraction(label.get_text().replace("\N{MINUS SIGN}", "-")) for label in ax.get_xticklabels()]
    assert written == [Fraction(k, 2 * periods) for k in range(-periods, periods + 1)]
    assert ax.get_xticks() == pytest.approx([float(tick) for tick in written])


def test_a_table_has_cells_of_equal_number():
    table = figures.table(["n", "loss"], [[10, Interval(0.4, 0.3, 0.5)]]).data
    assert table == "| n | loss |\n| --- | --- |\n| 10 | 0.40 [0.30, 0.50] |"
    with pytest.raises(ValueError, match="rows must have 2 cells each, got 1 in .10."):
        figures.table(["n", "loss"], [[10]])
