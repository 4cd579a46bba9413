"""Exponents on samples whose exponent is known, and on samples that have none."""

import numpy as np
import pytest
from standard_errors import scores

from shallow.spectra import tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.spectra.tail_laws import Exponential, LogNormal, PowerLaw, vuong

N = 1000


def pareto(rng: np.random.Generator, alpha: float, size: int = N) -> np.ndarray:
    return np.exp(rng.standard_exponential(size) / (alpha - 1))


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0])
def test_hill_on_pareto_samples_is_nearly_unbiased(alpha):
    """With m - 1 independent values above the cut the exponent has mean 1 + (alpha - 1) m / (m - 2)."""
    rng = np.random.default_rng(int(10 * alpha))
    found = np.array([tails.hill(pareto(rng, alpha)) for _ in range(400)])
    m = N // 2
    exact = 1 + (alpha - 1) * m / (m - 2)
    assert abs(scores(found, exact)) < 4
    assert found.std() == pytest.approx((alpha - 1) / np.sqrt(m), rel=0.2)
    assert abs(scores(found, exact + 0.1)) > 10  # the twin: this many draws would see a tenth


@pytest.mark.parametrize("alpha", [1.8, 2.5, 4.0])
def test_cut_and_exponent_of_a_planted_tail_are_found(alpha):
    rng = np.random.default_rng(int(alpha * 7))
    x = np.append(rng.uniform(0.1, 5, 600), 5 * pareto(rng, alpha, 1400))
    fit = tails.power_law(x)
    assert fit.alpha == pytest.approx(alpha, abs=4 * (fit.alpha - 1) / fit.size**0.5)
    assert 4 < fit.xmin < 8
    assert tails.power_law(x, least=1900).alpha != pytest.approx(alpha, abs=0.2)  # a cut in the body


def test_goodness_accepts_power_laws_and_rejects_others():
    """Under the law p is uniform; a sample with a soft cut in its tail is rejected."""
    p = [tails.goodness(pareto(np.random.default_rng([seed, 2]), 2.5, 400), name=f"{seed}") for seed in range(40)]
    assert np.mean(np.array(p) < 0.1) <= 0.25
    assert 0.3 < np.mean(p) < 0.7 and set(p) <= {k / 200 for k in range(201)}
    rng = np.random.default_rng(8)
    for x in (rng.exponential(size=N), MarchenkoPastur(1500, N).quantile(rng.uniform(size=N))):
        assert tails.goodness(x, name="other", least=300) < 0.05


def test_a_sample_that_fits_equally_well_fits_no_better():
    """Two values have the distance 1/2 - exp(-2) from their law, whatever they are."""
    assert tails.goodness(np.array([1.0, np.e]), name="two", least=2) == 1


def test_likelihood_ratios_name_the_law_of_the_sample():
    rng = np.random.default_rng(9)
    power, soft = pareto(rng, 2.5, 2000), 1 + rng.exponential(size=2000)
    bent = np.exp(np.abs(rng.standard_normal(2000)))
    for x, wins in ((power, 1), (soft, -1)):
        assert vuong(PowerLaw.fit(x, 1.0), Exponential.fit(x, 1.0), x).favours() == wins
    assert vuong(PowerLaw.fit(bent, 1.0), LogNormal.fit(bent, 1.0), bent).favours() == -1
    assert vuong(PowerLaw.fit(power, 1.0), LogNormal.fit(power, 1.0), power).favours() == 0
