"""Which class a filter responds to more: closed forms for Gaussian data against quadrature, draws and searches."""

import numpy as np
import pytest
import torch
from scipy import optimize, special

from experiments.localization import dominance
from experiments.localization.dominance import at_a_point, gabors, on_average, variance_ratio
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream

SLOW, FAST = Process(40, 2, 0), Process(40, 1, 0)
SPECTRA = SLOW.spectrum, FAST.spectrum
WAVES = gabors(40, [np.inf], np.arange(21))[0]


def scores(outcomes: np.ndarray, law: np.ndarray) -> np.ndarray:
    value, error = dominance.probability(outcomes)
    return np.abs(value - law) / error


def test_draws_at_a_point_follow_the_arctangent():
    rng = stream("point")
    W = np.concatenate([WAVES[[0, 1, 4, 10, 20]], gabors(40, [1.0, 2.0], [0])[:, 0], rng.standard_normal((2, 40))])
    ratio = variance_ratio(W, *SPECTRA)
    outcomes = dominance.outcomes_at_a_point(rng, SLOW, FAST, W, 10_000)
    assert scores(outcomes, at_a_point(ratio)).max() < 4.5
    assert scores(outcomes, ratio / (1 + ratio)).max() > 8  # the law of squared amplitudes, not of one place


def test_draws_on_average_follow_the_law_of_the_amplitudes():
    """Whatever the norm and the bias; (9) has another value and another maximiser."""
    modes = [0, 1, 2, 4]
    W = np.concatenate([WAVES[modes], 2 * WAVES[modes]])
    outcomes = dominance.outcomes_on_average(stream("ring"), SLOW, FAST, W, [-2.0, 0.0], 3_000)
    assert scores(outcomes, np.tile(on_average(*SPECTRA)[modes], 2)[:, None]).max() < 4.5
    assert scores(outcomes[1], at_a_point(SPECTRA[0] / SPECTRA[1])[1]).min() > 4.5
    assert on_average(*SPECTRA).argmax() == 1 and (SPECTRA[0] / SPECTRA[1]).argmax() == 0


def test_comparison_of_averages_is_exact_in_both_tails():
    """Against whole numbers of positive terms plus their small remainders."""
    rng = stream("tails")
    for spread, bias in ((1, 0.3), (1, -9), (0.5, 9), (6, -4), (12, 2)):
        a, b = np.abs(rng.standard_normal((2, 500, 6))) * spread
        found = dominance._compared(*map(torch.from_numpy, (a, b)), bias)
        whole, small = [], []
        for x in (a + bias, b + bias):
            whole.append((x > 0).sum(axis=1) - (x < 0).sum(axis=1))
            small.append(-(np.sign(x) * special.erfc(np.abs(x))).sum(axis=1))
        assert (found == np.sign((whole[0] - whole[1]) + (small[0] - small[1]))).mean() > 0.99
        assert (found != 0).all()
    naive = special.erf(a + 9).mean(axis=1) - special.erf(b + 9).mean(axis=1)
    assert (naive == 0).mean() > 0.9  # what a comparison of erf would see


@pytest.mark.parametrize("first, second", [(2, 1), (1, 2), (3, 1)])
def test_no_search_beats_the_extremes(first, second):
    spectra = Process(40, first, 0).spectrum, Process(40, second, 0).spectrum
    found = dominance.extremes(*spectra, cut=1e-11)
    rng = stream("search", str(first))
    ratio = variance_ratio(rng.standard_normal((1000, 40)), *spectra)
    assert found.smallest < ratio.min() and ratio.max() < found.largest
    covariances = [nlgp.circulant(Process(40, xi, 0).covariance) for xi in (first, second)]

    def objective(w, sign):
        products = [c @ w for c in covariances]
        v1, v0 = (w @ p for p in products)
        return sign * np.log(v1 / v0), sign * 2 * (products[0] / v1 - products[1] / v0)

    for sign, bound in ((-1, found.largest), (1, found.smallest)):
        start = rng.standard_normal(40)
        best = optimize.minimize(objective, start, args=(sign,), jac=True, method="BFGS", options={"maxiter": 200})
        reached = np.exp(sign * best.fun)
        assert -sign * (at_a_point(reached) - at_a_point(bound)) < 1e-6
        assert at_a_point(reached) == pytest.approx(at_a_point(bound), abs=0.05)


def test_extremes_of_the_documents_settings():
    assert dominance.extremes(*SPECTRA)[::2] == ((0,), (20,))
    assert dominance.extremes(*SPECTRA[::-1])[::2] == ((20,), (0,))
    wide = Process(400, 20, 0).spectrum, Process(400, 10, 0).spectrum
    found = dominance.extremes(*wide)
    assert found[::2] == ((0,), (23,)) and found.largest == pytest.approx(2)
    assert dominance.extremes(*wide, cut=1e-30).minimiser[0] > 23  # whichever mode rounding makes smallest
    for gain, minimiser, value in ((1, 20, 0.6073), (3, 20, 0.6032), (100, 15, 0.5965)):
        found = dominance.extremes(Process(40, 2, gain).spectrum, Process(40, 1, gain).spectrum)
        assert found[::2] == ((0,), (minimiser,)) and at_a_point(found.largest) == pytest.approx(value, abs=6e-5)
    torus = dominance.extremes(Process((12, 10), 1, 0).spectrum, Process((12, 10), 0.5, 0).spectrum)
    assert torus[::2] == ((0, 0), (6, 5))


def test_variance_ratio_is_that_of_the_quadratic_forms():
    for shape in (11, (4, 6)):
        slow, fast = Process(shape, 0.7, 3.0), Process(shape, 0.4, 3.0)
        W = stream("forms").standard_normal((5, *slow.shape))
        flat = W.reshape(5, -1)
        one, other = (np.einsum("fi,ij,fj->f", flat, nlgp.circulant(p.covariance), flat) for p in (slow, fast))
        assert variance_ratio(W, slow.spectrum, fast.spectrum) == pytest.approx(one / other)
        assert variance_ratio(7 * W[0], slow.spectrum, fast.spectrum) == pytest.approx((one / other)[0])


@pytest.mark.parametrize("shape", [9, (3, 4)])
def test_outcomes_are_those_of_explicit_sums(shape):
    slow, fast = Process(shape, 0.6, 1.0), Process(shape, 0.3, 1.0)
    W, bias = 2 * stream("explicit").standard_normal((2, *slow.shape)), -0.7
    rng = stream("explicit", "pairs")
    samples = [process.sample(rng, 25) for process in (slow, fast)]
    point = dominance.outcomes_at_a_point(stream("explicit", "pairs"), slow, fast, W, 25)
    ring = dominance.outcomes_on_average(stream("explicit", "pairs"), slow, fast, W, [bias], 25)
    places, axis = list(np.ndindex(slow.shape)), tuple(range(len(slow.shape)))
    for f, w in enumerate(W):
        for i in range(25):
            h = [np.array([(w * np.roll(x[i], -np.array(t), axis)).sum() for t in places]) for x in samples]
            assert point[f, i] == np.sign(abs(h[0][0]) - abs(h[1][0]))
            averages = [special.erf((np.abs(values) + bias) / 2**0.5).mean() for values in h]
            assert ring[f, 0, i] == np.sign(averages[0] - averages[1])
