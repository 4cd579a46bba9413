"""The univariate trainer: what it takes, many problems at once, and the oracle it is compared with."""

import numpy as np

from experiments.cyclic_labels import oracle
from shallow import nets
from shallow.nets import TwoLayer
from shallow.train import univariate

X, Y, NETWORK = np.array([-0.3, 0.1, 0.4]), np.array([1.0, -1.0, 1.0]), TwoLayer([1.0, -1.0], [0.1, 0.2], [0.5, 0.5])


def test_input_may_be_lists_integers_and_is_not_changed():
    before = NETWORK.W.copy(), NETWORK.b.copy(), NETWORK.v.copy()
    run = univariate.train(list(X), [1, -1, 1], NETWORK, step=0.1, epochs=np.int64(10), records=[2, 10])
    assert list(run.epochs) == [2, 10] and run.outputs.shape == (2, 3) and run.loss.shape == (2,)
    assert run.predictions is None and run.parameters is None and run.gradients is None
    for old, new in zip(before, (NETWORK.W, NETWORK.b, NETWORK.v), strict=True):
        assert (old == new).all()
    assert (univariate.train(X, Y, NETWORK, step=0.1, epochs=0).network.W == NETWORK.W).all()


def test_oracle_is_the_formula():
    """One step by hand, with d inputs: the oracle itself is checked against nothing else."""
    rng = np.random.default_rng(0)
    x, y, network = rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5), nets.normal(rng, 4)
    network = TwoLayer(rng.normal(size=(4, 3)), network.b, network.v)
    after = oracle.train(x, y, network, step=0.1, epochs=1, decay=0.5)
    pre = x @ network.W.T + network.b
    g = np.where(1 - y * network.forward(x) > 0, -y, 0)
    on = (pre > 0) * g[:, None]
    assert np.allclose(after.v, 0.95 * network.v - 0.1 * np.maximum(pre, 0).T @ g, atol=1e-14)
    assert np.allclose(after.b, 0.95 * network.b - 0.1 * network.v * on.sum(axis=0), atol=1e-14)
    assert np.allclose(after.W, 0.95 * network.W - 0.1 * network.v[:, None] * (on.T @ x), atol=1e-14)
