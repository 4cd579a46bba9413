"""The rules on bumps and undersampled clusters, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, often, planted, scatter, verdicts

from experiments.cyclic_labels.bumps import rules as bumps
from experiments.cyclic_labels.bumps import undersampling
from shallow import stats

PAGE, STEPS, POINTS = "cyclic_labels/bumps", [0.001, 0.01], [1, 2, 3, 5, 8]
PLACES = {"poor(5,3)": 5, "poor(5,1)": 5, "poor(2,1)": 2, "two_rightmost": 4}


def designs(rates=(), clusters=(), wrong=(), errors=()):
    """Planted runs of the seven designs, alike at both steps.

    rates: fraction of diverging bumps by design, 0.1 elsewhere; clusters: where they are, 0 elsewhere; wrong: fraction
    of runs with a wrong sign at the centre of a cluster of two_rightmost, by (step, cluster); errors: error inside a
    cluster, by (design, step, cluster), else 0.05.
    """
    rates, clusters = (dict.fromkeys(undersampling.DESIGNS, u) | dict(d) for u, d in ((0.1, rates), (0, clusters)))
    rng = stats.stream("planted", "designs")
    flags = rng.random((7, 2, 50)) < np.reshape(list(rates.values()), (7, 1, 1))
    error = 0.05 + 0.01 * rng.random((7, 2, 50, 6))
    inside = {"right": True, "cluster_error": error, "count": rng.integers(1, 9, error.shape)}
    places = {"cluster": by(design=clusters), "diverging": flags, "recovers": flags, "rise": 0.1 * flags}
    found = planted(f"{PAGE}/designs", **inside, **places)
    for (step, place), share in dict(wrong).items():
        found.right.loc["two_rightmost", step, : round(share * 50) - 1, place] = False
    for (design, step, place), value in dict(errors).items():
        found.cluster_error.loc[design, step, :, place] += value - 0.05
    return found.assign(error=found.cluster_error.mean("place"))


POOR_RATES = dict.fromkeys(PLACES, 0.7)


def random_sets(shares):
    """Planted random sets of which all have a lone point in the first cluster, and this share of the bumps, by size."""
    lone = by(n=dict.fromkeys((10, 15, 20, 25, 30, 40, 50, 60), 0.0) | shares)
    alone = xr.DataArray(np.where(np.arange(6) == 0, 1, 8), dims="place")
    where = (xr.DataArray(np.arange(400), dims="seed") >= 400 * lone).astype(int)
    return planted(f"{PAGE}/random_data", cluster=where, diverging=True, recovers=True, count=alone)


test_undersampling_is_seen_where_it_is_planted = verdicts(
    bumps.cl_14,
    lambda rates, places, *shares: (designs(rates, places), random_sets(dict(zip((20, 50), shares)))),
    rrr=[(POOR_RATES, PLACES, 0.9, 0.9)],
    rrc=[(POOR_RATES, PLACES, 0.9, 0.1)],
    ruc=[(POOR_RATES, PLACES, 0.5, 0.1)],
    crr=[(POOR_RATES, (), 0.9, 0.9), ({}, PLACES, 0.9, 0.9)],  # bumps elsewhere; no more frequent than with even points
    urr=[({"poor(5,1)": 0.3}, PLACES, 0.9, 0.9)],  # more frequent, by about 0.2
)


def test_designs_that_change_places_never_pass():
    """A null: within each seed and step the designs are shuffled, and each bump is in a random cluster."""
    found, outcomes = designs(POOR_RATES, PLACES), []
    for rng in (stats.stream("shuffled", k) for k in range(5)):
        flags = found.diverging.copy(data=rng.permuted(found.diverging.values, axis=0))
        cluster = flags.copy(data=rng.integers(0, 6, flags.shape))
        moved = found.assign(diverging=flags, cluster=cluster)
        outcomes.append(bumps.cl_14(moved, random_sets({20: 0.9, 50: 0.9})).parts["designs"])
    assert "reproduced" not in outcomes


test_two_poor_clusters = verdicts(
    bumps.cl_12, designs, rr=[(POOR_RATES, PLACES)], ur=[({}, PLACES)], rc=[(POOR_RATES,)], cc=[({"strat": 0.9},)]
)
test_all_six_labels = verdicts(
    bumps.cl_13,
    lambda *shares: designs(wrong={(step, 4): share for step, share in zip(STEPS, shares)}),
    reproduced=[()],
    contradicted=[(0.9, 0.9)],
    partly=[(0.9, 0.0), (0.0, 0.9)],
    undecided=[(0.5, 0.5)],
)


WRONG = {(d, step, p): 0.6 for d, place in PLACES.items() for step in STEPS for p in {place, 5}}
MISSED = {("two_rightmost", step, 4): 0.95 for step in STEPS} | {("poor(5,1)", step, 5): 0.3 for step in STEPS}


test_performance_as_a_whole_and_in_each_poor_cluster = verdicts(
    bumps.cl_16,
    designs,
    rr=[{}],
    rp=[{"errors": MISSED}],
    rc=[{"errors": WRONG}],
    cr=[{"errors": {("poor(5,1)", 0.001, place): 0.3 for place in range(6)}}],
)


@pytest.mark.parametrize("share", [0.5, 0.0, 0.2])
def test_a_second_cause(share):
    spike = 1.0 * often(share, 50)
    spikes = planted(f"{PAGE}/spikes", spike=spike, train_rise=spike)
    refined = planted(f"{PAGE}/small_steps", diverging=often(0.4, 50))
    outcome, count = bumps.cl_15(spikes, refined), int(2 * share * 50)
    assert outcome.verdict == "answered"
    assert f"{count} of {count} and {count} of {count}" in outcome.finding


def dissected(parts=1.0, passed=0.0, own=0.0, rest=10.0):
    """Planted runs of three designs, of which 30 of 50 have a bump; kinks gain `own` and `rest` at borders."""
    weight = np.random.default_rng(0).normal(size=(3, 50, 2, 5))
    for d, borders in enumerate(([4], [1, 2])):
        weight[d, :, 1] += np.where(np.isin(np.arange(5), borders), own, rest)
    flags = {name: 1.0 * often(0.6 * share, 50) for name, share in (("parts", parts), ("passed", passed))}
    numbers = flags | {"low": 1000.0, "share_peak": 0.1, "kink_weight": weight, "even_kink_weight": weight}
    return planted(f"{PAGE}/dissected", {"moment": ["peak", "T"]}, **numbers).where(often(0.6, 50))


@pytest.mark.parametrize(
    ("parts", "passed", "apart", "both"),
    [(1.0, 0.9, True, True), (0.9, 0.0, True, False), (0.1, 1.0, False, False), (0.5, 0.5, None, None)],
)
def test_both_halves_of_the_mechanism_are_counted(parts, passed, apart, both):
    outcome = bumps.cl_47(dissected(parts, passed))
    found = outcome.numbers["(i) rises while its neighbours fall"], outcome.numbers["both"]
    assert [each.exceeds(1 / 2) for each in found] == [apart, both] and outcome.numbers["bumps"] == 90


@pytest.mark.parametrize(("own", "rest", "more"), [(10, 0, True), (0, 10, False), (5, 5, None), (-5, -10, True)])
def test_where_kinks_gather(own, rest, more):
    found = bumps.cl_50(dissected(own=own, rest=rest)).numbers
    for design in ("poor(5,1)", "poor(2,1)"):
        assert found[f"own, {design}"].estimate == pytest.approx(own, abs=1)
        assert found[f"more, {design}"].exceeds(0) is more


def ablations(falling=True, even=0.0, size=True):
    """Two variants in which bumps get rarer with the points, or do not; balanced runs; and independent outcomes."""
    name, two = f"{PAGE}/ablations", {"variant": ["reference", "width 128"]}
    flags = often(by(points=dict(zip([0, *POINTS], [1, 0.8, 0.4, 0.2, 0.1, 0] if falling else [0.5] * 6))), 50)
    rise = scatter(name, "rise", 0.3) - size * by(points={n: n for n in [0, *POINTS]})
    runs = planted(name, two, diverging=flags, recovers=flags, rise=rise, low=0, recovery=rise)
    rng = np.random.default_rng(1)
    chance = {"smallest": rng.integers(0, 5, (3, 50)), "rise": rng.random((3, 50))}
    random = planted(f"{PAGE}/independent_outcomes", **chance)
    return runs, planted(f"{PAGE}/ablations_stratified", two, diverging=often(even, 50)), random


@pytest.mark.parametrize(
    ("options", "more", "fewer", "smaller"),
    [({}, 2, 2, True), ({"size": False}, 2, 2, False), ({"even": 0.8}, 0, 2, True), ({"falling": False}, 2, 0, True)],
)
def test_dose_and_response(options, more, fewer, smaller):
    outcome = bumps.cl_48(*ablations(**options))
    assert (outcome.numbers["settings with more"], outcome.numbers["settings with fewer"]) == (more, fewer)
    assert outcome.numbers["points and rise"].below(0) == smaller


def layers(fixed, even, behind, later):
    """Runs of three trainings with given fractions of bumps on fixed features, and losses above the full network's."""
    name, axes = f"{PAGE}/one_layer", {"train": ["all", "output", "hidden"], "design": ["poor(5,1)", "strat"]}
    share = xr.DataArray([[0.7, 0.0], [fixed, even], [0.0, 0.0]], axes, list(axes))
    loss = 0.2 + by(train={"all": 0, "output": behind, "hidden": 0.8}) + scatter(name, "test_loss", 0.03)
    runs = planted(name, {"epoch": [20_000]}, diverging=often(share, 50), test_loss=loss)
    end = loss.sel(train="output", step=0.001, epoch=20_000, drop=True) - behind + later
    return runs, planted(f"{PAGE}/fixed_features", diverging=often(0.25, 50), loss=end)


