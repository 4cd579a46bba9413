"""Every function of `stats` against numbers from elsewhere, and against what a 95 % interval promises.

Where an interval holds the truth often enough, one that is as short as a 90 % interval must not.
"""

import numpy as np
import pytest
from scipy import special
from scipy import stats as scipy_stats

from shallow import stats
from shallow.stats import Interval

Z, Z90 = special.ndtri([0.975, 0.95])
# Hours of sleep that ten patients gained by each of two drugs: Student (1908), and the help of R's t.test.
SLEEP = (
    np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]),
    np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]),
)
TIED = np.array([1.0, 1, 2, 3, 3, 3, 5, 4]), np.array([2.0, 1, 4, 3, 3, 7, 6, 6])
DRAWS = np.random.default_rng(0).permutation(np.arange(1001.0))


def flags(true, count):
    return np.arange(count) < true


def around(middle, half):
    return middle, middle - half, middle + half


# Newcombe (1998), "Interval estimation for the difference between independent proportions", Table II, method 10.
DIFFERENCES = {
    (56, 70, 48, 80): (0.0524, 0.3339),
    (9, 10, 3, 10): (0.1705, 0.8090),
    (6, 7, 2, 7): (0.0582, 0.8062),
    (5, 56, 0, 29): (-0.0381, 0.1926),
    (0, 10, 0, 20): (-0.1611, 0.2775),
    (0, 10, 0, 10): (-0.2775, 0.2775),
    (10, 10, 0, 20): (0.6791, 1.0000),
    (10, 10, 0, 10): (0.6075, 1.0000),
}
ONE, OTHER = np.log(19) / 2, np.log(2)  # artanh of 0.9, half a step below 1 for four pairs, and of 0.6
REACH = Z * (ONE - OTHER) / 3**0.5
FISHER = {1.0: (np.tanh(ONE - REACH), 1.0), 0.6: (np.tanh(OTHER - REACH), np.tanh(OTHER + REACH))}

#: Arguments and numbers.  Of statsmodels 0.15: `wilson` (four digits also in Newcombe's table of one proportion),
#: `student` and `welch` (also R's), `geometric`, `holm` (first on Holm's four).  Of SciPy 1.17, its bootstrap over the
#: same stream and its `spearmanr`: `bootstrap`, `paired`, `spearman`, `rank_correlation`.  By hand: the others.
NUMBERS = {
    "wilson": [
        ((81, 263), (81 / 263, 0.2552885198782742, 0.36620957698280004)),
        ((15, 148), (15 / 148, 0.06238639953073628, 0.16048724172330803)),
        ((0, 20), (0, 0, 0.1611251580528194)),
        ((29, 29), (1, 0.8830302015002592, 1)),
    ],
    "student": [
        ((SLEEP[1] - SLEEP[0],), (1.58, 0.7001142367230176, 2.4598857632769824)),
        ((np.array([0.0, 2.0]),), around(1, np.tan(0.475 * np.pi))),
    ],
    "welch": [
        (SLEEP, (-1.58, -3.36548323071171, 0.2054832307117107)),
        ((SLEEP[0][:4], SLEEP[1]), (-2.905, -4.710029271865745, -1.099970728134254)),
        ((SLEEP[0] * 0, SLEEP[1] - SLEEP[0]), (-1.58, -2.4598857632769824, -0.7001142367230176)),
    ],
    "newcombe": [((flags(k, n), flags(j, m)), (k / n - j / m, *ends)) for (k, n, j, m), ends in DIFFERENCES.items()],
    "geometric": [((np.array([1.0, 2, 4, 9, 5]),), (3.2453422231992084, 1.1293071013341016, 9.326290548635852))],
    "bootstrap": [((SLEEP[0],), (0.75, -0.26, 1.81))],
    "paired": [(SLEEP, (-1.58, -2.45, -0.94))],
    "spearman": [(SLEEP, (0.781818181818, 0.291792934288, 0.9875))],
    "rank_correlation": [(TIED, 0.7454710432056395)],
    "holm": [
        (([0.01, 0.04, 0.03, 0.005],), (0.03, 0.06, 0.06, 0.02)),
        (([1, 0],), (1, 0)),
        (([[0.01, 0.04], [0.03, 0.005]],), [[0.03, 0.06], [0.06, 0.02]]),
        (([0.3, 0.02, 0.02, 0.9, 0.004, 0.6],), (0.9, 0.1, 0.1, 1, 0.024, 1)),
    ],
    "percentiles": [((DRAWS,), (25, 975)), ((np.arange(11.0),), (0.25, 9.75))],
    "of_correlation": [
        ((sign * one, sign * np.array([0.6, 1.0, 1.0]), 4), (sign * one, *sorted((sign * ends[0], sign * ends[1]))))
        for one, ends in FISHER.items()
        for sign in (1, -1)
    ],
}


