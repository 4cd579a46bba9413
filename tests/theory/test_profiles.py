"""The law of a column profile against the Marchenko-Pastur law and against sampled matrices."""

import numpy as np
import pytest

from shallow.spectra import esd, tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.spectra.profiles import ProfileLaw, equalised_columns


@pytest.mark.parametrize(("h", "d"), [(300, 200), (200, 300), (200, 190)])
def test_equal_columns_have_the_marchenko_pastur_law(h, d):
    law, known = ProfileLaw(h, np.full(d, 2.0)), MarchenkoPastur(h, d, 2.0)
    x = known.quantile(np.linspace(0.01, 0.99, 50))
    np.testing.assert_allclose(law.cdf(x), known.cdf(x), atol=2e-3)
    np.testing.assert_allclose(law.edge, known.edges[1], rtol=1e-4)
    assert law.hill == pytest.approx(known.hill, abs=0.01)


@pytest.mark.parametrize("high", [4.0, 100.0])
def test_two_kinds_of_columns(high):
    profile = np.repeat([1.0, high], 300)
    values = esd.eigenvalues(np.random.default_rng(0).standard_normal((900, 600)) * np.sqrt(profile))
    law = ProfileLaw(900, profile)
    assert law.distance(values) < 0.01 < MarchenkoPastur(900, 600, profile.mean()).distance(values)
    assert law.hill == pytest.approx(tails.hill(values), abs=0.02)
    assert law.edge == pytest.approx(values[0], rel=0.06)


def test_rows_are_the_columns_of_the_transpose():
    profile = 1 + np.random.default_rng(1).chisquare(1, 600)
    values = esd.eigenvalues(np.random.default_rng(2).standard_normal((600, 400)) * np.sqrt(profile)[:, None])
    assert ProfileLaw(400, profile).distance(values) < 0.012


def test_quantiles_invert_the_distribution():
    law = ProfileLaw(150, np.linspace(1, 5, 100))
    shares = np.linspace(0.05, 0.95, 10)
    np.testing.assert_allclose(law.cdf(law.quantile(shares)), shares, atol=1e-6)


def test_columns_are_made_equal_and_nothing_else():
    W = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 2.0, 0.0, 3.0]
    equal = equalised_columns(W)
    lengths = np.linalg.norm(equal, axis=0)
    np.testing.assert_allclose(lengths[[0, 1, 3]], lengths[0])
    assert not equal[:, 2].any()
    np.testing.assert_allclose(equal[:, 1] / lengths[1], W[:, 1] / np.linalg.norm(W[:, 1]))
