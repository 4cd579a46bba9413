"""Committees, nonlinear Gaussian processes and their covariances of the localization program, against the library."""

import numpy as np
import pytest

from experiments.authors_programs.files import difference
from experiments.authors_programs.localization import LAWS, SIMULATE, TRAINING, XI, descended, latent, trained
from shallow import committee
from shallow.data import nlgp
from shallow.data.nlgp import Process


@pytest.mark.parametrize("xi", [2, 1])
def test_the_latent_covariance_has_no_factor_one_half_and_wraps_around(xi):
    row, distance = LAWS[f"latent_row_12_{xi}"], np.arange(12)
    assert difference(np.exp(-(nlgp.ring_distance(12) ** 2) / (2 * xi**2)), row) > 0.2
    assert difference(np.exp(-((distance / xi) ** 2)), row) > 0.3


@pytest.mark.parametrize(("gain", "least"), [(1, 0.3), (3, 0.1)])
def test_adjusted_samples_have_variance_one_and_do_not_fill_the_interval(gain, least):
    """`adjust=(-1, 1)` names an interval, and samples between -1 and 1 would be another law; so would the third one."""
    adjusted, bounded = LAWS[f"sample_{gain}"], Process(40, XI[0], gain, "raw").observed(latent())
    assert difference(bounded, adjusted) > least and np.abs(bounded).max() <= 1 < np.abs(adjusted).max()
    assert difference(Process(40, XI[0], gain, "mismatched").observed(latent()), adjusted) > 0.05


@pytest.mark.parametrize(("normalisation", "least"), [("unit", 0.1), ("raw", 0.2)])
def test_samples_that_are_not_adjusted_are_divided_by_the_variance(normalisation, least):
    """By Z squared: they have neither variance one nor the range of the error function."""
    assert LAWS.difference("sample_3_unadjusted", Process(40, XI[0], 3.0, normalisation).observed(latent())) > least


def test_the_start_is_a_truncated_normal_of_full_variance():
    """Cut at two standard deviations and rescaled: no weight lies beyond 2.274 of them, some do beyond 2."""
    W = LAWS["start_40_40"]
    deviation, cut = (2 / sum(W.shape)) ** 0.5, 2.274
    ours = committee.start([np.random.default_rng(1)], *W.shape, dtype=np.float64).W
    assert 2.2 * deviation < np.abs(W).max() < cut * deviation < 1.5 * cut * deviation < np.abs(ours).max()
    assert W.std() == pytest.approx(deviation, rel=0.04)
    assert np.abs(SIMULATE["weights"][0]).max() < cut * (2 / 32) ** 0.5 and not SIMULATE["bias"][0].any()


@pytest.mark.parametrize(
    ("name", "change", "least"),
    [
        ("relu", {"rate": 5.0}, 0.8),
        ("relu_unbiased", {"rate": 5.0}, 0.9),
        ("erf", {"rate": 5.0}, 0.5),
        ("relu", {"labels": (1.0, -1.0)}, 2.0),
        ("relu", {"labels": (0.0, 1.0)}, 2.0),
        ("relu", {"bounds": (0.0, 0.0)}, 0.9),
    ],
)
def test_another_step_is_another_trajectory(name, change, least):
    """Half the rate, as for a loss with 1/2; labels of the other activation, or exchanged; biases that are kept."""
    assert TRAINING.difference(f"{name}_W", trained(name, **change).W[0, 1:]) > least


@pytest.mark.parametrize(("arguments", "least"), [((2.5,), 0.5), ((5.0, True), 1.4)], ids=["half", "exchanged"])
def test_half_the_loss_or_exchanged_labels_are_another_run(arguments, least):
    assert SIMULATE.difference("weights", descended(*arguments)["weights"]) > least
