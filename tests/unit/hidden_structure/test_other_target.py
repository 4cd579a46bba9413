"""Output weights solved for a target that the network was not trained on, on hidden layers made by hand."""

import numpy as np
import pytest

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.alignment import other_target, who_leads
from shallow import mlp, stats
from shallow.mlp import Stack


def rng(*names):
    return stats.stream("tests", "hs other target", *names)


@pytest.fixture(scope="module")
def task():
    return polynomials.problem("independent", 7, 1, size=2000)


def test_targets_share_their_variance_in_the_middle_and_no_more(task):
    own, shifted, other = other_target.targets(task, 7, 1).values()
    middle = np.abs(task.v) <= 1
    spreads = [one.y[np.abs(one.v) <= 1].std() for one in (own, shifted, other)]
    np.testing.assert_allclose(spreads, spreads[0], rtol=1e-9)
    assert abs(np.corrcoef(own.y[middle], shifted.y[middle])[0, 1]) < 0.5
    assert abs(np.corrcoef(own.v, other.v)[0, 1]) < 0.1
    at_roots = np.abs(task.v + 1 / 3) < 0.01  # a root of the shifted one is where the own one has a wave
    assert np.abs(shifted.y[at_roots]).max() < 0.05 < np.abs(own.y[at_roots]).min()


def test_neurons_along_the_direction_make_both_polynomials_and_none_of_another_direction(task):
    asked = other_target.targets(task, 7, 1)
    random = mlp.default([rng("random")], (100, 64, 1), dtype=np.float64)
    aligned = Stack(random.parameters.copy(), random.widths)
    aligned.weights[0][0] = np.sign(rng("signs").standard_normal((64, 1))) * np.ones(100)
    aligned.biases[0][0] = rng("biases").uniform(-2, 2, 64)
    knowing, blind = (other_target.anew(network, task, asked) for network in (aligned, random))
    assert knowing["own"] > 0.9 and knowing["shifted"] > 0.9 and knowing["other direction"] < 0.1
    assert max(blind.values()) < 0.3


def test_the_own_target_is_solved_as_in_who_leads(task):
    network = mlp.default([rng("same")], (100, 32, 1), dtype=np.float64)
    found, _ = who_leads._output(network, task)
    test = task.rows["test"]
    inside = np.abs(task.v[test]) <= 1
    y = task.y[test][inside]
    expected = 1 - np.mean((found[inside] - y) ** 2) / y.var()
    alone = {"own": other_target.Target(task.v, task.y)}
    assert other_target.anew(network, task, alone)["own"] == pytest.approx(expected, abs=1e-9)
