"""Alignment, extremal vectors and solutions of condition (6): bad input."""

import numpy as np

from experiments.simplicity_bias import early_alignment
from shallow import stats

X, Y = stats.stream("bad input").standard_normal((6, 2)), np.array([1.0, -2.0, 3.0, 1.5, -0.5, 2.5])


def test_linkage_groups_what_is_close():
    angles = np.array([0.0, 0.04, 0.08, 1.0, 2.0, 2.01])
    found = early_alignment.grouped(np.column_stack([np.cos(angles), np.sin(angles)]), 0.05)
    assert found.tolist() == [3, 2, 1]


def test_neurons_are_clustered_and_small_at_the_end_of_early_alignment():
    found = early_alignment.aligned(0, 100, "dominated", m=200)
    assert found.clusters.sel(time="aligned", angle=0.05) < 10 < found.clusters.sel(time="start", angle=0.05)
    assert found.growth <= 1e-6**-0.5 and found.output < 1e-5
