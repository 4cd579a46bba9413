"""The rules on the processes that the network tells apart, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization import processes
from experiments.localization.rules import data as rules
from shallow.data.nlgp import Process

SIGNS = np.array([-1.0, 1.0, 0.0, 0.5, -0.5])  # five draws around a value


def around(values, scatter, axis=-1):
    """A table with draws along a new axis "seed", their means the values."""
    values = np.asarray(values, float)
    return np.expand_dims(values, axis) + scatter * SIGNS


def pairs(error=0.0, scatter=1e-3, least=-1e-9, slope=0.0):
    """Covariances of a process of variance 1 with a planted error in the sample."""
    lags, gains = np.arange(21), [0.01, 1.0, 3.0, 100.0]
    latent = np.exp(-((lags / 2.0) ** 2))
    formula = np.stack([Process(40, 2.0, gain).covariance[:21] for gain in gains])
    sample = np.swapaxes(around(formula + error * (lags > 0), scatter), -1, -2)
    columns = {
        "sample": (("xi", "gain", "seed", "lag"), sample[None]),
        "formula": (("xi", "gain", "lag"), formula[None] + slope),
        "latent": (("xi", "lag"), latent[None]),
        "least": (("xi", "gain"), np.full((1, 4), least)),
    }
    return xr.Dataset(columns, {"xi": [2.0], "gain": gains, "lag": lags})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "answered"),
        ({"error": 0.05}, "contradicted"),  # another covariance
        ({"error": 0.01}, "undecided"),
        ({"scatter": 0.05}, "undecided"),
        ({"least": -1e-3}, "contradicted"),  # no covariance at all
    ],
)
def test_definition_and_its_covariance(change, verdict):
    assert rules.lo_01(pairs(**change)).verdict == verdict


def lags(power=1.0, scatter=0.002, off=0.0):
    """Half-value lags over xi where they grow like a power of xi; samples off by a part."""
    xi = np.array([5.0, 10.0, 20.0, 40.0])
    formula = 0.8 * np.stack([xi ** (power - 1), xi ** (power - 1)])
    columns = {"sample": (("gain", "xi", "seed"), around(formula * (1 + off), scatter))}
    return xr.Dataset(columns | {"formula": (("gain", "xi"), formula)}, {"gain": [0.01, 3.0], "xi": xi})


def spectrum(peak=0.0, scatter=0.01):
    """A falling spectrum with a line at frequency 10."""
    k = np.arange(60)
    mean = np.exp(-((k / 15) ** 2)) + peak * (k == 10)
    power = mean[None] * (1 + scatter * SIGNS[:, None] * np.cos(k))
    return xr.Dataset({"power": (("xi", "gain", "seed", "k"), power[None, None])})


@pytest.mark.parametrize(
    ("length", "shape", "parts"),
    [
        ({}, {}, ("reproduced", "reproduced")),
        ({"power": 0.5}, {}, ("contradicted", "reproduced")),
        ({"off": 0.1}, {}, ("contradicted", "reproduced")),
        ({"scatter": 0.1}, {}, ("undecided", "reproduced")),
        ({}, {"peak": 5.0}, ("reproduced", "contradicted")),
        ({}, {"scatter": 0.5}, ("reproduced", "undecided")),
    ],
)
def test_length_scale_and_no_line(length, shape, parts):
    assert tuple(rules.lo_02(lags(**length), spectrum(**shape)).parts.values()) == parts


def test_a_wave_has_a_line():
    x = np.cos(2 * np.pi * (10 * np.arange(400) / 400 + np.random.default_rng(0).random((500, 1))))
    power = (np.abs(np.fft.rfft(x, axis=1)) ** 2).reshape(5, 100, -1).mean(axis=1)
    table = xr.Dataset({"power": (("xi", "gain", "seed", "k"), power[None, None])})
    assert rules.lo_02(lags(), table).parts["b"] == "contradicted"


def crossing_counts(power=-1.0, scatter=0.002, changed=0, drift=0.0):
    """Counts that fall like a power of xi, and change with the gain by a part."""
    xi = np.array([5.0, 10.0, 20.0, 40.0])
    count = 36 * (xi / 5) ** power
    apart = np.outer([9.0, 18.0], 1 + drift * np.arange(4))
    columns = {
        "count": (("xi", "seed"), around(count, scatter * 9)),
        "expected": ("xi", 36 * (5 / xi)),
        "apart": (
            ("length", "gain", "seed"),
            around(apart, 0) * (1 + scatter * SIGNS * np.array([1, -1, 1, -1])[:, None]),
        ),
        "changed": changed,
    }
    return xr.Dataset(columns, {"xi": xi, "length": [20.0, 10.0], "gain": [0.01, 1.0, 3.0, 100.0]})


@pytest.mark.parametrize(
    ("change", "correlations", "parts"),
    [
        ({}, {}, ("reproduced", "reproduced", "reproduced")),
        ({"power": -0.5}, {}, ("contradicted", "reproduced", "reproduced")),
        ({"changed": 1}, {}, ("reproduced", "contradicted", "reproduced")),
        ({"drift": 0.1}, {}, ("reproduced", "contradicted", "reproduced")),
        ({}, {"error": 0.05}, ("reproduced", "reproduced", "contradicted")),
        ({"scatter": 0.03}, {}, ("undecided", "undecided", "reproduced")),
    ],
)
def test_crossings_and_correlations(change, correlations, parts):
    assert tuple(rules.lo_03(crossing_counts(**change), pairs(**correlations)).parts.values()) == parts


@pytest.mark.parametrize(
    ("ratio", "near", "scatter", "verdict"),
    [
        (2.0, [0.1, 0.5, 0.9], 0.001, "reproduced"),
        (1.5, [0.1, 0.5, 0.9], 0.001, "contradicted"),
        (2.0, [0.9, 0.5, 0.1], 0.001, "contradicted"),  # towards the middle
        (1.81, [0.1, 0.5, 0.9], 0.05, "undecided"),
    ],
)
def test_figure_1(ratio, near, scatter, verdict):
    columns = {
        "count": (("xi", "seed"), around([9.0, 9.0 * ratio], 0) * (1 + scatter * np.outer([1, -1], SIGNS))),
        "near": (("xi", "gain", "seed"), around([near, near], scatter)),
    }
    draws = xr.Dataset(columns, {"xi": [20.0, 10.0], "gain": [0.01, 3.0, 100.0]})
    assert rules.lo_04(draws).verdict == verdict


def one_place(kurtosis=(0.0, -0.1, -0.5, -1.2, -1.4, -1.8, -1.95, -2.0), distance=None, histogram=0.004, part=0.0):
    """Measures of one place by gain."""
    gains = list(processes.MARGINAL_GAINS)
    distance = 0.002 + 0.04 * np.arange(8) if distance is None else np.asarray(distance)
    nonlinear = np.array([processes.nonlinear_part(gain) for gain in gains]) + part
    values = np.stack([kurtosis, np.full(8, 1e-5), distance, np.full(8, histogram), nonlinear], 1)
    coordinates = {"gain": gains, "measure": list(processes.MEASURES)}
    return xr.DataArray(around(values, 1e-4), coordinates, ("gain", "measure", "seed"))


def limit(first=0.004, steps=0.01, scatter=1e-4):
    """Distances from normal laws that begin at a value and rise by steps."""
    distance = first + steps * np.arange(5)
    table = around(np.stack([distance, distance], 1), scatter)
    columns = {"distance": (("gain", "of", "seed"), table), "raw": 1e-4}
    return xr.Dataset(columns, {"gain": list(processes.LIMIT_GAINS), "of": ["one place", "projection"]})


HEAVY = (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


@pytest.mark.parametrize(
    ("limits", "measures", "parts"),
    [
        ({}, {}, ("reproduced", "reproduced")),
        ({"first": 0.05}, {}, ("contradicted", "reproduced")),
        ({"steps": -0.02, "first": 0.009}, {}, ("contradicted", "reproduced")),  # nearer to normal with the gain
        ({"first": 0.01}, {}, ("undecided", "reproduced")),
        ({}, {"distance": np.full(8, 0.1)}, ("reproduced", "undecided")),
        ({}, {"distance": 0.4 - 0.04 * np.arange(8)}, ("reproduced", "contradicted")),
        ({}, {"kurtosis": HEAVY}, ("reproduced", "reproduced")),  # away from normal in either direction
    ],
)
def test_gaussian_limit_and_steady_departure(limits, measures, parts):
    assert tuple(rules.lo_05(limit(**limits), one_place(**measures)).parts.values()) == parts


@pytest.mark.parametrize(
    ("change", "parts", "reading"),
    [
        ({}, ("contradicted", "answered"), "answered"),
        ({"kurtosis": HEAVY}, ("reproduced", "answered"), None),
        ({"kurtosis": np.zeros(8)}, ("undecided", "answered"), None),
        ({"kurtosis": (0, 0, -1, -1, 1, 1, 1, 1)}, ("partly", "answered"), None),
        ({"histogram": 0.05}, ("contradicted", "contradicted"), None),  # another density
        ({"part": 0.05}, ("contradicted", "contradicted"), None),
        ({"histogram": 0.01}, ("contradicted", "undecided"), None),
    ],
)
def test_tails_and_a_measure(change, parts, reading):
    outcome = rules.lo_06(one_place(**change))
    assert tuple(outcome.parts.values()) == parts
    assert outcome.reading == reading
    assert outcome.answer.startswith("Yes" if parts[0] == "reproduced" else "No" if reading else ("No", "Open"))


@pytest.mark.parametrize(
    ("ratio", "scatter", "verdict"),
    [(1.0, 0.02, "reproduced"), (3.0, 0.02, "contradicted"), (1.1, 0.02, "undecided"), (1.0, 0.2, "undecided")],
)
def test_seam(ratio, scatter, verdict):
    columns = {"ratio": (("case", "seed"), around([1.0, ratio], scatter)), "cut": ("seed", 3 + 0.01 * SIGNS)}
    assert rules.lo_07(xr.Dataset(columns)).verdict == verdict


def test_measures_of_samples():
    assert processes.half_lag([1.0, 0.75, 0.25]) == 1.5
    assert processes.seam(np.array([[0.0, 1.0, 2.0, 3.0]])) == pytest.approx(9)
    assert processes.covariance(np.array([[1.0, -1.0, 1.0, -1.0]])) == pytest.approx([1, -1, 1, -1])
    grid = Process(40, 2.0, 1.0).observed(np.sort(np.random.default_rng(0).standard_normal(50_000)))
    assert processes.from_density(grid, Process(40, 2.0, 1.0)) < 0.012 < 0.05
    assert processes.from_density(grid, Process(40, 2.0, 0.5)) > 0.05
    assert processes.from_normal(grid) == pytest.approx(processes.exact_distance(1.0), abs=0.01)
