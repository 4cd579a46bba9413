"""The rules on the two populations and their balance, on planted networks."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization import networks, program
from experiments.localization.rules import populations as rules
from shallow.data import nlgp

N, K = 40, 40


def fields(seeds=3, plus=17, bump=True, fast=True, n=N, width=2.0, swapped=0):
    """Networks with bumps or waves and negative biases, and fast waves and positive ones; some signs swapped."""
    rng = np.random.default_rng(0)
    d = nlgp.ring_distance(n)
    W, b = np.empty((seeds, K, n)), np.where(np.arange(K) < plus, 4.0, -5.0) + rng.normal(0, 0.05, (seeds, K))
    for s in range(seeds):
        for k in range(K):
            frequency = 15 + k % 3 if fast else 1
            slow = np.exp(-((d / (width * n / N)) ** 2)) if bump else np.cos(2 * np.pi * d / n)
            w = np.cos(2 * np.pi * frequency * d / n) if k < plus else slow
            W[s, k] = rng.choice([-1, 1]) * np.roll(w, rng.integers(n)) + rng.normal(0, 1e-3, n)
    b[:, :swapped] *= -1
    return xr.Dataset({"W": (("seed", "neuron", "pixel"), W), "b": (("seed", "neuron"), b)}, {"seed": range(seeds)})


def both(runs, other=None):
    """The same runs, or others, at both gains."""
    return xr.concat([runs, runs if other is None else other], "gain").assign_coords(gain=[0.01, 3.0])


STEPS = (0.01, 9.0)


@pytest.mark.parametrize(
    ("fine", "steps", "verdict"),
    [
        ({}, STEPS, "reproduced"),
        ({"width": 3.5}, STEPS, "contradicted"),
        ({"plus": 0}, STEPS, "contradicted"),
        ({}, STEPS[::-1], "contradicted"),
    ],
)
def test_a_finer_ring_changes_nothing(fine, steps, verdict):
    assert rules.lo_08(fields(), fields(n=400, **fine), steps).verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"bump": False}, "contradicted"),
        ({"fast": False}, "contradicted"),
        ({"plus": 3}, "contradicted"),
    ],
)
def test_both_kinds_in_one_network(change, verdict):
    runs = fields(**change)
    assert rules.lo_09(runs, runs).verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "reproduced"), ({"fast": False}, "contradicted"), ({"swapped": 10}, "contradicted")],
)
def test_the_sign_of_the_bias_tells_slow_from_fast(change, verdict):
    assert rules.lo_10(both(fields(**change))).verdict == verdict


@pytest.mark.parametrize(
    ("plus", "verdict", "exact"),
    [((19, 20, 21), "reproduced", True), ((16, 17, 17), "reproduced", False), ((4, 5, 4), "contradicted", False),
     ((5, 14, 23), "undecided", True)],
)  # fmt: skip
def test_equal_sizes(plus, verdict, exact):
    runs = xr.concat([fields(1, count) for count in plus], "seed").assign_coords(seed=range(3))
    outcome = rules.lo_11(both(runs))
    assert outcome.verdict == verdict
    assert ("not excluded" in outcome.finding) is exact


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ((0.02, 0.02, 0.001), ("reproduced", "reproduced")),
        ((0.5, 0.02, 0.001), ("contradicted", "reproduced")),
        ((0.02, 0.5, 0.001), ("reproduced", "contradicted")),
        ((0.02, 0.02, 0.1), ("reproduced", "contradicted")),
        ((0.1, 0.02, 0.001), ("undecided", "reproduced")),
    ],
)
def test_common_biases(values, parts):
    names = ("negative", "moved", "changed")
    scatter = np.array([0.9, 1.0, 1.1])
    columns = {name: (("gain", "seed"), value * np.tile(scatter, (2, 1))) for name, value in zip(names, values)}
    columns["positive"] = columns["negative"]
    measured = xr.Dataset(columns, {"gain": [0.01, 3.0]})
    assert tuple(rules.lo_14(measured).parts.values()) == parts


def test_what_common_biases_change():
    run = fields(1, bump=True).isel(seed=0)
    found = rules.common(run, 0, 3.0)
    assert found["negative"] == pytest.approx(0.01, rel=0.5)
    assert found["moved"] < 0.1
    same = run.assign(b=("neuron", np.where(np.arange(K) < 17, 4.0, -5.0)))
    assert rules.common(same, 0, 3.0) == pytest.approx(
        {"negative": 0, "positive": 0, "moved": 0, "changed": 0}, abs=1e-6
    )


NETWORKS = (
    "free", *rules.ALONE.values(), *rules.EXTREME, *rules.MODERATE, "clamped 4", "clamped 36",
)  # fmt: skip


def arranged(plus=None, loss=None, accuracy=None, refitted=None, pruned=0.9, scatter=0.001):
    """Arrangements at both gains over three seeds, as the standard network but for what is given by name."""
    shape = (2, 3, len(NETWORKS))
    noise = scatter * np.array([-1.0, 0.0, 1.0])[None, :, None]

    def filled(usual, given, noisy=True):
        row = np.array([(given or {}).get(name, usual) for name in NETWORKS], float)
        return np.broadcast_to(row, shape) + noise * noisy

    counts = filled(17, plus, False)[..., None]
    dims = ("gain", "seed", "network")
    variables = {
        "b": ((*dims, "neuron"), np.where(np.arange(K) < counts, 4.0, -5.0)),
        "loss": (dims, filled(0.4, loss)),
        "accuracy": (dims, filled(0.9, accuracy)),
        "accuracy_refitted": (dims, filled(0.9, refitted)),
        "area": (dims, filled(0.95, refitted)),
        **{
            name: (("gain", "seed", "part"), np.full((2, 3, 2), value) + noise)
            for name, value in (
                ("pruned_accuracy_refitted", pruned), ("pruned_area", pruned), ("pruned_loss_refitted", 0.45)
            )
        },
    }  # fmt: skip
    return xr.Dataset(
        variables,
        {"gain": [0.01, 3.0], "seed": range(3), "network": list(NETWORKS), "part": ["minus", "plus"]},
    )


BEGUN = {name: 40 * share for name, share in (rules.EXTREME | rules.MODERATE).items()}


@pytest.mark.parametrize(
    ("plus", "loss", "parts"),
    [
        (BEGUN, {"begun at -2": 0.44}, ("reproduced", "reproduced", "reproduced")),
        ({}, {}, ("contradicted", "contradicted", "contradicted")),
        (
            {"begun 10": 10, "begun 30": 30},
            {"begun at -2": 0.416},
            ("contradicted", "reproduced", "undecided"),
        ),
    ],
)
def test_is_the_balance_arbitrary(plus, loss, parts):
    assert tuple(rules.lo_15(arranged(plus, loss).sel(gain=3.0)).parts.values()) == parts


BAD = {"plus only": 0.6, "minus only": 0.6, "minus only, offset": 0.6}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"accuracy": BAD}, "partly"),
        ({"accuracy": BAD | {"plus only, offset": 0.6}}, "contradicted"),
        ({"loss": dict.fromkeys(rules.ALONE.values(), 0.5)}, "contradicted"),
        ({"loss": dict.fromkeys(rules.ALONE.values(), 0.44), "scatter": 0.01}, "undecided"),
    ],
)
def test_does_it_take_both(change, verdict):
    assert rules.lo_16(arranged(**change)).verdict == verdict


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, ("reproduced",) * 4),
        ({"loss": {"clamped 4": 0.5, "clamped 36": 0.5}}, ("contradicted", *("reproduced",) * 3)),
        ({"loss": {"clamped 36": 0.5}}, ("partly", *("reproduced",) * 3)),
        ({"accuracy": {"begun 10": 0.7}}, ("reproduced", "contradicted", "reproduced", "reproduced")),
        ({"accuracy": {"begun 30": 0.7}}, ("reproduced", "reproduced", "contradicted", "contradicted")),
        ({"loss": {"begun 30": 0.42}, "scatter": 0.01}, ("undecided",) * 4),
        ({"loss": {"begun 30": 0.2}}, ("reproduced",) * 4),  # better than the standard network
    ],
)
def test_is_balancing_required(change, parts):
    found = rules.lo_17(arranged(**change)).parts
    assert list(found) == ["clamped", "few positive", "many positive, g = 0.01", "many positive, g = 3"]
    if parts[0] == "undecided":
        assert found["many positive, g = 3"] == "undecided"
    else:
        assert tuple(found.values()) == parts


def test_oscillating_neurons_alone():
    yes = rules.lo_18(arranged(refitted={"plus only": 0.6}))
    no = rules.lo_18(arranged(loss={"plus only, offset": 0.5}))
    assert yes.verdict == no.verdict == "answered"
    assert yes.answer.startswith("Yes")
    assert no.answer.startswith("Not fully")
    assert yes.evidence["trained without, g = 3"] == "no"
    assert rules.lo_18(arranged(pruned=0.7)).evidence["cut out, g = 3"] == "no"


def test_an_order_says_what_is_decided():
    values = {"a": np.array([0.9, 0.91, 0.92]), "b": np.array([0.8, 0.81, 0.82]), "c": np.array([0.7, 0.8, 0.92])}
    assert rules.ordered(values) == "a > b = c"
    assert rules.ordered(values, lowest=True) == "c = b > a"


# The author's program.


def test_the_truncated_start_has_the_variance_and_less_kurtosis():
    z = np.random.default_rng(0).standard_normal(200_000)
    cut = program.truncated(z)
    assert cut.std() == pytest.approx(1, abs=0.01)
    assert np.mean(cut**4) == pytest.approx(2.36, abs=0.03)
    assert np.abs(cut).max() == pytest.approx(2.27, abs=0.01)
    assert (np.sign(cut) == np.sign(z)).all()


def test_gradients_of_the_plain_trainer():
    rng = np.random.default_rng(1)
    W, b, x = rng.standard_normal((3, 5)), rng.standard_normal(3), rng.standard_normal((7, 5))
    y = np.sign(rng.standard_normal(7))

    def loss(W, b):
        return np.mean((program.Committee(W[None], b[None]).forward(x)[0] - y) ** 2) / 2

    down, shift = program.gradients(W, b, x, y)
    step = np.zeros_like(W)
    step[1, 2] = 1e-6
    assert (loss(W + step, b) - loss(W - step, b)) / 2e-6 == pytest.approx(down[1, 2], abs=1e-8)
    assert (loss(W, b + 1e-6) - loss(W, b - 1e-6)) / 2e-6 == pytest.approx(shift.sum(), abs=1e-8)


def test_the_plain_trainer_at_two_steps():
    start = program.truncated_start(0)
    rng = np.random.default_rng(0)
    first, second = program.fluctuating(start, networks.pair(3.0), rng, 20.0, (1, 3))
    assert not np.allclose(first.W, start.W)
    assert not np.allclose(first.b, second.b)
    assert (start.b == 0).all()


def test_differences_of_variants():
    rng = np.random.default_rng(0)
    b = np.where(np.arange(K) < 17, 4.0, -5.0) * np.ones((len(program.VARIANTS), 3, 1))
    table = xr.Dataset(
        {
            "b": (("variant", "seed", "neuron"), b),
            "ipr": (("variant", "seed", "neuron"), 0.3 + 0 * b),
            "loss": (("variant", "seed"), 0.4 + rng.normal(0, 0.001, b.shape[:2])),
            "accuracy": (("variant", "seed"), np.full(b.shape[:2], 0.9)),
        },
        {"variant": list(program.VARIANTS), "seed": range(3)},
    )
    table.loss.loc[{"variant": "counts"}] += 0.1
    found = rules.program_differences(xr.concat([table, table], "gain").assign_coords(gain=[0.01, 3.0]), 3.0)
    assert found["class by a coin"]["loss"].estimate == pytest.approx(0.1, abs=0.005)
    assert found["class by a coin"]["share"].estimate == 0
    assert found["start cut at two deviations"]["loss"].contains(0)
