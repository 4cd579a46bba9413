"""The rules on the two populations and their balance, on planted networks."""

import numpy as np
import pytest
import xarray as xr
from planted.records import cases, decided, over_seeds, planted, table, verdicts

from experiments.localization import networks
from experiments.localization.populations import alone, program, rules
from shallow.book import records
from shallow.data import nlgp

K, ARRANGED = 40, "localization/populations/arrangements"
OUTPUTS, RINGS = "localization/populations/outputs", "localization/populations/rings"


def fields(seeds=3, plus=17, bump=True, fast=True, n=40, width=2.0, swapped=0):
    """Networks with bumps or waves and negative biases, and fast waves and positive ones; some signs swapped."""
    rng, d = np.random.default_rng(0), nlgp.ring_distance(n)
    positive, plus = np.arange(K) < np.reshape(plus, (-1, 1)), np.broadcast_to(plus, seeds)
    b = np.where(positive, 4.0, -5.0) + rng.normal(0, 0.05, (seeds, K))
    slow = np.exp(-((d / (width * n / 40)) ** 2)) if bump else np.cos(2 * np.pi * d / n)
    waves = [np.cos(2 * np.pi * (15 + k % 3 if fast else 1) * d / n) for k in range(K)]
    W = [
        [rng.choice([-1, 1]) * np.roll(waves[k] if k < many else slow, rng.integers(n)) for k in range(K)]
        for many in plus
    ]
    b[:, :swapped] *= -1
    networks = table({"seed": range(seeds), "neuron": range(K)}, b=b)
    return networks.assign(W=(("seed", "neuron", "pixel"), W + rng.normal(0, 1e-3, (seeds, K, n))))


def both(runs):
    return xr.concat([runs, runs], "gain").assign_coords(gain=[0.01, 3.0])


STEPS = (0.01, 9.0)


def rings(plus=17, width=0.08, other=None, scatter=0.01):
    """Rings as the coarse one but for what is given by name: numbers of positive biases, widths of negative fields."""
    names = records.load(RINGS).ring.values.tolist()
    counts = over_seeds([(plus if isinstance(plus, dict) else {}).get(name, 17) for name in names], "ring", ring=names)
    b = np.where(np.arange(K) < np.round(counts.values[..., None]), 4.0, -5.0)
    given = xr.DataArray(b, {"ring": names, "seed": range(3)}, ("ring", "seed", "neuron"))
    widths = [(width if isinstance(width, dict) else {}).get(name, 0.08) for name in names]
    columns = dict.fromkeys(("width", "slow_width"), over_seeds(widths, "ring", scatter=scatter * 0.1, ring=names))
    return planted(RINGS, {"seed": range(3)}, b=given, fast=0.0, **columns)


test_a_finer_ring_changes_nothing = verdicts(
    rules.lo_08,
    lambda steps=STEPS, **change: (rings(**change), steps),
    reproduced=[{}, {"plus": {"400, one rate 20": 0}}, {"width": {"400, one rate 2": 0.2}}],
    contradicted=[{"width": {"400": 0.12}}, {"plus": {"400": 5}}, {"steps": STEPS[::-1]}],
    undecided=[{"width": {"400": 0.1}, "scatter": 0.1}],
)
test_both_kinds_in_one_network = verdicts(
    rules.lo_09,
    lambda **change: (both(fields(**change)), both(fields(**change)).expand_dims(variant=["relu"])),
    reproduced=[{}],
    contradicted=[{"bump": False}, {"fast": False}, {"plus": 3}],
)


def outputs(scatter=0.001, **change):
    """Outputs with a constant at both gains over three seeds, alike but for what is given by measure and output."""
    names = records.load(OUTPUTS).output.values.tolist()
    usual = {"loss": 0.4, "accuracy": 0.9, "accuracy_refitted": 0.9, "area": 0.95, "right": 1.0, "away": 1.0}

    def filled(level, given, scatter):
        return over_seeds([given.get(name, level) for name in names], "output", scatter=scatter, output=names)

    columns = {name: filled(level, change.get(name, {}), scatter) for name, level in usual.items()}
    plus = filled(17, {"begun 0": 0, "begun 10": 10, "begun 30": 30, "begun 40": 40} | change.get("plus", {}), 0.0)
    columns["count"] = xr.concat([K - plus, plus], "side").assign_coords(side=["minus", "plus"])
    return planted(OUTPUTS, {"seed": range(3)}, **columns)


