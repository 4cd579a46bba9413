"""Antisymmetric initialisation: output zero, kernel kept, folding exact; and twins that must fail."""

import numpy as np
import pytest

from experiments.cyclic_labels import initialisation
from shallow import nets
from shallow.data import cyclic
from shallow.kernels import empirical

ROUND_OFF = 1e-12


@pytest.mark.parametrize("activation", ["relu", "softplus"])
@pytest.mark.parametrize("seed", range(3))
def test_output_is_zero_and_kernel_kept_for_any_activation(seed, activation):
    found = initialisation.doubling(seed, n=20, width=64, activation=activation)
    assert found.output == 0.0 and found.kernel < ROUND_OFF


def test_a_second_sample_instead_of_a_copy_fails():
    found = initialisation.doubling(0, n=20, width=64, copied=False)
    assert found.output > 0.01 and found.kernel > 0.01


def test_factor_one_instead_of_the_square_root_doubles_the_kernel():
    found = initialisation.doubling(0, n=20, width=64, factor=1.0)
    assert found.output == 0.0 and found.kernel == pytest.approx(1.0)


def test_kernel_of_the_folded_network_needs_its_rates():
    network, x = nets.default(np.random.default_rng(0), 128), cyclic.grid(40)
    folded, kernel = nets.antisymmetric(network), empirical.ntk(network, x)
    assert np.allclose(empirical.ntk(folded, x, rates=nets.ANTISYMMETRIC), kernel, rtol=ROUND_OFF)
    assert not np.allclose(empirical.ntk(folded, x), kernel, rtol=0.1)


@pytest.mark.parametrize("step", [0.01, 0.001])
def test_folded_training_is_training_of_two_copies(step):
    assert initialisation.folding(0, width=64, step=step, epochs=200).difference < 1e-10


def test_folded_training_with_equal_rates_is_something_else(monkeypatch):
    monkeypatch.setattr(nets, "ANTISYMMETRIC", nets.ALL)
    assert initialisation.folding(0, width=64, step=0.01, epochs=200).difference > 1e-3


@pytest.mark.parametrize("step", [0.01, 0.001])
def test_antisymmetric_training_is_plain_training_at_a_smaller_scale_and_step(step):
    assert initialisation.rescaling(0, width=64, step=step, epochs=200).difference < 1e-10


def test_the_rescaled_network_at_the_full_step_is_something_else():
    assert initialisation.rescaling(0, width=64, step=0.01, slower=1.0, epochs=200).difference > 1e-3


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
