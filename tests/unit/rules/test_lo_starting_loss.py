"""The rules on the loss before training, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization import starting_draws, starting_loss
from experiments.localization.rules import starting_loss as rules

SIGNS = np.array([-1.0, 1.0, 0.0, 0.5, -0.5])  # five draws around a value
EQUAL = {"(18)": (2.0, 2.0), "(20)": (2.8, 2.8), "(27)": (2.1, 2.1)}
NAMES = ["unit", "raw", "mismatched"]


def table(**sides):
    """Both sides of the equations; a planted pair for some."""
    pairs = EQUAL | {f"({name[1:]})": pair for name, pair in sides.items()}
    whole, total = zip(*pairs.values())
    return xr.Dataset({"whole": ("of", list(whole)), "sum": ("of", list(total))}, {"of": list(pairs)})


def pixels(mean=0.0, scatter=1e-3, low=(1.0, 1e-4, 2.0)):
    """Means of pixels, and variances at both ends of the gain."""
    values = np.full((2, 4, 1, 40), mean) + scatter * SIGNS[None, None, :, None]
    columns = {"mean": (("xi", "gain", "seed", "pixel"), values)}
    columns |= {"variance": (("normalisation", "end"), [[v, 1.0] for v in low])}
    return xr.Dataset(columns, {"normalisation": NAMES, "end": [0.01, 100.0]})


@pytest.mark.parametrize(
    ("change", "parts", "reading"),
    [
        ({}, ("reproduced", "contradicted", "reproduced"), "reproduced"),
        ({"low": (1.0, 1.0, 2.0)}, ("reproduced",) * 3, None),
        ({"mean": 0.5}, ("contradicted",) * 3, None),  # values in (0, 1)
        ({"mean": 0.03}, ("undecided", "contradicted", "undecided"), None),
    ],
)
def test_zero_mean_and_limit(change, parts, reading):
    outcome = rules.lo_51(pixels(**change))
    assert (tuple(outcome.parts.values()), outcome.reading) == (parts, reading)


@pytest.mark.parametrize(("pair", "verdict"), [((2.0, 2.0), "reproduced"), ((2.0, 4.0), "contradicted")])
def test_prefactor_of_the_classes(pair, verdict):
    assert rules.lo_52(table(_18=pair)).verdict == verdict


def losses(shape=lambda s: 1 - 0.02 * s, single=None, scatter=1e-5, **by_name):
    """Curves against the gain: a function of s from 0 to 1, another for one neuron or for a normalisation."""
    s, widths, scales = np.linspace(0, 1, 7), [1, 40, 100], ["2/(n+K)", "1/n", "0.01/n"]
    found = np.empty((2, 3, 3, 3, 7, 5))
    for d, name in enumerate(NAMES):
        for k in range(3):
            curve = by_name.get(name, shape)
            curve = single if single and k == 0 else curve
            found[:, d, k] = np.asarray(curve(s))[:, None] + scatter * SIGNS * s[:, None]
    coordinates = {"activation": ["erf", "relu"], "normalisation": NAMES, "neurons": widths, "scale": scales}
    return xr.DataArray(found, coordinates | {"gain": list(starting_draws.GAINS)}, (*coordinates, "gain", "seed"))


def rising(s):
    return 1 + 0.5 * s


def flat(s):
    return 1 + 0.002 * s


@pytest.mark.parametrize(
    ("change", "parts", "reading"),
    [
        ({}, ("reproduced",) * 3, None),
        ({"shape": rising}, ("contradicted",) * 3, None),
        ({"single": rising}, ("partly",) * 3, "reproduced"),
        ({"raw": rising}, ("reproduced", "contradicted", "reproduced"), None),
        ({"shape": lambda s: 1 - 0.1 * s + 0.3 * (s == 0.5)}, ("contradicted",) * 3, "reproduced"),  # a step rises
        ({"shape": lambda s: 1 - 1e-6 * s}, ("undecided",) * 3, None),
    ],
)
def test_whether_relu_falls(change, parts, reading):
    outcome = rules.lo_53(losses(**change))
    assert (tuple(outcome.parts.values()), outcome.reading) == (parts, reading)


@pytest.mark.parametrize(
    ("change", "parts", "reading"),
    [
        ({"shape": flat}, ("reproduced",) * 3, None),
        ({"shape": rising}, ("contradicted",) * 3, None),
        ({"shape": flat, "single": rising}, ("partly",) * 3, "reproduced"),
        ({"shape": flat, "raw": rising}, ("reproduced", "contradicted", "reproduced"), None),
        ({"shape": lambda s: 1 + 0.01005 * s, "scatter": 1e-3}, ("undecided",) * 3, None),
    ],
)
def test_whether_erf_stays_fixed(change, parts, reading):
    outcome = rules.lo_54(losses(**change))
    assert (tuple(outcome.parts.values()), outcome.reading) == (parts, reading)


def folds(fold=1.0, even=1.0, twice=2.0, scatter=1e-3):
    """4 L by the steps, as factors of (20)."""
    factors = {"(20)": 1.0, "(22)": fold, "(24)": even, "(22), conditional": twice, "(24), conditional": twice}
    values = 2.5 * np.array(list(factors.values()))[:, None, None] * (1 + 0.1 * np.arange(5)) * np.ones((1, 2, 1))
    values[1:] += scatter * SIGNS
    coordinates = {"of": list(factors), "gain": [0.01, 3.0]}
    return xr.Dataset({"value": (("of", "gain", "seed"), values)}, coordinates)


@pytest.mark.parametrize(
    ("change", "sides", "parts"),
    [
        ({}, {}, ("reproduced", "reproduced", "reproduced")),
        ({"fold": 1.3, "even": 1.3}, {}, ("reproduced", "contradicted", "contradicted")),  # X and -X differ in law
        ({"even": 0.5}, {}, ("reproduced", "reproduced", "contradicted")),
        ({"twice": 1.0}, {}, ("reproduced", "contradicted", "reproduced")),
        ({}, {"_20": (2.8, 1.4)}, ("contradicted", "reproduced", "reproduced")),
        ({"scatter": 0.2}, {}, ("reproduced", "undecided", "undecided")),
    ],
)
def test_steps_to_24(change, sides, parts):
    assert tuple(rules.lo_55(folds(**change), table(**sides)).parts.values()) == parts


@pytest.mark.parametrize(
    ("ratio", "scatter", "verdict"),
    [(1.0, 0.01, "answered"), (0.78, 0.01, "contradicted"), (1.05, 0.01, "undecided"), (1.0, 0.2, "undecided")],
)
def test_the_blank(ratio, scatter, verdict):
    columns = {"ratio": (("of", "seed"), np.array([[1.0], [ratio]]) + scatter * SIGNS)}
    draws = xr.Dataset(columns | {"twin": (("network", "seed"), 0.78 + 0.01 * np.stack([SIGNS, SIGNS]))})
    assert rules.lo_56(draws).verdict == verdict


def on_spheres(whole=-0.02, gone=0.0, raw=-0.4, scatter=1e-4):
    """Losses against the gain as drawn and with one norm."""
    s = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    values = [1 + change * s[:, None] + scatter * SIGNS * (s > 0)[:, None] for change in (whole, gone)]
    values.append(1 + raw * (s > 0)[:, None] + scatter * SIGNS * (s > 0)[:, None])
    coordinates = {"of": ["unit", "unit, one norm", "raw, one norm"], "gain": list(starting_draws.SPHERE_GAINS)}
    return xr.DataArray(np.stack(values), coordinates, ("of", "gain", "seed"))


def averages(ratio=1.0, scatter=0.005):
    return xr.DataArray(np.array([[1.0], [ratio]]) + scatter * SIGNS, dims=("of", "seed"))


@pytest.mark.parametrize(
    ("spheres", "ratio", "sides", "parts"),
    [
        ({}, {}, {}, ("reproduced", "reproduced")),
        ({"gone": -0.02}, {}, {}, ("reproduced", "contradicted")),  # the norms are not the cause
        ({"raw": 0.0}, {}, {}, ("reproduced", "contradicted")),
        ({"whole": 0.02}, {}, {}, ("reproduced", "contradicted")),
        ({"scatter": 0.02}, {}, {}, ("reproduced", "undecided")),
        ({}, {"ratio": 1.2}, {}, ("contradicted", "reproduced")),
        ({}, {"scatter": 0.1}, {}, ("undecided", "reproduced")),
        ({}, {}, {"_27": (2.1, 2.4)}, ("contradicted", "reproduced")),
    ],
)
def test_relu_and_the_cause(spheres, ratio, sides, parts):
    assert tuple(rules.lo_57(table(**sides), averages(**ratio), on_spheres(**spheres)).parts.values()) == parts


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
def test_a_known_mean_square_leaves_the_value_and_lowers_the_error(activation):
    norms = np.random.default_rng(0).normal(size=(2, 4000, 40))
    squares = (norms**2).sum(axis=2)
    plain = starting_loss.averaged(activation, *squares, neurons=3, variance=0.04)
    known = starting_loss.averaged(activation, *squares, neurons=3, variance=0.04, mean_square=40)
    assert known.error < plain.error / 3
    assert known.loss == pytest.approx(plain.loss, abs=4 * plain.error)
    with pytest.raises(ValueError, match="mean_square"):
        starting_loss.averaged(activation, *squares, neurons=3, variance=0.04, mean_square=-1.0)


def test_random_networks_are_given_both_signs():
    found = starting_draws.random_networks("erf", (0.01, 3.0), 1, 0.05, seeds=range(2), draws=3, per_class=5)
    assert found.shape == (2, 2)
    assert (found > 0.5).all()  # an odd output cannot do better than 1/2
