"""What trainers share: the steps at which they look at a network, what is one for each network, and divergence."""

import numpy as np
import pytest

from shallow import nets
from shallow.stats import stream
from shallow.train import flow, univariate
from shallow.train.run import Diverged, check_generators, every, for_each, log_spaced, schedule


def test_a_schedule_is_given_or_every_so_many_or_the_first_and_the_last():
    assert list(schedule(4, 10)) == list(every(4, 10)) == [0, 4, 8, 10] and list(every(5, 10)) == [0, 5, 10]
    assert list(schedule(None, 3)) == [0, 3] and list(schedule(None, 0)) == list(every(3, 0)) == [0]
    assert list(schedule(range(1, 3), 10)) == [1, 2] and schedule([2], 10).dtype == np.int64


@pytest.mark.parametrize("records", [0, 2.5, [], [0, 11], [3, 2], [2, 2], [-1, 2], [0.5, 2], [[1, 2]], "all", True])
def test_other_schedules_are_refused(records):
    with pytest.raises(ValueError, match="^records must"):
        schedule(records, 10)


@pytest.mark.parametrize("last", [0, 1, 2, 9, 2000, 4000])
def test_log_spaced_records_begin_with_the_start_and_end_with_the_last_step(last):
    records = log_spaced(last)
    assert records[0] == 0 and records[-1] == last and (np.diff(records) > 0).all()
    ratios = records[records > 20][1:] / records[records > 20][:-1]
    assert (ratios < 10 ** (1 / 5) * 1.03).all()


def test_each_network_has_its_number_and_its_generator():
    assert for_each(3, rate=2).tolist() == [2.0, 2.0, 2.0] and for_each(2, rate=[1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="^rate must be one number or 3"):
        for_each(3, rate=[1.0, 2.0])
    one = stream("a")
    for rngs in ([one], [one, one]):
        with pytest.raises(ValueError, match="^rngs must hold 2 generators"):
            check_generators(rngs, 2)


@pytest.mark.parametrize("points", [4, 400])
def test_steps_far_too_large_are_an_error_of_descent_by_groups(points):
    """Plain steps, and those of groups."""
    x = stream("test flow", "diverged").standard_normal((points, 3))
    network = nets.dominated(stream("test flow", "bad"), 5, 3, 0.1)
    with pytest.raises(Diverged):
        flow.train(x, 100 * x[:, 0], network, step=5.0, steps=1000)


def test_points_may_be_lists_and_labels_integers():
    network, options = nets.default(stream("lists"), 2), {"step": 0.1, "epochs": 10, "records": [2, 10]}
    found = univariate.train([-0.3, 0.1, 0.4], [1, -1, 1], network, **options)
    wanted = univariate.train(np.array([-0.3, 0.1, 0.4]), np.array([1.0, -1.0, 1.0]), network, **options)
    np.testing.assert_array_equal(found.outputs, wanted.outputs)
