"""The rules on the beginning of training, on planted data, and small cases of the samples behind them."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization import first_gradients
from experiments.localization.rules import beginning as rules

GAINS = [0.01, 1.0, 3.0]


def altered(turned=0.0, same=False, accuracy=0.5, loss=0.501, learned=0.92):
    """Forty neurons in each of six networks, half of them slow; a share of the slow ones has a positive bias."""
    slow = np.arange(40) < 20
    given = np.where(slow & (np.arange(40) >= 20 * turned), -1.0, 1.0)
    b = np.stack([given, given if same else -given, np.zeros(40)])
    shape = (3, 2, 6, 1, 40)
    dims = ("change", "gain", "seed", "step", "neuron")
    noise = 0.001 * np.random.default_rng(0).standard_normal((3, 2, 6, 1))
    levels = {"accuracy": (learned, learned, accuracy), "loss": (0.3, 0.3, loss)}
    columns = {
        "b": (dims, np.broadcast_to(b[:, None, None, None], shape)),
        "frequency": (dims, np.broadcast_to(np.where(slow, 3.0, 16.0), shape)),
    }
    for name, level in levels.items():
        columns[name] = (dims[:-1], np.array(level)[:, None, None, None] + noise)
    return xr.Dataset(
        columns, {"change": ["none", "exchanged", "no bias"], "gain": [0.01, 3.0], "seed": range(6), "step": [2000]}
    )


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "reproduced"), ({"turned": 0.5}, "contradicted"), ({"same": True}, "contradicted")],
)
def test_slow_fields_have_negative_biases(change, verdict):
    assert rules.lo_12(altered(**change)).verdict == verdict


def fates(right=0.85, flow=0.95, second=0.9, gap=1.0, seeds=12, moved=0):
    """Networks in which guesses of forty signs are right with a probability; bumps that the flow puts so far away."""
    rng = np.random.default_rng(0)
    shape = (3, seeds, 40)
    end = np.where(np.arange(40) < 20, -1.0, 1.0) * np.ones(shape)

    def guess(share):
        return end * np.where(rng.random(shape) < share, 1, -1)

    v0 = 2 + gap * guess(right) / 2
    b = np.stack([end, guess(second)], axis=2)[..., None, :]
    dims, flows = ("gain", "seed", "run", "step", "neuron"), ("gain", "seed", "flow", "step", "neuron")
    ahead = np.stack([guess(right), guess(flow)], axis=2)[..., None, :]
    two = (1, 1, 1, 2, 1)
    place = np.broadcast_to(np.arange(40), (3, seeds, 2, 2, 40))
    return xr.Dataset(
        {
            "v": (("gain", "seed", "label", "neuron"), np.stack([4 - v0, v0], axis=2)),
            "b": (dims, np.tile(b, two)),
            "ipr": (dims, np.full(place.shape, 0.3)),
            "peak": (dims, place),
            "sign": (dims, np.ones(place.shape)),
            "b_flow": (flows, np.tile(ahead, two)),
            "peak_flow": (flows, (place + moved) % 40),
            "sign_flow": (flows, np.ones(place.shape)),
        },
        {
            "gain": GAINS,
            "label": [1, -1],
            "step": [rules.AHEAD, 2000],
            "flow": ["alone", "coupled"],
            "seed": range(seeds),
        },
    )


@pytest.mark.parametrize(
    ("change", "verdict", "start"),
    [
        ({}, "answered", "A field"),
        ({"right": 0.5}, "answered", "The first step does not"),
        ({"right": 0.75}, "undecided", "Open"),
    ],
)
def test_the_first_step_decides_most_signs(change, verdict, start):
    outcome = rules.lo_13(fates(**change))
    assert (outcome.verdict, outcome.answer.startswith(start)) == (verdict, True)


def test_shares_of_guesses_and_exceptions():
    shares, odd = rules.signs_known(fates(seeds=40)), rules.exceptions(fates(seeds=40)).sum()
    known = {"first step": 0.85, "flow": 0.95, "second run": 0.9, "first step, shuffled": 0.5}
    for name, share in known.items():
        assert float(shares[name].mean()) == pytest.approx(share, abs=0.02)
    assert odd.number == odd.far  # all gaps are equal
    assert 0.4 < odd.up / odd.number < 0.6


@pytest.mark.parametrize(("moved", "share"), [(0, 1.0), (39, 1.0), (2, 0.0)])
def test_places_of_bumps(moved, share):
    found = rules.places_known(fates(moved=moved).sel(gain=3.0))
    assert rules.within_pixels(found["flow"]).estimate == share
    assert rules.within_pixels(found["second run"]).estimate == 1
    assert rules.right_signs(found["flow"]).estimate == 1


def test_the_domain_of_the_feedback():
    """A slow field with a small bias, with a large one, and with one of the wrong sign; twice."""
    wave = np.cos(2 * np.pi * np.arange(40) / 40) / 20**0.5
    W = np.broadcast_to(0.5 * wave, (1, 2, 1, 3, 40))
    b = np.broadcast_to(np.array([-0.5, -9.0, 0.5]), (1, 2, 1, 3))
    dims = ("gain", "seed", "step", "neuron")
    runs = xr.Dataset({"W": ((*dims, "pixel"), W), "b": (dims, b)}, {"gain": [0.01], "step": [100], "seed": [0, 1]})
    found = rules.feedback(runs, 0.01)
    assert found.inside.values == pytest.approx(2 / 3)
    assert found.sided.values == pytest.approx(2 / 3)
    assert (found.over.sel(sign=1) < 1).all()


def symmetry(mean=0.0, skewness=0.0):
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((3, 2, 10, 6))
    dims = ("gain", "label", "filter", "seed")
    return xr.Dataset({name: (dims, noise + level) for name, level in
                       (("mean", mean), ("skewness", skewness), ("moved", 1.0))})  # fmt: skip


@pytest.mark.parametrize(
    ("law", "change", "verdicts"),
    [
        ({}, {}, ("reproduced", "reproduced")),
        ({"mean": 0.2}, {}, ("contradicted", "reproduced")),
        ({"skewness": -0.3}, {}, ("contradicted", "reproduced")),
        ({}, {"accuracy": 0.7}, ("reproduced", "contradicted")),
        ({}, {"loss": 0.4}, ("reproduced", "contradicted")),
        ({}, {"learned": 0.6}, ("reproduced", "contradicted")),
        ({}, {"accuracy": 0.5099}, ("reproduced", "undecided")),
    ],
)
def test_the_role_of_the_bias(law, change, verdicts):
    assert tuple(rules.lo_32(symmetry(**law), altered(**change)).parts.values()) == verdicts


def identities(ratio=2.0, printed=1.0, half=1e-8, output=1e-8, prefactor=(2 / np.pi) ** 0.5):
    return xr.Dataset(
        {
            "sum_over_mean": ratio,
            "zero_one": 1.9,
            "off": ("side", [printed, half, output]),
            "slope": ("x", np.full(6, prefactor)),
        },
        {"side": ["printed", "half", "output"]},
    )


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "corrected"),
        ({"ratio": 1.0, "printed": 1e-8, "half": 0.5}, "reproduced"),
        ({"ratio": 3.0, "half": 0.5}, "contradicted"),
        ({"half": 0.5}, "partly"),
    ],
)
def test_the_sum_over_the_classes(change, verdict):
    assert rules.lo_58(identities(**change)).verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ({}, ("reproduced", "corrected")),
        ({"prefactor": np.pi**-0.5}, ("reproduced", "reproduced")),
        ({"prefactor": 1.0}, ("reproduced", "contradicted")),
        ({"output": 0.1}, ("contradicted", "corrected")),
    ],
)
def test_the_gradient_of_the_output(change, verdicts):
    assert tuple(rules.lo_59(identities(**change)).parts.values()) == verdicts


def bells(entry=0.0, ratio=1.0, noise=0.99, scatter=0.001):
    rng = np.random.default_rng(0)

    def around(level, *shape):
        return level + scatter * rng.standard_normal(shape)

    cosine = np.minimum(np.concatenate([around(noise, 3, 2, 2, 6), around(0.95, 1, 2, 2, 6)]), 1)
    return xr.Dataset(
        {
            "entry": (("place", "bias", "seed"), around(entry, 45, 3, 6)),
            "ratio": (("case", "bias", "seed"), around(ratio, 2, 3, 6)),
            "wrong": ("case", [0.7, 0.1]),
            "cosine": (("filter", "size", "xi", "seed"), cosine),
        },
        {"filter": ["noise", "noise", "noise", "bump"]},
    )


@pytest.mark.parametrize(
    ("change", "expansion", "verdict"),
    [
        ({}, 1e-15, "reproduced"),
        ({"ratio": 0.7}, 1e-15, "partly"),  # the closed form lacks a power of 1 + v
        ({"entry": 0.1}, 1e-15, "partly"),
        ({"noise": 0.5}, 1e-15, "partly"),
        ({}, 0.1, "partly"),
        ({"ratio": 0.7}, 0.1, "contradicted"),
        ({"ratio": 1.02}, 1e-15, "partly"),  # left open
    ],
)
def test_the_expectation(change, expansion, verdict):
    assert rules.lo_60(bells(**change), expansion).verdict == verdict


def first_steps(slope=1.0, noise=0.02):
    """Biases that are a multiple of those of the flow, with noise; at both gains and losses."""
    rng = np.random.default_rng(0)
    flow = rng.standard_normal((2, 2, 3, 2, 2, 400))
    b = slope * flow[:, :, :, 0] + noise * rng.standard_normal((2, 2, 3, 2, 400))
    return xr.Dataset(
        {
            "b": (("loss", "gain", "seed", "step", "neuron"), b),
            "b_flow": (("loss", "gain", "seed", "flow", "step", "neuron"), flow),
        },
        {"loss": ["square", "absolute"], "gain": [0.01, 3.0], "seed": range(3), "step": [100, 200],
         "flow": ["alone", "coupled"]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "verdict", "start"),
    [
        ({}, "answered", "The idea is useful"),
        ({"slope": 2.0}, "answered", "The absolute loss does not"),
        ({"noise": 1.0}, "answered", "The absolute loss does not"),
        ({"slope": 1.15}, "undecided", "Open"),
    ],
)
def test_the_absolute_loss_at_the_start(change, verdict, start):
    outcome = rules.lo_61(first_steps(**change))
    assert (outcome.verdict, outcome.answer.startswith(start)) == (verdict, True)


def test_errors_of_a_flow():
    errors = rules.early_errors(first_steps(noise=0.1), 3.0, "alone")
    assert errors.dims == ("step", "seed")
    assert errors.values == pytest.approx(0.1, rel=0.2)


# The samples.


def test_identities_hold_with_the_probability_of_the_classes():
    found = first_gradients.identities(samples=200)
    assert float(found.sum_over_mean) == pytest.approx(2)
    assert found.off.values == pytest.approx([1, 0, 0], abs=1e-5)
    assert found.slope.values == pytest.approx((2 / np.pi) ** 0.5)
    assert first_gradients.expansion(trials=20) < 1e-12


def test_closed_form_of_the_expectation_by_quadrature():
    """One pixel of variance 1 and weight w: E exp(-(wx + b)^2/2) x."""
    process = first_gradients.Process(2, 0.1, 0.0)
    x = np.linspace(-12, 12, 40_001)
    w, b = 0.8, 0.7
    value = np.trapezoid(np.exp(-((w * x + b) ** 2) / 2) * x * np.exp(-(x**2) / 2), x) / (2 * np.pi) ** 0.5
    assert first_gradients.bell_formula(process, np.array([[w, 0.0]]), [b])[0, 0, 0] == pytest.approx(value)


def test_sample_means_and_symmetry_of_a_small_draw():
    found = first_gradients.bells(draws=2, samples=2000)
    assert found.ratio.values == pytest.approx(1, abs=0.3)
    assert found.sizes["place"] == 45
    law = first_gradients.symmetry(gains=(3.0,), draws=2, samples=1000)
    assert np.abs(law["mean"]).max() < 0.2
