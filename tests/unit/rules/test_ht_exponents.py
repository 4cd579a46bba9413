"""The rules on what the exponents measure, on planted spectra for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import estimators
from experiments.heavy_tails.rules import exponents
from shallow import stats

SEEDS = 3
NOISE = estimators.noise_spectrum(stats.stream("planted noise"), 1500, 1000)
LAWS = (*estimators.TAIL_FREE, *estimators.PARETO)


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
def test_tail_weights_of_laws(law, known):
    found = [estimators.tail_weight(estimators.sample(law, stats.stream("w", law, k), 1000)) for k in range(20)]
    assert estimators.population_weight(law) == pytest.approx(known, abs=0.01)
    assert abs(np.log(np.mean(found) / known)) < 0.1
    assert estimators.tail_weight(7 * np.array(found) + 3) == pytest.approx(estimators.tail_weight(np.array(found)))


@pytest.mark.parametrize(
    ("gd", "adam", "verdict"),
    [
        ("Pareto 2", "Pareto 2.5", "reproduced"),
        ("noise", "wide", "contradicted"),  # a wide bulk alone is not a heavy tail
        ("noise", "Pareto 2", "partly"),
        ("exponential", "exponential", "undecided"),
    ],
)
def test_a_heavy_tail_is_told_from_a_wide_bulk(gd, adam, verdict):
    planted = runs({("GD code", 2000.0): gd, ("Adam code", 0.5): adam}, [0.0, 0.5, 2000.0])
    outcome = exponents.ht_01(planted)
    assert outcome.verdict == verdict
    assert outcome.answer.startswith("Yes") == (verdict == "reproduced")


def test_a_tail_that_was_there_before_is_not_made_by_training():
    everywhere = {(f"{name} code", rate): "Pareto 2" for name in ("GD", "Adam") for rate in (0.0, 0.5, 2000.0)}
    assert exponents.ht_01(runs(everywhere, [0.0, 0.5, 2000.0])).verdict == "contradicted"


@pytest.mark.parametrize(
    ("wide", "verdict"),
    [
        ({"GD": (10.0,), "Adam": (1.0, 10.0)}, "reproduced"),
        ({"GD": (1.0,), "Adam": (1.0, 10.0)}, "contradicted"),  # with GD the larger rate has none
        ({"GD": (), "Adam": (1.0, 10.0)}, "contradicted"),
    ],
)
def test_a_threshold_has_all_rates_above_it(wide, verdict):
    kinds = {(f"{name} code", rate): "wide" for name, rates in wide.items() for rate in rates}
    planted = runs(kinds, [0.0, 1.0, 10.0])
    assert exponents.ht_02(planted, planted).verdict == verdict


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


@pytest.mark.parametrize(("kind", "verdict"), [("noise", "reproduced"), ("wide", "contradicted")])
def test_the_initial_law_is_recognised(kind, verdict):
    spectra = xr.DataArray([spectrum(kind, seed) for seed in range(5)], dims=("seed", "k"))
    assert exponents.ht_03(spectra).verdict == verdict


def test_an_eigenvalue_far_below_the_edge_is_not_the_law():
    spectra = xr.DataArray([spectrum("noise", seed) for seed in range(5)], dims=("seed", "k"))
    spectra[0, -1] = 20.0
    assert exponents.ht_03(spectra).verdict == "contradicted"


def estimates(hill, ks):
    """Planted exponents of the nine laws: given values, with little scatter."""
    jitter = 0.01 * stats.stream("planted estimates").standard_normal((len(LAWS), 20))
    data = {name: (("law", "seed"), np.array(level)[:, None] + jitter) for name, level in (("hill", hill), ("ks", ks))}
    return xr.Dataset(data, {"law": list(LAWS)})


ORDERED = [5, 5, 5, 5, 5, 1.5, 2, 2.5, 3]
MIXED = [2.1, 2.4, 3.1, 4, 2.3, 1.5, 2, 2.5, 3]


@pytest.mark.parametrize(
    ("hill", "ks", "verdict"),
    [(ORDERED, ORDERED, "reproduced"), (MIXED, MIXED, "contradicted"), (MIXED, ORDERED, "partly")],
)
def test_an_exponent_must_order_laws_with_and_without_tail(hill, ks, verdict):
    assert exponents.ht_06(estimates(hill, ks)).verdict == verdict


def test_scale_does_nothing_and_the_spike_does():
    spectra = xr.DataArray([spectrum("noise"), spectrum("Pareto 2")], {"rate": [0.1, 1.0]}, ("rate", "k"))
    changed = exponents.changes(spectra)
    assert max(np.abs(change).max() for (_, move), change in changed.items() if move.startswith("W")) < 1e-9
    assert min(change[0] for (_, move), change in changed.items() if move.startswith("top")) < -1e-3


@pytest.mark.parametrize(("sign", "found"), [(-1, False), (1, True), (0, None)])
def test_reactions_are_compared_by_the_gap(sign, found):
    rng = stats.stream("planted gaps", sign)
    gap = 1 + rng.random((10, 6))
    change = np.exp(sign * 5 * gap + rng.standard_normal(gap.shape))
    seen = xr.Dataset({"gap": (("seed", "rate"), gap), "change": (("seed", "rate"), change)})
    assert exponents.by_gap([seen, seen]).exceeds(0) is found


def positions():
    """Planted spectra of two draws: noise with its largest eigenvalue on the edge or far from it."""
    far = np.array([1.0, 1.01, 8.0])
    values = np.array([[np.append(one[0] * far[k], one[1:]) for k in range(3)] for one in map(spectrum, ["noise"] * 2)])
    values[1] *= 1.01
    coordinates = {"seed": [0, 1], "rate": [0.1, 1.0, 10.0]}
    return xr.Dataset(
        {"eigenvalues": (("rule", "seed", "rate", "k"), values[None])}, coordinates | {"rule": ["Adam code"]}
    )


def test_the_rule_on_the_spike_runs_on_planted_spectra():
    outcome = exponents.ht_70(positions(), positions())
    assert outcome.parts["a"] == "contradicted"  # a theorem: the exponents do not depend on the scale


def drawn(off, wider):
    """Planted estimates of the controls: Hill off by `off` with half noise, the chosen cut `wider` times as wide."""
    rng, parts = stats.stream("planted controls", off, wider), []
    names = [*exponents.PARETO, *(f"{law}, half noise" for law in exponents.PARETO), "MP 1.5"]
    for name in names:
        truth = float(name.split(",")[0].split()[1])
        hill = truth + 0.1 * rng.standard_normal(200) + (off if "half" in name else 0)
        parts.append((hill, truth + 0.1 * wider * rng.standard_normal(200)))
    data = {name: (("law", "seed"), [part[k] for part in parts]) for k, name in enumerate(("hill", "ks"))}
    return xr.Dataset(data, {"law": names})


@pytest.mark.parametrize(
    ("off", "wider", "verdict"), [(0.3, 5, "reproduced"), (0, 0.5, "contradicted"), (0.3, 0.5, "partly")]
)
def test_bias_and_scatter_are_seen_where_they_are_planted(off, wider, verdict):
    trained = stats.stream("planted trained", wider).standard_normal((6, 8, 2)) * np.array([1, wider])
    outcome = exponents.ht_73(drawn(off, wider), xr.DataArray(trained, dims=("run", "seed", "estimate")))
    assert outcome.verdict == verdict
    assert outcome.reading is None  # none is needed where the parts agree with the verdict


def fits(p, ratio):
    """Planted fits of six spectra: one p of the power law, and one normalised likelihood ratio, for all."""
    both = ("spectrum", "run")
    data = {
        "p": (both, np.full((2, 6), p)),
        "ratio": ((*both, "alternative"), np.full((2, 6, 2), ratio)),
        "ratio_p": ((*both, "alternative"), np.full((2, 6, 2), 0.01)),
        "tail_power": ("run", np.full(6, 0.05)),
        "tail_profile": ("run", np.full(6, 0.1)),
        "profile_distance": ("run", np.full(6, 0.01)),
        "eigenvalues": (("run", "k"), np.tile(spectrum("Pareto 2"), (6, 1))),
    }
    coordinates = {"spectrum": ["all", "without spike"], "alternative": ["log-normal", "exponential"]}
    return {"planted": xr.Dataset(data, coordinates)}


@pytest.mark.parametrize(("p", "ratio", "start"), [(0.5, 2.0, "Yes"), (0.5, -2.0, "No"), (0.01, 2.0, "No")])
def test_a_power_law_must_fit_and_have_no_better_rival(p, ratio, start):
    outcome = exponents.ht_80(fits(p, ratio))
    assert outcome.verdict == "answered"
    assert outcome.answer.startswith(start)
