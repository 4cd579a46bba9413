"""What a recomputed cell must have in common with its record: labels as well as numbers, and all if it is whole."""

import numpy as np
import pytest
import xarray as xr

from shallow.book.recipes import Agreement

RATES, NAMES = [0.1, 0.2, 0.3], ["first", "last"]
CELL = xr.Dataset(
    {"loss": (("epoch", "rate"), np.arange(12.0).reshape(4, 3)), "layer": ("name", [1, 2])},
    {"epoch": [0, 1, 2, 3], "rate": RATES, "name": NAMES, "width": ("rate", [1.0, 2.0, 4.0])},
)
RECORD = xr.concat([CELL, CELL + 1], "seed").assign_coords(seed=[7, 8])


def disagreements(cell, **rule):
    return Agreement().disagreements(cell, RECORD, {"seed": 7}, **rule)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_labels_are_compared(whole, elsewhere):
    rule = {"whole": whole, "elsewhere": elsewhere}
    assert disagreements(CELL, **rule) == []
    assert disagreements(CELL.assign_coords(rate=np.array(RATES) * (1 + 1e-15)), **rule) == []  # another rounding
    for name, labels in {
        "epoch": [0, 1, 2, 4],
        "rate": [0.1, 0.2, 0.31],
        "name": ["last", "first"],
        "width": ("rate", [1.0, 2.0, 5.0]),
    }.items():
        assert disagreements(CELL.assign_coords({name: labels}), **rule) == [name]
    assert disagreements(CELL.isel(epoch=[3, 1, 2, 0]), **rule) == ["epoch"]
    assert disagreements(CELL.drop_vars("width"), **rule) == ["width"]
    assert disagreements(CELL.drop_vars("rate"), **rule) == ["rate"]
    assert disagreements(CELL.rename(loss="error"), **rule) == ["error"]


@pytest.mark.parametrize("part", [CELL.isel(epoch=[0, 2]), CELL.isel(epoch=slice(2)), CELL[["loss"]]])
def test_what_a_shortened_cell_lacks_a_whole_one_must_have(part):
    assert disagreements(part) == []
    assert disagreements(part, whole=True) != []
    assert disagreements(part.assign(loss=part.loss + 1e-3)) == ["loss"]
