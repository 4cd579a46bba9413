"""Where a bias rests: the formula against samples, the identity at rest, and a wrong law that fails."""

import numpy as np
import pytest

from experiments.localization import networks
from experiments.localization.populations import outputs, rest, rings
from shallow.train.whole_committee import Machine

PAIR = networks.pair(0.0)  # Gaussian


def samples(count: int = 40_000):
    rng = np.random.default_rng(0)
    return [process.sample(rng, count, np.float32) for process in PAIR]


def wave(k: int, norm: float) -> np.ndarray:
    w = np.cos(2 * np.pi * k * np.arange(40) / 40)
    return norm * w / np.linalg.norm(w)


def test_densities_cross_at_the_best_bias():
    """Two normal densities of the variances that the covariances give, at a slow and at a fast field."""
    W = np.stack([wave(1, 3.0), wave(15, 8.0)])
    star, ratio = rest.crossings(W, PAIR)
    first, second = (1 + (samples_ @ W.T).var(axis=0) for samples_ in samples())
    densities = [np.exp(-(star**2) / (2 * u)) / np.sqrt(u) for u in (first, second)]
    np.testing.assert_allclose(*densities, rtol=0.03)
    assert ratio[0] > 0 > ratio[1]


def planted(mean: float) -> tuple[Machine, rest.Rest]:
    """A network of one wave at all places, with a mean output and biases where the mean-field rule wants them."""
    W = np.stack([np.roll(wave(1, 3.0), s) for s in range(40)]).astype(np.float32)
    x, c = samples(), 0.0
    star, ratio = rest.crossings(W, PAIR)
    b = -star.astype(np.float32)
    for _ in range(20):
        one = Machine(W, b, np.ones(40, np.float32), c)
        up, down = (float(one.forward(part).mean()) for part in x)
        half, c = (up - down) / 2, c + mean - (up + down) / 2
        b = (-star * rest.mean_field(ratio, mean + half, mean - half)).astype(np.float32)
    return one, rest.resting(one, PAIR, *x)


@pytest.mark.parametrize("mean", [-0.03, 0.05])
def test_biases_at_the_rest_point_of_the_mean_field(mean):
    _, found = planted(mean)
    np.testing.assert_allclose(found.crossing, found.gaussian, rtol=1e-3)
    assert found.sampled.mean() == pytest.approx(1, abs=0.02)  # Gaussian data: densities of the sample are the law's
    assert (np.abs(found.error) <= found.bound).all()
    assert found.unrest.mean() == pytest.approx(-np.log1p(found.error).mean(), abs=0.03)
    assert abs(found.crossing[0] - 1) > 0.02  # the crossing itself is a wrong law here


def test_a_mean_output_of_zero_is_the_crossing_and_some_ask_for_too_much():
    assert rest.mean_field(np.array([0.5, -2.0]), 0.3, -0.3) == pytest.approx([1, 1])
    assert np.isnan(rest.mean_field(np.array([0.5]), -0.9, -0.9)).all()
    more, less = rest.mean_field(np.array([0.5]), 0.32, -0.28), rest.mean_field(np.array([0.5]), 0.28, -0.32)
    assert more > 1 > less  # a positive mean output asks negative neurons for larger biases
    assert rest.mean_field(np.array([0.5]), 0.3, -0.3, 0.1) > 1


def test_the_identity_is_the_gradient_of_the_loss():
    """unrest is 0 exactly where the derivative of the loss in the bias is 0."""
    one, found = planted(0.05)
    x = samples()
    slope = rest.ACTIVATIONS["erf"][1]
    pulls = [(one.forward(part) - y)[:, None] * slope(part @ one.W.T + one.b) for part, y in zip(x, (1, -1))]
    derivative = sum(pull.mean(axis=0) for pull in pulls) / 2
    floor = [slope(part @ one.W.T + one.b).mean(axis=0) for part in x][0] * (1 - one.forward(x[0]).mean())
    np.testing.assert_allclose(np.exp(-found.unrest) - 1, 2 * derivative / floor, atol=1e-3)


def test_outputs_in_miniature():
    found = outputs.outputs(0, 3.0, steps=[0, 20])
    assert found.sizes["output"] == len(outputs.OUTPUTS)
    there = found.sel(step=20)
    assert (there["count"].sel(output="plus", side="minus") == 0).item()
    assert there["count"].sel(output="plus, 17").sum() <= 17
    assert float(found.c.sel(output="held +1/4", step=20)) == 0.25
    assert float(there.c.sel(output="constant")) != 0 and float(there.c.sel(output="none")) == 0
    assert (found["count"].sel(output="begun 10", step=0) == [30, 10]).all()
    assert np.isnan(there.crossing.sel(output="logistic")).all()


def test_rings_in_miniature():
    fine, slow = (rings.ring(0, 3.0, ring=name, steps=[0, 3]) for name in ("400", "400, one rate 2"))
    assert np.abs(fine.b.sel(step=3)).max() > 5 * np.abs(slow.b.sel(step=3)).max()
    assert float(fine.loss.sel(step=0)) == pytest.approx(float(slow.loss.sel(step=0)))
