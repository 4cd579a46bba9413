"""The rules on Assumption 1 and the statement of Theorem 2, on planted data for which the answer is known."""

import numpy as np
import pytest
from planted.records import table, verdicts

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.theorem_2 import cells as assumption
from experiments.simplicity_bias.theorem_2 import rules, sample_size
from shallow import stats
from shallow.data import teachers

DRAWS = stats.stream("planted", "theorem 2")


def two_laws(power=3.0, symmetric=1.0, white=0.1, tail=0.5):
    """Two laws; the squeezed one has a distance from the identity like c to a power."""
    axes = {"law": ["conditioned", "squeezed"], "d": [2, 3], "c": [0.3, 0.1, 0.03]}
    c = np.array(axes["c"])
    gap = np.stack([c, c**power])[:, None]
    return table(axes, gap=gap, symmetric=symmetric, second=1.0, slack=0.0, white=white, tail=tail)


test_whether_the_assumption_can_be_met = verdicts(
    rules.sb_16,
    two_laws,
    reproduced=[{}],
    contradicted=[{"symmetric": 8.0, "power": 1.0}],  # a law that is not symmetric and not near the identity
    partly=[{"power": 1.0}, {"white": 0.0}, {"tail": 2.0}],  # the distance stays c times a constant
)


@pytest.mark.parametrize(("law", "gap"), [("conditioned", 0.1 + 0.01), ("squeezed", 6 * 0.1**3)])
def test_the_second_moments_of_the_laws_in_space(law, gap):
    """In d = 3 the share t = x_1 / |x| is uniform, and both gaps are polynomials in the margin."""
    found = assumption.conditions(law, 3, 0.1, n=20_000)
    assert found.gap.item() == pytest.approx(gap, rel=1e-6)
    assert max(found.symmetric.item(), found.second.item()) < 5
    assert found.slack.item() >= -1e-9


def ends(distance, later=None, seeds=20):
    """Runs at n = 20 ... 10000, two laws and two times, all at one distance, at the second time at another."""
    axes = {"n": [20, 100, 1000, 10_000], "whiten": [False, True], "seed": range(seeds), "time": [400, 800]}
    one = [distance, distance if later is None else later]
    return table(axes, train=one, fresh=one, sums=one)


test_the_end_of_training = verdicts(
    rules.sb_17,
    ends,
    reproduced=[1e-14],
    contradicted=[0.2],
    partly=[1e-4, (1e-14, 1e-3)],  # it does not stay there
    undecided=[(1e-14, None, 5)],  # too few runs for 95 %
)


def failing(late=0.0, one_sign=True, extra=0.0):
    """Runs of which half fail at n = 20 and a share later; networks of one sign fail or succeed."""
    rng, axes = stats.stream("planted failures"), {"m": [2, 3, 4, 8, 32], "n": [20, 50, 100, 1000], "seed": range(400)}
    both = np.array([rng.random(400) >= 2.0 ** (1 - k) * (1 + extra) for k in axes["m"]])[:, None].repeat(4, axis=1)
    shares = np.array([0.5, late, late, late])[:, None]
    return table(axes, failed=np.where(both, rng.random(both.shape) < shares, one_sign), both=both)


test_how_likely_failures_are = verdicts(
    rules.sb_18, failing, rr=[{}], cc=[{"late": 0.5}], rc=[{"one_sign": False}, {"extra": 0.6}]
)


def scales(limits, seeds=20, grid=(0.001, 0.01, 0.1, 0.3, 1.0)):
    """Runs that succeed up to a scale, by the sample size; three widths."""
    axes = {"n": [300, 1000, 3000], "m": [8, 32, 128], "scale": list(grid)}
    return table(axes, succeeded=1.0 * seeds * (np.array(grid) <= np.array(limits)[:, None, None]), tried=seeds)


test_whether_one_scale_serves_all_sizes = verdicts(
    rules.sb_19,
    lambda **changed: ((scales(**changed),),),
    reproduced=[{"limits": [0.5] * 3, "grid": [0.001, 0.01, 0.1, 0.4, 1.0]}],
    contradicted=[{"limits": [0.3, 0.1, 0.001]}],  # the scale falls with n
    undecided=[
        {"limits": [0.3] * 3, "grid": [0.001, 0.01, 0.1, 0.3]},  # no scale fails
        {"limits": [0.3] * 3, "seeds": 3},
    ],
)


