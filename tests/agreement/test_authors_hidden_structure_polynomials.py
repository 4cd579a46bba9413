"""Networks of the polynomial program, its schedules, and machines on its gradients, against the library."""

import numpy as np
import pytest
import torch

from experiments.authors_programs.files import difference
from experiments.authors_programs.hidden_structure_polynomials import (
    DECAY,
    MODES,
    PROGRAM,
    SETTINGS,
    START,
    gradients,
    scheduled,
    stopped,
)
from experiments.hidden_structure import polynomials
from shallow.kernels import machines
from shallow.mlp import Stack


def test_the_start_is_antisymmetric_in_its_first_layer_only():
    """So its output is not zero, as it is where pairs of equal units have opposite output weights."""
    x, other = PROGRAM["x_train"], Stack(START.parameters.copy(), START.widths)
    for layer in (other.weights[0], other.biases[0]):
        layer[:, SETTINGS["width"] // 2 :] = 7.0
    np.testing.assert_array_equal(polynomials.half_antisymmetric(other).parameters, START.parameters)
    paired = polynomials.paired(START)
    assert np.abs(START.forward(x)).max() > 0.02 and np.abs(paired.forward(x)).max() < 1e-15
    assert difference(paired.parameters, START.parameters) > 0.5


#: Of every mode; and each has its own warm-up: the output layer is frozen in that of `first_last` alone, and redrawn
#: after that of `reinit` alone.
CHANGES = {
    "nothing is frozen": ({"mode": "regular", "epochs": 10}, 0.15),
    "no warm-up": ({"warmup": 0, "epochs": 10}, 0.025),
    "a warm-up that counts": ({"epochs": 8}, 0.015),
    "no decay": ({"decay": 0.0}, 0.005),
}
EXCHANGED = [
    ("first_last", {"mode": "stop-first"}, 0.03),
    ("stop_first", {"mode": "first-last"}, 0.03),
    ("stop_first", {"mode": "reinit"}, 1.5),
]


@pytest.mark.parametrize(
    ("name", "change", "least"), [(name, *one) for name in MODES for one in CHANGES.values()] + EXCHANGED
)
def test_another_schedule_is_another_trajectory(name, change, least):
    """One epoch of warm-up comes before the epochs that are counted; ten epochs of AdaDelta do not move far."""
    other = scheduled(name, **change).last.parameters[0]
    assert PROGRAM.difference(f"{name}_theta_10", other) > least


def test_frozen_layers_do_not_decay():
    """The first layer is that after the warm-up to the end; weight decay of AdaDelta alone would move it on."""
    first = slice(0, START.weights[0].size + START.biases[0].size)
    frozen = scheduled("stop_first", records=[1]).snapshot(1).parameters[0, first]
    recorded = PROGRAM["stop_first_theta_10"][first]
    assert difference(frozen, recorded) < 1e-10
    decaying = torch.tensor(frozen, requires_grad=True)
    optimiser = torch.optim.Adadelta([decaying], lr=SETTINGS["rate"], weight_decay=DECAY)
    for _ in range(18):
        decaying.grad = torch.zeros_like(decaying)
        optimiser.step()
    assert difference(decaying.detach().numpy(), recorded) > 0.015


def test_an_improvement_has_a_least_size():
    """If any counted, the run with patience 25 would not end after epoch 26."""
    patience, min_delta, last, _ = PROGRAM["regular_stopping"][3]
    assert stopped(patience, min_delta)[0] == last == 26 and stopped(patience, 0.0)[0] == 50


@pytest.mark.parametrize(("i", "least"), [(0, 4.0), (1, 0.7)])
def test_the_intercept_of_the_regression_is_penalised(i, least):
    """The kernel machine agrees to the tolerances of both solvers; a free intercept is another machine."""
    setting, x = SETTINGS["svr"], gradients("train", SETTINGS["svr"]["points"])
    y, across = PROGRAM["y_train"][: len(x)], gradients("validation") @ x.T
    solved, free = (
        machines.epsilon_insensitive(x @ x.T, y, setting["C"][i], intercept=intercept, tolerance=1e-6).values(across)
        for intercept in ("penalised", "free")
    )
    recorded = PROGRAM["svr_prediction_validation"][i]
    assert difference(solved, recorded) < 1e-6
    assert difference(free, recorded) > least
