"""The trainer of ensembles and what it is given."""

import numpy as np
import pytest

from shallow import mlp
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 3)), RNG.integers(0, 2, 20).astype(float)
NETWORKS = mlp.default([stream("test", 0), stream("test", 1)], (3, 4, 1))
GOOD = {"networks": NETWORKS, "x": X, "y": Y, "rngs": [stream("a"), stream("b")]}
GOOD |= {"loss": "bce-logit", "optimiser": "adam", "rate": 0.1, "epochs": 2, "batch": 8}


@pytest.mark.parametrize(
    ("argument", "change"),
    [
        ("x", {"x": np.stack([X, X, X])}),
        ("y", {"y": 2 * Y - 1}),
        ("validation x", {"validation": (X[:, :1], Y)}),
        ("validation y", {"validation": (X, Y + 1)}),
        ("networks", {"networks": Stack(NETWORKS.parameters * np.inf, (3, 4, 1))}),
        ("rngs", {"rngs": [stream("a")]}),
        ("rngs", {"rngs": [RNG, RNG]}),
        ("rate", {"rate": [0.1, 0.1, 0.1]}),
        ("batch", {"batch": 21}),
        ("validation", {"patience": 3}),
        ("records", {"records": [0, 3]}),
        ("records", {"records": [1, 1]}),
    ],
)
def test_what_does_not_fit_together_is_named(argument, change):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        ensemble.train(**GOOD | change)


def test_data_that_cannot_be_written_to_are_taken():
    fixed = X.copy()
    fixed.setflags(write=False)
    found, wanted = (ensemble.train(**GOOD | {"x": x, "rngs": [stream("a"), stream("b")]}) for x in (fixed, X))
    np.testing.assert_array_equal(found.last.parameters, wanted.last.parameters)
