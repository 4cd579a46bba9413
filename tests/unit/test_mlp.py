"""The trainer of ensembles and what it is given."""

import numpy as np

from shallow import mlp
from shallow.stats import stream
from shallow.train import ensemble

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 3)), RNG.integers(0, 2, 20).astype(float)
NETWORKS = mlp.default([stream("test", 0), stream("test", 1)], (3, 4, 1))
GOOD = {"networks": NETWORKS, "x": X, "y": Y, "rngs": [stream("a"), stream("b")]}
GOOD |= {"loss": "bce-logit", "optimiser": "adam", "rate": 0.1, "epochs": 2, "batch": 8}


def test_data_that_cannot_be_written_to_are_taken():
    fixed = X.copy()
    fixed.setflags(write=False)
    found, wanted = (ensemble.train(**GOOD | {"x": x, "rngs": [stream("a"), stream("b")]}) for x in (fixed, X))
    np.testing.assert_array_equal(found.last.parameters, wanted.last.parameters)
