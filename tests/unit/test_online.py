"""Bad input of committee machines and of their online descent, and what a run keeps."""

import numpy as np
import pytest

from shallow import committee
from shallow.committee import Committee
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import online

PAIR = Process(12, 2.0, 3.0), Process(12, 1.0, 3.0)
START = committee.start([stream("a"), stream("b")], 4, 12)
GOOD = {"networks": START, "processes": PAIR, "rate": 1.0, "steps": 3, "batch": 10}


def streams(count: int = 2) -> list[np.random.Generator]:
    return [stream("batches", r) for r in range(count)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"processes": [PAIR] * 3}, "processes must be one pair or 2 with 12 pixels, got 3"),
        ({"processes": (Process(10, 2, 3), Process(10, 1, 3))}, r"with 12 pixels, got 2 with \[10, 10\]"),
        ({"processes": (PAIR[0], Process((3, 4), 1, 3))}, "processes must be pairs of one shape"),
        ({"networks": Committee(np.full((2, 4, 12), np.nan), np.zeros((2, 4)))}, "networks must have finite"),
        ({"rngs": streams(1)}, "rngs must hold 2 generators"),
        ({"rngs": streams(1) * 2}, "rngs must hold 2 generators of their own"),
        ({"rate": 0.0}, "rate must be positive"),
        ({"rate": np.inf}, "rate must be finite"),
        ({"rate": [1.0, 2.0, 3.0]}, "rate must be finite, one number or 2"),
        ({"steps": -1}, "steps must be an integer of at least 0"),
        ({"batch": 5}, "batch must be an even integer"),
        ({"batch": 0}, "batch must be an even integer"),
        ({"labels": (1, np.nan)}, "labels must be two finite numbers"),
        ({"loss": "hinge"}, "loss must be one of square, absolute"),
        ({"offset": np.nan}, "offset must be finite"),
        ({"bounds": (1.0, -1.0)}, "bounds must be a lower bound that is nowhere above"),
        ({"bounds": (0.5, 1.0)}, "bounds must contain the biases at the start"),
        ({"bounds": (np.zeros(3), np.inf)}, r"broadcast to \(2, 4\)"),
        ({"bounds": (np.nan, 1.0)}, "bounds must be a lower bound"),
        ({"records": [0, 4]}, r"records must be ascending steps in 0\.\.3"),
        ({"records": [2, 1]}, "records must be ascending"),
        ({"records": []}, "records must be ascending"),
        ({"jobs": 0}, "jobs must be an integer of at least 1"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        online.train(**{"rngs": streams(), **GOOD, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W": np.zeros((4, 12))}, r"W, b must have shapes \(R, K, N\)"),
        ({"b": np.zeros((2, 3))}, "W, b must have shapes"),
        ({"activation": "tanh"}, "activation must be one of erf, relu"),
        ({"readout": 0.0}, "readout must be positive"),
    ],
)
def test_impossible_networks_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Committee(**{"W": np.zeros((2, 4, 12)), "b": np.zeros((2, 4)), **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rngs": []}, "rngs must hold a generator"),
        ({"width": 0}, "width must be an integer of at least 1"),
        ({"pixels": 2.5}, "pixels must be an integer of at least 1"),
        ({"variance": -1.0}, "variance must be finite and not negative"),
        ({"dtype": np.float16}, "dtype must be"),
    ],
)
def test_impossible_starts_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        committee.start(**{"rngs": streams(), "width": 4, "pixels": 12, **change})


@pytest.mark.parametrize(("dtype", "batch"), [(np.float16, 4), (np.float32, 3)])
def test_impossible_batches_are_refused(dtype, batch):
    with pytest.raises(ValueError, match="dtype must be|batch must be"):
        online.batches(PAIR, stream("x"), 1, batch, dtype)


def test_inputs_of_other_shapes_are_refused():
    assert START.forward(np.zeros((2, 7, 12))).shape == START.forward(np.zeros((7, 12))).shape == (2, 7)
    for x in (np.zeros((7, 11)), np.zeros((3, 7, 12)), np.zeros(12)):
        with pytest.raises(ValueError, match=r"x must have shape \(n, 12\) or \(2, n, 12\)"):
            START.forward(x)


def test_the_start_has_the_variance_of_glorot_and_bengio_and_one_draw_for_both_number_types():
    double, single = (committee.start([stream("s")], 100, 300, dtype=dtype) for dtype in (np.float64, np.float32))
    assert double.W.var() == pytest.approx(2 / 400, rel=0.03)
    np.testing.assert_array_equal(double.W.astype(np.float32), single.W)
    assert not double.b.any()
    wide = committee.start([stream("s")], 100, 300, variance=0.02, dtype=np.float64)
    np.testing.assert_allclose(wide.W, 2 * double.W)


def test_a_run_keeps_the_start_and_what_was_asked_for():
    before = START.W.copy()
    run = online.train(**GOOD, rngs=streams(), records=[1, 3])
    np.testing.assert_array_equal(START.W, before)
    assert run.W.shape == (2, 2, 4, 12)
    assert run.losses.shape == (2, 3)
    assert not run.diverged.any()
    np.testing.assert_array_equal(run.snapshot(3).W, run.last.W)
    with pytest.raises(ValueError, match=r"step must be recorded, one of \[1, 3\]"):
        run.snapshot(2)


def test_no_steps_give_the_start_back():
    run = online.train(**{**GOOD, "steps": 0}, rngs=streams())
    np.testing.assert_array_equal(run.steps, [0])
    np.testing.assert_array_equal(run.last.W, START.W)


def test_a_diverged_network_is_marked_and_leaves_the_others_alone():
    relu = committee.start([stream("a"), stream("b")], 4, 12, activation="relu")
    run = online.train(relu, PAIR, rngs=streams(), rate=[1e4, 0.1], steps=100, batch=10, labels=(1, 0), bounds=(0, 0))
    assert run.diverged.tolist() == [True, False]
    assert np.isfinite(run.last.W[1]).all()


@pytest.mark.parametrize("steps", [0, 1, 2, 9, 2000, 4000])
def test_log_spaced_records_begin_with_the_start_and_end_with_the_last_step(steps):
    records = online.log_spaced(steps)
    assert records[0] == 0
    assert records[-1] == steps
    assert (np.diff(records) > 0).all()
    ratios = records[records > 20][1:] / records[records > 20][:-1]
    assert (ratios < 10 ** (1 / 5) * 1.03).all()


def test_log_spaced_refuses_impossible_numbers():
    with pytest.raises(ValueError, match="steps must be an integer"):
        online.log_spaced(-1)
    with pytest.raises(ValueError, match="per_decade must be an integer"):
        online.log_spaced(10, 0)
