"""Starts of committee machines, and their online descent: what diverges and what a run keeps."""

import numpy as np
import pytest

from shallow import committee
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import online

PAIR = Process(12, 2.0, 3.0), Process(12, 1.0, 3.0)


def streams(count: int = 2) -> list[np.random.Generator]:
    return [stream("batches", r) for r in range(count)]


def test_the_start_has_the_variance_of_glorot_and_bengio_and_one_draw_for_both_number_types():
    double, single = (committee.start([stream("s")], 100, 300, dtype=dtype) for dtype in (np.float64, np.float32))
    assert double.W.var() == pytest.approx(2 / 400, rel=0.03)
    np.testing.assert_array_equal(double.W.astype(np.float32), single.W)
    assert not double.b.any()
    wide = committee.start([stream("s")], 100, 300, variance=0.02, dtype=np.float64)
    np.testing.assert_allclose(wide.W, 2 * double.W)


def test_a_diverged_network_is_marked_and_leaves_the_others_alone():
    relu = committee.start([stream("a"), stream("b")], 4, 12, activation="relu")
    run = online.train(relu, PAIR, rngs=streams(), rate=[1e4, 0.1], steps=100, batch=10, labels=(1, 0), bounds=(0, 0))
    assert run.diverged.tolist() == [True, False]
    assert np.isfinite(run.last.W[1]).all()
