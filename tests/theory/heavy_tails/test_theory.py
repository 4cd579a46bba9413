"""The propositions on the first gradient and on the exponents of noise, in numbers; a wrong statement must fail."""

from functools import cache

import numpy as np
import pytest

from experiments.heavy_tails import estimators, gradient_laws
from experiments.heavy_tails.beyond import open_questions
from shallow.book import records
from shallow.data.single_index import LINKS, expectation, moments
from shallow.spectra.marchenko_pastur import MarchenkoPastur

ACTIVATIONS = ("tanh", "centred softplus", "quadratic")
SIZE = {"n": 3000, "d": 300, "h": 400}


@cache
def law(name):
    return gradient_laws.entries_with(name, SIZE["n"], SIZE["d"])


@cache
def measured(name):
    """Means over four draws."""
    draws = [gradient_laws.measured_entries(seed, name, **SIZE) for seed in range(4)]
    return {key: np.mean([one[key] for one in draws]) for key in draws[0]}


def without_curvature(name):
    """The law as it is for an odd activation: without the part along the weight."""
    sigma, slope = gradient_laws.activation(name)
    curved = float(expectation(lambda z: z * slope(z))) * moments("softplus").mean
    whole = law(name)
    return gradient_laws.Entries(whole.labels, whole.output, whole.private - curved**2, whole.weights), curved


# The first gradient.


def test_the_law_for_any_activation_contains_that_for_tanh():
    tanh, general = gradient_laws.entries(3000, 300), law("tanh")
    for name in ("labels", "output", "private", "weights"):
        assert getattr(general, name) == pytest.approx(getattr(tanh, name), rel=1e-9)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_have_mean_zero_and_the_derivative_that_is_claimed(name):
    sigma, slope = gradient_laws.activation(name)
    z, step = np.linspace(-3, 3, 41), 1e-5
    assert float(expectation(sigma)) == pytest.approx(0, abs=1e-12)
    assert np.allclose((sigma(z + step) - sigma(z - step)) / (2 * step), slope(z), atol=1e-8)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_entries_share_what_the_law_says(name):
    wanted, found = law(name), measured(name)
    assert found["shared"] == pytest.approx(wanted.shared, rel=0.12)
    assert found["private"] == pytest.approx(wanted.private, rel=0.12)
    odd, curved = without_curvature(name)
    assert found["weights"] == pytest.approx(curved, rel=0.12, abs=0.01)
    if name != "tanh":  # the twin: the law of an odd activation
        assert found["private"] > 1.5 * odd.private


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_signs_differ_by_the_arctangent_and_lean_by_the_arcsine(name):
    wanted, found = law(name), measured(name)
    scatter = 0.5 / np.sqrt(4 * SIZE["d"])  # what the labels leave out is shared by a column: 4 d coin flips
    assert found["labels"] == pytest.approx(wanted.differing["labels"], abs=3 * scatter)
    assert found["residual"] == pytest.approx(wanted.differing["residual"], abs=0.02)
    assert found["signs"] == pytest.approx(wanted.signs, abs=0.025)
    assert found["signs"] > 1 - 2 * found["residual"]  # part 1, for every matrix
    if name != "tanh":
        odd, _ = without_curvature(name)
        assert found["residual"] > odd.differing["residual"] + 0.03 and found["signs"] < odd.signs - 0.05


def test_independence_in_pairs_is_enough_for_the_norm_of_signs():
    """Part 3 needs no joint independence: 210 columns that are products of two of 21 have a small norm."""
    base = np.random.default_rng(0).choice([-1.0, 1.0], (400, 21))
    pairs = np.array([base[:, i] * base[:, j] for i in range(21) for j in range(i)]).T
    assert np.linalg.norm(pairs, 2) / np.sqrt(pairs.size) < 0.2
    copies = np.repeat(base, 10, axis=1)  # the twin: 210 columns, ten of them equal
    assert np.linalg.norm(copies, 2) / np.sqrt(copies.size) > 0.25


def test_epsilon_costs_frobenius_norm():
    entries = gradient_laws.entries(2000, 1000)
    rng = np.random.default_rng(1)
    size = np.sqrt(entries.shared + entries.private) * np.abs(rng.standard_normal((2, 400_000)).prod(axis=0))
    for tiny in (0.01, 0.3):
        assert entries.frobenius(tiny) == pytest.approx(np.sqrt(np.mean((size / (size + tiny)) ** 2)), rel=2e-3)
        assert entries.frobenius(tiny) < 0.99
    assert entries.frobenius(0) == pytest.approx(1, rel=1e-6)


# The spike.


def test_a_step_that_takes_back_weights_needs_a_larger_rate():
    with_weights = gradient_laws.spike_rates(2000, 1000, 1500, gap=1.05)
    alone = gradient_laws.spike_rates(2000, 1000, 1500, gap=1.05, correlated=False)
    found = records.load("heavy_tails/first_update/first_spike").threshold
    for name in ("GD", "Adam"):
        mean = float(found.sel(rule=f"{name} code").mean())
        assert mean == pytest.approx(with_weights[name], rel=0.03)
        assert mean > 1.2 * alone[name]


