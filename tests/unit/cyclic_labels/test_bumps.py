"""The rules on bumps and undersampled clusters, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.cyclic_labels.bumps import rules as bumps
from experiments.cyclic_labels.bumps import undersampling
from shallow import stats

SEEDS, STEPS = 50, [0.001, 0.01]
FORTY, POINTS = np.arange(40), [0, 1, 2, 3, 5, 8]  # seeds of what makes a bump; points in the poor cluster
SEED = {"seed": FORTY}
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
    axes, place = {"design": names, "step": STEPS, "seed": range(SEEDS)}, {"place": range(6)}
    found = table(axes, diverging=flags, recovers=flags, cluster=cluster, error=error.mean(axis=-1), rise=0.1 * flags)
    return found.merge(table(axes | place, right=right, cluster_error=error, count=rng.integers(1, 9, right.shape)))


POOR_RATES = dict.fromkeys(PLACES, 0.7)


test_undersampling_is_seen_where_it_is_planted = verdicts(
    bumps.cl_14,
    designs,
    reproduced=[(POOR_RATES, PLACES)],
    contradicted=[(POOR_RATES,), ({}, PLACES)],  # the bumps are elsewhere; no more frequent than with even points
    undecided=[({"poor(5,1)": 0.3}, PLACES)],  # more frequent, by about 0.2
)


def shuffled(runs: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
    """A null: within each seed and step the designs change places, and each bump is in a random cluster."""
    flags = runs.diverging.transpose("design", "step", "seed")
    cluster = rng.integers(0, 6, flags.shape)
    return runs[[]].assign(
        diverging=flags.copy(data=rng.permuted(flags.values, axis=0)), cluster=flags.copy(data=cluster)
    )


def test_shuffled_designs_never_pass():
    planted = designs(POOR_RATES, PLACES)
    nulls = (shuffled(planted, stats.stream("shuffled", k)) for k in range(5))
    outcomes = [bumps.cl_14(planted.assign(each.data_vars)).verdict for each in nulls]
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
    seed, spike = {"seed": range(SEEDS)}, (np.arange(SEEDS) < share * SEEDS).astype(float)
    axes = {"design": ["strat", "equi", "iid"], "step": [0.0003, 0.001, 0.01]} | seed
    spikes = table(axes, spike=spike, train_rise=spike)
    small = {"refinement": [1, 30], "design": ["strat", "iid", "poor(5,1)"]} | seed
    refined = table(small, diverging=np.arange(SEEDS) < 20)
    outcome, count = bumps.cl_15(spikes, refined), int(2 * share * SEEDS)
    assert outcome.verdict == "answered"
    assert f"{count} of {count} and {count} of {count}" in outcome.finding


def dissected(parts=1.0, passed=0.0, own=0.0, rest=10.0):
    """Planted runs of three designs, of which the last ten have no bump; kinks gain `own` and `rest` at borders."""
    axes = {"design": ["poor(5,1)", "poor(2,1)", "two_rightmost"]} | SEED
    numbers = {"low": 1000.0, "share_peak": 0.1, "parts": 30 * parts > FORTY, "passed": 30 * passed > FORTY}
    found = table(axes, **{name: np.where(FORTY >= 30, np.nan, value) for name, value in numbers.items()})
    weight = np.random.default_rng(0).normal(size=(3, len(FORTY), 2, 5))
    for d, borders in enumerate(([4], [1, 2])):
        weight[d, :, 1] += np.where(np.isin(np.arange(5), borders), own, rest)
    kinks = axes | {"moment": ["peak", "T"], "boundary": range(5)}
    return found.merge(table(kinks, kink_weight=weight, even_kink_weight=weight))


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
    shares = np.array([1, 0.8, 0.4, 0.2, 0.1, 0.0]) if falling else np.full(6, 0.5)
    flags, variant = len(FORTY) * shares[:, None] > FORTY, {"variant": ["reference", "width 128"]}
    rise = np.random.default_rng(0).random((2, 6, len(FORTY))) - (np.array(POINTS)[:, None] if size else 0)
    axes = variant | {"points": POINTS} | SEED
    runs = table(axes, diverging=flags, recovers=flags, rise=rise, low=0, recovery=rise)
    rng = np.random.default_rng(1)
    smallest, rise = rng.integers(0, 5, (2, len(FORTY))), rng.random((2, len(FORTY)))
    random = table({"n": [20, 50]} | SEED, smallest=smallest, rise=rise)
    return runs, table(variant | SEED, diverging=even * len(FORTY) > FORTY), random


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
    design = {"design": ["poor(5,1)", "strat"]} | SEED
    axes = {"step": [0.001], "train": ["all", "output", "hidden"]} | design
    share = np.array([[0.7, 0.0], [fixed, even], [0.0, 0.0]])[..., None]
    noise = 0.1 * np.random.default_rng(0).random((3, 2, len(FORTY), 1))
    loss = noise + np.array([0.2, 0.2 + behind, 1.0])[:, None, None, None]
    runs = table(axes, diverging=len(FORTY) * share > FORTY).merge(table(axes | {"epoch": [0]}, test_loss=loss))
    return runs, table(design, loss=loss[1, :, :, 0] - behind + later, diverging=FORTY < 10)


@pytest.mark.parametrize(
    ("planted", "alone", "added"),
    [
        ((0.3, 0.0, 0.5, 0.0), True, True),
        ((0.7, 0.0, 0.0, 0.0), True, None),
        ((0.0, 0.0, 0.5, 0.5), None, True),
        ((0.1, 0.6, 0.5, 0.5), False, True),
    ],
)
def test_whether_the_bump_needs_features(planted, alone, added):
    found = bumps.cl_49(*layers(*planted)).numbers
    assert found["fixed features, poor(5,1) minus strat"].exceeds(0) is alone
    assert found["all parameters minus fixed features"].exceeds(0) is added
    losses = found["final loss, fixed minus full"], found["the same after ten times the epochs"]
    assert [each.estimate for each in losses] == pytest.approx(planted[2:], abs=0.05)


def imbalance(bumps, errors):
    """Runs in which bumps and errors fall with the points or do not, by what is trained."""
    shares = {True: np.array([0.9, 0.6, 0.3, 0.1, 0.0])[:, None], False: np.full((5, 1), 0.4)}
    flags = np.stack([len(FORTY) * shares[b] > FORTY for b in bumps])
    error = np.stack([shares[e] + 0.1 * np.random.default_rng(0).random((5, len(FORTY))) for e in errors])
    axes = {"step": STEPS, "horizon": [20_000], "train": ["output", "all"], "points": POINTS[1:]} | SEED
    found = table(axes, diverging=flags, cosine=0.5 + 0.1 * error)
    return found.merge(table({"cluster": [5]} | axes, cluster_error=error))


@pytest.mark.parametrize(
    ("flags", "errors"),
    [((True, True), (True, True)), ((False, True), (True, True)), ((True, True), (False, True))],
)
def test_random_features_beside_the_network(flags, errors):
    found = bumps.cl_51(imbalance(flags, errors)).numbers
    for name, planted in (("bumps fall", flags), ("error falls", errors)):
        assert [found[f"{name}, {train}"] for train in ("output", "all")] == [2 * falls for falls in planted]
