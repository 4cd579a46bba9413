"""Crossings of a level, on curves for which they are known."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias import transition


def test_a_line_in_log_n_is_crossed_where_it_should_be():
    n = np.array([10, 30, 100, 1000])
    assert transition.crossing(n, np.log(n / 50)) == pytest.approx(50)
    assert transition.crossing(n, np.log(n / 200)) == pytest.approx(200)


def test_no_crossing_is_nan_and_an_early_one_the_first_size():
    assert np.isnan(transition.crossing([1, 2], [-1, 0]))
    assert transition.crossing([5, 6], [1, 2]) == 5


@pytest.mark.parametrize(("n", "excess"), [([2, 1], [0, 1]), ([0, 1], [0, 1]), ([1, 2], [1]), ([], [])])
def test_sizes_must_ascend(n, excess):
    with pytest.raises(ValueError, match="n must be ascending"):
        transition.crossing(n, excess)


def test_values_must_be_finite():
    with pytest.raises(ValueError, match="excess must be finite"):
        transition.crossing([1, 2], [0, np.nan])


def test_both_thresholds_of_every_seed():
    """Training losses that grow like n / 1000 of the least-squares loss, with a factor for the seed."""
    n, factor = np.array([50, 100, 200, 400, 800]), np.array([1.0, 2.0])
    train = 0.1 * factor[:, None] * np.log(n / 50) / np.log(16)
    final = xr.Dataset({"train": (("seed", "n"), train), "ols": (("seed", "n"), np.full((2, 5), 0.1))}, {"n": n})
    found = transition.thresholds(final, noise=0.1)
    np.testing.assert_allclose(found.interpolation, 50 * 16 ** (0.1 / factor))
    np.testing.assert_allclose(found.half, 50 * 16 ** (0.5 / factor))


def test_the_exponent_of_a_power_law():
    d = np.array([2, 3, 5, 10])
    assert transition.exponent(d, 7.0 * d**3) == pytest.approx(3)
