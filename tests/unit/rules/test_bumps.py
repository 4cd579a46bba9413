"""The rules on bumps and undersampled clusters, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels import undersampling
from experiments.cyclic_labels.rules import bumps
from shallow import stats

SEEDS, STEPS = 50, [0.001, 0.01]
PLACES = {"poor(5,3)": 5, "poor(5,1)": 5, "poor(2,1)": 2, "two_rightmost": 4}


def designs(rates=(), clusters=(), wrong=(), errors=()):
    """Planted runs of the seven designs, alike at both steps.

    rates: fraction of diverging bumps by design, 0.1 elsewhere; clusters: where they are, 0 elsewhere; wrong: fraction
    of runs with a wrong sign at the centre of a cluster of two_rightmost, by (step, cluster); errors: error inside a
    cluster, by (design, step, cluster), else 0.05.
    """
    rates, clusters, wrong, errors = (dict(each) for each in (rates, clusters, wrong, errors))
    names, rng = list(undersampling.DESIGNS), stats.stream("planted", "designs")
    flags = rng.random((7, 2, SEEDS)) < np.array([rates.get(d, 0.1) for d in names])[:, None, None]
    cluster = np.broadcast_to(np.array([clusters.get(d, 0) for d in names])[:, None, None], flags.shape)
    right, error = np.ones((7, 2, SEEDS, 6), bool), 0.05 + 0.01 * rng.random((7, 2, SEEDS, 6))
    for (step, place), share in wrong.items():
        right[names.index("two_rightmost"), STEPS.index(step), : round(share * SEEDS), place] = False
    for (design, step, place), value in errors.items():
        error[names.index(design), STEPS.index(step), :, place] += value - 0.05
    dims = ("design", "step", "seed")
    data = {"diverging": (dims, flags), "recovers": (dims, flags), "cluster": (dims, cluster)}
    data |= {"right": ((*dims, "place"), right), "cluster_error": ((*dims, "place"), error)}
    data |= {"error": (dims, error.mean(axis=-1)), "rise": (dims, 0.1 * flags)}
    data["count"] = ((*dims, "place"), rng.integers(1, 9, right.shape))
    return xr.Dataset(data, {"design": names, "step": STEPS, "seed": np.arange(SEEDS), "place": np.arange(6)})


POOR_RATES = dict.fromkeys(PLACES, 0.7)


@pytest.mark.parametrize(
    ("rates", "clusters", "verdict"),
    [
        (POOR_RATES, PLACES, "reproduced"),
        (POOR_RATES, {}, "contradicted"),  # the bumps are elsewhere
        ({}, PLACES, "contradicted"),  # and no more frequent than with even points
        ({"poor(5,1)": 0.3}, PLACES, "undecided"),  # more frequent, by about 0.2
    ],
)
def test_undersampling_is_seen_where_it_is_planted(rates, clusters, verdict):
    outcome = bumps.cl_14(designs(rates, clusters))
    assert outcome.verdict == verdict
    assert outcome.answer.startswith("Yes") == (verdict == "reproduced")


def test_shuffled_designs_never_pass():
    planted = designs(POOR_RATES, PLACES)
    shuffled = (undersampling.shuffled(planted, stats.stream("shuffled", k)) for k in range(5))
    outcomes = [bumps.cl_14(planted.assign(each.data_vars)).verdict for each in shuffled]
    assert "reproduced" not in outcomes


@pytest.mark.parametrize(
    ("rates", "clusters", "parts"),
    [
        (POOR_RATES, PLACES, "reproduced reproduced"),
        ({}, PLACES, "undecided reproduced"),
        (POOR_RATES, {}, "reproduced contradicted"),
        ({"strat": 0.9}, {}, "contradicted contradicted"),
    ],
)
def test_two_poor_clusters(rates, clusters, parts):
    assert " ".join(bumps.cl_12(designs(rates, clusters)).parts.values()) == parts


@pytest.mark.parametrize(
    ("wrong", "verdict", "answer"),
    [
        ({}, "reproduced", "Yes"),
        ({(0.001, 4): 0.9, (0.01, 4): 0.9}, "contradicted", "No"),
        ({(0.001, 4): 0.9}, "partly", "At the larger step"),
        ({(0.01, 4): 0.9}, "partly", "That depends"),
        ({(0.001, 4): 0.5, (0.01, 4): 0.5}, "undecided", "These runs"),
    ],
)
def test_all_six_labels(wrong, verdict, answer):
    outcome = bumps.cl_13(designs(wrong=wrong))
    assert outcome.verdict == verdict and outcome.answer.startswith(answer)


WRONG = {(d, step, p): 0.6 for d, place in PLACES.items() for step in STEPS for p in {place, 5}}
MISSED = {("two_rightmost", step, 4): 0.95 for step in STEPS} | {("poor(5,1)", step, 5): 0.3 for step in STEPS}


@pytest.mark.parametrize(
    ("errors", "parts", "answer"),
    [
        ({}, "reproduced reproduced", "Yes"),
        (MISSED, "reproduced partly", "On the whole yes, but a single point"),
        (
            {(d, s, p): 0.6 for d, place in PLACES.items() for s in STEPS for p in {place, 5}},
            "reproduced contradicted",
            "Not",
        ),
        ({("poor(5,1)", 0.001, place): 0.3 for place in range(6)}, "contradicted reproduced", "Not clearly"),
    ],
)
def test_performance_as_a_whole_and_in_each_poor_cluster(errors, parts, answer):
    outcome = bumps.cl_16(designs(errors=errors))
    assert " ".join(outcome.parts.values()) == parts and outcome.answer.startswith(answer)


@pytest.mark.parametrize(("share", "answer"), [(0.5, "Yes, the step"), (0.0, "No"), (0.2, "Perhaps")])
def test_a_second_cause(share, answer):
    steps, names = [0.0003, 0.001, 0.01], ["strat", "equi", "iid"]
    spike = np.broadcast_to(np.arange(SEEDS) < share * SEEDS, (3, 3, SEEDS)).astype(float)
    dims = ("design", "step", "seed")
    spikes = xr.Dataset({"spike": (dims, spike), "train_rise": (dims, spike)}, {"design": names, "step": steps})
    small = np.broadcast_to(np.arange(SEEDS) < 20, (2, 3, SEEDS))
    refined = xr.Dataset(
        {"diverging": (("refinement", "design", "seed"), small)},
        {"refinement": [1, 30], "design": ["strat", "iid", "poor(5,1)"]},
    )
    outcome, count = bumps.cl_15(spikes, refined), int(2 * share * SEEDS)
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)
    assert f"{count} of {count} and {count} of {count}" in outcome.finding
