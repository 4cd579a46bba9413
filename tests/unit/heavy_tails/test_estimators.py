"""What the exponents measure: closed forms of pure noise, the samplers, and the tests for a kind of tail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from experiments.heavy_tails import estimators
from experiments.heavy_tails.exponents import tail_fits
from shallow.spectra import marchenko_pastur, tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur

SHAPES = [(400, 400), (600, 400), (400, 1200), (4000, 400)]


def path_by_counting(law, share):
    """The exponent above a cut from midpoints of equal shares of the law's tail."""
    grid = 1 - share * (np.arange(4000) + 0.5) / 4000
    return 1 + 1 / np.log(law.quantile(grid) / law.quantile(1 - share)).mean()


@pytest.mark.parametrize(("h", "d"), SHAPES)
def test_the_closed_form_of_noise_agrees_with_the_quantiles_of_its_law_at_every_cut(h, d):
    law, shares = MarchenkoPastur(h, d), np.array([0.01, 0.3, 0.5, 0.9])
    exact = estimators.noise_exponent(h, d, shares)
    assert np.allclose(exact, [path_by_counting(law, share) for share in shares], rtol=1e-3)
    assert np.isclose(exact[2], law.hill, rtol=1e-9)


@pytest.mark.parametrize(("h", "d"), SHAPES)
def test_the_edge_form_is_the_limit_of_the_closed_form(h, d):
    ratios = [estimators.edge_exponent(h, d, t) / estimators.noise_exponent(h, d, t) - 1 for t in (1e-2, 1e-3, 1e-4)]
    assert abs(ratios[2]) < 0.02 and abs(ratios[2]) < abs(ratios[1]) < abs(ratios[0])


@pytest.mark.parametrize("law", ["exponential", "Pareto 2.5", "MP 1.5", "MP 0.5"])
def test_hill_on_samples_tends_to_the_population_value(law):
    found = [estimators.estimates(seed, law, count=600).hill.item() for seed in range(12)]
    error = scipy_stats.sem(found) + 0.004  # the finite size shifts a spectrum
    assert abs(np.mean(found) - estimators.population(law)) < 4 * error
    assert abs(np.mean(found) - estimators.population("Pareto 4")) > 10 * error


def test_chi_variables_have_the_spectrum_of_a_gaussian_matrix():
    """Compared by the largest of 8 eigenvalues; the spectrum of another shape fails the same test."""
    rng = np.random.default_rng(0)
    matrices = [np.linalg.svd(rng.standard_normal((12, 8)), compute_uv=False)[0] ** 2 for _ in range(600)]
    same, other = ([marchenko_pastur.spectrum(rng, h, 8)[0] for _ in range(600)] for h in (12, 16))
    assert scipy_stats.ks_2samp(matrices, same).pvalue > 1e-3
    assert scipy_stats.ks_2samp(matrices, other).pvalue < 1e-6
    wide = marchenko_pastur.spectrum(rng, 8, 12)
    assert len(wide) == 8 and (np.diff(wide) < 0).all()


def test_distance_at_the_edge_is_zero_for_a_power_law_only():
    shares = np.array([0.01, 0.1, 0.5])
    assert np.allclose(estimators.edge_distances(lambda p: (1 - p) ** -0.5, shares), 0, atol=1e-3)
    assert (estimators.edge_distances(MarchenkoPastur(300, 200).quantile, shares) > 0.1).all()


def test_scale_moves_nothing_and_the_spike_as_predicted():
    values = marchenko_pastur.spectrum(np.random.default_rng(2), 300, 200)
    before, scaled = estimators.moved(values), estimators.moved(values, scale=1000)
    assert np.allclose(before, scaled, rtol=1e-12)
    after = estimators.moved(values, top=10)[0]
    assert np.isclose(1 / (after - 1), 1 / (before[0] - 1) + 2 * np.log(10) / 100, rtol=1e-10)


def test_a_power_law_is_supported_and_pure_noise_is_not():
    rng = np.random.default_rng(3)
    spectra = [np.sort(estimators.sample(law, rng, 600))[::-1] for law in ("Pareto 2.5", "MP 1.5")]
    tests = [tail_fits.power_law_test(v, name="planted", resamples=50) for v in spectra]
    assert [bool(tail_fits.supported(test)) for test in tests] == [True, False]
    assert abs(tests[0].alpha - 2.5) < 0.3


def test_noise_of_unequal_rows_is_recognised():
    rng = np.random.default_rng(3)
    rows = np.exp(0.6 * rng.standard_normal(450))[:, None] * rng.standard_normal((450, 300))
    law = tail_fits.widened(np.linalg.svd(rows, compute_uv=False) ** 2, 450, 300)
    assert abs(law["spread"] - 1.2) < 0.2 and law["profile_distance"] < 0.03


def test_noise_of_the_same_norms_keeps_the_norms_and_nothing_else():
    rng = np.random.default_rng(4)
    W = np.exp(rng.standard_normal(90))[:, None] * rng.standard_normal((90, 60))
    W += 300 * np.outer(np.ones(90), np.ones(60)) / np.sqrt(90 * 60)
    values = tail_fits.same_norms(W, rng)
    assert values[0] < 0.5 * np.linalg.norm(W, 2) ** 2
    assert tails.hill(values) < 0.9 * MarchenkoPastur(90, 60).hill