@pytest.mark.parametrize(
    ("runs", "alone", "added"),
    [
        ((0.3, 0.0, 0.5, 0.0), True, True),
        ((0.7, 0.0, 0.0, 0.0), True, None),
        ((0.0, 0.0, 0.5, 0.5), None, True),
        ((0.1, 0.6, 0.5, 0.5), False, True),
    ],
)
def test_whether_the_bump_needs_features(runs, alone, added):
    found = bumps.cl_49(*layers(*runs)).numbers
    assert found["fixed features, poor(5,1) minus strat"].exceeds(0) is alone
    assert found["all parameters minus fixed features"].exceeds(0) is added
    losses = found["final loss, fixed minus full"], found["the same after ten times the epochs"]
    assert [each.estimate for each in losses] == pytest.approx(runs[2:], abs=0.05)


def imbalance(bumps, errors):
    """Runs in which bumps and errors fall with the points or do not, by what is trained."""

    def shares(falling):
        numbers = [[0.9, 0.6, 0.3, 0.1, 0.0] if falls else [0.4] * 5 for falls in falling]
        return xr.DataArray(numbers, {"train": ["output", "all"], "points": POINTS}, ["train", "points"])

    name = f"{PAGE}/imbalance"
    found = {"diverging": often(shares(bumps), 20), "cluster_error": shares(errors) + scatter(name, "cosine", 0.03)}
    return planted(name, {"horizon": [20_000]}, cosine=scatter(name, "cosine", 0.03) + 0.5, **found)


@pytest.mark.parametrize(
    ("flags", "errors"),
    [((True, True), (True, True)), ((False, True), (True, True)), ((True, True), (False, True))],
)
def test_random_features_beside_the_network(flags, errors):
    found = bumps.cl_51(imbalance(flags, errors)).numbers
    for name, falling in (("bumps fall", flags), ("error falls", errors)):
        assert [found[f"{name}, {train}"] for train in ("output", "all")] == [2 * falls for falls in falling]
