"""Bad input of stacks of multilayer perceptrons, and of the trainer of ensembles."""

import numpy as np
import pytest

from shallow import mlp
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 3)), RNG.integers(0, 2, 20).astype(float)
NETWORKS = mlp.default([stream("test", 0), stream("test", 1)], (3, 4, 1))
GOOD = {
    "networks": NETWORKS,
    "x": X,
    "y": Y,
    "rngs": [stream("a"), stream("b")],
    "loss": "bce-logit",
    "optimiser": "adam",
    "rate": 0.1,
    "epochs": 2,
    "batch": 8,
}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Stack(np.zeros((2, 20)), (3, 4, 1)), r"parameters must have shape \(R, 21\), got \(2, 20\)"),
        (lambda: Stack(np.zeros(21), (3, 4, 1)), r"parameters must have shape \(R, 21\), got \(21,\)"),
        (lambda: Stack(np.zeros((2, 21)), (3, 4, 2)), "widths must be at least three positive integers, the last"),
        (lambda: mlp.default([RNG], (3, 1)), "widths must be at least three"),
        (lambda: mlp.default([RNG], (3, 0, 1)), "widths must be at least three positive"),
        (lambda: mlp.default([RNG], (3, 2.0, 1)), "widths must be at least three positive integers"),
        (lambda: mlp.default([], (3, 4, 1)), "rngs must hold a generator for each network, got none"),
        (lambda: mlp.default([RNG], (3, 4, 1), dtype=np.float16), "dtype must be numpy.float32 or numpy.float64"),
        (lambda: NETWORKS.forward(X[:, :2]), r"x must have shape \(n, 3\) or \(2, n, 3\), got \(20, 2\)"),
        (lambda: NETWORKS.features(X[None]), r"x must have shape \(n, 3\) or \(2, n, 3\), got \(1, 20, 3\)"),
        (lambda: mlp.half_antisymmetric(mlp.default([RNG], (3, 5, 1))), "networks must have .* of even width"),
        (lambda: mlp.paired(mlp.default([RNG], (3, 5, 1))), "networks must have .* of even width"),
        (lambda: mlp.paired(mlp.default([RNG], (3, 4, 4, 1))), "networks must have one hidden layer"),
        (
            lambda: mlp.stacked([NETWORKS.network(0), mlp.default([RNG], (3, 5, 1)).network(0)]),
            r"networks must be of one shape, got widths \[\(3, 4, 1\), \(3, 5, 1\)\]",
        ),
    ],
)
def test_bad_networks_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": X[:, :2]}, r"x must be finite of shape \(n, 3\) or \(2, n, 3\), got shape \(20, 2\)"),
        ({"x": np.stack([X, X, X])}, "x must be finite of shape"),
        ({"x": np.full((20, 3), np.nan)}, "x must be finite"),
        ({"x": X[:0], "y": Y[:0]}, "x must be finite of shape"),
        ({"y": Y[:5]}, r"y must be finite of shape \(20,\) or \(2, 20\)"),
        ({"y": 2 * Y - 1}, "y must hold labels 0 and 1 for the loss 'bce-logit'"),
        ({"y": Y + np.inf, "loss": "absolute"}, "y must be finite"),
        ({"validation": (X[:, :1], Y)}, "validation x must be finite of shape"),
        ({"validation": (X, Y + 1)}, "validation y must hold labels 0 and 1"),
        ({"networks": Stack(NETWORKS.parameters * np.inf, (3, 4, 1))}, "networks must have finite parameters"),
        ({"rngs": [stream("a")]}, "rngs must hold 2 generators, one per network, got 1"),
        ({"rngs": [RNG, RNG]}, "rngs must be generators of their own"),
        ({"loss": "square"}, "loss must be one of absolute, bce-logit, bce-probability, got 'square'"),
        ({"optimiser": "sgd"}, "optimiser must be one of adam, adadelta, got 'sgd'"),
        ({"mode": "frozen"}, "mode must be one of regular, stop-first, first-last, reinit"),
        ({"rate": 0.0}, "rate must be finite and positive, one number or 2, got 0.0"),
        ({"rate": [0.1, 0.1, 0.1]}, "rate must be finite and positive, one number or 2"),
        ({"decay": -1.0}, "decay must be finite and not negative"),
        ({"epochs": 0}, "epochs must be an integer of at least 1, got 0"),
        ({"batch": 21}, "batch must be an integer of at least 1 and at most 20, got 21"),
        ({"patience": 3}, "validation must be given where patience is"),
        ({"patience": 0, "validation": (X, Y)}, "patience must be an integer of at least 1"),
        ({"min_delta": -1e-4}, "min_delta must be finite and not negative"),
        ({"warmup": -1, "mode": "reinit"}, "warmup must be an integer of at least 0"),
        ({"records": [0, 3]}, r"records must be ascending epochs in 0\.\.2"),
        ({"records": [1, 1]}, "records must be ascending"),
        ({"records": [0.5]}, "records must be ascending"),
        ({"jobs": 0}, "jobs must be an integer of at least 1"),
    ],
)
def test_bad_input_of_the_trainer_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        ensemble.train(**GOOD | change)


def test_the_initial_networks_are_left_alone():
    before = NETWORKS.parameters.copy()
    fit = ensemble.train(**GOOD)
    np.testing.assert_array_equal(NETWORKS.parameters, before)
    assert np.abs(fit.last.parameters - before).max() > 0.01


def test_data_that_cannot_be_written_to_are_taken():
    fixed = X.copy()
    fixed.setflags(write=False)
    found = ensemble.train(**GOOD | {"x": fixed, "rngs": [stream("a"), stream("b")]})
    wanted = ensemble.train(**GOOD | {"rngs": [stream("a"), stream("b")]})
    np.testing.assert_array_equal(found.last.parameters, wanted.last.parameters)
