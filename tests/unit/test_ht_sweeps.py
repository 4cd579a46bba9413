"""Rules on sweeps over learning rates, on planted curves; and the read-outs that may fit the mean of the labels."""

import numpy as np
import pytest
import xarray as xr
from sklearn.linear_model import Ridge

from experiments.heavy_tails import runs, sweeps

RATES = [0.0, *runs.RATES]


def curves(by_rate, seeds=5):
    """Curves over the rates that are the same for all seeds."""
    return xr.DataArray(np.tile(by_rate, (seeds, 1)), {"seed": range(seeds), "rate": RATES}, ["seed", "rate"])


JUMP = np.array([1.0, *[1.0] * 6, 0.8, 0.2, 0.1])  # next to nothing up to 100, a fifth of it at 1000


@pytest.mark.parametrize(
    ("values", "jumps"),
    [
        (JUMP, True),
        (np.where(np.array(RATES) == 100, 0.9, JUMP), False),  # an eighth of it at 100 already
        (np.where(np.array(RATES) == 1000, 0.5, JUMP), False),  # more than half at 1000
        (2 - JUMP, False),  # the other way
    ],
)
def test_a_jump_is_one_between_100_and_2000(values, jumps):
    assert sweeps.jump(curves(values), sign=-1) == jumps
    assert sweeps.jump(-curves(values), sign=1) == jumps


def test_a_jump_is_one_in_four_of_five_seeds():
    deep = curves(JUMP) - 4 * (curves(JUMP) < 0.5)  # so that the mean falls whatever a few seeds do
    for against, jumps in ((1, True), (2, False)):
        values = deep.copy()
        values[:against] = 2 - curves(JUMP)[:against]
        assert sweeps.jump(values, sign=-1) == jumps


def test_monotone_is_strict_and_looks_at_the_named_rates_alone():
    values = curves(np.array([9.0, 1, 2, 3, 3, 2, 1, 0, 0, 5]))
    assert sweeps.monotone(values, [0.001, 0.01, 0.1], sign=1)
    assert sweeps.monotone(values, [1.0, 10.0, 100.0, 1000.0], sign=-1)
    assert not sweeps.monotone(values, [0.1, 1.0], sign=1) and not sweeps.monotone(values, [0.1, 1.0], sign=-1)


def test_curves_are_compared_with_the_untrained_student_or_without_it():
    up, down = curves(np.array([1000.0, *range(9)])), curves(-np.array([-9.0, *range(9)]) ** 3)
    assert sweeps.rank(up, up**3) == pytest.approx(1) and sweeps.rank(up, down) == pytest.approx(-1)
    sweep = xr.Dataset({"test": up + xr.DataArray(np.arange(5.0), dims="seed")})
    found = sweeps.paired_change(sweep, 1.0, of="test", name="t")
    assert found.estimate == pytest.approx(np.mean([(3 + s) / (1000 + s) - 1 for s in range(5)]))
    assert found.low < found.estimate < found.high < -0.99


def test_letters_of_the_losses_after_one_step():
    """Curves for which all hold, and one change for each letter after which it alone does not."""
    test = np.array([1.0, 1, 0.9, 0.8, 0.7, 0.75, 0.8, 0.9, 1, 1.2])
    train = np.array([1.0, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    level = np.linspace(0.05, 0.5, 10)
    sweep = xr.Dataset({
        "test": curves(test), "train": curves(train), "alignment": curves(1 + level), "similarity": curves(level),
    })  # fmt: skip
    assert sweeps.one_step_losses(sweep) == dict.fromkeys(["b", "c", "d, test", "d, training", "e"], True)

    def failed(name, rate, value):
        changed = sweep.copy(deep=True)
        changed[name].loc[{"rate": rate}] = value
        return {letter for letter, holds in sweeps.one_step_losses(changed).items() if not holds}

    assert failed("similarity", 0.001, 0.2) == {"b"}
    assert failed("test", 0.01, 1.1) == {"c"}
    assert failed("test", 10.0, 0.7) == {"d, test"}
    assert failed("train", 2000.0, 0.7) == {"d, training"}
    assert failed("test", 3000.0, 0.71) == {"e"}


def test_read_outs_with_a_mean_are_those_of_scikit_learn():
    small = dict(n=40, d=10, h=15, test=20)
    found = sweeps.one_step_variants(0, rules=["GD code"], rates=[1.0], **small).sel(rule="GD code", rate=0.0)
    drawn = runs.draw(0, **small)
    probe, test = drawn.samples.probe, drawn.samples.test
    for features in runs.FEATURES:
        scale = runs.evaluation_scale(drawn.student, features)
        fitted, unseen = (drawn.student.features(part.x, scale).astype(float) for part in (probe, test))
        constant = np.sqrt(np.mean(fitted**2))
        machine = Ridge(alpha=runs.PENALTY / 15 * len(probe.y), fit_intercept=False)
        machine.fit(fitted, probe.y - probe.y.mean())
        centred = np.mean((machine.predict(unseen) + probe.y.mean() - test.y) ** 2)
        wide, wide_unseen = (np.column_stack([Z, np.full(len(Z), constant)]) for Z in (fitted, unseen))
        beside = np.mean((machine.fit(wide, probe.y).predict(wide_unseen) - test.y) ** 2)
        losses = found.test.sel(features=features)
        assert losses.sel(variant="centred") == pytest.approx(centred, rel=1e-5)
        assert losses.sel(variant="intercept") == pytest.approx(beside, rel=1e-5)
