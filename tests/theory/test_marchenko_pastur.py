"""The Marchenko-Pastur law against quadrature and random matrices, each check with a wrong law that must fail it."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from shallow.spectra import esd, tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur, fit, fitted_distance

SHAPES = [(1500, 1000), (1000, 1500), (3000, 500), (400, 400), (1, 1), (7, 300), (1, 10**6), (10**10, 1)]
sizes = st.integers(1, 5000) | st.integers(1, 10**10)
laws = st.builds(MarchenkoPastur, sizes, sizes, st.floats(1e-6, 1e6) | st.sampled_from([1e-280, 1e280]))


@functools.cache
def gaussian_spectrum(h: int, d: int, seed: int) -> np.ndarray:
    return esd.eigenvalues(np.random.default_rng([h, d, seed]).standard_normal((h, d)))


@pytest.mark.parametrize(("h", "d"), SHAPES)
@pytest.mark.parametrize("variance", [1.0, 3e-4])
def test_density_cdf_and_moments_are_one_law(h, d, variance):
    law = MarchenkoPastur(h, d, variance)
    low, high = law.edges
    # with x = middle - radius cos(angle) the density times the Jacobian is smooth, also at a hard edge
    middle, radius = (low + high) / 2, (high - low) / 2

    def integral(function, share=1.0):
        def integrand(angle):
            x = middle - radius * np.cos(angle)
            return function(x) * law.density(x) * radius * np.sin(angle)

        return integrate.quad(integrand, 0, share * np.pi, epsabs=0, epsrel=1e-11)[0]

    for k in range(5):
        assert integral(lambda x, k=k: x**k) == pytest.approx(law.moment(k), rel=1e-9)
    for share in (0.1, 0.5, 0.93):
        at = middle - radius * np.cos(share * np.pi)
        assert law.cdf(at) == pytest.approx(integral(lambda x: 1.0, share), abs=1e-10)
    assert law.moment(2) != pytest.approx(integral(lambda x: x**2, 0.9), rel=1e-3)  # the twin: a part of the law
    assert (law.density(np.array([low * 0.99 - 1e-9, high * 1.01])) == 0).all()


@given(laws, st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_quantiles_invert_the_cdf(law, shares):
    shares = np.sort(shares)
    quantiles = law.quantile(shares)
    assert np.abs(law.cdf(quantiles) - shares).max() < 1e-9
    assert (np.diff(quantiles) >= 0).all() and law.edges[0] <= quantiles[0] and quantiles[-1] <= law.edges[1]
    assert law.cdf(law.edges[0]) < 1e-12 and law.cdf(law.edges[1]) == pytest.approx(1, abs=1e-12)
    assert (np.diff(law.cdf(np.linspace(*law.edges, 101))) >= 0).all()


@given(laws)
def test_law_is_that_of_the_transpose_and_scales_with_the_variance(law):
    other = MarchenkoPastur(law.d, law.h, 4 * law.variance)
    points = np.linspace(*law.edges, 7)
    assert np.abs(other.cdf(4 * points) - law.cdf(points)).max() < 1e-7
    assert other.tracy_widom_unit == pytest.approx(4 * law.tracy_widom_unit)


@pytest.mark.parametrize("seed", range(3))
def test_gaussian_matrix_follows_the_law_and_no_other(seed):
    values, law = gaussian_spectrum(1500, 1000, seed), MarchenkoPastur(1500, 1000)
    low, high = law.edges
    assert law.distance(values) <= 0.01
    assert low - law.tracy_widom_unit < values[-1] and values[0] < high + 5 * law.tracy_widom_unit
    assert MarchenkoPastur(1500, 1000, 1.05).distance(values) > 0.02
    assert MarchenkoPastur(1500, 1100).distance(values) > 0.02
    heavy = np.random.default_rng(seed).standard_t(2, (600, 400))
    assert fitted_distance(esd.eigenvalues(heavy), 600, 400) > 0.05


@pytest.mark.parametrize(("h", "d", "known"), [(1500, 1000, 2.449), (3000, 500, 4.009)])
def test_median_hill_of_the_law(h, d, known):
    law = MarchenkoPastur(h, d)
    assert law.hill == pytest.approx(known, abs=5e-4)
    assert law.hill == pytest.approx(MarchenkoPastur(d, h, 7.0).hill)
    dense = law.quantile((np.arange(200_000) + 0.5) / 200_000)
    assert tails.hill(dense) == pytest.approx(law.hill, abs=1e-4)
    found = tails.hill(gaussian_spectrum(h, d, 0))
    assert found == pytest.approx(law.hill, abs=0.03)
    assert found != pytest.approx(MarchenkoPastur(2 * h, d).hill, abs=0.3)


@pytest.mark.parametrize("variance", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("deleted", [0, 1, 20])
def test_fitted_scale_is_the_one_of_the_matrix_and_the_best(variance, deleted):
    values = variance * gaussian_spectrum(600, 400, 0)[deleted:]
    law = fit(values, 600, 400)
    if deleted < 2:
        assert law.variance == pytest.approx(variance, rel=0.01)
    best = law.distance(values)
    others = [MarchenkoPastur(600, 400, law.variance * c).distance(values) for c in np.geomspace(0.5, 2, 401)]
    assert best <= min(others) + 1e-9
    assert max(others) > 3 * best


@pytest.mark.parametrize("rows", [2, 100, 10**6, 10**10])
def test_exponent_of_the_law_keeps_its_digits_as_the_ratio_falls(rows):
    """Over the angle t with x = 1 + q - 2 sqrt(q) cos t the density is 2 sin^2 t / (pi x), without a cancellation."""
    q, root = 1 / rows, rows**-0.5

    def integral(function, low, high):
        def integrand(t):
            return function(t) * 2 * np.sin(t) ** 2 / np.pi / (1 + q - 2 * root * np.cos(t))

        return integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-11)[0]

    middle = optimize.brentq(lambda t: integral(np.ones_like, 0, t) - 0.5, 0.1, 3, xtol=1e-13)
    at = 1 + q - 2 * root * np.cos(middle)
    area = integral(lambda t: np.log1p(2 * root * (np.cos(middle) - np.cos(t)) / at), middle, np.pi)
    assert MarchenkoPastur(rows, 1).hill == pytest.approx(1 + 0.5 / area, rel=1e-9)
    assert MarchenkoPastur(rows, 1).quantile(0.5) == pytest.approx(rows * at, rel=1e-12)


def test_only_the_eigenvalues_of_a_matrix_of_full_rank_and_of_the_shape_are_fitted():
    rng = np.random.default_rng(0)
    G, W = rng.standard_normal((600, 400)), rng.standard_normal((300, 200))
    values, larger = esd.eigenvalues(G), np.linalg.eigvalsh(G @ G.T).clip(0)
    W[:, :60] = 0
    zeros, zeros_or_noise = esd.eigenvalues(W), np.linalg.svd(np.hstack([W[:, 60:]] * 2), compute_uv=False) ** 2
    wrong = [(larger, 600, 400), (values, 300, 200), (zeros, 300, 200), (zeros_or_noise, 300, 280)]
    for spectrum, h, d in wrong:
        for refused in (fit, fitted_distance):
            with pytest.raises(ValueError, match=r"^values must be .*, got "):
                refused(spectrum, h, d)
    with pytest.raises(ValueError, match="values must be at most 200, .* got 400"):
        MarchenkoPastur(300, 200).distance(values)
    assert fit(zeros[zeros > 0], 300, 140).variance == pytest.approx(1, rel=0.02)
    assert fitted_distance(np.tile(values, 2), 600, 400, matrices=2) == pytest.approx(fitted_distance(values, 600, 400))


@pytest.mark.parametrize("unit", [1e-290, 1e290])
def test_scale_is_no_part_of_a_fit(unit):
    values = gaussian_spectrum(600, 400, 0)
    law, scaled = fit(values, 600, 400), fit(unit * values, 600, 400)
    assert scaled.variance / unit == pytest.approx(law.variance) and scaled.hill == pytest.approx(law.hill)
    assert scaled.distance(unit * values) == pytest.approx(law.distance(values))
    assert scaled.moment(1) / unit == pytest.approx(law.moment(1))
    with pytest.raises(ValueError, match="^k must .*, got 2"):
        scaled.moment(2)


def test_distance_is_that_of_scipy():
    from scipy import stats

    values, law = gaussian_spectrum(600, 400, 1), MarchenkoPastur(600, 400, 1.1)
    assert law.distance(np.random.default_rng(0).permutation(values)) == pytest.approx(
        stats.kstest(values, law.cdf).statistic, abs=1e-14
    )
