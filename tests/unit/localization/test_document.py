"""Networks and figures of the document's page."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from planted.records import planted

from experiments.localization.document import cells, drawing


def test_arrangements_are_those_of_the_record():
    """Same start and batches for all; biases begin and are held where their arrangement says."""
    names = ["free", "plus only", "begun 30"]
    start, later = (cells.arranged(names, 3.0, steps=steps) for steps in (0, 3))
    assert (start.W[0] == start.W).all() and (start.b[:2] == 0).all() and (start.b[2] > 0).sum() == 30
    assert (later.b[1] >= 0).all() and (later.b[0] < 0).any()
    assert not np.array_equal(later.W[0], later.W[2])
    with pytest.raises(ValueError, match="names must be arrangements, got none such"):
        cells.arranged(["none such"], 3.0)


def test_titles_have_the_means_of_the_record(monkeypatch):
    """Loss and accuracy over all seeds at the gain and of the arrangement of a panel, whatever the drawn network is."""
    whole = cells.arranged
    monkeypatch.setattr(cells, "arranged", lambda names, gain: whole(names, gain, steps=1))
    labels = {"gain": [0.01, 3.0], "seed": [0, 1], "network": ["free", "begun 30"]}
    loss = np.broadcast_to([[[0.1, 0.2]], [[0.3, 0.4]]], (2, 2, 2)) + [[[-0.05], [0.05]]]
    runs = xr.Dataset({name: (list(labels), loss) for name in ("loss", "accuracy_refitted")}, labels)
    axes = plt.subplots(2, 2)[1]
    drawing.arrangements(axes, {"free": "free", "begun 30": "begun"}, runs)
    assert axes[0, 1].get_title().startswith("begun, $g = 0.01$") and "loss 0.20" in axes[0, 1].get_title()
    assert "loss 0.30, accuracy 0.30" in axes[1, 0].get_title()
    plt.close("all")


def test_leads_are_means_over_the_draws():
    gains = {"gain": [0.01, 0.3, 1.0, 3.0, 100.0]}
    lead = np.array([-0.01, 0.0, 0.01, 0.04, 0.06]).reshape(5, 1, 1)
    runs = planted("localization/bumps/filters_at_a_point", gains, lead=lead, lead_error=0.001).isel(n=0)
    ax = plt.subplots()[1]
    drawing.leads(ax, runs, "gabor", "Gabor function", "o-", "train")
    assert ax.lines[0].get_ydata() == pytest.approx(lead.ravel(), abs=1e-6)
    plt.close("all")
