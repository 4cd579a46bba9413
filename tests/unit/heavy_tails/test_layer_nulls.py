"""Permuted matrices of a layer, and the losses along a course: what the cells of the two rooms return."""

import numpy as np

from experiments.heavy_tails.beyond import layer_nulls
from experiments.heavy_tails.overlaps import scatters
from shallow.spectra import esd
from shallow.stats import stream


def hills(W):
    """Largest eigenvalue of the kinds of a matrix."""
    return dict(zip(layer_nulls.KINDS, layer_nulls.of_kinds(W, stream("planted layer"))))


def test_kinds_keep_what_they_should():
    rng = stream("planted")
    W = rng.standard_normal((60, 80)) * np.exp(rng.standard_normal(80))
    found = hills(W)
    assert np.array_equal(found["trained"], W)
    assert np.array_equal(np.sort(found["within columns"], axis=0), np.sort(W, axis=0))
    assert np.array_equal(np.sort(found["within rows"], axis=1), np.sort(W, axis=1))
    assert np.array_equal(np.sort(found["all entries"], axis=None), np.sort(W, axis=None))


def test_a_column_profile_survives_within_columns_alone():
    rng = stream("planted profile")
    W = rng.standard_normal((120, 100)) * np.exp(1.5 * rng.standard_normal(100))
    largest = {kind: esd.eigenvalues(one)[0] for kind, one in hills(W).items()}
    assert abs(largest["within columns"] / largest["trained"] - 1) < 0.15
    assert largest["all entries"] < 0.6 * largest["trained"]


def test_a_course_begins_at_the_start_and_has_every_step():
    size = {"n": 60, "d": 30, "h": 40, "test": 50}
    found = scatters.course(0, rule="GD code", rate=5.0, steps=3, **size)
    shorter = scatters.course(0, rule="GD code", rate=5.0, steps=1, **size)
    assert found["at"].values.tolist() == [0, 1, 2, 3]
    assert np.allclose(found.test[:2], shorter.test)
