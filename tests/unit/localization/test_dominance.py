"""Which class a filter responds to more: ties, and draws that are reproducible and block by block."""

import numpy as np
import pytest

from experiments.localization import dominance
from shallow.data.nlgp import Process
from shallow.stats import stream

RNG = stream("test dominance")
ONE, TWO, OTHER = Process(8, 1, 1.0), Process(8, 0.5, 1.0), Process(9, 1, 1.0)
W = np.eye(8)[:2]
SPECTRA = ONE.spectrum, TWO.spectrum


def tuned(scales=(1.0, 2.0), biases=(0.0, -1.0)) -> dominance.Tuned:
    return dominance.tuned_on_average(
        ONE, TWO, W, scales, biases, select=stream("one"), evaluate=stream("two"), pairs=(50, 70)
    )


def test_equal_signs_tie_and_a_tie_counts_half():
    one, two = Process(8, 1, np.inf), Process(8, 0.5, np.inf)
    outcomes = dominance.outcomes_at_a_point(RNG, one, two, W, 20)
    assert outcomes.dtype == np.int8 and not outcomes.any()
    value, error = dominance.probability(outcomes)
    assert value.tolist() == [0.5, 0.5] and error.tolist() == [0, 0]
    value, error = dominance.probability(np.array([1, 1, 1, -1, 0], dtype=np.int8))
    assert value == pytest.approx(0.7) and error == pytest.approx(np.std([1, 1, 1, 0, 0.5]) / 5**0.5)


def test_advantage_is_paired():
    outcomes = np.array([[1, 1, 1, 1], [1, 1, 1, -1], [-1, -1, -1, -1]], dtype=np.int8)
    value, error = dominance.advantage(outcomes, outcomes[0])
    assert value.tolist() == [0, -0.25, -1] and error == pytest.approx([0, np.std([0, 0, 0, 1]) / 2, 0])


def test_filters_do_not_disturb_one_another():
    many = dominance.outcomes_at_a_point(stream("same"), ONE, TWO, W, 30, moved=True)
    alone = dominance.outcomes_at_a_point(stream("same"), ONE, TWO, W[1:], 30, moved=True)
    assert many.shape == (2, 30) and (many[1] == alone[0]).all()


def test_biases_of_all_and_of_each_filter():
    biases = np.array([0.0, -1.0, -2.0])
    whole = dominance.outcomes_on_average(stream("same"), ONE, TWO, 3 * W, biases, 30)
    own = dominance.outcomes_on_average(stream("same"), ONE, TWO, 3 * W, biases[[[1], [2]]], 30)
    assert whole.shape == (2, 3, 30) and own.shape == (2, 1, 30)
    assert (own[0, 0] == whole[0, 1]).all() and (own[1, 0] == whole[1, 2]).all()


def test_tuning_takes_the_best_cell_of_each_filter():
    found = tuned()
    for f in range(2):
        grid = [dominance.outcomes_on_average(stream("one"), ONE, TWO, s * W, [0.0, -1.0], 50)[f] for s in (1, 2)]
        values = dominance.probability(np.array(grid)).value
        scale, bias = np.unravel_index(values.argmax(), (2, 2))
        assert (found.scale[f], found.bias[f]) == (1 + scale, -bias)
        again = dominance.outcomes_on_average(stream("two"), ONE, TWO, found.scale[f] * W, found.bias[f : f + 1], 70)
        assert (found.outcomes[f] == again[f, 0]).all()


def test_gabor_filters_have_norm_one_and_the_named_limits():
    fields = dominance.gabors(9, [1.0, np.inf], [0, 2])
    assert fields.shape == (2, 2, 9) and np.linalg.norm(fields, axis=-1) == pytest.approx(1)
    assert fields[1, 0] == pytest.approx(1 / 3) and fields[0, 0, 1] / fields[0, 0, 0] == pytest.approx(np.exp(-1))
    assert fields[1, 1] == pytest.approx(np.cos(4 * np.pi * np.arange(9) / 9) / 4.5**0.5)
