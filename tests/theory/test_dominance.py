"""Which class a filter responds to more: closed forms for Gaussian data against quadrature, draws and searches."""

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special

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


@pytest.mark.parametrize("first, second, rounded", [(2, 1, 0.70483), (1, 3, 0.20483), (1.5, 0.2, 0.91562), (1, 1, 0.5)])
def test_the_integral_of_the_note_is_an_arctangent(first, second, rounded):
    integral = integrate.quad(
        lambda x: special.erf(x / second / 2**0.5) * np.exp(-(x**2) / 2 / first**2), 0, np.inf, epsabs=1e-13
    )[0]
    law = at_a_point((first / second) ** 2)
    assert law == pytest.approx(2 / (2 * np.pi) ** 0.5 / first * integral, abs=1e-12)
    assert law == pytest.approx(rounded, abs=5e-6)
    assert first == second or at_a_point(first / second) != pytest.approx(law, abs=0.01)


def test_fourier_modes_have_the_tabulated_values():
    ratio = SPECTRA[0] / SPECTRA[1]
    table = {0: (1.9998, 0.6082, 0.6082), 1: (1.9631, 0.6054, 0.6625), 2: (1.8570, 0.5970, 0.6500)}
    table |= {4: (1.4869, 0.5627, 0.5979), 10: (0.3121, 0.3243, 0.2378), 20: (0.00122, 0.0222, 0.0222)}
    for k, row in table.items():
        found = ratio[k], at_a_point(ratio[k]), on_average(*SPECTRA)[k]
        assert found == pytest.approx(row, abs=6e-5)
    assert variance_ratio(WAVES, *SPECTRA) == pytest.approx(ratio[:21])


def test_draws_at_a_point_follow_the_arctangent():
    rng = stream("point")
    W = np.concatenate([WAVES[[0, 1, 4, 10, 20]], gabors(40, [1.0, 2.0], [0])[:, 0], rng.standard_normal((2, 40))])
    ratio = variance_ratio(W, *SPECTRA)
    outcomes = dominance.outcomes_at_a_point(rng, SLOW, FAST, W, 10_000)
    assert scores(outcomes, at_a_point(ratio)).max() < 4.5
    assert scores(outcomes, ratio / (1 + ratio)).max() > 8  # the law of squared amplitudes, not of one place


@pytest.mark.parametrize("gain", [0, 3.0])
def test_a_random_place_changes_no_probability(gain):
    slow, fast = Process(40, 2, gain), Process(40, 1, gain)
    W = np.concatenate([WAVES[[0, 3]], gabors(40, [2.0], [0])[0]])
    still, moved = (dominance.outcomes_at_a_point(stream("place"), slow, fast, W, 10_000, moved=m) for m in (0, 1))
    assert (still[1:] != moved[1:]).mean() > 0.1
    one, other = dominance.probability(still), dominance.probability(moved)
    assert (np.abs(one.value - other.value) < 4.5 * np.hypot(one.error, other.error)).all()


def test_a_single_pixel_wins_half_of_the_time_at_any_gain():
    for gain in (0, 1.0, 100.0):
        outcomes = dominance.outcomes_at_a_point(
            stream("pixel", gain), Process(40, 2, gain), Process(40, 1, gain), np.eye(40)[:1], 5_000
        )
        assert scores(outcomes, 0.5).max() < 4.5


def test_draws_on_average_follow_the_law_of_the_amplitudes():
    """Whatever the norm and the bias; (9) has another value and another maximiser."""
    modes = [0, 1, 2, 4]
    W = np.concatenate([WAVES[modes], 2 * WAVES[modes]])
    outcomes = dominance.outcomes_on_average(stream("ring"), SLOW, FAST, W, [-2.0, 0.0], 3_000)
    assert scores(outcomes, np.tile(on_average(*SPECTRA)[modes], 2)[:, None]).max() < 4.5
    assert scores(outcomes[1], at_a_point(SPECTRA[0] / SPECTRA[1])[1]).min() > 4.5
    assert on_average(*SPECTRA).argmax() == 1 and (SPECTRA[0] / SPECTRA[1]).argmax() == 0


def test_a_saturated_sigmoid_sees_the_grid():
    """At norm 8 and bias 1 only the places next to a zero count; on a grid ten times as fine the law holds again."""
    found = []
    for n, xi, norm in ((40, (2, 1), 8), (400, (20, 10), 8 / 10**0.5)):  # equal amplitudes
        slow, fast = (Process(n, length, 0) for length in xi)
        W = norm * gabors(n, [np.inf], [1])[0]
        outcomes = dominance.outcomes_on_average(stream("grid"), slow, fast, W, [1.0], 4_000)[0]
        found.append(scores(outcomes, on_average(slow.spectrum, fast.spectrum)[1])[0])
    assert found[0] > 4.5 > found[1]


def test_a_constant_filter_has_one_value_in_both_objectives():
    """Pair by pair, even where erf itself is 1 to rounding."""
    W = np.array([0.5, 2, 8])[:, None] * WAVES[:1]
    point = dominance.outcomes_at_a_point(stream("flat"), SLOW, FAST, W, 2_000)
    ring = dominance.outcomes_on_average(stream("flat"), SLOW, FAST, W, [-6.0, -1.0, 0.0, 2.0], 2_000)
    size = np.abs(8 * WAVES[0] @ SLOW.sample(stream("size"), 2_000).T)
    assert (special.erf(size / 2**0.5) == 1).mean() > 0.3
    assert ((ring == point[:, None]).mean(axis=-1) > 0.997).all()


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
    assert dominance.extremes(*wide, cut=1e-30).minimiser[0] > 40  # decided by rounding
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
    places = list(np.ndindex(slow.shape))
    for f, w in enumerate(W):
        for i in range(25):
            h = [
                np.array(
                    [np.sum(w * np.roll(x[i], [-t for t in place], axis=tuple(range(w.ndim)))) for place in places]
                )
                for x in samples
            ]
            assert point[f, i] == np.sign(abs(h[0][0]) - abs(h[1][0]))
            averages = [special.erf((np.abs(values) + bias) / 2**0.5).mean() for values in h]
            assert ring[f, 0, i] == np.sign(averages[0] - averages[1])


def test_a_choice_is_judged_on_another_draw():
    """Two classes of one law: the best of 200 looks good where it was chosen, and is not."""
    W = stream("null").standard_normal((200, 40))
    chosen = dominance.outcomes_at_a_point(stream("select"), FAST, FAST, W, 300)
    assert scores(chosen, 0.5).max() > 2.5
    best = int(dominance.probability(chosen).value.argmax())
    again = dominance.outcomes_at_a_point(stream("evaluate"), FAST, FAST, W[[best, 7]], 5_000)
    gain = dominance.advantage(*again)
    assert scores(again[:1], 0.5).max() < 3.5 and abs(gain.value) < 3.5 * gain.error
    pair = np.stack([WAVES[0], W[7]])
    better = dominance.advantage(*dominance.outcomes_at_a_point(stream("evaluate"), SLOW, FAST, pair, 5_000))
    assert better.value > 5 * better.error
