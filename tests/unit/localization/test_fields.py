"""The rules on localised fields, on planted data."""

import numpy as np
import pytest
from planted.records import by, cases, over_seeds, planted, scatter, table, verdicts

from experiments.localization.fields import rules

FIELDS = "localization/fields"


def shape_table(seeds=10, spread=0.01, **levels):
    """Twenty negative neurons and twenty positive ones in each network; levels of a measure by sign, negative first."""
    b = np.repeat([-1.0, 1.0], 20)
    columns = {"ipr": (0.3, 0.06), "window": (0.99, 0.5), "gabor": (0.95, 0.4), "bump": (0.9, 0.1), **levels}
    noise = spread * np.random.default_rng(0).standard_normal((4, 2, seeds, 1, 1))
    columns = {name: np.where(b < 0, *both) + one for (name, both), one in zip(columns.items(), noise)}
    return planted(rules.SHAPES, {"seed": range(seeds)}, b=b, **columns)


test_negative_fields_alone_are_localised = verdicts(
    rules.lo_25,
    shape_table,
    reproduced=[{}],
    contradicted=[
        {"ipr": (0.08, 0.06)},  # no localisation
        {"ipr": (0.3, 0.3)},  # both localised
        {"window": (0.8, 0.5)},
        {"window": (0.99, 0.9)},
    ],
    undecided=[{"ipr": (0.155, 0.06), "seeds": 3}],
)


def gain_table(ipr=(0.05, 0.06, 0.1, 0.25, 0.3, 0.3, 0.3), slow=1.0):
    axes = {"sign": [-1, 1], "gain": [0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]}
    values = over_seeds([ipr, np.full(7, 0.06)], "sign", "gain", scatter=0.002)
    frequency = np.array([slow, 16.0])[:, None, None]
    return table(axes | {"seed": range(3)}, ipr=values, frequency=frequency)


@cases(
    {
        "reproduced": [{}],
        "contradicted": [
            {"ipr": (0.3,) * 7},  # localised on Gaussian data
            {"ipr": (0.05,) * 7},  # never localised
            {"slow": 10.0},  # no long waves
        ],
        "partly": [{"ipr": (0.05, 0.06, 0.1, 0.3, 0.2, 0.3, 0.3)}],  # not in order
        "undecided": [{"ipr": (0.098, 0.1, 0.1, 0.25, 0.3, 0.3, 0.3)}],
    }
)
def test_long_waves_become_bumps_as_the_gain_grows(change, outcome, monkeypatch):
    monkeypatch.setattr(rules, "gain_medians", lambda runs: runs)  # which the table holds already
    assert rules.lo_26(gain_table(**change).expand_dims("step")).verdict == outcome


def test_medians_by_gain_of_planted_fields():
    bump, wave, b = np.eye(40)[0], np.cos(2 * np.pi * np.arange(40) / 40), np.repeat([-1.0, 1.0], 20)
    runs = planted("localization/gains", {"gain": [3.0], "seed": [0]}, W=np.where(b[:, None] < 0, bump, wave), b=b)
    found = rules.gain_medians(runs.isel(step=-1))
    assert found.ipr.values.ravel() == pytest.approx([1, 1.5 / 40])
    assert found.frequency.sel(sign=1).item() == pytest.approx(1)


def scaled(point=0.0, loss=0.05, differ=0, spread=0.001):
    """Changes of (8) and of the loss from the smallest norm to the largest, five draws."""
    record, columns, last = f"{FIELDS}/scaled_bumps", {"differ": differ}, by(norm={0.5: 0.0, 8.0: 1.0})
    for k, (name, change) in enumerate({"point": point, "ring": -0.05, "loss": -loss}.items()):
        columns[name] = 0.5 + last * (change + scatter(record, "point", spread, k).isel(norm=0, drop=True))
    return planted(record, {"norm": [0.5, 8.0]}, **columns)


test_what_scaling_up_raises = verdicts(
    rules.lo_35,
    scaled,
    ccr=[{}],
    rrr=[{"point": 0.1, "differ": 3}],
    ccc=[{"loss": 0.0}],
    cur=[{"point": 0.02, "spread": 0.01}],
)


@cases({"answered": [(0.1, 0.3), (0.1, 0.9), (0.9, 0.3), (0.9, 0.9)], "undecided": [(0.1, 0.5)]})
def test_shape_or_scale(change, outcome):
    """Losses with either change alone that keep so much of a reduction from 0.5 to 0.3."""
    spread = 0.002 * np.outer([-1, 0, 1], [0, 1, 1, 0, 0])
    kept = 0.5 - 0.2 * np.array([0.0, *change, 1.0, 1.0]) + spread
    found = rules.lo_36(planted(f"{FIELDS}/shape_and_scale", kept=kept))
    assert found.verdict == outcome
    for name, share in zip(("norms", "shapes"), change):
        assert found.numbers[f"{name} alone, g = 3"].estimate == pytest.approx(share)


def grown(record="growth", growth=1.2, similar=0.95, early=0.6, smoothing=4.0, spread=0.01):
    """Networks whose fields have their shape at step 400, with a share of high frequencies that falls after it."""
    levels = {
        "norm": [1.0, 1.2, 1.5, 3 * early, 3.0 / growth, 3.0],
        "b": [-0.01, -1.0, -2.0, -3.0, -5.0 / growth, -5.0],
        "cosine": [0.3, 0.6, 0.92, similar, 0.99, 1.0],
        "high": [0.5, 0.2, 0.1, 0.1, 0.1, 0.1 / smoothing],
        "noise": [0.5] * 6,
    }
    factor = 1 + scatter(f"{FIELDS}/{record}", "b", spread).isel(step=[-1], neuron=0)
    columns = {name: by(step=dict(zip(rules.STEPS, values))) for name, values in levels.items()}
    for name in ("high", "norm"):
        columns[name] = columns[name] * factor.reindex(step=rules.STEPS, fill_value=1)
    return planted(f"{FIELDS}/{record}", {"step": rules.STEPS}, **columns)


test_growth_shape_and_smoothing = verdicts(
    rules.lo_37,
    lambda **change: (grown(**change), grown("growth_400")),
    rrrrr=[{}],
    crrrr=[{"growth": 1.0}],  # norms stand still
    rcrrr=[{"similar": 0.8}],  # the shape is late
    ccrrr=[{"early": 0.9}],  # full norm already, then smaller
    rrccr=[{"smoothing": 1.0}],
    rruur=[{"smoothing": 2.0, "spread": 0.02}],
)


def test_the_step_at_which_the_shape_is_there():
    assert (rules.shaped(grown()) == 400).all()


test_gabor_functions = verdicts(
    rules.lo_47,
    shape_table,
    rr=[{}],
    cc=[{"gabor": (0.5, 0.4)}],
    uu=[{"gabor": (0.9, 0.4), "spread": 0.05}],  # half of the networks,
)


def test_gabor_functions_at_one_gain_only():
    shapes = shape_table(gabor=(0.95, 0.95))
    shapes["gabor"].loc[{"gain": 0.01}] = 0.5
    assert dict(rules.lo_47(shapes).parts) == {"g = 3": "reproduced", "g = 0.01": "contradicted"}
