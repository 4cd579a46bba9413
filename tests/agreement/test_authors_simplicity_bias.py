"""Two-layer ReLU networks of the early-alignment program, trained from its own starts, against the library.

The program belongs to the two authors' earlier paper; of the later one no public code was found.
"""

import numpy as np
import pytest

from experiments.authors_programs.files import difference
from experiments.authors_programs.simplicity_bias import ALL_RUNS, PROGRAM, start, steps, trained
from shallow import nets


@pytest.mark.parametrize(("name", "run"), ALL_RUNS)
def test_half_the_loss_is_another_trajectory(name, run):
    """The loss is the mean square without 1/2: with it descent takes twice as long, and still lags at the end."""
    networks, (snapshots, _) = trained(name, run, slower=2.0), steps(name, run)
    W = np.stack([networks[step].W for step in snapshots])
    assert PROGRAM[name].difference(f"{run}_W", W) > 0.5
    if name == "five_inputs":
        assert difference(W[-1], PROGRAM[name][f"{run}_W"][-1]) > 0.07


@pytest.mark.parametrize(("name", "run"), ALL_RUNS)
def test_the_last_snapshot_is_after_the_last_step(name, run):
    """The program's own label of it is one less; the weights before that step are others."""
    last = int(steps(name, run)[0][-1])
    before = trained(name, run, also=[last - 1])[last - 1]
    assert difference(before.W, PROGRAM[name][f"{run}_W"][-1]) > 1e-7


@pytest.mark.parametrize(
    ("name", "run", "ratio"), [("one_input", "stewart_dominated", 2**0.5), ("five_inputs", "sgd_dominated", 1.0)]
)
def test_dominated_weights_fill_a_cube(name, run, ratio):
    """Output weights are the half-width, times the root of two with biases.  The later document has a smaller ball."""
    network, scale = start(name, run), PROGRAM[name].settings[run]["init_scale"]
    half = scale / network.width**0.5
    assert difference(np.abs(network.v), np.full(network.width, ratio * half)) < 1e-15
    assert 0.98 * half < np.abs(network.W).max() < half < 1.3 * half < np.linalg.norm(network.W, axis=1).max()
    ball = nets.dominated(np.random.default_rng(0), network.width, network.W.shape[1], scale)
    assert np.linalg.norm(ball.W, axis=1).max() < 0.02 * half