def lists(rng):
    """Five true hypotheses among eight; a family is held if no true one is rejected."""
    return (np.concatenate([rng.random(5), [1e-6] * 3]),), 0.05


def shares(rng):
    truth = rng.random(2)
    return tuple(rng.random((2, 12)) < truth[:, None]), truth[0] - truth[1]


def pairs(rng):
    x, y = rng.standard_normal((2, 20))
    return (x, x / 2 + y * 0.75**0.5), np.arcsin(1 / 4) * 6 / np.pi


def resampled_pairs(rng):
    (x, y), truth = pairs(rng)
    rows = rng.integers(0, 20, (200, 20))
    return (stats.rank_correlation(x, y), stats.rank_correlation(x[rows], y[rows]), 20), truth


TWENTY = 1 - 2 * special.stdtr(19, -Z * 0.95**0.5)  # the bootstrap takes t for normal and the population's deviation
#: Samples of which the truth is known, how many of them, and how often their intervals hold it if not in 95 %.
SAMPLES = {
    "wilson": (lambda rng: (lambda p: ((rng.binomial(10, p), 10), p))(rng.random()), 2000),
    "student": (lambda rng: ((rng.normal(2, 3, 3),), 2), 4000),
    "welch": (lambda rng: ((rng.normal(1, 5, 4), rng.normal(0, 1, 12)), 1), 4000),
    "newcombe": (shares, 2000),
    "geometric": (lambda rng: ((np.exp(rng.normal(1, 1, 4)),), np.e), 4000),
    "bootstrap": (lambda rng: ((rng.normal(2, 3, 20),), 2), 1000, TWENTY),
    "paired": (lambda rng: (rng.normal([[2], [1]], 1, (2, 20)) + rng.normal(0, 9, 20), 1), 1000, TWENTY),
    "spearman": (pairs, 800),
    "of_correlation": (resampled_pairs, 600),
    "holm": (lists, 4000, 0.99**5),
}


def function(name):
    """Its numbers, those of intervals as (estimate, low, high)."""

    def numbers(*arguments):
        named = {"name": "a"} if name in ("bootstrap", "paired", "spearman") else {}
        found = (getattr(stats, name, None) or getattr(Interval, name))(*arguments, **named)
        return (found.estimate, found.low, found.high) if isinstance(found, Interval) else found

    return numbers


def holds(name):
    """Whether intervals hold the truth as often as they should, but for an accident of one in 1000; and 90 % ones."""
    draw, times, level = (*SAMPLES[name], 0.95)[:3]
    rng, held = stats.stream("coverage", name), np.zeros(2, int)
    for _ in range(times):
        arguments, truth = draw(rng)
        found = function(name)(*arguments)
        middle, low, high = (0.05, 0.05, np.min(found[:5])) if name == "holm" else found
        held += [(low - middle) * part <= truth - middle <= (high - middle) * part for part in (1, Z90 / Z)]
    return [scipy_stats.binomtest(int(count), times, level).pvalue > 1e-3 for count in held]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_others(name):
    found, close = function(name), 6e-5 if name == "newcombe" else 1e-9
    assert all(np.abs(np.subtract(found(*given), numbers)).max() < close for given, numbers in NUMBERS[name])


def test_share_is_wilsons_interval_of_flags_of_any_shape():
    for shape in ((24,), (4, 6), (2, 3, 4)):
        assert stats.share(given := flags(7, 24).reshape(shape)) == stats.wilson(given) == stats.wilson(7, 24)


def test_draws_that_are_no_number_are_left_out_on_demand():
    draws = np.append(DRAWS, np.nan)
    assert Interval.from_draws(7, draws, skip_nan=True) == Interval.from_draws(7, DRAWS) == Interval(7.0, 25.0, 975.0)
    assert np.isnan(stats.percentiles(draws)).all()
    stacked = np.array([DRAWS, DRAWS + 1000])
    assert np.array_equal(stats.percentiles(stacked, axis=1), [[25, 1025], [975, 1975]])
    few = stats.spearman([1, 2, 3], [1, 2, 3], name="a")  # some of its resamples are one pair, repeated
    assert (few.estimate, few.low, few.high) == pytest.approx((1, 1, 1), abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_rank_correlations_of_constants_are_no_numbers_and_stacks_are_broadcast():
    stacked = np.array([TIED[1], -TIED[1], np.zeros(8)])
    wanted = NUMBERS["rank_correlation"][0][1] * np.array([1, -1, np.nan])
    assert np.allclose(stats.rank_correlation(TIED[0], stacked), wanted, rtol=1e-12, equal_nan=True)
    assert type(stats.spearman(*TIED)) is float


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-300, 2.0**1000])
def test_intervals_of_means_have_the_scale_of_the_samples(factor):
    welch = [SLEEP, (np.zeros(5), SLEEP[1]), (np.zeros(5), np.ones(3))]
    for interval, samples in ((stats.student, SLEEP[:1]), *((stats.welch, pair) for pair in welch)):
        plain, scaled = interval(*samples), interval(*(factor * one for one in samples))
        assert Interval(*(one / factor for one in vars(scaled).values())) == plain


