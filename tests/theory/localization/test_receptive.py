"""Laws of receptive fields: noise levels, uniform centres, losses at the start, and what the page of proofs states."""

import numpy as np
import pytest
from scipy import special
from scipy.special import erf

from experiments.localization import dominance, gaussian_flow, networks, reductions
from experiments.localization.populations import cells as populations
from experiments.localization.starting_loss import cells as starting_loss
from experiments.localization.theory import cells as proofs
from experiments.localization.tiling import cells as ring_average
from shallow import receptive_fields as fields
from shallow import stats
from shallow.data import nlgp

PIXELS = 40


def classes(gain, normalisation="unit"):
    return [nlgp.Process(PIXELS, xi, gain, normalisation) for xi in (2.0, 1.0)]


@pytest.mark.parametrize("shape, cut", [((40,), np.inf), ((40,), 5), ((6, 5), np.inf), ((6, 5), 1.5)])
def test_localisation_of_noise(shape, cut):
    """Mean and deviation over random fields; the values without the constraint of the norm are wrong."""
    W = stats.stream("test noise level", *shape, cut).standard_normal((10_000, *shape))
    found = fields.inverse_participation_ratio(fields.low_pass(W, cut, len(shape)), len(shape))
    law = fields.noise_level(shape, cut)
    assert found.mean() == pytest.approx(law.mean, abs=4 * law.deviation / 100)
    assert found.std() == pytest.approx(law.deviation, rel=0.06)
    assert found.mean() != pytest.approx(3 / found[0].size / np.prod(shape), abs=4 * law.deviation / 100)
    assert fields.noise_level(shape, 0) == pytest.approx((1 / np.prod(shape), 0), abs=1e-8)  # constants


def test_frequencies_of_noise():
    W = stats.stream("test noise frequency").standard_normal((10_000, PIXELS))
    assert fields.mean_frequency(W).mean() == pytest.approx(PIXELS / 4, abs=0.05)
    assert fields.low_share(W, 2).mean() == pytest.approx(5 / PIXELS, abs=0.003)
    assert fields.low_share(W, 2).mean() != pytest.approx(3 / 21, abs=0.003)  # indices of rfft instead of modes


def test_uniform_centres_pass_and_clustered_ones_fail():
    rng = stats.stream("test rayleigh")
    uniform = np.array([populations.rayleigh(x, PIXELS) for x in rng.uniform(0, PIXELS, (4000, 20))])
    clustered = [populations.rayleigh(x, PIXELS) for x in rng.normal(7, PIXELS / 6, (200, 20))]
    for level in (0.01, 0.05, 0.3):
        assert (uniform < level).mean() == pytest.approx(level, abs=4 * (level / 4000) ** 0.5)
    assert np.median(clustered) < 0.01


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
@pytest.mark.parametrize("neurons", [1, 8])
@pytest.mark.parametrize("gain, normalisation", [(0.01, "unit"), (3.0, "raw"), (np.inf, "mismatched")])
def test_average_over_the_weights(activation, neurons, gain, normalisation):
    """A network drawn for every sample; twice as many neurons, or relu outputs without cross terms, are wrong."""
    rng = stats.stream("test starting loss", activation, neurons, gain)
    variance, count = 0.05, 6000
    sigma, labels = {
        "erf": (lambda h: erf(h / 2**0.5), (1, -1)),
        "relu": (lambda h: np.maximum(h, 0), (1, 0)),
    }[activation]
    errors, norms = [], []
    for process, label in zip(classes(gain, normalisation), labels):
        x = process.sample(rng, count)
        w = rng.standard_normal((count, neurons, PIXELS)) * variance**0.5
        errors.append((sigma(np.einsum("mkn,mn->mk", w, x)).mean(axis=1) - label) ** 2)
        norms.append((x**2).sum(axis=1))
    slow, error = np.mean(errors) / 2, np.hypot(*np.std(errors, axis=1)) / 4 / count**0.5
    given = {"variance": variance, "mean_square": PIXELS * process.variance}
    found = starting_loss.averaged(activation, *norms, neurons=neurons, **given)
    assert found == pytest.approx(slow, abs=4 * error)
    more = starting_loss.averaged(activation, *norms, neurons=2 * neurons, **given)
    assert more != pytest.approx(slow, abs=4 * error)
    if activation == "relu" and neurons > 1:
        cross = (1 - 1 / neurons) / (8 * np.pi) * variance * (norms[0].mean() + norms[1].mean())
        assert found - cross != pytest.approx(slow, abs=4 * error)


