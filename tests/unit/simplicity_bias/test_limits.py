"""The rules on what training ends at, and on the restart with a decaying rate, on planted data with a known answer."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias.limits import driven
from experiments.simplicity_bias.limits import rules as limits
from experiments.simplicity_bias.transition import cells as transition
from shallow import nets, stats

SEEDS = [0, 1, 2]
JITTER = np.array([0.98, 1.0, 1.02])  # of three draws
NOISE = limits.NOISE


def by_n(values):
    """Three draws around a value for each sample size."""
    return xr.DataArray(
        np.outer(list(values.values()), JITTER), {"n": list(values), "seed": SEEDS}, ("n", "seed"), name="values"
    )


@pytest.mark.parametrize(
    ("holds", "fails", "verdict"),
    [
        ([True, True], [False, False], "reproduced"),
        ([False, False], [True, True], "contradicted"),
        ([True, False], [False, True], "partly"),
        ([False, False], [None, None], "partly"),  # surely not as claimed
        ([None, None], [False, False], "undecided"),
        ([True, None], [False, False], "partly"),
    ],
)
def test_verdicts_from_two_limits(holds, fails, verdict):
    assert limits.graded(holds, fails) == verdict


def test_the_typical_value_is_a_geometric_mean():
    found = limits.typical([1.0, 4.0])
    assert found.estimate == pytest.approx(2)
    assert found.low < 1
    assert found.high > 4


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(0.2, "reproduced"), (0.7, "partly"), (1.3, "contradicted"), (0.5, "undecided")],
)
def test_stopping_against_interpolating(ratio, verdict):
    driven = by_n({1000: 0.2, 2000: 0.3})
    small = ratio * driven * JITTER
    stopped, decayed = small.expand_dims(step=[0]).to_dataset(name="excess"), small.to_dataset(name="decayed_excess")
    few, many = driven.expand_dims(stage=[0]), driven.expand_dims(step=[0])
    many = many.to_dataset(name="solved_excess")
    outcome = limits.sb_01(decayed, few.to_dataset(name="excess"), many, stopped, decayed)
    assert outcome.verdict == verdict
    kinds = ("1008 neurons", "10,000 neurons", "10,000 neurons, whole budget")
    assert outcome.parts == {f"{kind}, n = 2000": verdict for kind in kinds}


def over_widths(values):
    return by_n(values).rename(n="width")


@pytest.mark.parametrize(
    ("off", "train", "verdicts"),
    [
        (0, {100: 0.95, 1000: 0.9, 3000: 0.895}, ("reproduced", "reproduced", "reproduced")),
        (0, {100: 0.95, 1000: 0.9, 3000: 0.8}, ("reproduced", "reproduced", "contradicted")),
        (0, {100: 0.95, 1000: 0.5, 3000: 0.1}, ("reproduced", "contradicted", "contradicted")),
        (1e-3, {100: 0.95, 1000: 0.9, 3000: 0.895}, ("contradicted", "reproduced", "reproduced")),
    ],
)
def test_wider_networks(off, train, verdicts):
    fits = over_widths({8: 1.0, 1024: 1.0}) * 0 + 1 + off
    train = over_widths(train)
    train = train.mean("seed") + 0.005 * xr.DataArray([-1, 0, 1], {"seed": SEEDS}, "seed")
    widths = (NOISE * train).expand_dims(step=[0]).to_dataset(name="train")
    assert tuple(limits.sb_22(fits, widths).parts.values()) == verdicts


@pytest.mark.parametrize(
    ("missing", "train", "verdict"), [(0, 1e-28, "reproduced"), (1, 1e-28, "contradicted"), (0, 1e-3, "contradicted")]
)
def test_whether_all_labels_can_be_fitted(missing, train, verdict):
    sizes = xr.DataArray([500, 1000, 2000, 5000], dims="n")
    table = {"rank": sizes - missing, "condition": 1e6, "train": sizes * 0 + train, "excess": sizes * 0 + 0.2}
    solved = xr.Dataset(table, {"n": sizes.values}).expand_dims(seed=[0, 1])
    assert limits.sb_23(solved).verdict == verdict


@pytest.mark.parametrize(
    ("decayed", "slow", "verdict"), [(0.5, 0.4, "reproduced"), (0.5, 0.02, "partly"), (0.01, 0.01, "contradicted")]
)
def test_small_rates(decayed, slow, verdict):
    figure_1 = figure(decayed=by_n({2000: decayed, 5000: 0.9 * decayed, 10_000: 0.95 * decayed}))
    coords = {"n": [2000, 5000], "seed": [0], "time": [2e4, 8e4]}
    flow = xr.DataArray(np.full((2, 1, 2), 0.5 * NOISE), coords, tuple(coords)).to_dataset(name="train")
    rates, steps = flow.expand_dims(rate=[0.05, 0.003, 0.001]), flow.time.values / 0.02
    figure_1["train"] = flow.train.rename(time="step").assign_coords(step=steps)
    continued = (NOISE * by_n({2000: slow})).expand_dims(slow=[0]).to_dataset(name="slow_loss")
    outcome = limits.sb_24(figure_1, continued, rates, rates, flow.sel(time=[2e4]))
    assert outcome.verdict == verdict
    assert outcome.numbers["n = 2000, time 80,000, rate 0.01"] == pytest.approx(0.5)


def figure(decayed):
    """Runs of Figure 1 of which only the train loss over the noise after the decay is known."""
    return (NOISE * decayed).expand_dims(restart=[0]).to_dataset(name="decayed_train")


def waits(after):
    """Two runs that reach the two fits at time 10 and have this distance much later."""
    distance = [[1, 1e-7, 1e-7, after], [1, 1e-7, 1e-8, after]]
    return xr.Dataset({"distance": (("seed", "time"), distance)}, {"time": [1, 10, 50, 150]})


def figure_1(fall, end=0.9):
    """Train losses at step 1000 and at the decayed end, falling by a multiple of the noise."""
    ones = by_n({5000: 1.0, 10_000: 1.0, 30_000: 1.0})
    runs = figure(decayed=end * ones)
    runs["train"] = (NOISE * (end + fall) * ones).expand_dims(step=[1000])
    return runs


@pytest.mark.parametrize(
    ("after", "ours", "verdicts"),
    [
        (1e-8, figure_1(0.005), ("reproduced", "reproduced", "reproduced")),
        (1e-8, figure_1(0.1), ("reproduced", "reproduced", "contradicted")),
        (1e-8, figure_1(0.8, end=0.05), ("reproduced", "contradicted", "contradicted")),
        (1e-3, figure_1(0.005), ("contradicted", "reproduced", "reproduced")),
    ],
)
def test_waiting_for_interpolation(after, ours, verdicts):
    late = by_n({5000: 0.9}).sel(seed=[0]).expand_dims(step=[8_000_000, 32_000_000]).to_dataset(name="train")
    assert tuple(limits.sb_26(waits(after), ours, late).parts.values()) == verdicts


def test_the_cost_of_waiting_is_taken_at_the_moment_that_the_other_draws_choose():
    path = xr.DataArray([[4.0, 1.0, 3.0], [4.0, 2.0, 3.0], [4.0, 2.0, 0.1]], dims=("seed", "step"))
    path = path.assign_coords(seed=SEEDS, step=[1, 2, 3])
    end = xr.DataArray([8.0, 8.0, 8.0], {"seed": SEEDS}, "seed")
    np.testing.assert_allclose(limits.waiting(path, end), [8 / 3.0, 8 / 2.0, 8 / 2.0])


@pytest.mark.parametrize(
    ("theirs", "above", "under", "verdicts"),
    [
        (1.0, 1.2, 30, ("reproduced", "reproduced", "reproduced")),
        (1.0, 20, 30, ("reproduced", "contradicted", "reproduced")),
        (9.0, 20, 1.2, ("contradicted", "contradicted", "contradicted")),
    ],
)
def test_early_stopping(theirs, above, under, verdicts):
    path = np.stack([[5, 5, 5], [1, 1, 1], theirs * JITTER], axis=1)
    theorem = xr.Dataset({"excess": (("seed", "time"), path)})
    decayed = by_n({100: under, 200: under, 350: under, 500: under, 2000: above, 10_000: above, 30_000: above})
    path = xr.ones_like(decayed) * xr.DataArray([5, 1, 2], {"step": [1000, 2000, 3000]}, "step")
    ours = xr.Dataset({"excess": path, "decayed_excess": decayed})
    assert tuple(limits.sb_29(theorem, ours).parts.values()) == verdicts


@pytest.mark.parametrize(
    ("last", "verdicts"),
    [
        ((0.96, 1.02, 0.02), ("reproduced", "reproduced", "reproduced")),
        ((0.96, 1.02, 0.7), ("reproduced", "reproduced", "contradicted")),
        ((0.6, 1.8, 0.7), ("contradicted", "contradicted", "contradicted")),
    ],
)
def test_small_components(last, verdicts):
    values = dict(zip(("train", "test", "outside"), last))
    small = xr.DataArray([-0.002, 0, 0.002], {"seed": SEEDS}, "seed")
    ends = {name: by_n({1500: 0.5, 30_000: 1.0}) * 0 + value + small for name, value in values.items()}
    runs = figure(decayed=ends["train"]).assign(ols=NOISE, ols_excess=0.0)
    runs = runs.assign(decayed_excess=NOISE * (ends["test"] - 1), decayed_outside=ends["outside"])
    assert tuple(limits.sb_32(runs).parts.values()) == verdicts


def grouped(kept, growth):
    first = by_n({2000: 20, 5000: 18, 10_000: 15})
    return xr.Dataset({"kept": 0 * first + kept * JITTER, "first": first, "last": growth * first * JITTER})


@pytest.mark.parametrize(
    ("kept", "growth", "verdicts"),
    [
        (0.96, 1.2, ("reproduced", "reproduced")),
        (0.5, 3, ("partly", "partly")),
        (0.2, 9, ("contradicted", "contradicted")),
    ],
)
def test_whether_clusters_are_preserved(kept, growth, verdicts, monkeypatch):
    monkeypatch.setattr(limits, "kept_clusters", lambda runs: runs)
    others = grouped(1.0, 1.0).rename(first="number_then", last="number")
    axes = {"setting": ["Figure 1", "(8)", "margin", "(8), margin"], "time": [2000]}
    others = others.expand_dims(axes | {"tolerance": [0.05], "moment": ["learnt"]})
    assert tuple(limits.sb_13(grouped(kept, growth), others).parts.values()) == verdicts


def taken_apart(undone, shrinks):
    """Runs in which the unaligned carry a share of the gain, and whose gap the start (8) shrinks by a factor."""
    names, gap = ["Figure 1", "(8)", "margin", "(8), margin"], by_n({2000: 0.01, 5000: 0.008})
    gaps = xr.concat([gap, gap / shrinks, gap, gap / shrinks], "setting").assign_coords(setting=names)
    moment = xr.DataArray([1.0, 0.1], {"moment": ["aligned", "learnt"]}, "moment")
    return xr.Dataset({
        "ols_train": 0.09 + 0 * gaps, "train": 0.09 - gaps, "ols_excess": 0 * gaps, "excess": gaps,
        "without": 0.09 - gaps + undone * gaps * moment, "without_random": 0.09 - gaps + 0.1 * gaps * moment,
        "outside": 0 * gaps, "halves_train": 0.09 + 0 * gaps,
    }).expand_dims(time=[632.0])  # fmt: skip


@pytest.mark.parametrize(
    ("undone", "shrinks", "verdicts"),
    [
        (0.95, 4, ("reproduced", "reproduced")),
        (0.5, 1.5, ("partly", "partly")),
        (0.1, 1, ("contradicted", "contradicted")),
    ],
)
def test_the_gap_to_least_squares(undone, shrinks, verdicts):
    calmer = xr.Dataset({"train": 0.09 - by_n({2000: 1e-3}), "halves_train": 0.09})
    calmer = calmer.expand_dims(setting=["(8), full batch"], time=[632.0])
    runs = taken_apart(undone, shrinks)
    wobble = 1 + 0.01 * xr.DataArray([[0, 1, -1], [1, -1, 0]], {"n": [2000, 5000], "seed": SEEDS}, ("n", "seed"))
    runs["excess"] = runs.excess * xr.where(runs.setting == "(8)", wobble, 1 / wobble)
    assert tuple(limits.sb_38(runs, calmer).parts.values()) == verdicts


def restarts(left, late=0.0, level=0.8):
    """Losses of all sizes along a restart that leaves a share of them, and change by a share over the last quarter."""
    sizes = [n for group in limits.GROUPS.values() for n in group]
    levels = [1, left + (1 - left) * 0.1, left, left * (1 - late)]
    curve = xr.DataArray(levels, {"restart": [0, 5e5, 1.5e6, 2e6]}, "restart")
    wobble = 1 + 0.02 * xr.DataArray([-1, 0, 1], {"seed": SEEDS}, "seed") * (curve.restart > 0)
    return (NOISE * level * curve * wobble * by_n(dict.fromkeys(sizes, 1.0))).to_dataset(name="decayed_train")


@pytest.mark.parametrize(
    ("paths", "settles", "near"),
    [
        (restarts(0.97), "reproduced", "reproduced"),
        (restarts(0.6), "reproduced", "contradicted"),
        (restarts(0.97, late=0.3), "contradicted", "contradicted"),
        (restarts(0.001), "contradicted", "contradicted"),
    ],
)
def test_the_restart(paths, settles, near):
    parts = limits.sb_42(paths).parts
    assert parts.pop("settles above zero") == settles
    assert set(parts.values()) == {near}


def test_the_restart_is_judged_by_groups_of_sizes():
    paths = restarts(0.97)
    near = limits.sb_42(xr.where(paths.n > 1500, paths, restarts(0.6)))
    assert near.verdict == "partly"
    assert near.parts["stays near, n = 1000 to 1500"] == "contradicted"
    assert near.parts["stays near, n = 5000 to 10,000"] == "reproduced"


@pytest.mark.parametrize(
    ("gradient", "full", "slow", "sharp", "verdicts"),
    [
        (0.002, 0.001, 0.002, 150, ("reproduced", "reproduced", "reproduced", "reproduced")),
        (0.002, 0.001, 0.05, 150, ("reproduced", "reproduced", "reproduced", "partly")),
        (0.5, 0.3, 0.4, 300, ("contradicted", "contradicted", "contradicted", "contradicted")),
    ],
)
def test_the_end_as_a_stationary_point(gradient, full, slow, sharp, verdicts):
    ones, moment = by_n({1000: 1.0, 2000: 1.0}), ["restart", "end"]
    start = 0.5 * NOISE + 0 * ones
    runs = xr.Dataset({
        "gradient": xr.concat([ones, gradient * ones * JITTER], "moment").assign_coords(moment=moment),
        "loss": xr.concat([start, start], "moment").assign_coords(moment=moment),
        "sharpness": xr.concat([ones, sharp * ones], "moment").assign_coords(moment=moment),
        "full_loss": (start - full * NOISE * ones).expand_dims(full=[50_000]),
        "slow_loss": (start - slow * NOISE * ones).expand_dims(slow=[8_000_000]), "full_rate": 0.006 * ones,
    })  # fmt: skip
    assert tuple(limits.sb_43(runs).parts.values()) == verdicts


@pytest.mark.parametrize(("early", "verdict"), [(0.1, "reproduced"), (0.45, "partly"), (0.9, "contradicted")])
def test_when_the_loss_falls(early, verdict):
    curve = xr.DataArray([1, early, 0.01, 0], {"restart": [0, 5e5, 1.5e6, 2e6]}, "restart")
    wobble = 1 + 0.02 * xr.DataArray([-1, 0, 1], {"seed": SEEDS}, "seed") * (curve.restart == 5e5)
    paths = 0.5 + 0.1 * curve * wobble * xr.DataArray([1, 1, 1], {"n": [2000, 5000, 10_000]}, "n")
    assert limits.sb_44(paths.to_dataset(name="decayed_train")).verdict == verdict


def test_gauss_newton_steps_interpolate_with_fewer_neurons_than_points():
    _, sample, _ = transition.drawn(0, 40)
    start = nets.small(stats.stream("driven"), 20, 5, 0.5)
    network, taken = driven.interpolate(start, sample, enough=NOISE / 100, most=200)
    assert transition.train_loss(network, sample) <= NOISE / 100
    assert 0 < taken < 200
    assert driven.interpolate(network, sample, enough=NOISE / 100, most=5) == (network, 0)
