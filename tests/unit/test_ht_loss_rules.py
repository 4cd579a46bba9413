"""Rules on losses across sweeps: each on a sweep that was made to satisfy it, and on one that was made to break it."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import loss_rules
from experiments.heavy_tails.loss_rules import GRID

ALL = [0.0, *GRID]
NOISE = 2.449


def sweep(seeds=5, **curves):
    """A sweep of given curves over (0, *RATES), every seed with its own offset of the losses."""
    offset = {"test": 0.01, "train": 0.01}
    return xr.Dataset(
        {
            name: (("seed", "rate"), np.add.outer(offset.get(name, 0.0) * np.arange(seeds), np.asarray(curve, float)))
            for name, curve in curves.items()
        },
        {"seed": range(seeds), "rate": ALL},
    )


def with_value(curve, rate, value):
    """A curve with another value at one rate."""
    found = list(curve)
    found[ALL.index(rate)] = value
    return found


VALLEY = [1, 1, 0.95, 0.9, 0.8, 0.9, 1, 1.1, 1.2, 1.3]
FLAT_THEN_FALL = [1] * 7 + [0.9, 0.7, 0.6]
LATE, EARLY = [0] * 7 + [0.1, 0.3, 0.4], [0, 0, 0.05, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]


def test_the_best_rate_is_that_of_the_lowest_mean_test_loss_and_not_of_the_untrained_student():
    one, other = sweep(test=VALLEY, train=np.full(10, 0.5)), sweep(test=[0, *[0.85] * 9], train=np.full(10, 0.6))
    found = loss_rules.best({"one": one, "other": other})
    assert (found.name, found.rate) == ("one", 1.0)
    assert found.gap == pytest.approx(0.3) and found.test == pytest.approx(0.82)


def test_the_first_rate_is_found_by_the_size_of_the_change():
    values = sweep(test=FLAT_THEN_FALL).test
    assert loss_rules.first_rate(values) == loss_rules.first_rate(2 - values) == GRID.index(2000.0)
    assert loss_rules.first_rate(values, 0.2) == GRID.index(1000.0)


def one_step(**changed):
    gd = {"test": FLAT_THEN_FALL, "train": FLAT_THEN_FALL, "alignment": LATE, "similarity": LATE}
    adam = {"test": VALLEY, "train": VALLEY, "alignment": EARLY, "similarity": EARLY}
    for name, curve in changed.items():
        which, variable = name.split("_")
        (gd if which == "gd" else adam)[variable] = curve
    return loss_rules.one_step_shape(sweep(**gd), sweep(**adam))


@pytest.mark.parametrize(
    ("changed", "letters"),
    [
        ({}, (True, True)),
        ({"gd_test": with_value(FLAT_THEN_FALL, 100.0, 0.9)}, (False, True)),  # falls before the jump
        ({"gd_train": np.full(10, 1.0)}, (False, True)),
        ({"adam_test": np.linspace(1, 0.5, 10)}, (False, True)),  # no interior optimum
        ({"gd_similarity": EARLY}, (True, False)),
    ],
)
def test_shape_of_one_step_curves(changed, letters):
    assert tuple(one_step(**changed).values()) == letters


def points(test, train):
    """Sweeps at 500 to 8000 points with given losses at rate 1, and 1.0 and 0.5 untrained."""
    return {
        n: sweep(test=with_value(np.full(10, 1.0), 1.0, t), train=with_value(np.full(10, 0.5), 1.0, s))
        for n, t, s in zip((500, 2000, 4000, 8000), test, train)
    }


@pytest.mark.parametrize(
    ("test", "train", "letters"),
    [
        ((1.5, 1.2, 1.1, 0.9), (0.1, 0.2, 0.3, 0.4), (True, True)),
        ((1.5, 0.93, 1.1, 0.9), (0.1, 0.2, 0.3, 0.4), (False, False)),  # less than 5 % better, and no rise at 2000
        ((1.5, 1.2, 1.1, 0.9), (0.1, 0.2, 0.05, 0.4), (True, False)),  # the gap at 4000 is the larger one
    ],
)
def test_more_points(test, train, letters):
    assert tuple(loss_rules.more_points(points(test, train)).values()) == letters


def test_more_points_compares_the_draws_that_all_sizes_have():
    by_n = points((1.5, 1.2, 1.1, 0.9), (0.1, 0.2, 0.3, 0.4))
    spoiled = by_n[2000].test.copy()
    spoiled.loc[{"rate": 1.0, "seed": 4}] = -5.0
    by_n[2000] = by_n[2000].assign(test=spoiled)
    assert not loss_rules.more_points(by_n)["a"]
    by_n[4000] = by_n[4000].sel(seed=[0, 1, 2])
    assert loss_rules.more_points(by_n) == {"a": True, "b": True}


def test_overfitting_needs_four_seeds_of_five():
    found = sweep(test=with_value(np.full(10, 1.0), 1.0, 1.1), train=with_value(np.full(10, 1.0), 1.0, 0.9))
    assert loss_rules.overfits(found, 1.0)
    for spoiled, outcome in ((1, True), (2, False)):
        test = found.test.copy()
        test.loc[{"rate": 1.0, "seed": range(spoiled)}] = 0.5
        assert loss_rules.overfits(found.assign(test=test), 1.0) == outcome


def penalised(test, train):
    """A sweep whose losses at every rate are those given for ridge constants 1e-4, ..., 1e-1."""
    one = xr.Dataset({"test": ("penalty", test), "train": ("penalty", train)}, {"penalty": [1e-4, 1e-3, 1e-2, 1e-1]})
    return one.expand_dims(seed=range(5), rate=ALL)


@pytest.mark.parametrize(
    ("test", "train", "letters"),
    [
        ([0.7, 0.8, 0.9, 1.0], [0.1, 0.4, 0.6, 0.8], (True, True, True)),
        ([1.2, 0.8, 0.9, 1.0], [0.1, 0.4, 0.6, 0.8], (True, False, True)),
        ([0.7, 0.8, 0.9, 0.85], [0.1, 0.4, 0.6, 0.8], (True, True, False)),  # 0.1 is better than 0.01
        ([0.7, 0.8, 0.9, 1.0], [0.4, 0.4, 0.6, 0.6], (True, True, False)),  # the gap shrinks
    ],
)
def test_smaller_penalties(test, train, letters):
    assert tuple(loss_rules.smaller_penalties(penalised(test, train)).values()) == letters


def test_the_correlation_by_penalty_changes_its_sign_with_the_losses():
    hill = sweep(hill=np.linspace(2.4, 1.5, 10)).hill
    rising, falling = (sweep(test=np.linspace(1, 1 + slope, 10)) for slope in (1, -1))
    both = xr.concat([rising, falling], "penalty").assign_coords(penalty=[0.01, 1.0])
    assert loss_rules.by_penalty(both, hill) == {0.01: pytest.approx(-1), 1.0: pytest.approx(1)}


def shaped(**changed):
    """A shaped sweep whose tail gets heavier with the rate and whose loss falls."""
    falling = np.linspace(2.4, 1.8, 10)
    curves = {"hill": falling, "hill_excl": falling, "ks": falling + 1, "d_mp": [0, 0.01, *[0.1] * 8]}
    return sweep(**(curves | {"test": np.linspace(1, 0.8, 10), "change": [0, 0.001, *[0.5] * 8]} | changed))


def test_onsets_need_a_tail_and_then_a_loss():
    there, useful = loss_rules.onsets(shaped(), NOISE)
    assert there == useful == GRID[1:]
    useful = loss_rules.onsets(shaped(test=with_value(np.ones(10), 10.0, 1.1)), NOISE)[1]
    assert useful == [rate for rate in GRID[1:] if rate != 10]
    assert loss_rules.onsets(shaped(hill_excl=np.full(10, 2.42)), NOISE) == ([], [])


LIGHTER = {"hill": np.linspace(2.45, 1.9, 10), "test": [1, 1.1, 1.1, *np.linspace(0.95, 0.8, 7)]}


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ({}, ""),
        ({"d_mp": [0, 0.01, 0.1, 0.1, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1]}, "ac"),
        ({"test": with_value(np.linspace(1, 0.8, 10), 10.0, 1.2)}, "bc"),
        ({"hill": np.full(10, 2.46), "ks": np.linspace(3, 4, 10)}, "def"),
        ({"ks": np.linspace(3, 4, 10)}, "e"),
        ({"test": [1.5, *np.linspace(0.8, 1.4, 9)]}, "f"),  # the other sign of the correlation
    ],
)
def test_normalisation(changed, broken):
    """Every letter holds on the sweep that was made for it, and only the meant ones break on the others."""
    found = loss_rules.normalisation(shaped(**changed), shaped(**LIGHTER), NOISE)
    assert "".join(letter for letter, holds in found.items() if not holds) == broken


def test_the_rate_at_two_and_its_excess():
    hill = with_value(np.full(10, 2.4), 10.0, 1.95)
    assert loss_rules.at_two(shaped(hill=hill, test=VALLEY)) == (10.0, pytest.approx(0.92 / 0.82 - 1))


def test_benign_rates_leave_out_unchanged_runs_and_those_without_a_gain():
    hill = [2.45, 2.45, 2.3, 2.2, 2.1, 1.9, 1.8, 1.8, 1.8, 1.8]
    assert loss_rules.benign(shaped(hill=hill)) == [0.01, 0.1, 1.0]
    assert loss_rules.benign(shaped(hill=hill, test=with_value(np.linspace(1, 0.8, 10), 0.1, 1.2))) == [0.01, 1.0]
    assert loss_rules.benign(shaped(hill=hill, change=np.full(10, 0.01))) == []


def test_a_range_is_narrower_if_it_is_shorter_and_ends_earlier():
    assert loss_rules.narrower([0.01, 0.1], [0.01, 0.1, 1]) and loss_rules.narrower([], [0.01])
    assert not loss_rules.narrower([0.01, 1], [0.01, 0.1, 1])
    assert not loss_rules.narrower([0.01], [0.1]) and not loss_rules.narrower([], [])


def test_a_trend_turns_at_a_rate():
    """At 1, not at 0.1 or where it goes on."""
    values = sweep(test=VALLEY).test
    assert loss_rules.turns(values, 1.0) and not loss_rules.turns(values, 0.1)
    assert loss_rules.turns(-values, 1.0)
