"""The rules on what the exponents measure, on planted spectra for which the answer is known."""

import numpy as np
import pytest
import xarray as xr
from planted.records import planted, verdicts

from experiments.heavy_tails import estimators
from experiments.heavy_tails.exponents import rules as exponents
from shallow import stats
from shallow.spectra import marchenko_pastur, tops

SEEDS = 3
NOISE = marchenko_pastur.spectrum(stats.stream("planted noise"), 1500, 1000)
LAWS, ROOM = (*estimators.TAIL_FREE, *estimators.PARETO), "heavy_tails/exponents/"


def spectrum(kind, seed=0):
    """A thousand descending eigenvalues: of noise, of noise stretched on a logarithmic axis, or of a law."""
    if kind in ("noise", "wide"):
        drawn = NOISE * (1 + 1e-3 * stats.stream("planted", kind, seed).standard_normal(1000))
        return np.sort(drawn if kind == "noise" else drawn**1.5)[::-1]
    return np.sort(estimators.sample(kind, stats.stream("planted", kind, seed), 1000))[::-1]


def runs(kinds, rates, rules=("GD code", "Adam code", "GD text", "Adam text")):
    """Planted sweeps; kinds: of the spectrum by (rule, rate), else noise."""
    values = [
        [[spectrum(kinds.get((rule, rate), "noise"), seed) for seed in range(SEEDS)] for rate in rates]
        for rule in rules
    ]
    coordinates = {"rule": list(rules), "rate": list(rates), "seed": range(SEEDS)}
    return xr.Dataset({"eigenvalues": (("rule", "rate", "seed", "k"), np.array(values))}, coordinates)


@pytest.mark.parametrize(
    ("law", "known"),
    [("MP 1", 3.15), ("MP 6", 2.65), ("exponential", 5.64), ("Pareto 3", 14.66), ("Pareto 2", 49.0)],
)
def test_stretches_of_laws(law, known):
    found = [tops.stretch(estimators.sample(law, stats.stream("w", law, k), 1000)) for k in range(20)]
    assert estimators.population_stretch(law) == pytest.approx(known, abs=0.01)
    assert abs(np.log(np.mean(found) / known)) < 0.1
    assert tops.stretch(7 * np.array(found) + 3) == pytest.approx(tops.stretch(np.array(found)))


def figure_1(before, gd, adam):
    kinds = {("GD code", 2000.0): gd, ("Adam code", 0.5): adam, ("GD code", 0.0): before, ("Adam code", 0.0): before}
    return runs(kinds, [0.0, 0.5, 2000.0])


test_a_heavy_tail_is_told_from_a_wide_bulk_and_from_one_that_was_there = verdicts(
    exponents.ht_01,
    figure_1,
    reproduced=[("noise", "Pareto 2", "Pareto 2.5")],
    contradicted=[("noise", "noise", "wide"), ("Pareto 2", "Pareto 2", "Pareto 2")],
    partly=[("noise", "noise", "Pareto 2")],
    undecided=[("noise", "exponential", "exponential")],
)


def widened(gd, adam=(1.0, 10.0)):
    """Sweeps with a wide bulk at some rates of each optimiser."""
    kinds = {(f"{name} code", rate): "wide" for name, wide in (("GD", gd), ("Adam", adam)) for rate in wide}
    return (runs(kinds, [0.0, 1.0, 10.0]),) * 2


test_a_threshold_has_all_rates_above_it = verdicts(
    exponents.ht_02,
    widened,
    reproduced=[{"gd": [10.0]}],
    contradicted=[{"gd": [1.0]}, {"gd": []}],  # with GD the larger rate has none
)


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ({1.0: False, 10.0: True}, (True, 10.0)),
        ({1.0: True, 10.0: False}, (False, None)),
        ({1.0: False, 10.0: False}, (False, None)),
        ({1.0: None, 10.0: True}, (None, None)),
    ],
)
def test_threshold(flags, found):
    assert exponents.threshold(flags) == found


def start(kind, smallest=1.0, largest=1.0, scale=1.0):
    """Initial spectra, multiplied by `scale`; the ends of one draw also by `smallest` and `largest`."""
    found = runs({("GD code", 0.0): kind}, [0.0], ["GD code"]) * scale
    found.eigenvalues[0, 0, 0, [-1, 0]] *= [smallest, largest]
    return found


test_the_initial_law_is_recognised = verdicts(
    exponents.ht_03,
    start,
    reproduced=[("noise",), ("noise", 0.9), ("noise", 1.0, 1.01)],
    contradicted=[("wide",), ("noise", 0.85), ("noise", 1.0, 1.04), ("noise", 1.0, 1.0, 0.97)],
)


