"""The rules on evaluations, points, ridge and a tanh teacher, on planted sweeps for which the answer is known."""

import itertools

import numpy as np
import pytest
import xarray as xr
from planted.records import by, letters, planted, scatter, verdicts
from planted.tuned_ridge import record

from experiments.heavy_tails.readings import rules, tuned
from experiments.heavy_tails.readings.cells import LINKS, Combination, Runs, level, position
from experiments.heavy_tails.teacher_student import FEATURES, RATES
from shallow import stats

RNG = stats.stream("planted", "readings")


@pytest.fixture(autouse=True)
def planted_exponents(monkeypatch):
    """Rules take exponents of spectra; here they are planted, and with them all that has them."""
    for module, name in ((rules, "combinations"), (rules, "swept"), (rules.readings, "exponents")):
        monkeypatch.setattr(module, name, lambda planted: planted)


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


def combinations(changed):
    """Runs of all combinations: both figures as in the document unless another curve is given by key."""
    usual = {"softplus": RISING_FROM_1, "tanh": RISING_FROM_01}
    return {
        Combination(*key): runs(changed.get(key[::2], usual[key[0]]) if key[1] == "tanh" else [0.3] * 10)
        for key in itertools.product(LINKS, LINKS, FEATURES)
    }


MIXED = {("softplus", "text"): SHRUNK, ("tanh", "code"): FALLING}


def one_step(dimension, values):
    """A record of one step with both optimisers, alike over a further dimension."""
    plain = sweep(RISING_FROM_1)
    both = xr.concat([plain, plain], "rule").assign_coords(rule=["GD code", "Adam code"])
    found = xr.concat([both] * len(values), dimension).assign_coords({dimension: list(values)})
    return xr.concat([found, found], "features").assign_coords(features=list(FEATURES))


LOWER = {"GD 2000": 0.97, "Adam 1": 0.98, "Adam 10": 1.02}
ONE_STEP = {"first": record(runs=tuned.ONE, constants=LOWER), "variants": one_step("variant", ("centred", "intercept"))}


@pytest.mark.parametrize(
    ("curves", "verdict", "parts"),
    [
        ({}, "reproduced", "rraa"),
        (MIXED, "partly", "craa"),
        ({("softplus", "text"): SHRUNK}, "partly", "craa"),
        ({("softplus", "text"): SHRUNK, ("tanh", "text"): FALLING}, "contradicted", "ccaa"),
    ],
)
def test_which_features_show_which_figure(curves, verdict, parts):
    outcome = rules.ht_05(combinations(curves), **ONE_STEP)
    assert (outcome.verdict, letters(outcome)) == (verdict, parts)
    seen = [outcome.numbers[f"properties, text, {constant}"] for constant in ("tuned", "1")]
    assert seen == [0, 3]  # all runs alike with a tuned constant, the planted pattern at fixed ones
    fails = outcome.numbers["sentences on Figure 32, code, fail"]
    assert (fails > 0) == (("tanh", "code") in curves)


test_what_the_teacher_changes = verdicts(
    rules.ht_68, combinations, rr=[({},)], cc=[(MIXED,), ({("tanh", f): FALLING for f in FEATURES},)]
)


test_levels_and_floors = verdicts(
    rules.ht_67,
    lambda scale: combinations({("softplus", f): [scale * x for x in RISING_FROM_1] for f in FEATURES}),
    rrr=[1.0],
    rrc=[1.2],  # of the level 0.85
    crc=[0.2],  # softplus no harder than tanh
)


def with_tanh_teacher(text, **alignment):
    of = runs(FALLING, **alignment)
    ks = sweep([0.3] * 4, (0.0, 1000.0, 2000.0, 3000.0), hill=(14.0, 14.0, 9.0, 8.0)).hill
    code = {Combination("tanh", "tanh", "code"): of._replace(gd=of.gd.assign(eigenvalues=ks))}
    return combinations({("tanh", "text"): text}) | code


