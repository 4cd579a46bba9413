"""The rules on localised fields, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization.rules import fields as rules

GAINS = [0.01, 3.0]


def shape_table(seeds=10, scatter=0.01, r2=(0.95, 0.95), bump=None, **levels):
    """Twenty negative neurons and twenty positive ones in each network; levels of a measure by sign, negative first."""
    given = {"ipr": (0.3, 0.06), "window": (0.99, 0.5), "gabor": (0.95, 0.4), "bump": (0.9, 0.1), **levels}
    rng = np.random.default_rng(0)
    b = np.broadcast_to(np.repeat([-1.0, 1.0], 20), (2, seeds, 2, 40))
    columns = {"b": (("gain", "seed", "of", "neuron"), b)}
    for name, (minus, plus) in given.items():
        level = np.where(b < 0, minus, plus) + scatter * rng.standard_normal((2, seeds, 1, 1))
        columns[name] = (("gain", "seed", "of", "neuron"), level)
    return xr.Dataset(columns, {"gain": GAINS, "seed": range(seeds), "of": ["noise", rules.TRAINED]})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"ipr": (0.08, 0.06)}, "contradicted"),  # no localisation
        ({"ipr": (0.3, 0.3)}, "contradicted"),  # both localised
        ({"window": (0.8, 0.5)}, "contradicted"),
        ({"window": (0.99, 0.9)}, "contradicted"),
        ({"ipr": (0.155, 0.06), "seeds": 3}, "undecided"),
    ],
)
def test_negative_fields_alone_are_localised(change, verdict):
    assert rules.lo_25(shape_table(**change)).verdict == verdict


def gain_table(ipr=(0.05, 0.06, 0.1, 0.25, 0.3, 0.3, 0.3), slow=1.0, scatter=0.002):
    gains = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]
    spread = scatter * np.array([-1, 0, 1])
    minus = np.array(ipr)[:, None] + spread
    values = np.stack([minus, np.full_like(minus, 0.06)])
    frequency = np.stack([np.full_like(minus, slow), np.full_like(minus, 16.0)])
    columns = {"ipr": (("sign", "gain", "seed"), values), "frequency": (("sign", "gain", "seed"), frequency)}
    return xr.Dataset(columns, {"sign": [-1, 1], "gain": gains, "seed": range(3)})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"ipr": (0.3,) * 7}, "contradicted"),  # localised on Gaussian data
        ({"ipr": (0.05,) * 7}, "contradicted"),  # never localised
        ({"slow": 10.0}, "contradicted"),  # no long waves
        ({"ipr": (0.05, 0.06, 0.1, 0.3, 0.2, 0.3, 0.3)}, "partly"),  # not in order
        ({"ipr": (0.098, 0.1, 0.1, 0.25, 0.3, 0.3, 0.3)}, "undecided"),
    ],
)
def test_long_waves_become_bumps_as_the_gain_grows(change, verdict):
    assert rules.lo_26(gain_table(**change)).verdict == verdict


def test_medians_by_gain_of_planted_fields():
    bump, wave = np.eye(40)[0], np.cos(2 * np.pi * np.arange(40) / 40)
    W = np.stack([bump, bump, wave, wave])[None, None]
    runs = xr.Dataset(
        {"W": (("gain", "seed", "neuron", "pixel"), W), "b": (("gain", "seed", "neuron"), [[[-1.0, -1, 1, 1]]])},
        {"gain": [3.0], "seed": [0]},
    )
    table = rules.gain_medians(runs)
    assert table.ipr.values.ravel() == pytest.approx([1, 1.5 / 40])
    assert table.frequency.sel(sign=1).item() == pytest.approx(1)


def scaled(point=0.0, loss=0.05, differ=0, scatter=0.001):
    """Changes of (8) and of the loss from the smallest norm to the largest, five draws."""
    rng = np.random.default_rng(0)
    shape = (5, 2, 3)
    steps = {"point": point, "ring": -0.05, "loss": -loss}
    ends = {name: change + scatter * rng.standard_normal(shape) for name, change in steps.items()}
    columns = {
        name: (("seed", "width", "slope", "norm"), np.stack([np.full(shape, 0.5), 0.5 + end], axis=-1))
        for name, end in ends.items()
    }
    columns["differ"] = (("seed", "size", "bias"), np.full((5, 4, 5), differ))
    return xr.Dataset(columns, {"norm": [0.5, 8.0], "seed": range(5)})


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ({}, ("contradicted", "contradicted", "reproduced")),
        ({"point": 0.1, "differ": 3}, ("reproduced", "reproduced", "reproduced")),
        ({"loss": 0.0}, ("contradicted", "contradicted", "contradicted")),
        ({"point": 0.02, "scatter": 0.01}, ("contradicted", "undecided", "reproduced")),
    ],
)
def test_what_scaling_up_raises(change, verdicts):
    assert tuple(rules.lo_35(scaled(**change)).parts.values()) == verdicts


def split(scale=0.1, shape=0.3, scatter=0.01):
    """Losses with either change alone that keep so much of a reduction from 0.5 to 0.3."""
    spread = scatter * np.array([-1, 0, 1])
    kept = np.stack([np.full(3, 0.5), 0.5 - 0.2 * (scale + spread), 0.5 - 0.2 * (shape + spread), np.full(3, 0.3)], 1)
    return xr.Dataset(
        {"kept": (("gain", "seed", "change"), np.stack([kept, kept]))},
        {"gain": GAINS, "seed": range(3), "change": ["start", "scale", "shape", "both"]},
    )


@pytest.mark.parametrize(
    ("change", "verdict", "word"),
    [
        ({}, "answered", "Both"),
        ({"shape": 0.9}, "answered", "It shapes"),
        ({"scale": 0.9}, "answered", "It scales"),
        ({"scale": 0.9, "shape": 0.9}, "answered", "Either"),
        ({"shape": 0.5}, "undecided", "Open"),
    ],
)
def test_shape_or_scale(change, verdict, word):
    outcome = rules.lo_36(split(**change))
    assert (outcome.verdict, outcome.answer.startswith(word)) == (verdict, True)


RECORDED = [0, 200, 400, 1000, 2000, 4000]


def grown(gains=(0.01, 3.0), seeds=6, growth=1.2, similar=0.95, early=0.6, smoothing=4.0, scatter=0.01):
    """Networks whose fields have their shape at step 400, with a share of high frequencies that falls after it."""
    rng = np.random.default_rng(0)
    levels = {
        "norm": [1.0, 1.2, 1.5, 3 * early, 3.0 / growth, 3.0],
        "b": [-0.01, -1.0, -2.0, -3.0, -5.0 / growth, -5.0],
        "cosine": [0.3, 0.6, 0.92, similar, 0.99, 1.0],
        "high": [0.5, 0.2, 0.1, 0.1, 0.1, 0.1 / smoothing],
        "noise": [0.5] * 6,
    }
    factor = 1 + scatter * rng.standard_normal((len(gains), seeds, 1, 1))
    shape = (len(gains), seeds, 6, 4)
    dims = ("gain", "seed", "step", "neuron")
    columns = {name: (dims, np.broadcast_to(np.array(v)[:, None], shape).copy()) for name, v in levels.items()}
    columns["high"][1][:, :, -1:] *= factor
    columns["norm"][1][:, :, -1:] *= factor
    return xr.Dataset(columns, {"gain": list(gains), "step": RECORDED, "seed": range(seeds)})


@pytest.mark.parametrize(
    ("change", "a", "b", "c"),
    [
        ({}, "reproduced", "reproduced", "reproduced"),
        ({"growth": 1.0}, "contradicted", "reproduced", "reproduced"),  # norms stand still
        ({"similar": 0.8}, "reproduced", "contradicted", "reproduced"),  # the shape is late
        ({"early": 0.9}, "contradicted", "contradicted", "reproduced"),  # full norm already, then smaller
        ({"smoothing": 1.0}, "reproduced", "reproduced", "contradicted"),
        ({"smoothing": 2.0, "scatter": 0.02}, "reproduced", "reproduced", "undecided"),
    ],
)
def test_growth_shape_and_smoothing(change, a, b, c):
    parts = rules.lo_37(grown(**change), grown(gains=(3.0,), smoothing=4.0)).parts
    assert (parts["a"], parts["b"], parts["c at g = 3"]) == (a, b, c)
    assert parts["c at 400 pixels"] == "reproduced"


def test_the_step_at_which_the_shape_is_there():
    assert (rules.shaped(grown()) == 400).all()


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"gabor": (0.5, 0.4)}, "contradicted"),
        ({"gabor": (0.9, 0.4), "scatter": 0.05}, "undecided"),  # half of the networks
    ],
)
def test_gabor_functions(change, verdict):
    assert rules.lo_47(shape_table(**change)).verdict == verdict


def test_gabor_functions_at_one_gain_only():
    table = shape_table(gabor=(0.95, 0.95)).copy(deep=True)
    table["gabor"].loc[{"gain": 0.01}] = 0.5
    assert dict(rules.lo_47(table).parts) == {"g = 3": "reproduced", "g = 0.01": "contradicted"}
