"""The rules on the first step, on planted sweeps for which the answer is known, and on such that break one part."""

import numpy as np
import pytest
import xarray as xr
from planted import tuned_ridge
from planted.records import planted, verdicts

from experiments.heavy_tails.one_step import rules as one_step
from experiments.heavy_tails.one_step.rules import GRID
from experiments.heavy_tails.readings import tuned
from experiments.heavy_tails.teacher_student import PENALTY
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


def record(found):
    """Sweeps of all optimisers and readings as the one record of a rule's runs."""
    whole = xr.concat(found.values(), xr.DataArray(list(found), dims="rule", name="rule"))
    return (whole.expand_dims(penalty=[PENALTY]),)


def at(optimiser, curve, **values):
    """A change of one curve at some places, p3=... for the third rate."""
    return {optimiser: {curve: [values.get(f"p{k}", one) for k, one in enumerate(TRUE[optimiser][curve])]}}


def failing(outcome):
    """The parts that are not reproduced."""
    return " ".join(name for name, verdict in outcome.parts.items() if verdict not in ("reproduced", "answered"))


@pytest.mark.parametrize(
    ("rule", "changes", "parts"),
    [
        *((rule, {}, "") for rule in ("ht_07", "ht_08", "ht_10", "ht_11", "ht_12")),
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
)
def test_a_change_breaks_its_part(rule, changes, parts):
    more = (tuned_ridge.record(runs=tuned.ONE),) if rule == "ht_10" else ()
    outcome = getattr(one_step, rule)(record(sweeps(**changes)), *more)
    assert failing(outcome) == parts
    assert {outcome.parts[name] for name in outcome.parts if name in parts.split(" ")} <= {"contradicted"}
    if not changes and rule != "ht_10":  # every part holds in the reading of the text as well
        assert {said for name, said in outcome.numbers.items() if name.startswith("text, ")} == {"holds"}


def test_a_change_near_its_limit_leaves_the_part_open():
    runs = sweeps(**at("GD", "test", p7=0.985))
    shift = xr.DataArray([-1, 1, -1, 1, -1, 1], dims="seed") * 1e-3 * (xr.DataArray(RATES, dims="rate") == 1000)
    runs["GD code"]["test"] = runs["GD code"].test + shift
    assert one_step.ht_10(record(runs), tuned_ridge.record(runs=tuned.ONE)).parts["a"] == "undecided"


def test_a_bulk_in_one_piece_has_one_mode():
    runs = sweeps()
    runs["Adam code"]["eigenvalues"] = runs["GD code"].eigenvalues
    outcome = one_step.ht_08(record(runs))
    assert outcome.verdict == "contradicted" and outcome.numbers["text, b"] == "holds"


def beside(runs, rule, rate, factor):
    """A record of runs below the first spike, at which the test loss changes by a factor."""
    start = runs[rule].sel(rate=[0.0])
    moved = start.assign(test=start.test * factor).assign_coords(rate=[rate])
    return xr.concat([start, moved], "rate").expand_dims(rule=[rule], penalty=[PENALTY])


def around_the_spike(factor, **changes):
    runs = sweeps(**changes)
    return record(runs), beside(runs, "GD code", 1250.0, factor), beside(runs, "Adam code", 0.05, factor)


test_spikes_and_losses = verdicts(
    one_step.ht_13,
    around_the_spike,
    rr=[{"factor": 0.999}],
    rc=[{"factor": 0.98}],
    cc=[{"factor": 0.98, **at("GD", "test", p9=1.02)}],
    cr=[{"factor": 0.999, **at("Adam", "test", p4=1.02)}],
)


def first_spikes(gd=1400.0, adam=0.05, second=1.01, at_1000=1.01):
    """Thresholds and gaps: GD spikes at 2000 and beyond `at_1000`, Adam from 0.1 on."""
    noise = 1 + 1e-3 * stats.stream("planted", "first spike").standard_normal((5, 4, 7))
    of_gd, of_adam = [1.01] * 5 + [at_1000, 1.5], [1.01, 2, 100, 200, 200, 200, 200]
    gaps = {"ratio": np.array([of_gd, of_gd, of_adam, of_adam]) * noise}
    gaps["second"] = np.where(gaps["ratio"] < 3, 1.01, np.array([1.01] * 3 + [second] * 4) * noise)
    return planted(one_step.FIRST_SPIKE, threshold=[gd, 2 * gd, adam, adam / 3] * noise[..., 0], **gaps)


@pytest.mark.parametrize(
    ("change", "parts"), [({}, ""), ({"second": 1.1}, ""), ({"adam": 2.0}, "a"), ({"at_1000": 1.2}, "b")]
)
def test_first_spikes(change, parts):
    outcome = one_step.ht_09(first_spikes(**change))
    assert failing(outcome) == parts
    assert [outcome.numbers[f"text, {name}"] == "fails" for name in "abcd"] == [name in parts for name in "abcd"]


def test_more_points_with_curves_of_one_shape():
    by_n = {n: sweeps() for n in (2000, 4000, 8000)}
    by_n[8000]["Adam code"]["test"] = by_n[8000]["Adam code"].test - 0.01
    outcome = one_step.ht_52(*map(record, by_n.values()))
    assert outcome.verdict == "reproduced" and outcome.parts["c"] == "answered"
    fewer = outcome.numbers["test loss, 8000 minus 4000 points"]
    assert fewer.estimate == pytest.approx(-0.01) and fewer.below(0)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        (at("GD", "train", p9=0.91), "a, 4000"),
        (at("Adam", "test", p1=0.9), "a, 4000 b, 4000"),
        ({"GD": {"similarity": [0.02, 0.5] + [0.5] * 8}}, "b, 4000"),
    ],
)
def test_more_points_with_curves_of_another_shape(changes, part):
    outcome = one_step.ht_52(*(record(sweeps(**one)) for one in ({}, changes, {})))
    assert outcome.verdict == "partly" and failing(outcome) == part
