"""All machines on tangent kernels stand on the stored networks on orthants, and on no others."""

import numpy as np
import pytest

from shallow.book import records

TANGENT = ("machines", "solvers", "converged", "scalings", "training")


@pytest.mark.parametrize("name", TANGENT)
def test_networks_of_tangent_records_are_the_stored_ones(name):
    """Their accuracies are equal, run by run."""
    networks = records.load("hidden_structure/orthants/orthants").sel(moment="last")
    found = records.load(f"hidden_structure/tangent_{name}")
    found = found.sel(epoch=-1) if "epoch" in found.dims else found
    assert found.sizes["run"] * found.sizes["depth"] > 1
    for column in ("empty", "others", "worst"):
        stored = networks[column].sel(run=found.run, depth=found.depth).transpose("depth", "run").values
        theirs = found[f"network_{column}"].transpose("depth", "run").values
        assert np.array_equal(theirs, stored) if column == "empty" else np.allclose(theirs, stored, rtol=1e-6)