test_the_sign_of_the_bias_tells_slow_from_fast = verdicts(
    rules.lo_10,
    lambda logistic=1.0, **change: (both(fields(**change)), outputs(right={"logistic": logistic})),
    rr=[{}],
    cr=[{"fast": False}, {"swapped": 10}],
    rc=[{"logistic": 0.6}],
)


@pytest.mark.parametrize(
    ("plus", "fine", "verdict", "excluded"),
    [
        ((19, 20, 21), 17, "reproduced", False),
        ((16, 17, 17), 17, "reproduced", True),
        ((4, 5, 4), 4, "contradicted", True),
        ((16, 17, 17), 4, "partly", True),
        ((5, 14, 23), 17, "partly", False),
    ],
)
def test_equal_sizes(plus, fine, verdict, excluded):
    outcome = rules.lo_11(both(fields(plus=plus)), rings(plus={"400": fine, "400, one rate 20": 0}))
    assert (outcome.verdict, outcome.numbers["one half excluded, g = 3"]) == (verdict, excluded)
    assert outcome.numbers["rings, 400, one rate 20, g = 3"].estimate == 0


@cases(
    {
        "reproduced reproduced": [(0.02, 0.02, 0.001)],
        "contradicted reproduced": [(0.5, 0.02, 0.001)],
        "reproduced contradicted": [(0.02, 0.5, 0.001), (0.02, 0.02, 0.1)],
        "undecided reproduced": [(0.1, 0.02, 0.001)],
    }
)
def test_common_biases(change, outcome, monkeypatch):
    monkeypatch.setattr(rules, "common_biases", lambda runs: runs)
    names, axes = ("negative", "positive", "moved", "changed"), {"gain": [0.01, 3.0], "seed": range(3)}
    columns = {name: value * np.array([0.9, 1.0, 1.1]) for name, value in zip(names, (change[0], *change))}
    assert decided(rules.lo_14(table(axes, **columns))) == outcome


def test_what_common_biases_change():
    run = fields(1).isel(seed=0)
    found = rules.common(run, 0, 3.0)
    assert found["negative"] == pytest.approx(0.01, rel=0.5)
    assert found["moved"] < 0.1
    same = run.assign(b=("neuron", np.where(np.arange(K) < 17, 4.0, -5.0)))
    assert rules.common(same, 0, 3.0) == pytest.approx(dict.fromkeys(found, 0), abs=1e-6)


def arranged(plus=None, loss=None, accuracy=None, refitted=None, pruned=0.9, scatter=0.001):
    """Arrangements at both gains over three seeds, as the standard network but for what is given by name."""
    names = records.load(ARRANGED).network.values.tolist()

    def filled(usual, given, scatter=scatter):
        row = over_seeds([(given or {}).get(name, usual) for name in names], "network", scatter=scatter, network=names)
        return row.transpose()

    columns = {"b": np.where(np.arange(K) < filled(17, plus, 0.0).values[:, None, :, None], 4.0, -5.0)}
    levels = {"loss": (0.4, loss), "accuracy": (0.9, accuracy), "accuracy_refitted": (0.9, refitted)}
    columns |= {name: filled(*level) for name, level in (levels | {"area": (0.95, refitted)}).items()}
    parts = {"pruned_accuracy_refitted": pruned, "pruned_area": pruned, "pruned_loss_refitted": 0.45}
    columns |= {name: over_seeds(value, scatter=scatter) for name, value in parts.items()}
    return planted(ARRANGED, {"seed": range(3)}, **columns)


BEGUN = {name: 40 * share for name, share in (rules.EXTREME | rules.MODERATE).items()}
test_is_the_balance_arbitrary = verdicts(
    rules.lo_15,
    lambda *change: (arranged(*change), outputs()),
    rrrr=[(BEGUN, {"begun at -2": 0.44})],
    cccc=[({}, {})],
    crcu=[({"begun 10": 10}, {"begun at -2": 0.416})],
)


def test_the_way_with_a_constant_is_on_the_way_to_its_own_share():
    found = rules.lo_15(arranged(), outputs(plus={"begun 40": 17, "begun 0": 8.5})).numbers
    ways = [found[f"with a constant, begun {m}"].estimate for m in (0, 10, 30, 40)]
    assert ways == pytest.approx([0.5, 0, 0, 1])


