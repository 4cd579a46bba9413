"""The rise of the mean excess over the top per cents of planted laws, and permutation within columns."""

import numpy as np
import pytest

from shallow import stats
from shallow.spectra import esd, nulls, tops

RNG = stats.stream("tests of tops")
EXPONENTIAL = RNG.standard_exponential(400_000)


@pytest.mark.parametrize("without", [0.0, 0.01, 0.05])
def test_the_rise_of_an_exponential_law_is_the_closed_form(without):
    assert tops.rise(EXPONENTIAL, without=without) == pytest.approx(tops.exponential_rise(without), abs=0.02)


def test_an_exponential_law_has_no_rise():
    assert tops.exponential_rise() == pytest.approx(1)
    assert tops.exponential_rise(0.01) < 1


def test_a_power_law_rises_by_the_ratio_of_its_cuts():
    values = RNG.pareto(2.0, 400_000) + 1  # density exponent 3: the cuts are as the root of the shares
    assert tops.rise(values) == pytest.approx((tops.FAR / tops.NEAR) ** 0.5, rel=0.05)


def test_chi_square_is_about_exponential_and_noise_falls():
    assert tops.rise(RNG.standard_normal(400_000) ** 2) == pytest.approx(1.09, abs=0.03)
    assert tops.rise(esd.eigenvalues(RNG.standard_normal((600, 400)))) < 0.6


def test_place_and_scale_do_not_matter():
    values = RNG.standard_exponential(1000)
    assert tops.rise(3 * values + 7) == pytest.approx(tops.rise(values))


def test_the_interval_covers_the_value_and_tells_power_laws_from_noise():
    heavy, noise = RNG.pareto(1.5, 500) + 1, esd.eigenvalues(RNG.standard_normal((600, 400)))
    assert tops.rise_interval(heavy, name="heavy", without=0.01).low > tops.exponential_rise(0.01)
    assert tops.rise_interval(noise, name="noise", without=0.01).high < tops.exponential_rise(0.01)


def test_spikes_are_left_out():
    values = RNG.standard_exponential(1000)
    spiked = np.append(values, np.full(10, 1e6))
    assert tops.rise(spiked, without=10 / 1010) == pytest.approx(tops.rise(values))
    assert len(tops.without_top(spiked, 10 / 1010)) == 1000


def test_permutation_keeps_columns_and_breaks_rows():
    profile = np.exp(RNG.standard_normal(100))
    W = RNG.standard_normal((150, 100)) * profile + 5 * np.outer(RNG.choice([-1, 1], 150), profile)
    found = nulls.permuted_within_columns(W, stats.stream("p"))
    assert np.array_equal(np.sort(found, axis=0), np.sort(W, axis=0))
    assert not np.array_equal(found, W)
    assert esd.eigenvalues(found)[0] < 0.2 * esd.eigenvalues(W)[0]  # the pair that all columns share is gone


def test_permutation_leaves_the_spectrum_of_a_profile():
    W = RNG.standard_normal((300, 200)) * np.exp(RNG.standard_normal(200))
    found = nulls.permuted_within_columns(W, stats.stream("q"))
    assert np.median(esd.eigenvalues(found)) == pytest.approx(np.median(esd.eigenvalues(W)), rel=0.05)
