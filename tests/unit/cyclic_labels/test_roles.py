"""Whose loss climbs: the runs are those of the design, and a planted climb is found where it was put."""

import numpy as np
import xarray as xr

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import roles
from shallow.book import records


def test_a_lone_point_beside_equal_clusters_is_the_design():
    found = roles.roles(1003, "one point")
    bump = bumps.slow(bumps.cut(1003, 10, design="poor(5,1)")).isel(seed=0)
    for name in ("rise", "low", "peak", "cluster"):
        np.testing.assert_allclose(found[name], bump[name])
    assert found.climb.dims == ("place",) and found.climb[5] > 1


def test_rows_have_planted_climbs():
    runs = records.load("cyclic_labels/bumps/roles").copy(deep=True)
    runs["climb"] = xr.zeros_like(runs.climb)
    runs["climb"].loc[{"counts": "two points", "place": 2}] = 0.75
    rows = roles.climbs(runs)
    assert [row[2].split()[0] for row in rows] == ["0.00", "0.75", "0.00", "0.00"]
    assert all(row[3].startswith("0.00") for row in rows)
