"""Runs and figures of the document's page."""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.alignment import alignment_moments
from experiments.hidden_structure.document import cells, drawing


def test_units_are_those_of_the_moments_and_have_a_size():
    options = {"epochs": 3, "size": 400}
    found = cells.units(1, 5, **options)
    moments = alignment_moments.moments(1, 5, at=(0,), points=60, chosen_on=40, shown=5, penalties=(0.1,), **options)
    np.testing.assert_array_equal(found.cosine, moments.cosine.isel(moment=-1))
    np.testing.assert_array_equal(cells.units(1, 5, whole=False, size=400).early, found.early)
    assert int(found.epochs) == 3 and (found.norm > 0).all() and 0.5 < float(found.norm.median()) < 5


def test_an_untrained_machine_spreads_with_its_penalty():
    """From nearly a constant to a fit; one fold's errors make the mean by which C is chosen."""
    found = cells.untrained(0, 12, points=80, chosen_on=40, penalties=(1e-4, 1e2), size=400)
    few, many = found.spread.values
    assert few < 0.01 < many and found.error.shape == (2, 4)
    one = cells.untrained(0, 12, points=80, chosen_on=40, penalties=(1e-4,), size=400)
    np.testing.assert_array_equal(one.error[0], found.error[0])


def test_figures_clip_nothing_and_mark_the_units_that_are_left():
    v = np.linspace(-2, 2, 9)
    y = np.stack([10 * v, v])[:, None].repeat(4, 1)
    curves = xr.Dataset(
        {
            name: (("degree", "mode", "point"), values)
            for name, values in {"v": y * 0 + v, "y": y, "prediction": -y}.items()
        },
        {"degree": [3, 6], "mode": list(polynomials.MODES)},
    )
    axes = plt.subplots(2, 4, sharey="row")[1]
    drawing.modes(axes, curves, (3, 6))
    assert axes[0, 0].get_ylim()[1] > 20 > 3 > axes[1, 0].get_ylim()[1] > 2
    units = xr.Dataset({"cosine": ("unit", [0.9, 0.8, 0.1]), "norm": ("unit", [2.0, 0.0, 1e-9])})
    ax = plt.subplots()[1]
    drawing.units_left(ax, units)
    names = {line.get_label(): line.get_xdata().tolist() for line in ax.lines}
    assert names == {"vanished: 2": [1, 2], "left: 1": [0]}
    plt.close("all")