def test_full_alignment_only_shrinks_a_row_until_it_has_turned_around():
    for theta in (5.0, 40.0, 80.0):
        square = gradient_laws.effective_square(theta, 400, overlap=1.0, tilt=1.0)
        assert square == pytest.approx(max(theta**2 - 40 * theta, 0), abs=1e-9)
    assert gradient_laws.effective_square(30.0, 400, overlap=0.0, tilt=1.0) == pytest.approx(900)


def test_an_update_against_the_spike_is_bounded_by_weyl():
    rng = np.random.default_rng(0)
    W, E = rng.standard_normal((60, 40)), 0.1 * rng.standard_normal((60, 40))
    W[0] *= 5  # a spike
    U, s, V = np.linalg.svd(W)
    taken = s[0] - s[1] / 2
    after = np.linalg.svd(W - taken * np.outer(U[:, 0], V[0]) + E, compute_uv=False)
    said = np.sort(np.abs([s[0] - taken, *s[1:]]))[::-1]
    assert np.abs(after - said).max() <= np.linalg.norm(E, 2)
    assert np.abs(after - s).max() > np.linalg.norm(E, 2)  # the twin: as if nothing had been taken


def test_the_first_step_sees_the_average_of_several_directions():
    found = records.load("heavy_tails/beyond/many_directions").average.sel(rate=0.1, step=1, rank=0).mean("seed")
    said = {
        name: open_questions.predicted_average(2000, 1000, 1500, rate=0.1, **teacher)
        for name, teacher in open_questions.TEACHERS.items()
    }
    assert said["product of coordinates"] < 1e-12
    for name, cosine in said.items():
        assert float(found.sel(teacher=name)) == pytest.approx(cosine, abs=0.06)  # two of 1 / sqrt(d)
    assert abs(float(found.sel(teacher="product of softplus")) - said["sum of four"]) > 0.1  # the twin


# Exponents of noise.


def spread(h, d, share):
    """Slope of the logarithm of a quantile of noise, pi sqrt(q) / sin(phi)."""
    noise = MarchenkoPastur(h, d)
    root = np.sqrt(noise.ratio)
    x = noise.quantile(1 - share) / noise.scale
    return np.pi * root / np.sqrt(1 - ((x - 1 - root**2) / (2 * root)) ** 2)


@pytest.mark.parametrize(("h", "d"), [(1000, 1000), (1500, 1000), (6000, 1000)])
def test_slope_of_the_logarithmic_quantile_gives_the_exponent(h, d):
    noise = MarchenkoPastur(h, d)
    for share in (0.1, 0.5, 0.9):
        ends = np.log(noise.quantile(1 - np.array([share - 1e-4, share + 1e-4])))
        assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(spread(h, d, share), rel=1e-4)
    grid = (np.arange(4000) + 0.5) / 8000
    excess = np.sum(grid * spread(h, d, grid)) / 8000
    assert 1 + 0.5 / excess == pytest.approx(estimators.noise_exponent(h, d, 0.5), rel=1e-4)
    assert 1 + 0.5 / excess != pytest.approx(estimators.noise_exponent(2 * h, d, 0.5), rel=0.01)


def test_exponent_of_noise_grows_with_the_aspect_ratio_at_every_cut():
    shares, ratios = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.9]), np.geomspace(1, 30, 25)
    exponents = np.array([estimators.noise_exponent(round(1e6 * ratio), 10**6, shares) for ratio in ratios])
    slopes = np.array([spread(round(1e6 * ratio), 10**6, shares) for ratio in ratios])
    assert (np.diff(exponents, axis=0) > 0).all() and (np.diff(slopes, axis=0) < 0).all()
    assert exponents[0, 3] == pytest.approx(2.121, abs=1e-3)
    assert estimators.population("MP 1.5") == pytest.approx(2.449, abs=1e-3)


# An odd student.


@pytest.mark.parametrize("link", ["softplus", "tanh", "relu"])
def test_no_odd_function_does_better_than_the_odd_part(link):
    sigma, floor = LINKS[link], moments(link).odd_floor(0.0)
    odd = lambda z: (sigma(z) - sigma(-z)) / 2  # noqa: E731
    assert float(expectation(lambda z: (sigma(z) - odd(z)) ** 2)) == pytest.approx(floor, abs=1e-9)
    for other in (np.tanh, lambda z: 0.5 * z, lambda z: 0.3 * z**3):
        assert float(expectation(lambda z, f=other: (sigma(z) - f(z)) ** 2)) >= floor - 1e-12
    if link != "tanh":  # the twin: a function that is not odd
        assert float(expectation(lambda z: (sigma(z) - sigma(z)) ** 2)) < floor
