"""The law of matrices with unequal rows, against the closed form, random matrices and planted spreads."""

import numpy as np
import pytest

from experiments.heavy_tails.exponents.row_profile import RowProfile, fit_log_normal
from shallow.spectra import esd
from shallow.spectra.marchenko_pastur import MarchenkoPastur, fitted_distance

H, D = 450, 300


def widened(spread: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Variances of the rows and the spectrum of a random matrix with them."""
    rng = np.random.default_rng([seed, int(10 * spread)])
    variances = np.exp(spread * rng.standard_normal(H))
    return variances, esd.eigenvalues(np.sqrt(variances)[:, None] * rng.standard_normal((H, D)))


@pytest.mark.parametrize(("h", "d"), [(1500, 1000), (3000, 500), (600, 600)])
def test_equal_rows_give_the_marchenko_pastur_law(h, d):
    law = MarchenkoPastur(h, d, 3.0)
    shares = np.linspace(0, 1, 201)
    quantiles = law.quantile(shares)
    assert np.abs(RowProfile(np.full(h, 3.0), d).cdf(quantiles) - shares).max() < 1.5e-3
    assert np.abs(RowProfile.log_normal(h, d, 0.5).cdf(quantiles / 3) - shares).max() > 0.02


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_random_matrix_follows_the_profile_of_its_rows(spread):
    variances, values = widened(spread, seed=0)
    assert RowProfile(np.random.default_rng(0).permutation(variances), D).distance(values) < 0.02
    wrong = RowProfile(variances**1.5, D)
    assert wrong.distance(values / esd.best_scale(wrong.cdf, values)) > 0.02
    assert fitted_distance(values, H, D) > 0.03  # one variance for all rows


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_planted_spread_is_found(spread, scale):
    variances, values = widened(spread, seed=2)
    found, distance = fit_log_normal(scale * values, H, D)
    assert found == pytest.approx(spread and np.log(variances).std(), abs=0.15)
    assert distance < 0.02


def test_two_groups_of_eigenvalues_are_no_log_normal_profile():
    _, values = widened(0.0, seed=3)
    values[:100] *= 1e3
    assert fit_log_normal(values, H, D)[1] > 0.05
