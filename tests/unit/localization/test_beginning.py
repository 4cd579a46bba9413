"""The rules on the beginning of training, on planted data, and small cases of the samples behind them."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, cases, decided, planted, scatter, table, verdicts

from experiments.localization.beginning import first_gradients, rules

FATES, FIRST_STEPS = "localization/beginning/fates", "localization/beginning/first_steps"


def altered(turned=0.0, same=False, accuracy=0.5, loss=0.501, learned=0.92):
    """Forty neurons in each network, half of them slow; a share of the slow ones has a positive bias at the end."""
    slow, noise = np.arange(40) < 20, scatter(rules.ALTERED, "loss", 0.001)
    given = np.where(slow & (np.arange(40) >= 20 * turned), -1.0, 1.0)
    b = np.stack([given, given if same else -given, 0 * given])[:, None, None, None]
    columns = {"b": b * [[-1], [1]], "frequency": np.where(slow, 3.0, 16.0)}
    for name, usual, without in (("accuracy", learned, accuracy), ("loss", 0.3, loss)):
        columns[name] = noise + by(change={"none": usual, "exchanged": usual, "no bias": without})
    return planted(rules.ALTERED, **columns)


test_slow_fields_have_negative_biases = verdicts(
    rules.lo_12, altered, reproduced=[{}], contradicted=[{"turned": 0.5}, {"same": True}]
)


def fates(right=0.85, flow=0.95, second=0.9, gap=1.0, seeds=12, moved=0):
    """Networks in which guesses of forty signs are right with a probability; bumps that the flow puts so far away."""
    rng, shape, place = np.random.default_rng(0), (3, seeds, 40), np.arange(40)
    end = np.where(place < 20, -1.0, 1.0) * np.ones(shape)

    def guess(share):
        return end * np.where(rng.random(shape) < share, 1, -1)

    v0 = 2 + gap * guess(right) / 2
    columns = {"b": [end, guess(second)], "b_flow": [guess(right), guess(flow)]}
    at_end = [[-1], [-1], [-1], [1]]  # signs at the steps before are the other ones
    columns = {name: np.stack(pair, axis=2)[..., None, :] * at_end for name, pair in columns.items()}
    columns |= {"v": np.stack([4 - v0, v0], axis=2), "ipr": 0.3, "sign": 1, "sign_flow": 1}
    columns |= {"peak": place, "peak_flow": (place + moved) % 40}
    return planted(FATES, {"seed": range(100, 100 + seeds)}, **columns)


@cases({"answered": [0.85, 0.5], "undecided": [0.75]})
def test_the_first_step_decides_most_signs(change, outcome):
    found = rules.lo_13(fates(right=change))
    assert found.verdict == outcome
    assert found.numbers["signs right, g = 3"].estimate == pytest.approx(change, abs=0.05)


def test_shares_of_guesses_and_exceptions():
    shares, odd = rules.signs_known(fates(seeds=40)), rules.exceptions(fates(seeds=40)).sum()
    known = {"first step": 0.85, "flow": 0.95, "second run": 0.9, "first step, shuffled": 0.5}
    assert {name: float(shares[name].mean()) for name in known} == pytest.approx(known, abs=0.02)
    assert odd.number / (3 * 40 * 40) == pytest.approx(0.15, abs=0.02)
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
    W = np.broadcast_to(0.5 * np.cos(2 * np.pi * np.arange(40) / 40) / 20**0.5, (1, 2, 1, 3, 40))
    runs = table({"gain": [0.01], "seed": [0, 1], "step": [100], "neuron": range(3)}, b=[-0.5, -9.0, 0.5])
    found = rules.feedback(runs.assign(W=((*runs.b.dims, "pixel"), W)), 0.01)
    assert found.inside.values == pytest.approx(2 / 3)
    assert found.sided.values == pytest.approx(2 / 3)
    assert (found.over.sel(sign=1) < 1).all()


def symmetry(mean=0.0, skewness=0.0):
    noise = 0.01 * np.random.default_rng(0).standard_normal((3, 2, 10, 6))
    axes = {"gain": range(3), "label": range(2), "filter": range(10), "seed": range(6)}
    return table(axes, mean=noise + mean, skewness=noise + skewness, moved=noise + 1)


test_the_role_of_the_bias = verdicts(
    rules.lo_32,
    lambda one, other: (symmetry(**one), altered(**other)),
    rr=[({}, {})],
    cr=[({"mean": 0.2}, {}), ({"skewness": -0.3}, {})],
    rc=[({}, {"accuracy": 0.7}), ({}, {"loss": 0.4}), ({}, {"learned": 0.6})],
    ru=[({}, {"accuracy": 0.5099})],
)


def identities(ratio=2.0, printed=1.0, half=1e-8, output=1e-8, prefactor=(2 / np.pi) ** 0.5):
    off = by(side={"printed": printed, "half": half, "output": output})
    return xr.Dataset({"sum_over_mean": ratio, "zero_one": 1.9, "off": off, "slope": ("x", np.full(6, prefactor))})


test_the_sum_over_the_classes = verdicts(
    rules.lo_58,
    identities,
    corrected=[{}],
    reproduced=[{"ratio": 1.0, "printed": 1e-8, "half": 0.5}],
    contradicted=[{"ratio": 3.0, "half": 0.5}],
    partly=[{"half": 0.5}],
)


@cases(
    {
        "reproduced corrected": [{}],
        "reproduced reproduced": [{"prefactor": np.pi**-0.5}],
        "reproduced contradicted": [{"prefactor": 1.0}],
        "contradicted corrected": [{"output": 0.1}],
    }
)
def test_the_gradient_of_the_output(change, outcome):
    assert decided(rules.lo_59(identities(**change))) == outcome


def bells(entry=0.0, ratio=1.0, noise=0.99, scatter=0.001):
    rng = np.random.default_rng(0)

    def around(level, *shape):
        return level + scatter * rng.standard_normal(shape)

    cosine = np.minimum(np.concatenate([around(noise, 3, 2, 2, 6), around(0.95, 1, 2, 2, 6)]), 1)
    columns = {
        "entry": (("place", "bias", "seed"), around(entry, 45, 3, 6)),
        "ratio": (("case", "bias", "seed"), around(ratio, 2, 3, 6)),
        "wrong": ("case", [0.7, 0.1]),
        "cosine": (("filter", "size", "xi", "seed"), cosine),
    }
    return xr.Dataset(columns, {"filter": ["noise", "noise", "noise", "bump"]})


test_the_expectation = verdicts(
    rules.lo_60,
    lambda expansion=1e-15, **change: (bells(**change), expansion),
    reproduced=[{}],
    partly=[
        {"ratio": 0.7},  # the closed form lacks a power of 1 + v
        {"entry": 0.1},
        {"noise": 0.5},
        {"expansion": 0.1},
        {"ratio": 1.02},  # left open
    ],
    contradicted=[{"ratio": 0.7, "expansion": 0.1}],
)


def first_steps(slope=1.0, noise=0.02):
    """Biases that are a multiple of those of the flow, with noise; at both gains and losses."""
    flow = scatter(FIRST_STEPS, "b_flow", 1.0)
    b = slope * flow.sel(flow="alone", drop=True) + scatter(FIRST_STEPS, "b", noise, 1)
    return planted(FIRST_STEPS, b=b, b_flow=flow)


@cases({"answered": [{}, {"slope": 2.0}, {"noise": 1.0}], "undecided": [{"slope": 1.15}]})
def test_the_absolute_loss_at_the_start(change, outcome):
    found = rules.lo_61(first_steps(**change))
    assert found.verdict == outcome
    assert found.numbers["slope, g = 0.01"].estimate == pytest.approx(change.get("slope", 1), abs=0.1)
    assert (found.numbers["correlation, g = 0.01"].estimate > 0.99) == ("noise" not in change)


def test_identities_hold_with_the_probability_of_the_classes():
    found = first_gradients.identities(samples=200)
    assert float(found.sum_over_mean) == pytest.approx(2)
    assert found.off.values == pytest.approx([1, 0, 0], abs=1e-5)
    assert found.slope.values == pytest.approx((2 / np.pi) ** 0.5)
    assert first_gradients.expansion(trials=20) < 1e-12


def test_closed_form_of_the_expectation_by_quadrature():
    """One pixel of variance 1 and weight w: E exp(-(wx + b)^2/2) x."""
    process = first_gradients.Process(2, 0.1, 0.0)
    x, w, b = np.linspace(-12, 12, 40_001), 0.8, 0.7
    value = np.trapezoid(np.exp(-((w * x + b) ** 2) / 2) * x * np.exp(-(x**2) / 2), x) / (2 * np.pi) ** 0.5
    assert first_gradients.bell_formula(process, np.array([[w, 0.0]]), [b])[0, 0, 0] == pytest.approx(value)


def test_sample_means_and_symmetry_of_a_small_draw():
    found = first_gradients.bells(draws=2, samples=2000)
    assert found.ratio.values == pytest.approx(1, abs=0.3)
    assert found.sizes["place"] == 45
    law = first_gradients.symmetry(gains=(3.0,), draws=2, samples=1000)
    assert np.abs(law["mean"]).max() < 0.2
