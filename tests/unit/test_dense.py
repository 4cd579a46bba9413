"""The dense full-batch trainer of the hinge loss."""

import numpy as np
import pytest

from shallow import nets
from shallow.train import dense, oracle, univariate


def wide(rng, n=12, d=3, m=20):
    x = rng.uniform(-0.5, 0.5, (n, d))
    return x, np.sign(x[:, 0] + 0.1), nets.default(rng, m, d)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("options", [{}, {"decay": 0.1}, {"rates": nets.OUTPUT_ONLY}, {"rates": nets.HIDDEN_ONLY}])
def test_dense_agrees_with_automatic_differentiation(d, options):
    x, y, network = wide(np.random.default_rng(d), d=d)
    run = dense.train(x, y, network, step=0.01, epochs=50, records=25, **options)
    wanted = oracle.train(x, y, network, step=0.01, epochs=50, **options)
    for name in ("W", "b", "v"):
        assert np.allclose(getattr(run.networks[-1], name), getattr(wanted, name), rtol=0, atol=1e-13)
    assert list(run.epochs) == [0, 25, 50]
    assert np.allclose(run.loss, [np.maximum(0, 1 - y * f.forward(x)).sum() for f in run.networks])
    assert np.array_equal(run.networks[0].W, network.W)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict(x=np.zeros((3, 2))), "x must be finite with 3 columns"),
        (dict(x=np.full((12, 3), np.nan)), "x must be finite"),
        (dict(y=np.full(12, 2.0)), "y must have shape"),
        (dict(step=0.0), "step must be positive"),
        (dict(epochs=0), "epochs must be an integer of at least 1"),
        (dict(decay=-1.0), "decay must be finite"),
    ],
)
def test_dense_refuses(change, says):
    x, y, network = wide(np.random.default_rng(0))
    with pytest.raises(ValueError, match=says):
        dense.train(**(dict(x=x, y=y, network=network, step=0.01, epochs=5) | change))


def test_dense_reports_divergence():
    x, y, network = wide(np.random.default_rng(0))
    with pytest.raises(univariate.Diverged), np.errstate(all="ignore"):
        dense.train(x, y, network, step=1e200, epochs=50)