def quadratic(W, covariance):
    return np.einsum("kn,nm,km->k", W, covariance, W)


def covariances(gain=0.0):
    return [nlgp.circulant(process.covariance) for process in classes(gain)]


def random_fields(count, scale=0.3):
    return scale * stats.stream("test random fields", count).standard_normal((count, PIXELS))


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_ring_averages_with_halves_and_with_shares(quarters):
    """All shifts and signs of a bump and a wave, `quarters` in four of them positive, at g = 3.

    (4) is exact for equal halves only, off by what the proposition says; (5) as printed is outside the bound.
    """
    p = np.array([1 - quarters / 4, quarters / 4])
    bump, wave = (dominance.gabors(PIXELS, [width], [k])[0, 0] for width, k in ((2.0, 0), (3.0, 12)))
    templates, biases = np.stack([3 * bump, 2 * wave]), np.array([-2.0, 1.5])
    x = nlgp.minibatch(stats.stream("test ring averages", quarters), *classes(3.0), 500).x
    output = ring_average.network(templates, biases, (4 - quarters, quarters)).forward(x)[0]
    far, near = ring_average.terms(templates, biases, x)
    both = far + near

    def error(formula):
        return np.abs(formula - output).max()

    assert error(p @ both / 2) < 1e-12
    assert (error(both.sum(axis=0) / 4) < 1e-12) == (quarters == 2)
    assert error(both.sum(axis=0) / 4 + (p[1] - 0.5) / 2 * (both[1] - both[0])) < 1e-12
    bound = p @ (1 + np.array([1, -1]) * erf(biases / 2**0.5)) / 2
    assert error((p[0] * (far[0] - 1) + p[1] * (near[1] + 1)) / 2) <= bound < error(far.sum(axis=0) / 2)


@pytest.mark.parametrize("xi", [1.0, 2.0])
def test_distant_windows(xi):
    """Canonical correlations stay below the bound, which vanishes; a bound with twice the exponent does not hold."""
    lags = range(11, 18, 2)
    found = np.array([proofs.canonical_correlation(xi, 5, lag) for lag in lags])
    bound = np.array([proofs.canonical_bound(xi, 5, lag) for lag in lags])
    assert (found <= bound).all() and bound[-1] < 1e-10 and (np.diff(bound) < 0).all()
    assert (found > bound * np.exp(-(((np.array(lags) - 4) / xi) ** 2))).all()  # twin: twice the exponent


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.9])
def test_signs_and_two_neighbours(epsilon):
    """(9) is one number for every side weight below 1, and another one above."""
    pair = classes(np.inf)
    shares = [proofs.agreeing(process) for process in pair]
    value = proofs.side_value(*shares)
    rng, w = stats.stream("test neighbours", str(epsilon)), np.zeros((2, PIXELS))
    w[:, 0], w[0, [1, -1]], w[1, [1, -1]] = 1, epsilon, 1.5
    x = [process.sample(rng, 100_000) for process in pair]
    below, above = (0.5 + np.sign(np.abs(x[0] @ one) - np.abs(x[1] @ one)).mean() / 2 for one in w)
    assert below == pytest.approx(value, abs=0.006) and above != pytest.approx(value, abs=0.006)
    for share, process, sample in zip(shares, pair, x):
        v, kurtosis = proofs.side_moments(share, epsilon)
        assert v == pytest.approx(w[0] @ nlgp.circulant(process.covariance) @ w[0], rel=1e-10)
        h = sample @ w[0]
        assert np.mean(h**4) / np.mean(h**2) ** 2 - 3 == pytest.approx(kurtosis, abs=0.02)