def test_bounds_of_the_admissible_scale():
    bounds = rules.largest_scales(scales([0.3, 0.1, 0.001]))["n"]
    assert list(bounds.values()) == [(0.3, 1.0), (0.1, 0.3), (0.001, 0.01)]


def cones(power, d=(2, 3, 5, 8, 12)):
    """Runs that succeed from n = 5 d^power on, and patterns that agree with them."""
    n = np.array([round(10 * 1.4**k) for k in range(24)])
    flags = n >= 5 * np.array(d)[:, None] ** power
    axes = {"whiten": [True, False], "seed": range(30), "d": list(d), "n": n}
    return table(axes, succeeded=flags, fits=flags, pulls=flags, everywhere=flags)


def by_noise_and_margin(times):
    """Fits and runs that succeed from so many times the predicted sample size on."""
    n = [round(10 * 1.1**k) for k in range(90)]
    axes = {"noise": [0.3, 1.0], "c": [0.1, 0.3], "d": [2, 5, 12], "n": n, "seed": range(4)}
    first = [sample_size.predicted(v, c, d) for v in axes["noise"] for c in axes["c"] for d in axes["d"]]
    flags = np.array(n)[:, None] >= times * np.reshape(first, (2, 2, 3, 1, 1))
    return table(axes, fits=flags, succeeded=flags)


@pytest.mark.parametrize("power", [1, 3])
def test_the_exponent_of_the_dimension(power):
    outcome = rules.sb_20(cones(power), cones(power), by_noise_and_margin(1))
    assert outcome.verdict == "answered"
    assert outcome.numbers["exponent, whitened"].estimate == pytest.approx(power, abs=0.2)


@pytest.mark.parametrize("times", [1, 3])
def test_points_needed_against_the_prediction(times):
    outcome = rules.sb_20(cones(1), cones(1), by_noise_and_margin(times))
    low, high = (outcome.numbers[f"fits over predicted, {end}"] for end in (1, 2))
    assert times <= low and high <= 1.2 * times


def test_the_expected_number_of_wrong_points():
    n, noise, c, d, wrong = 400, 1.0, 0.2, 3, []
    for seed in range(300):
        x = teachers.with_margin(np.random.default_rng(seed), n, d, c, whiten=True)
        y = x[:, 0] + np.random.default_rng(1000 + seed).standard_normal(n)
        both = two_fits.fits(x, y)
        wrong.append(((x @ both.T > 0) != (x[:, :1] > 0)).sum())
    assert np.mean(wrong) == pytest.approx(sample_size.wrong_points(n, noise, c, d), rel=0.5)
    assert sample_size.predicted(1.0, 0.1, 3) > 4 * sample_size.predicted(1.0, 0.3, 3)


def test_training_ends_at_the_fits_only_where_they_have_the_pattern():
    found = sample_size.needs(0.3, 0.3, 3, 75, seeds=6)
    assert (found.fits | ~found.succeeded).all() and found.succeeded.any()


def test_runs_succeed_where_the_fits_have_the_pattern_of_the_teacher():
    found = two_fits.cones(True, 3, 27, seeds=20, margin=0.3, trained=True)
    assert 0 < found.succeeded.sum() < 20
    assert (found.fits | ~found.succeeded).all()


def test_the_points_needed_hold_from_there_on():
    flags = np.array([[[True, False, True, True], [False, False, False, False]]])
    np.testing.assert_array_equal(rules.needed(flags, np.array([1, 2, 4, 8])), [4, np.nan])


def test_bounds_on_the_sample_size_grow_with_their_powers():
    plain, refined = ([rules.bound_on_sample_size(d, refined=one) for d in (10, 20, 40)] for one in (False, True))
    assert np.all(np.array(plain) > refined)
    assert 2.9 < np.polyfit(np.log([10, 20, 40]), np.log(plain), 1)[0] < 3.4
    assert 1.9 < np.polyfit(np.log([10, 20, 40]), np.log(refined), 1)[0] < 2.5


