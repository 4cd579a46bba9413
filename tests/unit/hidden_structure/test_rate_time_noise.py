"""Networks followed without stopping, against those that the library stops, and the rule on curves made by hand."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure import shells
from experiments.hidden_structure.orthants import cells, rate_time_noise
from shallow.mlp import stacked


def test_the_document_s_setting_is_followed_as_the_library_trains_it():
    found = rate_time_noise.followed(0, "high rate", width=16, epochs=12)
    library = cells.network(0, 3, 16, epochs=10)
    assert float(found.training.sel(epoch=10)) == pytest.approx(float(library.training.sel(epoch=10)), rel=1e-4)
    assert float(found.empty.sel(epoch=10)) == pytest.approx(float(library.empty.sel(moment="last")), abs=0.01)
    assert float(found.others.sel(epoch=10)) == pytest.approx(float(library.others.sel(moment="last")), abs=0.01)
    assert np.isnan(found.empty.sel(epoch=20)) and int(found.stopped_at) == 12


def test_settings_have_equal_steps_where_they_say_so():
    steps = {name: -(-20_320 // one.batch) for name, one in rate_time_noise.SETTINGS.items()}
    assert 200 * steps["high rate"] == 25 * steps["low rate, batches of 4"] == 127_000
    assert 2000 * steps["high rate, batches of 320"] == 128_000
    assert len(shells.draw(0).train) == 20_320


def test_stopping():
    falling = np.linspace(1, 0, 100)
    assert rate_time_noise.stopping(falling) == 100
    assert rate_time_noise.stopping(np.r_[falling[:30], np.ones(70)]) == 30 + cells.PATIENCE
    assert rate_time_noise.stopping(np.r_[1.0, np.full(99, 0.99995)]) == 1 + cells.PATIENCE  # too small a fall


def test_accuracy_and_what_is_refused():
    constant = stacked([([np.zeros((3, 7)), np.zeros((1, 3))], [np.zeros(3), np.ones(1)])])
    assert rate_time_noise.accuracy(constant, shells.draw(0).test) == 0.5
    with pytest.raises(ValueError, match="setting"):
        rate_time_noise.followed(0, "middle rate")
    with pytest.raises(ValueError, match="epochs"):
        rate_time_noise.followed(0, "high rate", epochs=501)


def test_auc_of_planted_scores():
    flags = np.array([0, 0, 1, 1])
    assert rate_time_noise.auc([1, 2, 3, 4], flags) == 1 and rate_time_noise.auc([4, 3, 2, 1], flags) == 0
    assert rate_time_noise.auc([1, 1, 1, 1], flags) == 0.5 and rate_time_noise.auc([1, 3, 2, 4], flags) == 0.75
    certain = rate_time_noise.auc_interval(np.arange(4.0), flags, name="planted")
    assert (certain.estimate, certain.low, certain.high) == (1, 1, 1)
    with pytest.raises(ValueError, match="flags"):
        rate_time_noise.auc([1, 2], [True, True])


def test_rows_compare_run_by_run_with_the_first_setting():
    names, epochs = list(rate_time_noise.SETTINGS), list(rate_time_noise.MOMENTS)
    by_run = np.array([0.8, 0.6])[:, None, None] * np.ones((2, len(names), len(epochs)))
    by_run[:, 1] -= 0.1
    dims = ("run", "setting", "epoch")
    found = xr.Dataset(dict.fromkeys(("empty", "others", "training"), (dims, by_run)))
    found = found.assign_coords(run=[0, 1], setting=names, epoch=epochs)
    found = found.assign(stopped=found.empty.sel(epoch=200), stopped_at=(dims[:2], np.full((2, len(names)), 60)))
    rows = rate_time_noise.compared(found, 0.75)
    assert rows[0][:8] == ["0.001", 32, 200, 127, "0.70 / 0.70", "1 of 2", "", ""]
    assert rows[3][5:8] == ["0 of 2", "-0.10 [-0.10, -0.10]", "-0.10 [-0.10, -0.10]"]
    assert [row[2] for row in rows[-3:]] == [25, 200, "stopped, 60"]
