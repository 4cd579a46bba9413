"""A grid of cells stacks into one labelled dataset, whatever the order in which the cells finish."""

import time

import numpy as np
import pytest
import xarray as xr
from shallow import sweep


def cell(a, b, *, offset=0.0):
    time.sleep(0.002 * (3 - a))  # the first points finish last
    return xr.Dataset({"sum": ((), a + b + offset), "vector": ("k", np.arange(3) * a)}, {"k": [10, 20, 30]})


def test_the_grid_is_labelled_by_its_axes():
    found = sweep.grid(cell, {"a": [1, 2], "b": [5, 6, 7]}, jobs=2, offset=0.5)
    assert found.sizes == {"a": 2, "b": 3, "k": 3}
    assert found["sum"].sel(a=2, b=7) == 9.5
    np.testing.assert_array_equal(found.vector.sel(a=2, b=5), [0, 2, 4])
    np.testing.assert_array_equal(found.k, [10, 20, 30])


def test_one_and_two_threads_agree():
    one, two = (sweep.grid(cell, {"a": [0, 1, 2], "b": [3]}, jobs=jobs) for jobs in (1, 2))
    xr.testing.assert_identical(one, two)


def test_an_empty_axis_is_named():
    with pytest.raises(ValueError, match=r"axes\['b'\] must not be empty"):
        sweep.grid(cell, {"a": [1], "b": []})


def test_results_of_different_shape_are_refused():
    def ragged(a):
        return xr.Dataset({"v": ("k", np.zeros(a))})

    with pytest.raises(ValueError, match="differ in the shape of 'v'"):
        sweep.grid(ragged, {"a": [1, 2]})


def test_a_failing_cell_is_not_hidden():
    def broken(a):
        raise RuntimeError(f"cell {a}")

    with pytest.raises(RuntimeError, match="cell 1"):
        sweep.grid(broken, {"a": [1]})