@pytest.mark.parametrize("constant", [1.0, 0.1])  # the mean of three 0.1 is another number
def test_without_spread_or_with_one_that_does_not_show_there_is_the_difference_alone(constant):
    for second in ([0.0, 0.0], [1e-100, 2e-100]):
        found = stats.welch([constant] * 3, second)
        assert found.low == found.estimate == found.high == pytest.approx(constant, rel=1e-15)


@pytest.mark.parametrize("statistic", [np.mean, np.median])
def test_all_resamples_at_once_have_the_same_bits_as_one_by_one(statistic):
    one_by_one = stats.bootstrap(SLEEP[0], lambda values, axis: statistic(values, axis=axis), name="a")
    assert stats.bootstrap(SLEEP[0], statistic, name="a") == one_by_one
    one = stats.bootstrap(SLEEP[0], statistic, name="a", resamples=1)
    assert one.low == one.high != one.estimate == one_by_one.estimate


@pytest.mark.filterwarnings("error")
def test_a_ratio_may_be_known_to_no_power_of_ten():
    found = stats.geometric([1e-300, 1e300])
    assert (found.low, found.high) == (0, np.inf)


def test_a_stream_is_known_by_its_names():
    assert stats.stream("a", 1).integers(2**32, size=2).tolist() == [494742662, 3840734874]


OPEN, NAN = Interval(0.5, 0.0, 1.0), Interval(0.5, np.nan, np.nan)
UNDER, OVER = -1e-300, np.nextafter(1, 2)


@pytest.mark.parametrize(
    ("interval", "says", "values", "wanted"),
    [
        (OPEN, "exceeds", [(UNDER,), (0,), (0.5,), (1,), (OVER,), (np.nan,)], [True, None, None, None, False, None]),
        (NAN, "exceeds", [(0,), (1,)], [None, None]),  # an interval without ends decides nothing
        (OPEN, "above", [(UNDER,), (0,), (0.5,), (1,), (OVER,)], [True, False, False, False, False]),
        (OPEN, "below", [(UNDER,), (0,), (0.5,), (1,), (OVER,)], [False, False, False, False, True]),
        (OPEN, "contains", [(UNDER,), (0,), (0.5,), (1,), (OVER,)], [False, True, True, True, False]),
        (OPEN, "inside", [(0, 1), (1e-300, 1), (0, 0.9), (-1, 2)], [True, False, False, True]),
    ],
)
def test_what_an_interval_says_at_its_ends(interval, says, values, wanted):
    assert [getattr(interval, says)(*each) for each in values] == wanted


@pytest.mark.parametrize(
    ("ends", "spec", "text"),
    [
        ((0.5, -0.004, 1.0), "", "0.50 [0.00, 1.00]"),
        ((-0.5, -0.006, 0.0), ".2f", "-0.50 [-0.01, 0.00]"),
        ((-1e-5, -0.1, 0.2), ".1%", "0.0% [-10.0%, 20.0%]"),
        ((1234.0, -1000.0, 2000.0), ",.0f", "1,234 [-1,000, 2,000]"),
        ((np.nan, -1e-9, np.inf), ".0e", "nan [-1e-09, inf]"),
    ],
)
def test_intervals_are_written_without_a_negative_zero(ends, spec, text):
    assert format(Interval(*ends), spec) == text
    assert spec or str(Interval(*ends)) == text


def test_correlations_that_rounding_takes_beyond_one_are_correlations():
    assert Interval.of_correlation(1 + 1e-15, [1 + 1e-15, 0.9], 9).high == 1 + 1e-15


@pytest.mark.parametrize("name", SAMPLES)
def test_intervals_hold_the_truth_as_often_as_they_should(name, monkeypatch):
    monkeypatch.setattr(stats, "RESAMPLES", 200)
    assert holds(name) == [True, name == "holm"]  # which has no ends
