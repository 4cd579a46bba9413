"""What the spectra refuse, with a message that names the argument."""

import numpy as np
import pytest

from experiments.heavy_tails import modes, overlaps, row_profile, shapes
from shallow.spectra import esd, marchenko_pastur, rank_one, tail_laws, tails

W, VALUES = np.arange(12.0).reshape(4, 3) ** 2, np.arange(1.0, 11)
NAN = np.array([1.0, np.nan, 3.0])
LAW = marchenko_pastur.MarchenkoPastur(4, 3)
POWER = tail_laws.PowerLaw(2.0, 2.5)


def bad_calls():
    for bad in (np.zeros(3), np.zeros((0, 3)), np.full((2, 2), np.inf)):
        yield "W", lambda bad=bad: esd.eigenvalues(bad)
    yield "W", lambda: esd.singular_vectors(np.full((2, 2), np.nan))
    yield "W", lambda: esd.top(np.zeros(3))
    for k in (0, 4, 1.0):
        yield "k", lambda k=k: esd.top(W, k)
    for start in (np.ones(4), np.zeros(3), np.full(3, np.nan)):
        yield "start", lambda start=start: esd.top(W, 1, start=start)
    for bad in (NAN, -VALUES, np.ones((2, 2)), np.array([])):
        yield "values", lambda bad=bad: esd.stable_rank(bad)
        yield "values", lambda bad=bad: LAW.distance(bad)
    yield "values", lambda: esd.stable_rank(np.zeros(3))
    yield "values", lambda: marchenko_pastur.fit(np.ones(1), 4, 3)
    yield "values", lambda: marchenko_pastur.fit(np.array([0.0, 0.0, 1.0]), 4, 3)
    yield "h", lambda: marchenko_pastur.MarchenkoPastur(0, 3)
    yield "d", lambda: marchenko_pastur.MarchenkoPastur(4, 3.0)
    for variance in (0.0, -1.0, np.nan, np.inf):
        yield "variance", lambda variance=variance: marchenko_pastur.MarchenkoPastur(4, 3, variance)
    yield "shares", lambda: LAW.quantile([0.5, 1.1])
    yield "shares", lambda: LAW.quantile(np.nan)
    yield "k", lambda: LAW.moment(-1)
    yield "k", lambda: LAW.moment(1.5)
    yield "theta", lambda: rank_one.spike(-1.0, 4, 3)
    yield "theta", lambda: rank_one.spike([1.0, np.nan], 4, 3)
    yield "variance", lambda: rank_one.threshold(4, 3, -1.0)
    yield "h", lambda: rank_one.spike(1.0, 0, 3)
    yield "eigenvalue", lambda: rank_one.strength(-1.0, 4, 3)
    for bad in (np.zeros(3), NAN, W, np.array([])):
        yield "variances", lambda bad=bad: row_profile.RowProfile(bad, 1)
    for d in (0, 11, 2.0):
        yield "d", lambda d=d: row_profile.RowProfile(VALUES, d)
    for spread in (-1.0, np.nan):
        yield "spread", lambda spread=spread: row_profile.RowProfile.log_normal(4, 3, spread)
    yield "h", lambda: row_profile.RowProfile.log_normal(0, 3, 1.0)
    yield "d", lambda: row_profile.fit_log_normal(VALUES, 3, 4)
    yield "values", lambda: row_profile.fit_log_normal(NAN, 4, 3)
    yield "first", lambda: overlaps.overlap(2 * np.eye(3), np.eye(3))
    yield "second", lambda: overlaps.overlap(np.eye(3), np.zeros(3))
    yield "first and second", lambda: overlaps.overlap(np.eye(3), np.eye(4))
    yield "W and M", lambda: overlaps.overlaps(W, W.T)
    yield "M", lambda: overlaps.overlaps(W, W * np.nan)
    for ends in ((), (2, 2), (0, 2), (1, 5)):
        yield "ends", lambda ends=ends: overlaps.overlap(np.eye(4), np.eye(4)).diagonal_blocks(ends)
    for bad in (NAN, -VALUES, np.ones(1), np.ones((2, 2)), np.array([np.inf, 1.0])):
        for function in (tails.hill, tails.hill_path, tails.scan, tails.power_law):
            yield "values", lambda function=function, bad=bad: function(bad)
        yield "values", lambda bad=bad: tails.interval(bad, name="bad")
        yield "values", lambda bad=bad: tails.goodness(bad, name="bad")
    yield "values", lambda: tails.hill(np.ones(10))
    yield "values", lambda: tails.hill(np.array([0.0, 0.0, 0.0, 1.0]))
    yield "values", lambda: tails.scan(np.ones(10))
    yield "values", lambda: tails.scan(np.array([0.0, 0.0, 1.0]))
    yield "values", lambda: tails.power_law(VALUES, least=11)
    for least in (1, 2.0):
        yield "least", lambda least=least: tails.power_law(VALUES, least=least)
    for resamples in (0, 10.0):
        yield "resamples", lambda resamples=resamples: tails.interval(VALUES, name="bad", resamples=resamples)
        yield "resamples", lambda resamples=resamples: tails.goodness(VALUES, name="bad", resamples=resamples)
    for family in (tail_laws.PowerLaw, tail_laws.Exponential, tail_laws.LogNormal, tail_laws.TruncatedPowerLaw):
        yield "values", lambda family=family: family.fit(NAN, 1.0)
        yield "values", lambda family=family: family.fit(VALUES, 10.0)
        yield "values", lambda family=family: family.fit(VALUES, 11.0)
        yield "xmin", lambda family=family: family.fit(VALUES, 0.0)
        yield "xmin", lambda family=family: family.fit(VALUES, np.nan)
    yield "x", lambda: POWER.log_density([1.0, 3.0])
    yield "first and second", lambda: tail_laws.vuong(POWER, tail_laws.Exponential(1.0, 1.0), VALUES)
    for bad in (NAN, np.ones(3), np.ones((2, 4))):
        yield "values", lambda bad=bad: modes.modes(bad)
        yield "values", lambda bad=bad: modes.silverman(bad)
    yield "bandwidth", lambda: modes.modes(np.ones(10))
    yield "bandwidth", lambda: modes.modes(VALUES, bandwidth=-1.0)
    for least in (0.0, 0.6):
        yield "least", lambda least=least: modes.modes(VALUES, least=least)
    yield "values", lambda: shapes.shape(VALUES[:7], 7, 7)
    yield "values", lambda: shapes.shape(VALUES, 20, 11)
    yield "values", lambda: shapes.shape(np.append(np.ones(2), np.zeros(8)), 10, 10)
    yield "initial", lambda: shapes.shape(VALUES, 10, 10, initial=VALUES[1:])
    yield "initial", lambda: shapes.change(VALUES, np.append(np.ones(2), np.zeros(8)))


@pytest.mark.parametrize(("name", "call"), list(bad_calls()))
def test_bad_input_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()


def test_zeros_of_a_rank_deficient_matrix_are_no_bad_input():
    values = np.append(np.zeros(40), np.geomspace(1, 100, 60))
    assert tails.hill(values) == tails.hill(np.append(np.full(40, 0.5), values[40:]))
    assert tails.scan(values) == tails.scan(values[40:])
    path = tails.hill_path(values)
    assert path.alpha[-1] == 1 and path.xmin[-1] == 0 and path.alpha[40] > 1


def test_constant_tails_have_infinite_exponents_and_are_not_chosen():
    path = tails.hill_path(np.array([1.0, 2.0, 3.0, 3.0]))
    assert np.isinf(path.alpha[0]) and np.isfinite(path.alpha[1:]).all()
    assert tails.scan(np.array([1.0, 2.0, 3.0, 3.0])).xmin < 3
