"""The rule on capacity, on planted solutions."""

import pytest
import xarray as xr

from experiments.simplicity_bias.rules import capacity


@pytest.mark.parametrize(
    ("missing", "train", "verdict"), [(0, 1e-28, "reproduced"), (1, 1e-28, "contradicted"), (0, 1e-3, "contradicted")]
)
def test_whether_all_labels_can_be_fitted(missing, train, verdict):
    sizes = xr.DataArray([500, 1000, 2000, 5000], dims="n")
    table = {"rank": sizes - missing, "condition": 1e6, "train": sizes * 0 + train, "excess": sizes * 0 + 0.2}
    solved = xr.Dataset(table, {"n": sizes.values}).expand_dims(seed=[0, 1])
    assert capacity.sb_23(solved).verdict == verdict
