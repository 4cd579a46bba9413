"""Nonlinear Gaussian processes: covariance, marginal, kurtosis, crossings and the heavy-tailed twin, in closed form."""

import numpy as np
import pytest
from scipy import special, stats
from standard_errors import scores

from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

GAINS = (0.01, 1.0, 3.0, 100.0)


def worst_score(x: np.ndarray, row: np.ndarray) -> float:
    """Largest |sample - row| of the covariance with pixel 0, in standard errors; x is (count, *shape)."""
    products = x * x.reshape(len(x), -1)[:, 0].reshape(-1, *[1] * row.ndim)
    return float(np.max(np.abs(products.mean(axis=0) - row) / (products.std(axis=0) / len(x) ** 0.5 + 1e-12)))


@pytest.mark.parametrize("normalisation", nlgp.NORMALISATIONS)
@pytest.mark.parametrize("gain", GAINS)
def test_covariance_is_the_arcsine_law(gain, normalisation):
    process = Process(16, 1.5, gain, normalisation)
    x = process.sample(stream("arcsine", gain), 20_000)
    assert worst_score(x, process.covariance) < 4.5
    if gain >= 3:  # the covariance of the latent process is that of X at gain 0 alone
        assert worst_score(x, process.variance * process.kernel) > 8
    assert nlgp.eigenvalues(process.covariance).min() >= -1e-6 * process.spectrum.max()


@pytest.mark.parametrize("gain", [0.1, 0.3])
def test_the_heavy_twin_has_the_same_covariance_and_signs_but_the_other_tails(gain):
    light, heavy = Process(16, 1.5, gain), Process(16, 1.5, gain, tails="heavy")
    z = light.latent(stream("twin", gain), 40_000)
    x, twin = light.observed(z), heavy.observed(z)
    assert worst_score(twin, light.covariance) < 4.5
    assert (np.sign(x) == np.sign(twin)).all()
    assert stats.kurtosis(x, axis=None) < 0 < stats.kurtosis(twin, axis=None)


def test_kurtosis_of_samples_is_that_of_the_quadrature():
    rng = stream("kurtosis")
    for gain, tails in ((0.3, "light"), (3, "light"), (100, "light"), (0.1, "heavy"), (0.2, "heavy")):
        process = Process(16, 0.2, gain, tails=tails)  # independent pixels
        x = process.sample(rng, 20_000)
        blocks = (x**4).mean(axis=1) / (x**2).mean() ** 2 - 3
        assert abs(scores(blocks, process.excess_kurtosis)) < 4.5, (gain, tails)


def test_kurtosis_is_monotone_with_the_known_ends():
    grid = [0, 0.01, 0.1, 0.3, 0.5**0.5, 0.999, 1.001, 3, 10, 100, np.inf]
    found = [Process(40, 2, gain).excess_kurtosis for gain in grid]
    assert (np.diff(found) < 0).all() and found[0] == 0 and found[-1] == -2
    assert found[4] == pytest.approx(-1.2, abs=1e-9)  # uniform
    heavy = [Process(40, 2, gain, tails="heavy").excess_kurtosis for gain in [0, 0.01, 0.1, 0.3, 0.5, 0.51]]
    assert (np.diff(heavy) > 0).all() and heavy[-1] == np.inf and heavy[4] == pytest.approx(3.37, abs=0.005)
    assert heavy[1] == pytest.approx(-found[1], rel=1e-2)  # mirror images at leading order
    assert Process(40, 2, 1.0, "raw").excess_kurtosis == Process(40, 2, 1.0).excess_kurtosis


@pytest.mark.parametrize("normalisation", nlgp.NORMALISATIONS)
@pytest.mark.parametrize("gain", [0.3, 0.5**0.5, 1.0])
def test_density_and_distribution_of_a_pixel(gain, normalisation):
    """Of independent pixels; at larger gains erf rounds to 1 so often that a sample has atoms."""
    process = Process(10, 0.2, gain, normalisation)
    x = process.sample(stream("marginal"), 4_000).ravel()
    critical = 1.95 / len(x) ** 0.5  # exceeded with probability 1e-3
    assert stats.kstest(x, process.cdf).statistic < critical
    assert stats.kstest(x, Process(10, 0.2, 2 * gain, normalisation).cdf).statistic > critical
    reach = np.abs(process.observed(np.array([50.0]))).item()
    grid = np.linspace(-0.99 * reach, 0.99 * reach, 2_001)
    middle = (grid[1:] + grid[:-1]) / 2
    found, expected = process.density(middle) * np.diff(grid), np.diff(process.cdf(grid))
    assert np.abs(found - expected).max() < 1e-3 * expected.max()
    assert (process.density(np.array([-reach, reach, 2 * reach])) == 0).all()
    assert process.cdf(np.array([-reach, reach])) == pytest.approx([0, 1])


def test_variances_of_the_three_normalisations():
    assert [Process(40, 2, g, "mismatched").variance for g in (0, 1e-4, np.inf)] == pytest.approx([2, 2, 1], abs=1e-6)
    assert Process(40, 2, 0.01, "raw").variance == pytest.approx(4e-4 / np.pi, rel=1e-3)
    assert Process(40, 2, 3, "mismatched").variance == pytest.approx(np.arcsin(18 / 19) / np.arcsin(9 / 10))


def test_crossings_do_not_know_the_gain():
    for xi, rounded in ((20, 9.00), (10, 17.98)):
        process = Process(400, xi, 1.0)
        z = process.latent(stream("crossings", xi), 500)
        counts = nlgp.crossings(z)
        expected = 400 * process.crossing_rate
        assert expected == pytest.approx(rounded, abs=0.01)
        assert abs(scores(counts, expected)) < 4.5 < 10 < abs(scores(counts, 2 * expected))
        for gain in GAINS:
            assert (nlgp.crossings(Process(400, xi, gain).observed(z)) == counts).all()
    assert 400 * Process(400, 40, 1.0).crossing_rate == pytest.approx(400 * 2**0.5 / np.pi / 40, rel=1e-3)  # Rice


def test_spectrum_falls_with_the_frequency():
    """Aliasing ignored; the twin leaves out the square of the length."""
    k = np.arange(9)
    found = Process(400, 20, 0).spectrum[:9]
    assert found == pytest.approx(20 * np.pi**0.5 * np.exp(-((np.pi * 20 * k / 400) ** 2)), rel=1e-9)
    assert found[8] != pytest.approx(20 * np.pi**0.5 * np.exp(-np.pi * 20 * 8 / 400), rel=0.1)
    power = np.abs(np.fft.fft(Process(40, 2, 3.0).sample(stream("power"), 4_000))) ** 2 / 40
    assert np.abs(scores(power, Process(40, 2, 3.0).spectrum)).max() < 4.5


def test_arcsine_law_by_draws():
    rng = stream("law")
    covariance = np.array([[1.5, -0.6], [-0.6, 0.8]])
    u, v = rng.multivariate_normal([0, 0], covariance, 100_000).T
    products = special.erf(0.7 * u) * special.erf(2 * v)
    assert abs(scores(products, nlgp.arcsine_law(-0.6, 1.5, 0.8, 0.7, 2))) < 4.5
    assert abs(scores(products, nlgp.arcsine_law(-0.6, 1.5, 0.8))) > 8
    for variance, rounded in ((0.1, 0.05795), (1, 0.33333), (4, 0.59033)):
        assert nlgp.arcsine_law(variance, variance, variance, 0.5**0.5, 0.5**0.5) == pytest.approx(rounded, abs=5e-6)
