"""Theorem 2: where training ends, with twins that end elsewhere."""

import numpy as np
import pytest

from experiments.simplicity_bias import two_fits
from shallow.train import flow


def end(seed, n, *, time=400, **setting):
    x, y, network, fresh = two_fits.draw(seed, n, **setting)
    return x, y, fresh, flow.train(x, y, network, step=two_fits.STEP, steps=two_fits.steps_of(time)).network


@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize(("n", "m", "d"), [(300, 8, 3), (1000, 32, 3), (1000, 300, 2), (1000, 32, 5)])
def test_training_ends_at_the_two_fits(n, m, d, whiten):
    x, y, fresh, network = end(0, n, m=m, d=d, whiten=whiten, both_signs=True)
    both = two_fits.fits(x, y)
    assert np.allclose(two_fits.sums(network), both, rtol=0, atol=1e-9)
    for points in (x, fresh):
        assert two_fits.distance(network, two_fits.as_network(both), points) < 1e-9


def test_twins_end_elsewhere():
    """One fit of all data, a start of order one, output weights of one sign: none of them is the two fits."""
    x, y, fresh, network = end(0, 300)
    one = np.linalg.lstsq(x, y)[0]
    assert two_fits.distance(network, two_fits.as_network(np.stack([one, one])), fresh) > 1e-3
    lonely = next(s for s in range(100) if abs(np.sign(two_fits.draw(s, 100, m=2).network.v).sum()) == 2)
    for seed, n, setting in ((0, 300, {"scale": 1.0, "time": 100}), (lonely, 100, {"m": 2})):
        x, y, fresh, network = end(seed, n, **setting)
        assert two_fits.distance(network, two_fits.as_network(two_fits.fits(x, y)), fresh) > 1e-3
