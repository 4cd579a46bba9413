"""The rules on the processes that the network tells apart, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import over_seeds, verdicts

from experiments.localization.data import cells as processes
from experiments.localization.data import rules
from shallow.data.nlgp import Process

SIGNS = np.array([-1.0, 1.0, 0.0, 0.5, -0.5])  # five draws around a value
XI = np.array([5.0, 10.0, 20.0, 40.0])


def around(values, scatter, *dims, **labels):
    return over_seeds(values, *dims, around=SIGNS, scatter=scatter, **labels)


def pairs(error=0.0, scatter=1e-3, least=-1e-9, slope=0.0):
    """Covariances of a process of variance 1 with a planted error in the sample."""
    lags, gains = np.arange(21), [0.01, 1.0, 3.0, 100.0]
    formula = np.stack([Process(40, 2.0, gain).covariance[:21] for gain in gains])[None]
    columns = {
        "sample": around(formula + error * (lags > 0), scatter, "xi", "gain", "lag"),
        "formula": (("xi", "gain", "lag"), formula + slope),
        "latent": (("xi", "lag"), np.exp(-((lags[None] / 2.0) ** 2))),
        "least": (("xi", "gain"), np.full((1, 4), least)),
    }
    return xr.Dataset(columns, {"xi": [2.0], "gain": gains, "lag": lags})


test_definition_and_its_covariance = verdicts(
    rules.lo_01,
    pairs,
    answered=[{}],
    contradicted=[{"error": 0.05}, {"least": -1e-3}],  # another covariance, and none at all
    undecided=[{"error": 0.01}, {"scatter": 0.05}],
)


def lags(power=1.0, scatter=0.002, off=0.0):
    """Half-value lags over xi where they grow like a power of xi; samples off by a part."""
    formula = 0.8 * np.stack([XI ** (power - 1)] * 2)
    columns = {"sample": around(formula * (1 + off), scatter, "gain", "xi"), "formula": (("gain", "xi"), formula)}
    return xr.Dataset(columns, {"gain": [0.01, 3.0], "xi": XI})


def spectrum(power):
    return xr.Dataset({"power": (("xi", "gain", "seed", "k"), power[None, None])})


def falling(peak=0.0, scatter=0.01):
    k = np.arange(60)
    return spectrum((np.exp(-((k / 15) ** 2)) + peak * (k == 10)) * (1 + scatter * SIGNS[:, None] * np.cos(k)))


test_length_scale_and_no_line = verdicts(
    rules.lo_02,
    lambda one, other: (lags(**one), falling(**other)),
    rr=[({}, {})],
    cr=[({"power": 0.5}, {}), ({"off": 0.1}, {})],
    ur=[({"scatter": 0.1}, {})],
    rc=[({}, {"peak": 5.0})],
    ru=[({}, {"scatter": 0.5})],
)


def test_a_wave_has_a_line():
    x = np.cos(2 * np.pi * (10 * np.arange(400) / 400 + np.random.default_rng(0).random((500, 1))))
    power = (np.abs(np.fft.rfft(x, axis=1)) ** 2).reshape(5, 100, -1).mean(axis=1)
    assert rules.lo_02(lags(), spectrum(power)).parts["b"] == "contradicted"


def crossing_counts(power=-1.0, scatter=0.002, changed=0, drift=0.0):
    """Counts that fall like a power of xi, and change with the gain by a part."""
    apart = np.outer([9.0, 18.0], 1 + drift * np.arange(4))[..., None]
    columns = {
        "count": around(36 * (XI / 5) ** power, scatter * 9, "xi"),
        "expected": ("xi", 36 * (5 / XI)),
        "apart": (("length", "gain", "seed"), apart * (1 + scatter * np.outer([1, -1, 1, -1], SIGNS))),
        "changed": changed,
    }
    return xr.Dataset(columns, {"xi": XI, "length": [20.0, 10.0], "gain": [0.01, 1.0, 3.0, 100.0]})


test_crossings_and_correlations = verdicts(
    rules.lo_03,
    lambda one, other: (crossing_counts(**one), pairs(**other)),
    rrr=[({}, {})],
    crr=[({"power": -0.5}, {})],
    rcr=[({"changed": 1}, {}), ({"drift": 0.1}, {})],
    rrc=[({}, {"error": 0.05})],
    uur=[({"scatter": 0.03}, {})],
)


def pictured(ratio=2.0, near=(0.1, 0.5, 0.9), scatter=0.001):
    count = np.array([[9.0], [9.0 * ratio]]) * (1 + scatter * np.outer([1, -1], SIGNS))
    columns = {"count": (("xi", "seed"), count), "near": around([near, near], scatter, "xi", "gain")}
    return xr.Dataset(columns, {"xi": [20.0, 10.0], "gain": [0.01, 3.0, 100.0]})


test_figure_1 = verdicts(
    rules.lo_04,
    pictured,
    reproduced=[{}],
    contradicted=[{"ratio": 1.5}, {"near": (0.9, 0.5, 0.1)}],  # towards the middle
    undecided=[{"ratio": 1.81, "scatter": 0.05}],
)


def one_place(kurtosis=(0.0, -0.1, -0.5, -1.2, -1.4, -1.8, -1.95, -2.0), distance=None, histogram=0.004, part=0.0):
    gains = list(processes.MARGINAL_GAINS)
    distance = 0.002 + 0.04 * np.arange(8) if distance is None else distance
    nonlinear = np.array([processes.nonlinear_part(gain) for gain in gains]) + part
    values = np.stack([kurtosis, np.full(8, 1e-5), distance, np.full(8, histogram), nonlinear], 1)
    return around(values, 1e-4, "gain", "measure", gain=gains, measure=list(processes.MEASURES))


def limit(first=0.004, steps=0.01):
    """Distances from normal laws that begin at a value and rise by steps."""
    labels = {"gain": list(processes.LIMIT_GAINS), "of": ["one place", "projection"]}
    distance = np.stack([first + steps * np.arange(5)] * 2, 1)
    return xr.Dataset({"distance": around(distance, 1e-4, *labels, **labels), "raw": 1e-4})


HEAVY = (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
test_gaussian_limit_and_steady_departure = verdicts(
    rules.lo_05,
    lambda one, other: (limit(**one), one_place(**other)),
    rr=[({}, {}), ({}, {"kurtosis": HEAVY})],  # away from normal in either direction
    cr=[({"first": 0.05}, {}), ({"steps": -0.02, "first": 0.009}, {})],
    ur=[({"first": 0.01}, {})],
    ru=[({}, {"distance": np.full(8, 0.1)})],
    rc=[({}, {"distance": 0.4 - 0.04 * np.arange(8)})],
)
test_tails_and_a_measure = verdicts(
    rules.lo_06,
    one_place,
    ca=[{}],
    ra=[{"kurtosis": HEAVY}],
    ua=[{"kurtosis": np.zeros(8)}],
    pa=[{"kurtosis": (0, 0, -1, -1, 1, 1, 1, 1)}],
    cc=[{"histogram": 0.05}, {"part": 0.05}],  # another density
    cu=[{"histogram": 0.01}],
)
test_seam = verdicts(
    rules.lo_07,
    lambda ratio=1.0, scatter=0.02: xr.Dataset({"ratio": around([1, ratio], scatter, "case"), "cut": around(3, 0.01)}),
    reproduced=[{}],
    contradicted=[{"ratio": 3.0}],
    undecided=[{"ratio": 1.1}, {"scatter": 0.2}],
)


def test_measures_of_samples():
    assert processes.half_lag([1.0, 0.75, 0.25]) == 1.5
    assert processes.seam(np.array([[0.0, 1.0, 2.0, 3.0]])) == pytest.approx(9)
    assert processes.covariance(np.array([[1.0, -1.0, 1.0, -1.0]])) == pytest.approx([1, -1, 1, -1])
    grid = Process(40, 2.0, 1.0).observed(np.sort(np.random.default_rng(0).standard_normal(50_000)))
    assert processes.from_density(grid, Process(40, 2.0, 1.0)) < 0.012 < 0.05
    assert processes.from_density(grid, Process(40, 2.0, 0.5)) > 0.05
    assert processes.from_normal(grid) == pytest.approx(processes.exact_distance(1.0), abs=0.01)
