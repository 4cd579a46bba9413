"""The rules on evaluations, points, ridge and a tanh teacher, on planted sweeps for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.readings import LINKS, Combination, Runs, level, position
from experiments.heavy_tails.rules import readings as rules
from experiments.heavy_tails.teacher_student import FEATURES, RATES
from shallow import stats
from shallow.book import claims

RNG = stats.stream("planted", "readings")
RISING_FROM_1 = [0.95, 0.95, 0.92, 0.91, 0.86, 0.92, 0.95, 1.1, 1.1, 1.1]  # of Figure 5, rate 0 and the grid
RISING_FROM_01 = [0.23, 0.23, 0.2, 0.205, 0.28, 0.3, 0.28, 0.3, 0.3, 0.3]  # of Figure 32
FALLING = [0.4, 0.4, 0.36, 0.35, 0.24, 0.22, 0.22, 0.3, 0.3, 0.3]
SHRUNK = [5 * x for x in RISING_FROM_01]


def sweep(test, rates=(0.0, *RATES), *, alignment=0.01, hill=2.4, scatter=0.002):
    """Five draws that differ by a common shift and by little beside; `test` gives train losses of the same shape."""
    rates = np.array(rates)
    shape = np.broadcast_to(test, (5, len(rates)))
    noise = 0.003 * RNG.standard_normal((5, 1)) + scatter * RNG.standard_normal(shape.shape)
    others = {"alignment": alignment, "hill": hill}
    data = {name: (("seed", "rate"), value + noise / 10 + 0 * shape) for name, value in others.items()}
    data |= dict.fromkeys(("train", "test"), (("seed", "rate"), shape + noise))
    return xr.Dataset(data, {"seed": np.arange(5), "rate": rates})


def runs(test, gd=(1.0, 0.9, 0.8, 0.7), alignment=(0.01, 0.02, 0.02, 0.03), hill=(2.45, 2.45, 2.4, 2.2)):
    adam = sweep(test)
    large = sweep(test[0] * np.array(gd), (0.0, 1000.0, 2000.0, 3000.0), alignment=alignment, hill=hill)
    return Runs(adam, adam, large)


def combinations(by=()):
    """Runs of all combinations: both figures as in the document unless another curve is given by key."""
    curves = {"softplus": RISING_FROM_1, "tanh": RISING_FROM_01}
    by = dict(by)
    return {
        Combination(teacher, student, features): runs(
            by.get((teacher, features), curves[teacher]) if student == "tanh" else [0.3] * 10
        )
        for teacher in LINKS
        for student in LINKS
        for features in FEATURES
    }


MIXED = {("softplus", "text"): SHRUNK, ("tanh", "code"): FALLING}


def one_step(dimension, values):
    """A record of one step with both optimisers, alike over a further dimension."""
    plain = sweep(RISING_FROM_1)
    both = xr.concat([plain, plain], "rule").assign_coords(rule=["GD code", "Adam code"])
    found = xr.concat([both] * len(values), dimension).assign_coords({dimension: list(values)})
    return xr.concat([found, found], "features").assign_coords(features=list(FEATURES))


ONE_STEP = {"ridge": one_step("penalty", (0.01, 1.0)), "variants": one_step("variant", ("centred", "intercept"))}


@pytest.mark.parametrize(
    ("by", "verdict", "answer"),
    [
        ({}, "reproduced", "Yes"),
        (MIXED, "partly", "Figure 32 behaves so; Figure 5 only with"),
        ({("softplus", "text"): SHRUNK}, "partly", "Only one"),
        ({("softplus", "text"): SHRUNK, ("tanh", "text"): FALLING}, "contradicted", "No"),
    ],
)
def test_which_features_show_which_figure(by, verdict, answer):
    outcome = rules.ht_05(combinations(by), **ONE_STEP)
    assert outcome.verdict == verdict and outcome.answer.startswith(answer)
    assert outcome.parts["b"] == outcome.parts["c"] == "answered"


@pytest.mark.parametrize(
    ("by", "parts", "answer"),
    [
        ({}, "reproduced reproduced", "Yes"),
        (MIXED, "contradicted contradicted", "No: on one kind of features both teachers agree; the two figures"),
        ({("tanh", f): FALLING for f in FEATURES}, "contradicted contradicted", "No"),
    ],
)
def test_what_the_teacher_changes(by, parts, answer):
    outcome = rules.ht_68(combinations(by))
    assert " ".join(outcome.parts.values()) == parts and outcome.answer.startswith(answer)


@pytest.mark.parametrize(
    ("scale", "parts"),
    [
        (1.0, "reproduced reproduced reproduced"),
        (1.2, "reproduced reproduced contradicted"),  # of the level 0.85
        (0.2, "contradicted reproduced contradicted"),  # softplus no harder than tanh
    ],
)
def test_levels_and_floors(scale, parts):
    outcome = rules.ht_67(combinations({("softplus", f): [scale * x for x in RISING_FROM_1] for f in FEATURES}))
    assert " ".join(outcome.parts.values()) == parts


@pytest.mark.parametrize(
    ("text", "code", "alignment", "verdict"),
    [
        (RISING_FROM_01, FALLING, (0.01, 0.02, 0.02, 0.03), "reproduced"),
        (FALLING, FALLING, (0.01, 0.02, 0.02, 0.03), "partly"),
        (FALLING, FALLING, (0.03, 0.02, 0.02, 0.01), "partly"),  # exponents fall all the same
    ],
)
def test_trends_with_a_tanh_teacher(text, code, alignment, verdict):
    planted = combinations({("tanh", "text"): text, ("tanh", "code"): code})
    key = Combination("tanh", "tanh", "code")
    planted[key] = runs(code, alignment=alignment)
    ks = sweep([0.3] * 4, (0.0, 1000.0, 2000.0, 3000.0), hill=(14.0, 14.0, 9.0, 8.0)).hill
    outcome = rules.ht_66(planted, ks)
    assert outcome.verdict == verdict
    assert outcome.parts["b"] == ("reproduced" if text is RISING_FROM_01 else "contradicted")
    assert outcome.parts["a, alignment"] == ("reproduced" if alignment[0] < alignment[-1] else "contradicted")


def curves(test_change, gaps=(1.1, 0.5, 0.25, 0.13), ridge=(0.03, 0.0, -0.02, -0.02), widening=0.05):
    """Losses of Figure 28(a, b): train falls by 0.1; test changes by `test_change` over the steps, by points."""
    penalties, steps = [0.1, 0.01, 0.001, 0.0001], np.arange(11)
    test = 0.9 + np.array(gaps)[:, None, None, None] - 0.13 + np.zeros((4, 5, 11, 4))
    test += np.array(test_change)[:, None, None, None] * (steps[:, None] - 10) / 10 + np.array(ridge)
    train = test[:, :, -1:] - np.array(gaps)[:, None, None, None] + 0.01 * (10 - steps[:, None])
    train = train - widening * np.arange(4) - 0 * test
    found = {"train": train, "test": test + 0.003 * RNG.standard_normal((4, 5, 1, 1))}
    found = {name: one + 0.002 * RNG.standard_normal(one.shape) for name, one in found.items()}
    dims = ("n", "seed", "step", "penalty")
    coordinates = {"n": rules.POINTS, "seed": np.arange(5), "step": steps, "penalty": penalties}
    found = xr.Dataset({name: (dims, values) for name, values in found.items()}, coordinates)
    at = {n: found.sel(n=n) for n in rules.POINTS}
    return dict.fromkeys(FEATURES, at)


SAID = (0.3, 0.1, -0.02, -0.1)


@pytest.mark.parametrize(
    ("planted", "parts"),
    [
        (curves(SAID), "reproduced reproduced reproduced"),
        (curves((-0.1, -0.1, -0.1, -0.1)), "reproduced reproduced contradicted"),
        (curves((0.1, 0.1, 0.1, 0.1), gaps=(0.1, 0.1, 0.1, 0.1)), "contradicted contradicted contradicted"),
    ],
)
def test_number_of_points(planted, parts):
    found = " ".join(rules.ht_58(planted).parts.values())
    assert found == parts or (parts.startswith("contradicted") and "reproduced" not in found)


def at_penalties(turning):
    """Test losses that follow the exponents at large ridge constants and, if turning, oppose them at small."""
    hill = xr.DataArray(np.tile([2.45, 2.4, 2.0, 1.9, 1.8], (5, 1)), {"seed": np.arange(5), "rate": rules.BROAD})
    sign = xr.DataArray([-1.0 if turning else 1.0, 0.1, 1.0], {"penalty": [1e-4, 0.01, 100.0]})
    noise = xr.DataArray(0.01 * RNG.standard_normal((5, 5)), hill.coords)
    return xr.Dataset({"test": 1 + sign * (hill - 2) + noise}), hill


@pytest.mark.parametrize(
    ("planted", "turning", "parts", "answer"),
    [
        (curves(SAID), True, "reproduced reproduced reproduced reproduced", "They lower both losses"),
        (
            curves(SAID, ridge=(0.03, 0.0, 0.02, 0.02)),
            True,
            "reproduced contradicted reproduced reproduced",
            "They lower the train loss and not",
        ),
        (curves(SAID), False, "reproduced reproduced reproduced contradicted", "Not all"),
        (curves(SAID, widening=-0.05), True, "contradicted reproduced contradicted reproduced", "Not all"),
    ],
)
def test_ridge_constants(planted, turning, parts, answer):
    outcome = rules.ht_60(planted, *at_penalties(turning))
    assert " ".join(outcome.parts.values()) == parts and outcome.answer.startswith(answer)


def test_positions_and_levels_of_a_curve():
    """0 at the best rate, 1 at the worst; the interval of a level reaches where five other draws would fall."""
    low, high = position(sweep(RISING_FROM_1)), position(sweep(FALLING), 0.01)
    assert low.contains(0.0) and abs(low.estimate) < 0.1 and high.estimate > 0.95
    one = sweep(RISING_FROM_1)
    found, mean = level(one), stats.student(one.test.sel(rate=1.0).values)
    assert found.contains(0.86) and found.high - found.low > mean.high - mean.low
    assert rules.about(found, 0.85) is True and rules.about(found, 0.7) is False
    wide = stats.Interval(0.9, 0.8, 1.0)
    assert rules.about(wide, 0.85) is None and claims.verdict(rules.about(wide, 0.7)) == "contradicted"