def sums(power):
    """Two sums that approach e_1 like n^power."""
    axes = {"n": [100, 1000, 10_000], "whiten": [False, True], "seed": range(40), "sign": [1, -1], "axis": [0, 1, 2]}
    errors = DRAWS.standard_normal((3, 2, 40, 2, 3)) * np.array(axes["n"], float)[:, None, None, None, None] ** power
    return table(axes, beta=errors + np.eye(3)[0])


test_nearly_linear = verdicts(rules.sb_21, sums, reproduced=[-0.5], contradicted=[0.3], partly=[-0.2])


def excess(power, dimension=1):
    """Excess risks of two fits with other exponents; and of networks, that fall like 1 / n."""
    n, d = np.array([300.0, 1000, 3000, 10_000, 30_000]), np.array([2, 3, 5, 8])
    mean = 0.18 * d ** float(dimension) * n[:, None] ** power
    runs = table({"seed": range(100), "n": n, "d": d}, excess=mean * DRAWS.chisquare(2 * d, (100, 5, 4)) / (2 * d))
    seen = {"n": [1000, 2000, 10_000], "seed": range(3)}
    return runs, table(seen, decayed_excess=1 / np.outer([1, 2, 10], [1, 1.1, 0.9]))


test_the_excess_risk = verdicts(rules.sb_27, excess, reproduced=[-1], contradicted=[-0.4], partly=[(-1, 2), -0.75])


def limits(gap):
    """Excess risks of one fit near zero, and of two that are larger by a share of the noise, by n / d^3."""
    one = DRAWS.random((3, 3, 200)) * 1e-5
    two = one + 0.09 * np.array(gap)[:, None]
    axes = {"d": [3, 5, 10], "size": [10, 100, 1000], "draw": range(200), "fits": ["one", "two"]}
    return table(axes, risk=np.stack([one, two], axis=-1)).risk


@pytest.mark.parametrize("first", [0.004, 0.2])
def test_how_far_the_test_losses_are_apart(first):
    outcome = rules.sb_39(limits([first, first / 10, first / 100]))
    assert outcome.verdict == "answered"
    assert outcome.numbers["beyond OLS in per cent, d = 5"].estimate == pytest.approx(100 * first, rel=0.01)


def pairs(event, two, whitened=None):
    """Draws on and off the event, with two extremal vectors or more, after whitening with another share; twice."""
    draws = np.arange(400)
    axes = {"c": [0.5, 0.3], "whiten": [False, True], "d": [2], "n": [200, 1000, 5000], "draw": draws}
    counts = [int(share * 400) for share in (two, two if whitened is None else whitened)]
    flags = draws < np.array(counts)[:, None, None, None]
    return (table(axes, two=flags, event=draws < int(event * 400)),) * 2


test_two_extremal_vectors = verdicts(
    rules.sb_55, pairs, rrr=[(0.9, 1.0)], ccc=[(0.9, 0.5)], rcr=[(0.5, 1.0, 0.8)], uuu=[(0.0, 0.985)]
)


def covariances(n_power=-0.5, d_power=0.5, smallest=0.9):
    """Deviations with the given exponents: in few dimensions, and in more."""
    small = {"c": [0.3, 0.0], "d": [3, 5, 10], "n": [50, 200, 1000, 10_000], "draw": range(400)}
    high = {"c": [0.0], "d": [10, 20, 40, 80], "n": [10_000], "draw": range(400)}
    found = []
    for axes in (small, high):
        scale = np.multiply.outer(np.array(axes["d"], float) ** d_power, np.array(axes["n"], float) ** n_power)
        noise = np.exp(0.1 * DRAWS.standard_normal([len(one) for one in axes.values()]))
        found.append(table(axes, deviation=scale[:, :, None] * noise, smallest=smallest))
    return tuple(found)


test_the_covariance_of_a_half_sample = verdicts(
    rules.sb_59, covariances, rrr=[{}], crr=[{"n_power": -0.1}], rcr=[{"d_power": 1.0}], rrc=[{"smallest": 0.1}]
)