def test_closure_is_exact_for_pixels_and_normal_responses_only():
    """A pixel against a pixel of another gain or with heavy tails; a filter on signs is off."""
    z = np.linspace(-9, 9, 4001)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    for first, second in (
        ((3.0, "light"), (1.0, "light")),
        ((1.0, "light"), (0.3, "heavy")),
        ((0.4, "heavy"), (0.0, "light")),
    ):
        a, b = (nlgp.Process(PIXELS, 1.0, gain, tails=tails) for gain, tails in (first, second))
        u, v = np.abs(a.observed(z.copy())) * 1.2, np.abs(b.observed(z.copy()))
        below = np.concatenate([[0], np.cumsum(weight[np.argsort(v)])])
        exact = weight @ below[np.searchsorted(np.sort(v), u)]
        closed = reductions.saturated_dominance(1.44, a.excess_kurtosis, b.excess_kurtosis)
        assert closed == pytest.approx(exact, abs=2e-3)
        assert dominance.at_a_point(1.44) != pytest.approx(exact, abs=2e-3)
    for ratio in (0.2, 1.0, 3.0):
        assert reductions.saturated_dominance(ratio, 0.0, 0.0) == pytest.approx(dominance.at_a_point(ratio), abs=1e-6)
    shares = [proofs.agreeing(process) for process in classes(np.inf)]
    moments = np.array([proofs.side_moments(share, 0.05) for share in shares])
    closed = reductions.saturated_dominance(moments[0, 0] / moments[1, 0], *moments[:, 1])
    assert closed > 0.95 and proofs.side_value(*shares) < 0.65


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_closure_begins_with_the_kurtosis_term(ratio):
    small = (-0.02, 0.015)
    change = reductions.saturated_dominance(ratio, *small) - dominance.at_a_point(ratio)
    assert change == pytest.approx(float(reductions.kurtosis_term(ratio, *small)), rel=0.05)
    assert change != pytest.approx(float(reductions.kurtosis_term(ratio, *small[::-1])), rel=0.5)


def test_light_pixels_with_a_heavy_response():
    """Difference of neighbouring signs: excess kurtosis 1/q - 3, of either sign."""
    for process, sign in zip(classes(np.inf), (1, -1)):
        x = process.sample(stats.stream("test differences", process.xi), 200_000)
        h, expected = x[:, 0] - x[:, 1], 1 / process.crossing_rate - 3
        assert np.mean(h**4) / np.mean(h**2) ** 2 - 3 == pytest.approx(expected, abs=0.05)
        assert np.sign(expected) == sign and process.excess_kurtosis == -2


