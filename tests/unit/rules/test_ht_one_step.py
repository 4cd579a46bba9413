"""The rules on the first step, on planted sweeps for which the answer is known, and on such that break one part."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.rules import one_step
from experiments.heavy_tails.rules.one_step import GRID
from shallow import stats
from shallow.spectra.marchenko_pastur import MarchenkoPastur

SEEDS, RATES = 6, [0.0, *GRID]
NOISE = MarchenkoPastur(1500, 1000).quantile((np.arange(120) + 0.5) / 120)[::-1]
#                0    .001  .01   .1    1     10    100   1000  2000  3000
TRUE = {
    "GD": {
        "test": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.995, 0.97, 0.96],
        "train": [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.895, 0.87, 0.86],
        "alignment": [0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.021, 0.03, 0.04],
        "similarity": [0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.03, 0.5, 0.5],
        "spike": [1, 1, 1, 1, 1, 1, 1, 1, 1.5, 3],
    },
    "Adam": {
        "test": [1.0, 1.0, 0.999, 0.97, 0.95, 1.1, 2.0, 2.5, 2.6, 2.7],
        "train": [0.9, 0.9, 0.899, 0.88, 0.85, 0.6, 0.4, 0.3, 0.3, 0.3],
        "alignment": [0.02, 0.02, 0.021, 0.03, 0.04, 0.038, 0.036, 0.036, 0.036, 0.036],
        "similarity": [0.02, 0.02, 0.02, 0.42, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4],
        "spike": [1, 1, 1, 2, 100, 200, 200, 200, 200, 200],
    },
}


def spectrum(spike, rate, optimiser):
    """Noise whose largest eigenvalue is pushed out; of large Adam steps a part is left behind the rest."""
    values = NOISE * np.where(np.arange(120) < 90, max(1.0, rate / 5), 1) if optimiser == "Adam" else NOISE.copy()
    values[0] = values[1] * (1.01 if spike == 1 else spike)
    return values


def sweeps(**changes):
    """Planted sweeps of both readings; changes: curves by optimiser, as in TRUE, that take the place of the true."""
    rng, found = stats.stream("planted", "one step"), {}
    for name, true in TRUE.items():
        curves = true | changes.get(name, {})
        noise = 1 + 2e-3 * rng.standard_normal((SEEDS, 1)) + 1e-5 * rng.standard_normal((SEEDS, len(RATES)))
        data = {key: (("seed", "rate"), np.array(curves[key]) * noise) for key in true if key != "spike"}
        spectra = [spectrum(s, rate, name) for s, rate in zip(curves["spike"], RATES, strict=True)]
        data["eigenvalues"] = (("seed", "rate", "k"), noise[..., None] * np.array(spectra))
        sweep = xr.Dataset(data, {"seed": range(SEEDS), "rate": RATES})
        both = {key: sweep[key].expand_dims(features=["code", "text"]) for key in ("test", "train", "alignment")}
        found |= {f"{name} {reading}": sweep.assign(both) for reading in ("code", "text")}
    return found


def at(optimiser, curve, **values):
    """A change of one curve at some places, p3=... for the third rate."""
    return {optimiser: {curve: [values.get(f"p{k}", one) for k, one in enumerate(TRUE[optimiser][curve])]}}


def failing(outcome):
    """The parts that are not reproduced."""
    return " ".join(name for name, verdict in outcome.parts.items() if verdict not in ("reproduced", "answered"))


@pytest.mark.parametrize("rule", ["ht_07", "ht_08", "ht_10", "ht_11", "ht_12"])
def test_claims_that_are_true_are_reproduced(rule):
    outcome = getattr(one_step, rule)(sweeps())
    assert outcome.verdict == "reproduced" and outcome.answer.startswith("Yes")
    assert "all is the same" in outcome.finding or rule == "ht_10"


@pytest.mark.parametrize(
    ("rule", "changes", "parts"),
    [
        ("ht_07", at("GD", "spike", p8=1), "b"),
        ("ht_07", at("Adam", "spike", p4=1), "c"),
        ("ht_10", at("GD", "test", p7=0.98), "a"),
        ("ht_10", at("GD", "train", p6=0.89), "a"),
        ("ht_10", at("Adam", "test", p1=0.98), "b"),
        ("ht_10", at("Adam", "test", p3=1.0), "c"),
        ("ht_10", at("Adam", "test", p5=0.94), "d, test"),
        ("ht_10", at("Adam", "train", p6=0.86), "d, training"),
        ("ht_10", at("Adam", "test", p9=0.96), "e"),
        ("ht_11", at("GD", "alignment", p7=0.03), "a"),
        ("ht_11", at("Adam", "alignment", p5=0.045), "b"),
        ("ht_11", at("Adam", "alignment", p5=0.015), "b"),
        ("ht_12", at("GD", "similarity", p8=0.1), "a b"),
        ("ht_12", at("Adam", "similarity", p2=0.2), "a"),
        ("ht_12", at("Adam", "similarity", p1=0.2), "a c"),
    ],
)  # fmt: skip
def test_a_change_that_breaks_a_part(rule, changes, parts):
    outcome = getattr(one_step, rule)(sweeps(**changes))
    assert failing(outcome) == parts
    assert {outcome.parts[name] for name in outcome.parts if name in parts.split(" ")} <= {"contradicted"}


def test_a_change_near_its_limit_leaves_the_part_open():
    runs = sweeps(**at("GD", "test", p7=0.985))
    shift = xr.DataArray([-1, 1, -1, 1, -1, 1], dims="seed") * 1e-3 * (xr.DataArray(RATES, dims="rate") == 1000)
    runs["GD code"]["test"] = runs["GD code"].test + shift
    assert one_step.ht_10(runs).parts["a"] == "undecided"


def test_a_bulk_in_one_piece_has_one_mode():
    runs = sweeps()
    runs["Adam code"]["eigenvalues"] = runs["GD code"].eigenvalues
    outcome = one_step.ht_08(runs)
    assert outcome.verdict == "contradicted" and "(b) holds" in outcome.finding


def between(runs, gd_change, adam_change):
    """Planted runs below the first spike, at which the test loss changes by a factor."""
    found = {}
    for rule, rate, factor in (("GD code", 1250.0, gd_change), ("Adam code", 0.05, adam_change)):
        start = runs[rule].sel(rate=[0.0])
        moved = start.assign(test=start.test * factor).assign_coords(rate=[rate])
        found[rule] = xr.concat([start, moved], "rate")
    return found


@pytest.mark.parametrize(
    ("factor", "changes", "parts", "answer"),
    [
        (0.999, {}, "reproduced reproduced", "Yes"),
        (0.98, {}, "reproduced contradicted", "A spike lowers the test loss, but"),
        (0.98, at("GD", "test", p9=1.02), "contradicted contradicted", "No"),
        (0.999, at("Adam", "test", p4=1.02), "contradicted reproduced", "In part"),
    ],
)
def test_spikes_and_losses(factor, changes, parts, answer):
    runs = sweeps(**changes)
    outcome = one_step.ht_13(runs, between(runs, factor, factor))
    assert " ".join(outcome.parts.values()) == parts and outcome.answer.startswith(answer)


def first_spikes(gd=1400.0, adam=0.05, second=1.01, at_1000=1.01):
    """Planted thresholds and gaps: GD spikes at 2000 and beyond `at_1000`, Adam from 0.1 on."""
    rates, rng = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 2000.0], stats.stream("planted", "first spike")
    noise = 1 + 1e-3 * rng.standard_normal((5, 4, 7))
    of_gd, of_adam = [1.01] * 5 + [at_1000, 1.5], [1.01, 2, 100, 200, 200, 200, 200]
    ratio = np.array([of_gd, of_gd, of_adam, of_adam]) * noise
    later = np.array([1.01] * 3 + [second] * 4) * noise
    return xr.Dataset(
        {
            "threshold": (("seed", "rule"), np.array([gd, 2 * gd, adam, adam / 3]) * noise[..., 0]),
            "ratio": (("seed", "rule", "rate"), ratio),
            "second": (("seed", "rule", "rate"), np.where(np.array(ratio) < 3, 1.01, later)),
        },
        {"seed": range(5), "rule": ["GD code", "GD text", "Adam code", "Adam text"], "rate": rates},
    )


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, ""),
        ({"second": 1.1}, ""),
        ({"adam": 2.0}, "a"),
        ({"at_1000": 1.2}, "b"),
    ],
)
def test_first_spikes(change, parts):
    outcome = one_step.ht_09(first_spikes(**change))
    assert failing(outcome) == parts and "all is the same" in outcome.finding


def test_more_points_with_curves_of_one_shape():
    by_n = {n: sweeps() for n in (2000, 4000, 8000)}
    by_n[8000]["Adam code"]["test"] = by_n[8000]["Adam code"].test - 0.01
    outcome = one_step.ht_52(by_n)
    assert outcome.verdict == "reproduced" and outcome.parts["c"] == "answered"
    fewer = outcome.evidence["test loss, 8000 minus 4000 points"]
    assert fewer.estimate == pytest.approx(-0.01) and fewer.below(0)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        (at("GD", "train", p9=0.91), "a, 4000"),
        (at("Adam", "test", p1=0.9), "a, 4000 b, 4000"),
        ({"GD": {"similarity": [0.02, 0.5] + [0.5] * 8}}, "b, 4000"),
    ],
)  # fmt: skip
def test_more_points_with_curves_of_another_shape(changes, part):
    outcome = one_step.ht_52({2000: sweeps(), 4000: sweeps(**changes), 8000: sweeps()})
    assert outcome.verdict == "partly" and failing(outcome) == part
