"""Runs of the network of Figure 1 with leaks closed."""

import numpy as np
import pytest

from experiments.simplicity_bias.transition import which_leak

SMALL = {"seed": 0, "n": 100, "margin": True, "width": 40, "steps": 1000}


@pytest.fixture(scope="module")
def ends():
    return {start: which_leak.followed(**SMALL, start=start) for start in which_leak.STARTS}


def test_as_many_others_are_taken_away_as_late_ones(ends):
    shares = {start: float(run.share) for start, run in ends.items()}
    assert shares["late taken away"] == shares["others taken away"] > 0
    assert shares["as it is"] == shares["dominated"] == 0


def test_the_late_ones_are_those_that_point_elsewhere_at_first(ends):
    first = {start: float(run.outside.isel(step=0)) for start, run in ends.items()}
    assert first["late taken away"] < first["others taken away"]


def test_all_starts_learn_the_linear_function_of_the_same_samples(ends):
    for run in ends.values():
        np.testing.assert_allclose(run.train.isel(step=-1), ends["as it is"].ols, rtol=0.1)


def test_an_unknown_start_is_refused():
    with pytest.raises(ValueError, match="start"):
        which_leak.followed(**SMALL, start="small")