BAD = {"accuracy": dict.fromkeys(("plus only", "minus only"), 0.6)}
test_does_it_take_both = verdicts(
    alone.lo_16,
    lambda with_constant, without: (arranged(**without), outputs(**with_constant)),
    rrrr=[({}, {})],
    rccc=[({"accuracy": {"minus": 0.6}}, BAD)],
    cccc=[({"accuracy": {"minus": 0.6, "plus": 0.6}}, BAD)],
    ccrr=[({"loss": {"constant": 0.3}}, {"loss": {"plus only": 0.41}})],  # each beside its own full network
    urrr=[({"loss": {"plus": 0.44}, "scatter": 0.01}, {})],
)
test_is_balancing_required = verdicts(
    alone.lo_17,
    arranged,
    rrrr=[{}, {"loss": {"begun 30": 0.2}}],  # better than the standard
    crrr=[{"loss": {"clamped 4": 0.5, "clamped 36": 0.5}}],
    prrr=[{"loss": {"clamped 36": 0.5}}],
    rcrr=[{"accuracy": {"begun 10": 0.7}}],
    rrcc=[{"accuracy": {"begun 30": 0.7}}],
    rruu=[{"loss": {"begun 30": 0.42}, "scatter": 0.01}],
)


def test_oscillating_neurons_alone():
    found = alone.lo_18(arranged(refitted={"plus only": 0.6}), outputs())
    assert found.verdict == "answered"
    assert found.numbers["trained with a constant, g = 3"] is True
    assert found.numbers["trained without, g = 3"] is False
    dear = alone.lo_18(arranged(), outputs(loss={"plus": 0.5}))
    assert dear.numbers["trained with a constant, g = 3"] is False
    assert alone.lo_18(arranged(pruned=0.7), outputs()).numbers["cut out, g = 3"] is False


def test_an_order_says_what_is_decided():
    values = {"a": np.array([0.9, 0.91, 0.92]), "b": np.array([0.8, 0.81, 0.82]), "c": np.array([0.7, 0.8, 0.92])}
    assert alone.ordered(values) == "a > b = c"
    assert alone.ordered(values, lowest=True) == "c = b > a"


def test_the_truncated_start_has_the_variance_and_less_kurtosis():
    z = np.random.default_rng(0).standard_normal(200_000)
    cut = program.truncated(z)
    assert cut.std() == pytest.approx(1, abs=0.01)
    assert np.mean(cut**4) == pytest.approx(2.36, abs=0.03)
    assert np.abs(cut).max() == pytest.approx(2.27, abs=0.01)
    assert (np.sign(cut) == np.sign(z)).all()


def test_the_plain_trainer_at_two_steps():
    start = program.truncated_start(0)
    first, second = program.fluctuating(start, networks.pair(3.0), np.random.default_rng(0), 20.0, (1, 3))
    assert not np.allclose(first.W, start.W)
    assert not np.allclose(first.b, second.b)
    assert (start.b == 0).all()


def test_differences_of_variants():
    axes = {"gain": [0.01, 3.0], "variant": list(program.VARIANTS), "seed": range(3)}
    loss = 0.4 + np.random.default_rng(0).normal(0, 0.001, (len(program.VARIANTS), 3))
    runs = table(axes, loss=loss, accuracy=0.9)
    b = np.where(np.arange(K) < 17, 4.0, -5.0)
    runs = runs.merge(table(axes | {"neuron": range(K)}, b=b, ipr=0.3))
    runs.loss.loc[{"variant": "counts"}] += 0.1
    found = rules.program_differences(runs, 3.0)
    assert found["class by a coin"]["loss"].estimate == pytest.approx(0.1, abs=0.005)
    assert found["class by a coin"]["share"].estimate == 0
    assert found["start cut at two deviations"]["loss"].contains(0)


def test_what_a_number_of_neurons_decides():
    """Planted: biases that follow the number of negative neurons exactly, localisation that does not scatter."""
    runs = records.load(OUTPUTS).copy(deep=True)
    count = runs["count"].sel(side="minus")
    runs["crossing"] = (1 - (count - 20) / 50).expand_dims(side=["minus", "plus"]).transpose(*runs.crossing.dims)
    runs["gaussian"], runs["error"] = runs.crossing + 0.1, 0 * runs.error
    found = rules.ties(runs, "none", 3.0)
    assert found["crossing"][0] == pytest.approx(-1)
    one = rules.resting(runs, "none", 3.0, "minus")
    assert (one["apart"].estimate, one["covariance"].estimate) == pytest.approx((-0.1, 0))
    assert rules.resting(runs, "plus", 3.0, "minus") == {}  # nobody there
    measures = rules.output_measures(runs, "none", 3.0)
    plus = runs["count"].isel(step=-1).sel(output="none", gain=3.0, side="plus")
    assert measures["plus"].estimate == pytest.approx(plus.mean().item())