ORDERED = [5, 5, 5, 5, 5, 1.5, 2, 2.5, 3]
MIXED = [2.1, 2.4, 3.1, 4, 2.3, 1.5, 2, 2.5, 3]


def estimates(hill, ks):
    """Nine laws: given values, with little scatter."""
    jitter = 0.01 * stats.stream("planted estimates").standard_normal((len(LAWS), 20))
    hill, ks = (np.array(level)[:, None] + jitter for level in (hill, ks))
    return planted(f"{ROOM}exponents_of_laws", {"seed": range(20)}, hill=hill, ks=ks)


test_an_exponent_must_order_laws_with_and_without_tail = verdicts(
    exponents.ht_06,
    estimates,
    reproduced=[(ORDERED, ORDERED)],
    contradicted=[(MIXED, MIXED)],
    partly=[(MIXED, ORDERED)],
)


@pytest.mark.parametrize(("sign", "found"), [(-1, False), (1, True), (0, None)])
def test_reactions_are_compared_by_the_gap(sign, found):
    rng = stats.stream("planted gaps", sign)
    gap = 1 + rng.random((10, 6))
    change = np.exp(sign * 5 * gap + rng.standard_normal(gap.shape))
    seen = xr.Dataset({"gap": (("seed", "rate"), gap), "change": (("seed", "rate"), change)})
    assert exponents.by_gap([seen, seen]).exceeds(0) is found


def test_the_rule_on_the_spike_runs_on_planted_spectra():
    """Two draws of noise, with the largest eigenvalue on the edge or far from it."""
    values = np.stack([spectrum("noise")] * 3) * np.array([1, 1.01])[:, None, None]
    values[..., 0] *= [1.0, 1.01, 8.0]
    coordinates = {"rule": ["Adam code"], "seed": [0, 1], "rate": [0.1, 1.0, 10.0]}
    seen = xr.Dataset({"eigenvalues": (("rule", "seed", "rate", "k"), values[None])}, coordinates)
    outcome = exponents.ht_70((seen,), (seen,))
    assert outcome.parts["a"] == "contradicted" and outcome.numbers["a common factor"] < 1e-9  # by a theorem
    assert max(value for name, value in outcome.numbers.items() if name.startswith("the largest value")) > 1e-3


def drawn(record, laws, off, wider):
    """Estimates of laws: Hill off by `off`, the chosen cut `wider` times as wide."""
    rng = stats.stream("planted controls", off, wider, *laws)
    truth = np.array([float(law.split()[1]) for law in laws])[:, None]
    hill, ks = (truth + scale * rng.standard_normal((len(laws), 200)) for scale in (0.1, 0.1 * wider))
    return planted(ROOM + record, {"law": list(laws)}, hill=off + hill, ks=ks)


def trained(kind):
    """Planted spectra of six runs: the chosen cut scatters far more on noise, and no more on a power law."""
    values = [[[spectrum(kind, 8 * run + seed) for seed in range(8)] for run in range(6)]]
    return xr.Dataset({"eigenvalues": (("reading", "run", "seed", "k"), np.array(values))}, {"reading": ["code"]})


def controls(off, wider, kind):
    pure = drawn("exponents_of_laws", [*exponents.PARETO, "MP 1.5"], 0, wider)
    return pure, drawn("exponents_half_noise", exponents.PARETO, off, wider), trained(kind)


test_bias_and_scatter_are_seen_where_they_are_planted = verdicts(
    exponents.ht_73,
    controls,
    reproduced=[(0.3, 5, "noise")],
    contradicted=[(0, 0.5, "Pareto 2")],
    partly=[(0.3, 0.5, "Pareto 2")],
)


@pytest.mark.parametrize(("p", "ratio", "share"), [(0.5, 2.0, 1), (0.5, -2.0, 0), (0.01, 2.0, 0)])
def test_a_power_law_must_fit_and_have_no_better_rival(p, ratio, share):
    """Six spectra with one p of the power law and one normalised likelihood ratio."""
    one = {"p": p, "ratio": ratio, "ratio_p": 0.01, "tail_power": 0.05, "tail_profile": 0.1, "profile_distance": 0.01}
    places = {"reading": ["code"], "seed": [0]}
    outcome = exponents.ht_80((planted(f"{ROOM}tail_fits", places, **one, eigenvalues=spectrum("Pareto 2")),))
    assert outcome.verdict == "answered"
    assert outcome.numbers["power law without the spike"].estimate == share
