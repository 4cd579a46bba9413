"""Antisymmetric initialisation: output zero, kernel kept, folding exact; and twins that must fail."""

import numpy as np
import pytest

from experiments.cyclic_labels.variance import initialisation
from shallow import nets
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.nets import TwoLayer
from shallow.train import univariate

ROUND_OFF = 1e-12


@pytest.mark.parametrize("activation", ["relu", "softplus"])
@pytest.mark.parametrize("seed", range(3))
def test_output_is_zero_and_kernel_kept_for_any_activation(seed, activation):
    found = initialisation.doubling(seed, n=20, width=64, activation=activation)
    assert found.output == 0.0 and found.kernel < ROUND_OFF
    second = initialisation.doubling(seed, n=20, width=64, copied=False)
    assert second.output > 0.01 and second.kernel > 0.01  # the twin: a second sample instead of a copy
    plain = initialisation.doubling(seed, n=20, width=64, factor=1.0)
    assert plain.output == 0.0 and plain.kernel == pytest.approx(1.0)  # the twin: no square root


def test_kernel_of_the_folded_network_needs_its_rates():
    network, x = nets.default(np.random.default_rng(0), 128), cyclic.grid(40)
    folded, kernel = nets.antisymmetric(network), empirical.ntk(network, x)
    assert np.allclose(empirical.ntk(folded, x, rates=nets.ANTISYMMETRIC), kernel, rtol=ROUND_OFF)
    assert not np.allclose(empirical.ntk(folded, x), kernel, rtol=0.1)


def test_folded_training_is_training_of_two_copies_with_its_rates_alone(monkeypatch):
    assert initialisation.folding(0, width=64, step=0.01, epochs=200).difference < 1e-10
    monkeypatch.setattr(nets, "ANTISYMMETRIC", nets.ALL)
    assert initialisation.folding(0, width=64, step=0.01, epochs=200).difference > 1e-3


def test_antisymmetric_training_is_plain_training_at_a_smaller_scale_and_step():
    sample = cyclic.sample(50, seed=0)
    network = nets.default(sample.rng, 64)
    small = nets.scaled(network, 2**-0.25)
    doubled = TwoLayer(np.tile(small.W, (2, 1)), np.tile(small.b, 2), np.concatenate([small.v, -small.v]))

    def end(start, step, rates):
        run = univariate.train(sample.x, sample.y, start, step=step, epochs=200, rates=rates)
        return run.network.forward(cyclic.grid(1000))

    wanted = end(nets.antisymmetric(network), 0.01, nets.ANTISYMMETRIC)
    plain, as_fast = (np.abs(end(doubled, step, nets.ALL) - wanted).max() for step in (0.01 * 2**-0.5, 0.01))
    assert plain < 1e-10 * np.abs(wanted).max() and as_fast > 1e-3 * np.abs(wanted).max()


def test_kernel_scales_with_the_square_of_the_parameters():
    network, x = nets.default(np.random.default_rng(1), 64), cyclic.grid(30)
    for alpha in (0.5, 0.1, 0.01):
        scaled = nets.scaled(network, alpha)
        assert np.allclose(empirical.ntk(scaled, x), alpha**2 * empirical.ntk(network, x), rtol=ROUND_OFF)
        assert np.allclose(scaled.forward(x), alpha**2 * network.forward(x), rtol=ROUND_OFF, atol=1e-16)


@pytest.mark.parametrize("periods", [3, 4])
def test_zero_is_a_saddle_of_the_risk(periods):
    for seed in range(20):
        found = initialisation.saddle(seed, n=10, periods=periods, width=64)
        assert found.descent < 0 < found.ascent and found.ascent == pytest.approx(-float(found.descent), rel=1e-9)
    assert initialisation.stays_at_zero(10, periods=periods, width=64, epochs=50)


def test_passage_is_slower_from_smaller_parameters():
    times = [float(initialisation.passage(0, alpha=alpha, step=0.001, epochs=5000).start) for alpha in (1, 0.1, 0.01)]
    assert times == sorted(times) and len(set(times)) == 3