test_trends_with_a_tanh_teacher = verdicts(
    rules.ht_66,
    with_tanh_teacher,
    rrrr=[{"text": RISING_FROM_01}],
    rrrc=[{"text": FALLING}],
    crrc=[{"text": FALLING, "alignment": (0.03, 0.02, 0.02, 0.01)}],  # exponents fall all the same
)


def curves(change, gaps=(1.1, 0.5, 0.25, 0.13), ridge=(0.03, 0.0, -0.02, -0.02), widening=0.05):
    """Losses of Figure 28(a, b): train falls by 0.1; test changes by `change` over the steps, by points."""
    name = "heavy_tails/readings/loss_curves"
    gap, change = (by(n=dict(zip(rules.POINTS, one))) for one in (gaps, change))
    constants, wider = (by(penalty=dict(zip((0.1, 0.01, 0.001, 0.0001), one))) for one in (ridge, range(4)))
    left = by(step={step: 1 - step / 10 for step in (0, 1, 2, 4, 7, 10)})
    shared = scatter(name, "test", 0.003).isel(step=0, features=0, penalty=0, drop=True)
    test = 0.77 + gap + constants - change * left + shared
    train = 0.77 + constants + 0.1 * left - widening * wider
    noise = (scatter(name, "test", 0.002, seed) for seed in (1, 2))
    return (planted(name, train=train + next(noise), test=test + next(noise)),)


SAID = (0.3, 0.1, -0.02, -0.1)


@pytest.mark.parametrize(
    ("losses", "parts"),
    [
        (curves(SAID), "rrr"),
        (curves((-0.1, -0.1, -0.1, -0.1)), "rrc"),
        (curves((0.1, 0.1, 0.1, 0.1), gaps=(0.1, 0.1, 0.1, 0.1)), "ccc"),
    ],
)
def test_number_of_points(losses, parts):
    found = letters(rules.ht_58(losses))
    assert found == parts or (parts == "ccc" and "r" not in found)


def at_penalties(turning):
    """Test losses that follow the exponents at large ridge constants and, if turning, oppose them at small."""
    hill = xr.DataArray(np.tile([2.45, 2.4, 2.0, 1.9, 1.8], (5, 1)), {"seed": np.arange(5), "rate": rules.BROAD})
    sign = xr.DataArray([-1.0 if turning else 1.0, 0.1, 1.0], {"penalty": [1e-4, 0.01, 100.0]})
    noise = xr.DataArray(0.01 * RNG.standard_normal((5, 5)), hill.coords)
    return xr.Dataset({"test": 1 + sign * (hill - 2) + noise}), hill


test_ridge_constants = verdicts(
    rules.ht_60,
    lambda turning=True, **given: (curves(SAID, **given), at_penalties(turning), record()),
    rrrr=[{}],
    rcrr=[{"ridge": (0.03, 0.0, 0.02, 0.02)}],
    rrrc=[{"turning": False}],
    crcr=[{"widening": -0.05}],
)


def test_positions_and_levels_of_a_curve():
    """0 at the best rate, 1 at the worst; the interval of a level reaches where five other draws would fall."""
    low, high = position(sweep(RISING_FROM_1)), position(sweep(FALLING), 0.01)
    assert low.contains(0.0) and abs(low.estimate) < 0.1 and high.estimate > 0.95
    one = sweep(RISING_FROM_1)
    found, mean = level(one), stats.student(one.test.sel(rate=1.0).values)
    assert found.contains(0.86) and found.high - found.low > mean.high - mean.low


@pytest.mark.parametrize(("scale", "scatter", "holds"), [(1.0, 0.002, True), (1.2, 0.002, False), (1.05, 0.1, None)])
def test_about_a_quoted_level(scale, scatter, holds):
    adam = sweep([scale * x for x in RISING_FROM_1], scatter=scatter)
    first, *_ = rules.sentences("5", runs(RISING_FROM_1)._replace(figure=adam), 0.05)
    assert first.holds is holds
