"""Bad input of the mini-batch trainer, and of the cells that use it."""

import numpy as np
import pytest

from experiments.simplicity_bias import transition
from shallow.data import teachers
from shallow.nets import TwoLayer, small
from shallow.stats import stream
from shallow.train import minibatch
from shallow.train.run import Diverged

SAMPLE = teachers.gaussian(stream("test"), teachers.first_axis(2), 20)
NETWORK = small(stream("test"), 6, 2, 0.1)
GOOD = {"x": SAMPLE.x, "y": SAMPLE.y, "network": NETWORK, "rate": 0.1, "steps": 3, "batch": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": SAMPLE.x[:, :1]}, r"x must be finite of shape \(n, 2\)"),
        ({"x": np.full((20, 2), np.nan)}, "x must be finite"),
        ({"x": np.empty((0, 2)), "y": np.empty(0)}, "x must be finite of shape"),
        ({"y": SAMPLE.y[:5]}, r"y must be finite of shape \(20,\)"),
        ({"network": TwoLayer(NETWORK.W, NETWORK.b + 1, NETWORK.v)}, "network must have no biases"),
        ({"rate": 0.0}, "rate must be positive"),
        ({"decay": np.inf}, "decay must be positive and finite"),
        ({"steps": -1}, "steps must be an integer of at least 0"),
        ({"batch": 0}, "batch must be an integer of at least 1"),
        ({"batch": 21}, "batch must be at most the number of points, 20"),
        ({"every": 0}, "every must be"),
        ({"interval": 0}, "interval must be"),
        ({"dtype": np.float16}, "dtype must be"),
        ({"records": [0, 4]}, r"records must be ascending steps in 0\.\.3"),
        ({"records": [2, 1]}, "records must be ascending"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        minibatch.train(**{**GOOD, **change}, rng=stream("b"))


def test_divergence_names_the_step():
    with pytest.raises(Diverged, match="epoch 200"):
        minibatch.train(**{**GOOD, "rate": 100.0, "steps": 200}, rng=stream("b"))


def test_the_initial_network_is_left_alone():
    before = NETWORK.W.copy()
    run = minibatch.train(**GOOD, rng=stream("b"))
    np.testing.assert_array_equal(NETWORK.W, before)
    assert np.abs(run.network.W - before).max() > 0


def test_a_run_of_the_chapter_is_a_prefix_of_a_longer_one():
    """What shortened verification relies on."""
    short, long = (transition.run(0, 60, width=40, steps=steps, snapshots=(0, 100, 300)) for steps in (300, 900))
    for name in ("train", "excess", "mass"):
        np.testing.assert_array_equal(short[name].values, long[name].sel(step=short.step).values)


def test_runs_at_equal_time_take_more_steps_at_smaller_rates():
    coarse, fine = (transition.at_equal_time(0, 60, rate=rate, time=100.0, width=40) for rate in (0.05, 0.01))
    np.testing.assert_array_equal(coarse.time, fine.time)
    assert abs(float(coarse.train[-1]) - float(fine.train[-1])) < 0.02


def test_the_decayed_phase_and_the_parts_of_a_network_have_their_shapes():
    found = transition.run(0, 60, width=40, steps=500, snapshots=(0,), decayed=60_000, anatomy=True, keep=True)
    assert found.decayed_train.shape == (3,)
    assert found.weights.shape == (40, 6)
    assert found.heaviest.shape == (2, transition.HEAVIEST, 6)
    assert float(found.share.sum()) == pytest.approx(1)
    assert found.decayed_train[0] == found.train[-1]  # a warm restart


@pytest.mark.parametrize("kind", ["quadratic", "relu", "linear 3", "relu x"])
def test_teachers_are_named(kind):
    with pytest.raises(ValueError, match="teacher must be"):
        transition.teacher_of(kind, 5)
