"""The library computes what the authors' programs computed."""

import numpy as np
import pytest

from experiments.authors_programs.beside import FILES, bound, differences
from experiments.authors_programs.files import difference

RECORDED = np.array([[1.0, -2.0], [100.0, 0.0]])


@pytest.mark.parametrize(("file", "key"), [(file, key) for file in FILES for key in FILES[file].recording.outputs])
def test_the_library_computes_what_the_program_computed(file, key):
    """Data, weights, losses, spectra, machines: what each file holds, to the bound of its kind."""
    assert differences(file)[key] < bound(file, key)


@pytest.mark.parametrize(
    ("axes", "expected"), [(None, 0.01), ((1,), 0.5), ((), 1.0)], ids=["of the whole", "of each row", "of each number"]
)
def test_differences_are_relative_to_the_largest_entry(axes, expected):
    assert difference(RECORDED + [[1.0, 0.0], [0.0, 0.0]], RECORDED, axes) == expected
    assert difference(RECORDED, RECORDED, axes) == 0


@pytest.mark.parametrize("wrong", [1e-300, np.nan, np.inf])
def test_only_zero_equals_zero_and_nothing_equals_nan(wrong):
    assert difference(RECORDED + [[0.0, 0.0], [0.0, wrong]], RECORDED, ()) == np.inf
