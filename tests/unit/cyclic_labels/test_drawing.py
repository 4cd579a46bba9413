"""Figures of the page on the document show all that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from experiments.cyclic_labels import drawing, loss_curves
from experiments.cyclic_labels.kernel import drawing as of_kernel
from experiments.cyclic_labels.kernel import modes
from experiments.cyclic_labels.variance import heatmaps
from shallow.book import sweep


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_maps_of_ten_models_one_by_one_and_of_their_sums_are_the_same_and_nothing_is_cut_off():
    options = dict(step=0.01, width=16, models=10, epochs=1000, every=500)
    sizes = {"n": [10, 12]}
    each = drawing.ten_models(sweep.grid(heatmaps.models, sizes, **options))
    sums = drawing.forty_models(sweep.grid(heatmaps.heatmap, sizes, **options))
    axes = drawing.maps({name: (each, name) for name in drawing.MAPPED}).axes[:3]
    for ax, (name, (_, end)) in zip(axes, drawing.MAPPED.items(), strict=True):
        (mesh,) = ax.collections
        drawn = np.asarray(mesh.get_array()).reshape(3, 2)
        assert drawn == pytest.approx(sums[name].transpose("epoch", "n").values, rel=1e-4)
        assert mesh.norm.vmin == 0 and mesh.norm.vmax == end
    with pytest.raises(ValueError, match="test_loss must not exceed 30"):
        drawing.maps({"a": (each, "variance"), "b": (each + 30, "test_loss")})


def test_modes_apart_draws_five_projections_and_whole_losses():
    figure = plt.figure()
    of_kernel.modes_apart(figure, 64, 0)
    above, below, *rows = figure.axes
    run = loss_curves.run(0, design="two_rightmost", width=64)
    beta = modes.track(0, design="two_rightmost", width=64).beta.values
    for i, whole in enumerate(rows[::2]):
        assert np.allclose(whole.lines[0].get_ydata()[::20], beta[:, i], atol=1e-5)
    assert above.lines[1].get_ydata() == pytest.approx(run.test_loss.values)
    assert len(below.lines[1].get_ydata()) == 121 and above.get_ylim()[1] >= run.test_loss.max()


def test_the_frame_of_an_output_holds_all_its_epochs():
    run = loss_curves.run(0, width=16, epochs=1000, keep=("predictions", "sample"))
    _, ax = plt.subplots()
    line = drawing.output(ax, run, 500)
    assert line.get_ydata() == pytest.approx(run.predictions.sel(epoch=500).values)
    low, high = ax.get_ylim()
    assert low < run.predictions.min() and run.predictions.max() < high