def test_the_constant_may_lead_where_the_correlations_oscillate():
    """The condition of all cosines decides; that no entry is negative is sufficient only."""
    d = nlgp.ring_distance(PIXELS)
    for q, leads in ((0.0, True), (1.2, True), (1.5, False)):
        c = np.subtract(*(np.cos(q * d / xi) * np.exp(-((d / xi) ** 2)) for xi in (2.0, 1.0)))
        k = np.arange(PIXELS // 2 + 1)[:, None]
        assert (np.abs(np.linalg.eigh(nlgp.circulant(c))[1][:, -1].sum()) > 1) == leads
        assert ((c * (1 - np.cos(2 * np.pi * k * np.arange(PIXELS) / PIXELS))).sum(axis=1) >= -1e-12).all() == leads
        assert (c >= -1e-12).all() == (q == 0)


def test_bias_reverses_where_the_densities_cross():
    v1, v0 = np.array([2.0, 0.5, 1.0, 30.0]), np.array([1.0, 4.0, 1.0, 29.0])
    rest = proofs.reversal(v1, v0)

    def density(b, v):
        return np.exp(-(b**2) / (2 + 2 * v)) / (1 + v) ** 0.5

    assert density(rest, v1) == pytest.approx(density(rest, v0), rel=1e-12)
    assert rest[2] == pytest.approx(2**0.5)
    assert (rest**2 > 1 + np.minimum(v1, v0) - 1e-9).all() and (rest**2 < 1 + np.maximum(v1, v0) + 1e-9).all()
    assert proofs.reversal(1 + 1e-7, 1.0) == pytest.approx(proofs.reversal(1 + 3e-6, 1.0), rel=1e-5)
    with pytest.raises(ValueError, match="v1"):
        proofs.reversal(-0.1, 1.0)


def test_drift_of_the_bias_and_of_the_variances():
    W, b = random_fields(60), np.linspace(-3, 3, 60)
    first, second = covariances()
    v1, v0 = quadratic(W, first), quadratic(W, second)
    rest = proofs.reversal(v1, v0)
    moved, unit = gaussian_flow.velocity(W, b, first, second), len(b) * (np.pi / 2) ** 0.5
    assert (np.sign(moved.b) == np.sign((v1 - v0) * (b**2 - rest**2))).all()
    assert (np.sign(moved.b) != -np.sign(v1 - v0)).any()  # twin: that it never reverses
    gap = 2 * unit * np.einsum("kn,kn->k", W @ (first - second), moved.W)
    assert gap == pytest.approx(proofs.gap_formula(W, b, first, second), rel=1e-9, abs=1e-14)
    step, (up, down) = 1e-6, (gaussian_flow.velocity(W, s * rest, first, second).W for s in (1, -1))
    for velocity, sign in ((up, -1), (down, 1)):
        later = [np.log1p(quadratic(W + step * velocity, one)) for one in (first, second)]
        change = later[0] - later[1] - np.log1p(v1) + np.log1p(v0)
        assert (np.sign(change) == sign).all()
    assert np.abs(unit * gaussian_flow.velocity(W, rest, first, second).b).max() < 1e-12


@pytest.mark.parametrize("mode", [0, 1, 5, 12])
def test_one_frequency_feeds_its_bias_while_it_is_small(mode):
    """Up to a variance of 2 for every bias; above, at a small bias, no more."""
    first, second = covariances()
    w = np.cos(2 * np.pi * mode * np.arange(PIXELS) / PIXELS)
    top = max(w @ first @ w, w @ second @ w)
    b = np.linspace(-4, 4, 41)[np.arange(41) != 20]
    for size, feeds in ((0.05, True), (1.0, True), (2.0, True), (40.0, False)):
        W = np.tile(w * (size / top) ** 0.5, (40, 1))
        found = np.sign(proofs.gap_formula(W, b, first, second)) == -np.sign(b)
        assert found.all() == feeds


def test_what_a_neuron_takes_from_the_absolute_loss():
    """The closed maximum over the bias, against a search; of r and 1/r the same."""
    for u1, u0 in ((2.0, 1.0), (1.1, 4.0), (90.0, 2.0)):
        b = np.linspace(-12, 12, 24_001)
        values = (erf(b / (2 * u1) ** 0.5) - erf(b / (2 * u0) ** 0.5)) / 2
        assert proofs.gain_of(u1 / u0) == pytest.approx(values.max(), abs=1e-7)
        assert b[values.argmax()] == pytest.approx(np.sign(u0 - u1) * proofs.reversal(u1 - 1, u0 - 1), abs=2e-3)
    ratios = np.geomspace(1, 1e6, 50)
    gains = proofs.gain_of(ratios)
    assert (np.diff(gains) > 0).all() and gains[0] == 0 and gains[-1] < 0.5
    assert proofs.gain_of(1 / ratios) == pytest.approx(gains, rel=1e-12)


def test_absolute_loss_is_a_sum_over_neurons():
    W, b = random_fields(8), np.linspace(-2, 2, 8)
    rng, losses, parts = stats.stream("test absolute"), [], 0.0
    for process, label in zip(classes(0.0), (1, -1)):
        x = process.sample(rng, 100_000)
        losses.append(np.abs(label - erf((x @ W.T + b) / 2**0.5).mean(axis=1)).mean())
        parts += label / 2 * erf(b / (2 * (1 + quadratic(W, nlgp.circulant(process.covariance)))) ** 0.5).mean()
    assert np.mean(losses) == pytest.approx(1 - parts, abs=2e-3)
    assert sum(losses) != pytest.approx(1 - parts, abs=0.1)  # (29) as printed


def test_cumulant_series_is_exact_for_polynomials():
    """f = x^3 and x^5 on signs: one, two, three terms; the next-to-last partial sum is not enough."""
    process = classes(np.inf)[0]
    x = process.sample(stats.stream("test cumulants"), 200_000)[:, :5]
    h, at = x @ (1.0, 0.5, -0.3, 0.2, 0.1), x[:, 0]
    m2, m4, m1, m3, m5 = (np.mean(p) for p in (h**2, h**4, at * h, at * h**3, at * h**5))
    k2, k4, k6 = m1, m3 - 3 * m1 * m2, m5 - 10 * m3 * m2 - 5 * m1 * m4 + 30 * m1 * m2**2
    third = [k2 * 3 * m2, k4]
    fifth = [k2 * 5 * m4, k4 / 6 * 60 * m2, k6]
    assert sum(third) == pytest.approx(m3, rel=1e-9) and sum(fifth) == pytest.approx(m5, rel=1e-9)
    assert third[0] != pytest.approx(m3, rel=0.05) and sum(fifth[:2]) != pytest.approx(m5, rel=0.05)
    narrow, wide = proofs.series(1.0, 2.0, samples=50_000), proofs.series(1.0, 6.0, samples=50_000)
    assert np.diff(np.abs(wide.sums - wide.value)).max() < 0 < np.diff(np.abs(narrow.sums - narrow.value)).min()


def test_pull_is_the_mean_output_up_to_a_covariance():
    """Where the populations are far from balance; near it the premise fails, and the covariance decides."""
    start = networks.starts([0], dtype=np.float64)
    x, y = nlgp.minibatch(stats.stream("test pull"), *classes(3.0), 10_000)
    for positive, far in ((0, True), (20, False), (40, True)):
        z = x @ start.W[0].T + np.where(np.arange(networks.WIDTH) < positive, 0.5, -0.5)
        output, slope = erf(z / 2**0.5).mean(axis=1), np.exp(-(z**2) / 2).mean(axis=1)
        mean = slope.mean() * output.mean()
        covariance = np.mean((output - y) * slope) - mean
        assert (abs(covariance) < 0.05 * abs(mean)) == far and (abs(covariance) > abs(mean)) != far
        assert np.sign(mean) == np.sign(positive - 20) or not far


def test_norms_of_unit_data():
    """E|X|^2 is n exactly; E|X| between its bounds; the leading order for Gaussian data."""
    for gain in (0.0, 1.0, 10.0):
        process = classes(gain)[0]
        assert PIXELS * process.covariance[0] == pytest.approx(PIXELS, rel=1e-12)
        squares = (process.sample(stats.stream("test norms", str(gain)), 50_000) ** 2).sum(axis=1)
        root, spread = np.sqrt(squares).mean() / PIXELS**0.5, squares.var() / PIXELS**2
        error = 4 * squares.std() / PIXELS / 50_000**0.5
        assert 1 - spread / 2 - error < root < 1
        if gain == 0:
            trace = (nlgp.circulant(process.covariance) ** 2).sum()
            assert root == pytest.approx(1 - trace / (4 * PIXELS**2), abs=1e-3)
            assert spread == pytest.approx(2 * trace / PIXELS**2, rel=0.05)


def test_only_the_rate_of_the_weights_is_divided_on_a_finer_grid():
    assert proofs.refined_step(1) < 0.05 < 1 < proofs.refined_step(0)


def test_unbounded_data_with_light_tails_have_bumps_too():
    """Lead in (9) of a bump over the constant for sgn(Z) sqrt|Z|."""
    rng, W = stats.stream("test square root"), dominance.gabors(PIXELS, [2.0, np.inf], [0])[:, 0]
    latent = [process.latent(rng, 100_000) for process in classes(1.0)]
    slow, fast = (np.abs(np.sign(z) * np.abs(z) ** 0.5 @ W.T) for z in latent)
    ahead = (np.sign(slow - fast) @ (1, -1)) / 2
    assert ahead.mean() > 3 * ahead.std() / len(ahead) ** 0.5


def test_variance_of_heavy_tails_in_rare_values():
    """By draws where the fourth moment exists; nothing is beyond infinity, and little where tails are lighter."""
    z = np.abs(stats.stream("test rare values").standard_normal(1_000_000))
    squares = special.erfi(0.5 / 2**0.5 * z) ** 2
    assert proofs.variance_beyond(0.5, 2.0) == pytest.approx(squares[z > 2].sum() / squares.sum(), rel=0.03)
    assert proofs.variance_beyond(3.0, 0.0) == pytest.approx(1)
    assert proofs.variance_beyond(3.0, 5.6) > 0.05 > 0.001 > proofs.variance_beyond(0.5, 5.6)
